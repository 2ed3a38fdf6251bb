"""Follows a tool of a trial that runs at one of the ends."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass, field

from linkladder import tools, wire
from linkladder.engine.account import STILL
from linkladder.engine.route import Side
from linkladder.model import Command, Interval


@dataclass(eq=False)
class Process:
    """One tool of a trial, from its start to the end of its output."""

    side: Side
    role: str
    number: int  # the end's own
    argv: tuple[str, ...]
    began: float  # on the near end's clock
    live: tools.Live
    heard: float = field(default_factory=time.monotonic)  # when its end last read a line of it, or took a sample
    zero: float = math.inf  # by its own seconds, when the first of them began; a line may be late, never early
    quiet: float = 0.0  # seconds since its last line in which its end was seen to run
    exited: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)  # it printed something, or ended
    ordered_to_end: bool = False
    exited_alone: bool = False  # it ended before that
    finished: wire.Finished | None = None
    round_trips: list[tuple[float, float]] = field(default_factory=list)  # when, and how long in ms

    @property
    def complete(self) -> bool:
        """Whether every flow has printed its last line."""
        return self.live.complete

    @property
    def texts(self) -> tools.Texts:
        return (self.finished.output, self.finished.errors) if self.finished else ("", "")

    def note_silence(self, at: float) -> None:
        """Count the time until then as silence of the tool, unless the end itself stood still."""
        at = _seen(at)
        self.quiet += min(max(0.0, at - self.heard), STILL)
        self.heard = at

    def note_line(self, at: float) -> None:
        self.heard, self.quiet = _seen(at), 0.0

    def read(self, line: str, at: float) -> list[Interval]:
        """The seconds that are complete with this line, which was read then."""
        found = self.live.feed(line)
        for second in found:
            self.zero = min(self.zero, _seen(at) - second.end)
        return found

    async def enough(self) -> None:
        """Tell a tool that runs until it is told to end, and prints its results then, that its time is over."""
        await self.side.point.ask(wire.Enough(self.number))

    async def stop(self) -> None:
        """End the tool and fetch its output; does nothing if that was done before."""
        if self.finished is None:
            self.ordered_to_end = True
            self.finished = await self.side.point.ask(wire.Stop(self.number, self.complete))

    def command(self) -> Command:
        done = self.finished
        if done is None:
            return Command(self.side.name, self.role, self.argv)
        return Command(self.side.name, self.role, self.argv, done.exit_code, done.output, done.errors, done.cut)


def _seen(at: float) -> float:
    """The moment of which an end tells, on the near end's clock: it has seen nothing later than now."""
    return min(at, time.monotonic())
