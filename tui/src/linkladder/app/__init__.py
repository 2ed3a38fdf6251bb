"""The Textual application; nothing outside this package imports textual."""

from __future__ import annotations

import os
import sys


def run(glyphs: str | None = None, mouse: bool = True) -> int:
    """Open the TUI on this terminal and stay until the person leaves; the exit code."""
    from linkladder.app import terminal

    try:
        tty = os.ttyname(sys.stdin.fileno())
    except (OSError, ValueError):
        tty = ""
    surface = terminal.survey(os.environ, tty, glyphs)
    terminal.prepare(os.environ, surface)
    # Only now: Textual reads its environment when it is imported.
    from linkladder.app.live import LiveBackend
    from linkladder.app.main import LadderApp

    app = LadderApp(LiveBackend(), surface.glyphs)
    app.run(mouse=mouse and not surface.console)
    if surface.console:
        # vt and serial terminals have no alternate screen, and print the tail of Textual's last sequence.
        sys.stdout.write("\x1b[0m\x1b[H\x1b[2J")
        sys.stdout.flush()
    return app.return_code or 0
