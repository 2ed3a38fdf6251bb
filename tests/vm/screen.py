"""What a person sees on a machine's serial console: its log drawn by a real terminal of 80x25."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
import uuid
from pathlib import Path

from .machine import SLOW, Machine

KEYS = {"Enter": "\r", "Tab": "\t", "Escape": "\x1b", "F2": "\x1bOQ", "F3": "\x1bOR"}
KEYS |= {"End": "\x1b[F", "Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D"}


class Screen:
    """A tmux that draws what the console sent; keys go down the serial line itself."""

    def __init__(self, machine: Machine, keep: Path | None = None) -> None:
        self.machine = machine
        self._socket = f"ll-vm-{uuid.uuid4().hex[:8]}"
        self._keep = keep
        log = shlex.quote(str(machine.folder / "console.log"))
        environ = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR", "COLORTERM")}
        self._tmux(
            "new-session", "-d", "-x", "80", "-y", "25", f"stty raw -echo; exec tail -c +1 -f {log}", env=environ
        )

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        run = ["tmux", "-L", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(run, check=True, capture_output=True, text=True, env=env).stdout

    def text(self) -> str:
        return self._tmux("capture-pane", "-p")

    def keys(self, *names: str) -> None:
        """Named keys, or text as typed."""
        for name in names:
            self.machine.console.type(KEYS.get(name, name))
            self.until_still(1.0)

    def until_still(self, seconds: float) -> None:
        """Until nothing more is drawn, at most a few seconds: a live screen never is."""
        end = time.monotonic() + 4 * seconds * SLOW
        while self.machine.console.pump(seconds) and time.monotonic() < end:
            pass

    def until(self, words: str, seconds: float = 60.0) -> str:
        """Wait for words, which may be broken over lines."""
        end = time.monotonic() + seconds * SLOW
        while True:
            self.machine.console.pump(0.5)
            text = self.text()
            if words in " ".join(text.split()):
                self.keep(words)
                return text
            assert time.monotonic() < end, f"{words!r} did not come to {self.machine.name}'s screen:\n{text}"

    def keep(self, name: str) -> None:
        """The screen as it is, for people to look at afterwards."""
        if self._keep:
            self._keep.mkdir(parents=True, exist_ok=True)
            file = "".join(c if c.isalnum() else "-" for c in name.lower())[:40]
            (self._keep / f"{self.machine.name}-{file}.txt").write_text(self.text())

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
