"""A console on a serial line, followed by the words on its screen: what the benchmarks measure it by."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from grid import SEVEN_BITS, Grid
from terminals import LINKLADDER, Terminal


class Screen:
    """A console on a serial line's terminal, and what stands on it."""

    def __init__(self, argv: Sequence[str] = LINKLADDER, **environ: str) -> None:
        self.began = time.monotonic()
        settings = {"TERM": "vt100", "ESCDELAY": "20"} | environ
        self.terminal = Terminal(argv, (80, 25), **settings)
        self.pid = self.terminal.process.pid
        self.grid = Grid(SEVEN_BITS, 16)

    def until(self, *words: str, patience: float = 120.0) -> float:
        """Seconds until one of the words stands there, less those for which the system let others run."""
        began, waited, spent = time.monotonic(), self.waited(), self.cpu()
        while time.monotonic() < began + patience:
            if any(word in self.grid.text() for word in words):
                took = time.monotonic() - began - max(0.0, self.waited() - waited)
                return max(took, self.cpu() - spent)  # its threads may have waited at the same time
            if select.select([self.terminal.end], [], [], 1.0)[0]:
                self.grid.feed(os.read(self.terminal.end, 65536))
        raise SystemExit(f"never saw {words} on:\n{self.grid.text()}")

    def cpu(self) -> float:
        """Seconds that the program has taken so far."""
        return float(sum(psutil.Process(self.pid).cpu_times()[:2]))

    def waited(self) -> float:
        """Seconds for which it could have gone on, and the system let others run; unknown is none."""
        with contextlib.suppress(OSError, IndexError):
            tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
            return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9
        return 0.0

    def follow(self, seconds: float) -> None:
        """Whatever it shows, for so long."""
        self.grid.feed(self.terminal.read(seconds))

    def settle(self) -> None:
        """Until nothing comes any more; a live trial never rests."""
        last = time.monotonic() + 3
        while time.monotonic() < last and select.select([self.terminal.end], [], [], 0.7)[0]:
            self.grid.feed(os.read(self.terminal.end, 65536))

    def go(self, key: bytes, *words: str) -> float:
        self.settle()
        self.terminal.type(key)
        return self.until(*words)
