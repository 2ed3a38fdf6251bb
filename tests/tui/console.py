"""A real terminal for end-to-end tests: a tmux of our own, at the console's size."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path


class Console:
    """One program in one tmux session; `until` waits for words, `keys` types."""

    def __init__(
        self, argv: Sequence[str], size: tuple[int, int] = (80, 25), keep: Path | None = None, name: str = "screen"
    ) -> None:
        self._socket = f"ll-test-{uuid.uuid4().hex[:8]}"
        self._keep = keep
        self._name = name
        self._count = 0
        command = " ".join(map(shlex.quote, argv)) + "; echo left with $?; sleep 600"
        environ = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR", "COLORTERM")}
        self._tmux("new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), command, env=environ)

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        run = ["tmux", "-L", self._socket, "-f", "/dev/null", *words]
        return subprocess.run(run, check=True, capture_output=True, text=True, env=env).stdout

    def keys(self, *names: str) -> None:
        for name in names:
            self._tmux("send-keys", name)
            if name == "Escape":
                time.sleep(0.15)  # to a terminal, a key that follows at once is one with it

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def until(self, words: str, seconds: float = 60.0) -> str:
        """The screen once it has the words, wherever it wraps them; generous, since the machine may be busy."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.screen()
            if words in " ".join(text.split()):
                if self._keep:
                    self._count += 1
                    name = "".join(c if c.isalnum() else "-" for c in words.lower())[:40]
                    (self._keep / f"{self._name}-{self._count:02d}-{name}.txt").write_text(text)
                return text
            if "left with" in text:
                break
            time.sleep(0.25)
        raise AssertionError(f"never saw {words!r} on:\n{self._tmux('capture-pane', '-p', '-S', '-500')}")

    def until_without(self, words: str, seconds: float = 60.0) -> None:
        """Wait until the words have left the screen."""
        end = time.monotonic() + seconds
        while words in " ".join(self.screen().split()):
            assert time.monotonic() < end, f"still {words!r} on:\n{self.screen()}"
            time.sleep(0.05)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def pid(self) -> int:
        """The first process of the pane."""
        return int(self._tmux("display-message", "-p", "#{pane_pid}"))

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")


OpenConsole = Callable[..., Console]  # what a fixture `console` gives


def descendants(pid: int) -> list[int]:
    """All that a process has started, deepest last; of those that end meanwhile, as far as they could be asked."""
    found = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def kill_tui(console: Console) -> None:
    """kill -9 of the TUI alone, as a crash would."""
    for pid in descendants(console.pid()):
        with contextlib.suppress(OSError):  # one that has ended since they were listed
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if "linkladder" in words and "-m" in words:
                os.kill(pid, signal.SIGKILL)
