"""The Textual application; nothing outside this package imports textual."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from linkladder.errors import EnvironmentFault

if TYPE_CHECKING:
    from linkladder.app.backend import Backend


def run(glyphs: str | None = None, mouse: bool = True) -> int:
    """Open the TUI on this terminal, run it until the person leaves, and return the exit code."""
    from linkladder.app import hangup, terminal

    if not (sys.stdin.isatty() and sys.stderr.isatty()):  # Textual reads stdin and draws on stderr
        raise EnvironmentFault("there is no terminal here", hint="linkladder --help lists commands that need none")
    tty = os.ttyname(sys.stdin.fileno())
    surface = terminal.survey(os.environ, tty, glyphs)
    terminal.prepare(os.environ, surface)
    # Imported after `prepare`, as Textual reads its environment when it is imported.
    from linkladder.app.main import LadderApp

    app = LadderApp(_backend, surface.glyphs)
    hangup.watch(sys.stdin.fileno(), app.end)
    app.run(mouse=mouse and not surface.console)
    if surface.console:
        # vt and serial terminals have no alternate screen, and print the tail of Textual's last sequence.
        sys.stdout.write("\x1b[0m\x1b[H\x1b[2J")
        sys.stdout.flush()
    if app.failed:
        raise app.failed
    return app.return_code or 0


def _backend() -> Backend:
    from linkladder.app.live_backend import LiveBackend
    from linkladder.run import launch

    backend = LiveBackend()
    launch.after_restart(backend.folder)
    return backend
