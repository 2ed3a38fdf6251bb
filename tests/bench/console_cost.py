"""What the console costs while a trial runs: first frame, bytes an update, CPU, memory.  Prints, asserts nothing."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from pathlib import Path

import psutil

TUI = Path(__file__).resolve().parent.parent / "tui"
PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(TUI)!r})
from linkladder.app import terminal
surface = terminal.survey(os.environ, "/dev/ttyv0")
terminal.prepare(os.environ, surface)
from linkladder.app.main import LadderApp
import synth
backend = synth.settled()
app = LadderApp(backend, surface.glyphs)
app.call_later(lambda: app.set_timer(3, lambda: app.climb(synth.the_plan())))
app.run(mouse=False)
"""
SECONDS = 10.0


def main() -> None:
    main_end, far = pty.openpty()
    ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
    environ = os.environ | {"TERM": "xterm", "LANG": "C.UTF-8"}
    began = time.monotonic()
    argv = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(argv, stdin=far, stdout=far, stderr=far, env=environ, start_new_session=True)
    os.close(far)
    seen, first = b"", 0.0
    while time.monotonic() - began < 7 or not first:
        try:
            seen += _read(main_end)
        except OSError:
            sys.exit(seen.decode(errors="replace"))
        if not first and b"Next step" in seen:
            first = time.monotonic() - began
            start = len(seen)
    print(f"first frame after {first:.2f} s; {start / 1000:.1f} kB to draw it")
    watched = psutil.Process(process.pid)
    before = sum(watched.cpu_times()[:2])
    out, end = b"", time.monotonic() + SECONDS
    while time.monotonic() < end:
        out += _read(main_end)
    cpu = sum(watched.cpu_times()[:2]) - before
    print(f"live trial: {len(out) / SECONDS:.0f} bytes a second, {len(out) / SECONDS / 2:.0f} an update at 2 a second")
    print(f"  that is {len(out) / SECONDS * 10 / 115200:.0%} of a line of 115200 baud")
    print(f"  CPU {cpu / SECONDS:.1%} of one core, resident memory {watched.memory_info().rss / 2**20:.0f} MB")
    process.kill()
    process.wait()


def _read(end: int) -> bytes:
    return os.read(end, 65536) if select.select([end], [], [], 0.1)[0] else b""


if __name__ == "__main__":
    main()
