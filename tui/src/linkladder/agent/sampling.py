"""Tells each second what this machine does while a trial runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from linkladder import host, wire
from linkladder.model import ESTABLISHED, HostSample, WindowSeen

SHORTEST = 0.1  # seconds that the first and the last sample must span, as the system counts CPU in hundredths
SOON = 0.7  # seconds after the last sample from which on one is taken beside a line
LATER = 1.1  # seconds to wait for the next line
SLOW = 0.002  # seconds of CPU that a sample takes on a slow machine; a usual one takes a few tenths of a millisecond


class Samples:
    """Sends a sample to `say` at regular moments, and looks at connections with some of them.

    Those of each second are taken when the tool prints: one wake-up of this process for both takes less from what is
    measured than two do, and the seconds of both are the same. `connections` are those last seen open, for a caller who
    wants them when all is over; None where looking takes a program, as that is too much during a trial.
    """

    def __init__(self, say: Callable[[wire.Event], None]) -> None:
        self._say = say
        self._sampler = host.Sampler()
        self._asked = wire.Sampling(False)
        self.connections: wire.SocketsReply | None = None
        self._taken = 0
        self._next_look = 1  # the number of the next sample with which it looks at connections
        self._took = 0.0  # CPU seconds of the last sample
        self._last = 0.0  # when it was taken
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, asked: wire.Sampling) -> None:
        self._sampler, self._asked, self.connections = host.Sampler(asked.cards), asked, None
        self._taken, self._next_look = 0, 1
        self._sampler.start()
        self._take()  # what it tells is of no time at all, but what it takes shows how fast this machine is
        if asked.ports and host.connections(asked.ports) is not None:
            self.connections = wire.SocketsReply(self._last, host.sockets_source())
        self._wait_until(self._last + asked.every)

    def end(self) -> None:
        """Send a last sample, of what has happened since the one before it."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
            if time.monotonic() - self._last > SHORTEST:
                self._send()

    @property
    def may_wait(self) -> bool:
        """Whether what is seen now may be told later: on a slow machine, telling each second would take part of a core
        from what is measured."""
        return self._timer is not None and self._asked.every == 1.0 and not self._asked.at_once and self._took > SLOW

    def beside_a_line(self) -> None:
        """A tool has just printed."""
        if self._timer and self._asked.every == 1.0:
            self._timer.cancel()
            # the first one soon, so that no end can stand still from the beginning without a sample's showing it
            if time.monotonic() - self._last >= (SOON if self._taken else SHORTEST):
                self._send()
            self._wait_until(time.monotonic() + LATER)

    def _wait_until(self, due: float) -> None:
        self._due = due
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - time.monotonic()), self._go_on)

    def _go_on(self) -> None:
        self._send()
        # an overloaded machine takes samples late, and two too close together say nothing
        every = self._asked.every
        missed = max(0.0, (time.monotonic() - self._due) // every)
        self._wait_until(self._due + every * (1 + missed))

    def _take(self) -> HostSample:
        before = time.process_time()
        seen, self._last = self._sampler.sample(), time.monotonic()
        self._took = time.process_time() - before
        return seen

    def _send(self) -> None:
        seen = self._take()
        self._taken += 1
        windows = self._look() if self.connections else None
        self._say(wire.RawSample(self._last, seen.cores, seen.memory_used, seen.nics, seen.retransmits, windows))

    def _look(self) -> WindowSeen | None:
        """Keep the connections that are open now; returns their congestion windows if they were asked for.

        Without windows it looks ever more seldom: a busy receiver's kernel can keep who looks waiting.
        """
        if not self._asked.windows and self._taken < self._next_look:
            return None
        self._next_look = self._taken + max(1, self._taken // 2)
        listed = host.connections(self._asked.ports) or ()
        if not (found := tuple(s for s in listed if s.state == ESTABLISHED and s.remote_port)):
            return None
        self.connections = wire.SocketsReply(self._last, host.sockets_source(), found)
        known = [s for s in found if s.cwnd_bytes is not None] if self._asked.windows else []
        cwnds = tuple(s.cwnd_bytes or 0 for s in known)
        return WindowSeen(self._last, cwnds, tuple(s.ssthresh_bytes or 0 for s in known)) if known else None
