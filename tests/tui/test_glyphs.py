"""What reaches a terminal: 7 bits where only those exist, no colours vt(4) chokes on, and nothing lost."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder.app.glyphs import CP437, plain
from linkladder.app.terminal import Glyphs, survey

HERE = Path(__file__).parent
PROGRAM = """
import os, sys
sys.path.insert(0, {here!r})
from linkladder.app import terminal
surface = terminal.survey(os.environ, {tty!r})
terminal.prepare(os.environ, surface)
from linkladder.app.main import LadderApp
import synth
backend = synth.settled()
app = LadderApp(backend, surface.glyphs)
if {live}:
    app.call_later(lambda: app.climb(synth.the_plan()))
app.run(mouse=False)
"""


@given(st.text())
def test_a_tier_holds_and_keeps_the_width(text):
    for tier in Glyphs:
        out = plain(text, tier)
        assert len(out) == len(text)
        if tier is Glyphs.ASCII:
            assert out.isascii()
        elif tier is Glyphs.CP437:
            assert all(c.isascii() or c in CP437 for c in out)


@pytest.mark.parametrize(
    ("environ", "tty", "glyphs", "console"),
    [
        ({"TERM": "xterm", "LANG": "C.UTF-8"}, "/dev/ttyv0", Glyphs.CP437, True),
        ({"TERM": "vt100"}, "/dev/ttyu0", Glyphs.ASCII, True),
        ({"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, "/dev/pts/3", Glyphs.UNICODE, False),
        ({"TERM": "xterm-256color", "LC_ALL": "C"}, "/dev/pts/3", Glyphs.ASCII, False),
        ({"TERM": "dumb"}, "", Glyphs.ASCII, True),
    ],
)
def test_terminals_are_told_apart(environ, tty, glyphs, console):
    found = survey(environ, tty)
    assert (found.glyphs, found.console) == (glyphs, console)
    assert survey(environ, tty, "ascii").glyphs is Glyphs.ASCII


def on_a_pty(environ: dict[str, str], tty: str, keys: list[bytes], live: bool = False, seconds: float = 1.2) -> bytes:
    """What the real driver writes on a real terminal of 80 x 25."""
    main, far = pty.openpty()
    base = {
        k: v for k, v in os.environ.items() if not k.startswith(("TEXTUAL", "NO_COLOR", "COLORTERM", "LC_", "LANG"))
    }
    program = PROGRAM.format(here=str(HERE), tty=tty, live=live)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=far, stdout=far, stderr=far, env=base | {"COLUMNS": "80", "LINES": "25"} | environ,
        start_new_session=True,
    )  # fmt: skip
    os.close(far)
    out = b""

    def drain(most: float, until: bytes = b"") -> None:
        nonlocal out
        end = time.monotonic() + most
        while time.monotonic() < end:
            if select.select([main], [], [], 0.1)[0]:
                try:
                    out += os.read(main, 65536)
                except OSError:
                    return
                if until and until in out:
                    return

    try:
        drain(20, b"Next step")
        drain(1.0)
        for key in keys:
            os.write(main, key)
            drain(seconds)
        os.write(main, b"q")
        drain(1.0)
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        os.close(main)
    return out


def test_ascii_without_colour_sends_seven_bits_only():
    environ = {"TERM": "vt100", "NO_COLOR": "1"}
    out = on_a_pty(environ, "/dev/ttyu0", [b"r", b"\x1b", b"s", b"\x1b", b"p", b"\x1b", b"e"])
    assert b"Next step" in out
    assert max(out) <= 0x7E, sorted({b for b in out if b > 0x7E})
    colours = {p for sgr in re.findall(rb"\x1b\[([0-9;]*)m", out) for p in sgr.split(b";")}
    assert not colours & {str(n).encode() for n in (*range(30, 38), *range(40, 48), *range(90, 98), *range(100, 108))}
    assert b"7" in colours, "without colours the cursor must be seen by reverse video"


def test_the_console_gets_sixteen_colours_and_short_sequences():
    environ = {"TERM": "xterm", "LANG": "C.UTF-8", "COLORTERM": "truecolor"}
    out = on_a_pty(environ, "/dev/ttyv0", [b"e", b"\x1b"], live=True)
    text = out.decode()
    for sgr in re.findall(r"\x1b\[([0-9;]*)m", text):
        parts = sgr.split(";")
        assert len(parts) <= 8, sgr
        assert "38" not in parts and "48" not in parts, sgr
    shown = re.sub(r"\x1b(\[[0-9;?<>=]*[a-zA-Z$]+|[()].|[=>78])", "", text)
    assert not {c for c in shown if ord(c) > 0x7E and c not in CP437}


def test_a_screen_model_without_alternate_screen_shows_all(tmp_path):
    """Drawn on a plain 80 x 25 grid that knows cursor moves only, the last page stands complete."""
    environ = {"TERM": "xterm", "LANG": "C.UTF-8"}
    out = on_a_pty(environ, "/dev/ttyv0", [b"s"], seconds=2.5).decode()
    out = out[: out.rfind("\x1b[?1049l")] if "\x1b[?1049l" in out else out
    grid = Grid()
    grid.feed(out)
    text = grid.text()
    assert "This machine" in text and "Host name" in text, text
    assert "Next step" not in text


class Grid:
    """CUP, CR, LF, ED and text; everything else is ignored, as vt(4) ignores 1049."""

    def __init__(self) -> None:
        self.cells = [[" "] * 80 for _ in range(25)]
        self.row = self.column = 0

    def feed(self, text: str) -> None:
        pattern = re.compile(r"\x1b\[([0-9;?<>=]*)([a-zA-Z])|\x1b\[[0-9;?<>=]*\$[a-zA-Z]|\x1b[()].|\x1b[=>78]|([\s\S])")
        for match in pattern.finditer(text):
            if match[2] in ("H", "f"):
                parts = [int(p or 1) for p in (match[1] or "1;1").split(";")]
                self.row, self.column = parts[0] - 1, (parts[1] if len(parts) > 1 else 1) - 1
            elif match[2] == "J" and match[1] == "2":
                self.cells = [[" "] * 80 for _ in range(25)]
            elif match[3] == "\r":
                self.column = 0
            elif match[3] == "\n":
                self.row += 1
            elif match[3] and match[3] >= " " and self.row < 25 and self.column < 80:
                self.cells[self.row][self.column] = match[3]
                self.column += 1

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)
