"""Tells each second what this machine does while a trial runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from linkladder import host, wire
from linkladder.model import ESTABLISHED, WindowSeen

SHORTEST = 0.1  # seconds that the last sample must span, as the system counts CPU in hundredths
SOON = 0.7  # seconds after the last sample from which on one is taken beside a line
LATER = 1.1  # seconds to wait for the next line


class Samples:
    """Sends a sample to `say` at regular moments; windows of connections are in it if a system tells them.

    Those of each second are taken when the tool prints: one wake-up of this process for both takes less from what is
    measured than two do, and the seconds of both are the same.
    """

    def __init__(self, say: Callable[[wire.Event], None]) -> None:
        self._say = say
        self._sampler = host.Sampler()
        self._windows_of: tuple[int, ...] = ()
        self._every = 1.0
        self._last = 0.0  # when the last sample was taken
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, every: float, windows_of: tuple[int, ...]) -> None:
        self._sampler, self._windows_of = host.Sampler(), windows_of
        self._sampler.start()
        self._last, self._every = time.monotonic(), every
        self._wait_until(self._last + every)

    def end(self) -> None:
        """Send a last sample, of what has happened since the one before it."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
            if time.monotonic() - self._last > SHORTEST:
                self._send()

    def beside_a_line(self) -> None:
        """A tool has just printed."""
        if self._timer and self._every == 1.0:
            self._timer.cancel()
            if time.monotonic() - self._last >= SOON:
                self._send()
            self._wait_until(time.monotonic() + LATER)

    def _wait_until(self, due: float) -> None:
        self._due = due
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - time.monotonic()), self._go_on)

    def _go_on(self) -> None:
        self._send()
        # an overloaded machine takes samples late, and two too close together say nothing
        missed = max(0.0, (time.monotonic() - self._due) // self._every)
        self._wait_until(self._due + self._every * (1 + missed))

    def _send(self) -> None:
        seen, self._last = self._sampler.sample(), time.monotonic()
        windows = self._windows() if self._windows_of else None
        self._say(wire.RawSample(self._last, seen.cores, seen.memory_used, seen.nics, seen.retransmits, windows))

    def _windows(self) -> WindowSeen | None:
        found = [s for s in host.windows(self._windows_of) if s.state == ESTABLISHED and s.cwnd_bytes is not None]
        cwnds = tuple(s.cwnd_bytes or 0 for s in found)
        return WindowSeen(self._last, cwnds, tuple(s.ssthresh_bytes or 0 for s in found)) if found else None
