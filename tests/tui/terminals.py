"""A program on a pseudo-terminal of 80 x 25, with what it wrote and what it cost."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import psutil

CLEAN = ("TEXTUAL", "ESCDELAY", "NO_COLOR", "COLORTERM", "LC_", "LANG", "LINKLADDER", "COLUMNS", "LINES")
PATIENCE = 60.0  # seconds for what has no limit of its own: the machine may be busy with other tests
LINKLADDER = (sys.executable, "-m", "linkladder")


def kept_waiting(pid: int | str = "self") -> float:
    """Seconds for which a process could have gone on, and the system let others run; unknown is none."""
    with contextlib.suppress(OSError, IndexError):
        tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[1]) for task in tasks) / 1e9
    return 0.0


class Terminal:
    """Not the controlling terminal of its program: no signal tells that it goes."""

    def __init__(self, argv: Sequence[str] = LINKLADDER, size: tuple[int, int] = (80, 25), **environ: str) -> None:
        self.end, self.far = pty.openpty()
        fcntl.ioctl(self.far, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(self.far)
        base = {k: v for k, v in os.environ.items() if not k.startswith(CLEAN)}
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            argv, stdin=self.far, stdout=self.far, stderr=self.far, start_new_session=True,
            env=base | {"TERM": "xterm", "LANG": "C.UTF-8"} | environ,
        )  # fmt: skip
        self.out = b""

    def read(self, seconds: float, until: bytes = b"") -> bytes:
        """What comes, at most so long, or until it holds these bytes."""
        start, last = len(self.out), time.monotonic() + seconds
        while (left := last - time.monotonic()) > 0 and not (until and until in self.out[start:]):
            if select.select([self.end], [], [], min(left, 0.1))[0]:
                try:
                    self.out += os.read(self.end, 65536)
                except OSError:  # nobody has it open any more
                    break
            elif self.process.poll() is not None:
                break
        if until and until not in self.out[start:]:
            raise AssertionError(f"never saw {until!r} in {self.out[-2000:]!r}")
        return self.out[start:]

    def type(self, keys: bytes) -> None:
        os.write(self.end, keys)

    def until_read(self) -> None:
        """Until the program has taken all that was typed."""
        last, waiting = time.monotonic() + PATIENCE, bytearray(4)
        while fcntl.ioctl(self.far, termios.FIONREAD, waiting) == 0 and any(waiting):
            assert time.monotonic() < last, "it reads no keys"
            time.sleep(0.01)

    def cpu(self) -> float:
        """Seconds that the program has taken so far."""
        return float(sum(psutil.Process(self.process.pid).cpu_times()[:2]))

    def waited(self) -> float:
        """Seconds for which it could have gone on, and the system let others run."""
        return kept_waiting(self.process.pid)

    def hang_up(self) -> None:
        os.close(self.far)
        os.close(self.end)
        self.far = self.end = -1

    def close(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.end >= 0:
            self.hang_up()


Opened = Callable[..., Terminal]  # what the fixture `opened` gives
