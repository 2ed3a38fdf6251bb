"""The main flows by keys through the real program on a terminal that knows little: what is sent is what it can show.

The terminal is a grid of 80 x 25 with cursor moves, erasing and 16 colours; it has no alternate screen, takes at
most eight numbers in a colour sequence, and has the characters of code page 437, or seven bits only.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

import synth
from linkladder.app.glyphs import CP437
from terminals import Terminal

PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
os.ttyname = lambda _: sys.argv[1]
import linkladder.app
import synth
from linkladder.app.backend import Heard, Reach
from linkladder.errors import EnvironmentFault

def backend():
    made = synth.fresh()
    made.nearby = (Heard("beta", "10.7.0.2", "vmx0", 2.0, 0.21),)
    made.export_folder = sys.argv[2]
    made.log = ["something was written down"]
    for run in ("20261120-090000-cd34", synth.RUN):
        made.stored[run] = (synth.summary(run), synth.the_document())
    made.reach = lambda: Reach("admin", "127.0.0.1", True)
    start = made.start
    tried = []
    async def tries(plan, resume=""):
        tried.append(plan)
        if len(tried) == 1:
            raise EnvironmentFault("the disk is full", "no space is left", "delete old runs")
        made.speed = 100.0 if len(tried) == 2 else 1.0
        return await start(plan, resume)
    made.start = tries
    return made

linkladder.app._backend = backend
sys.exit(linkladder.app.run())
"""
ENTER, ESC, UP, DOWN, RIGHT, LEFT, END = "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[F"
# Keys, then words that must come to stand on the screen, or after ~ go from it.
FLOWS: dict[str, list[tuple[str, str]]] = {
    "pair by comparing the code": [
        ("", "> Open pairing"), (ENTER, "heard 2 s ago"), (ENTER, "402 917 otter lamp river"), ("wait", "402 917"),
        (ENTER, "beta is paired"),
    ],
    "describe the link": [(ENTER, "[ Climb the ladder ]"), ("", "9.41")],
    "be told of a fault and go on": [(ENTER, "The disk is full"), ("", "delete old runs"), (ENTER, "~delete old runs")],
    "climb, move, and see the commands": [
        ("climb", "Move beta to another host"), ("c", "The commands of"), (ESC, "~The commands of"),
        ("wait", "Move beta"),
        (ENTER, "other data centre"), ("wait", "other data centre"), (ENTER, "The run is complete"),
    ],
    "read the results": [(ENTER, "Circuit"), (RIGHT, "[localhost]"), (LEFT, "[run]"), (LEFT, "[dc-link]")],
    "export to disk and by a link": [
        ("x", "HTML report"), (ENTER, "Written:"), (END + ENTER, "Good for one download"), (ESC, "On this disk"),
    ],
    "find and compare earlier runs": [
        (ESC, "[dc-link]"), (ESC, "run is complete"), (ESC, "Next step"), ("r", "2 runs"),
        ("/", "words to look for"), ("cd34" + ENTER, "1 run"),
        (ESC, "2 runs"), (" " + DOWN + " ", "2 of 2"), ("c", "One repeat each"), (ESC, "2 of 2"),
    ],
    "delete a run, or rather not": [("d", "Delete this run?"), (ENTER, "~Delete this run?"), (ESC, "Next step")],
    "change a switch of the appliance": [
        ("s", "records are in UTC"), (ENTER, "Letters, digits"), ("gamma" + ENTER, "gamma"), ("wait", "gamma"),
        (ENTER, "The name is gamma"),
        ("t", "1 of 2 settings"), (ESC, "This machine"), ("d", "check MSI-X"), (ESC, "This machine"),
        ("g", "written down"), (ESC, "This machine"),
    ],
    "ask for help, and for a command by name": [
        ("?", "Everywhere"), (ESC, "This machine"), ("\x10", "Search"), ("Doctor", "What this machine lacks"),
        (ENTER, "check MSI-X"), (ESC, "This machine"), (ESC, "Next step"),
    ],
    "cancel a run": [
        ("e", "[ Climb the ladder ]"), ("climb", "measuring"), ("", "41."), ("x", "Cancel the run?"),
        (LEFT + ENTER, "ended early"), (ESC, "Next step"),
    ],
}  # fmt: skip
SEVEN, SIXTEEN = {"TERM": "vt100", "NO_COLOR": "1"}, {"TERM": "xterm", "COLORTERM": "truecolor"}


@pytest.mark.parametrize(("tty", "environ"), [("/dev/ttyu0", SEVEN), ("/dev/ttyv0", SIXTEEN)], ids=["seven", "sixteen"])
def test_the_main_flows(tty, environ, tmp_path):
    terminal = Terminal((sys.executable, "-c", PROGRAM, tty, str(tmp_path)), **environ)
    grid = Grid(seven="NO_COLOR" in environ)
    try:
        for name, steps in FLOWS.items():
            for keys, words in steps:
                if (
                    keys == "wait"
                ):  # what is to be read first must have stood for a second; and a focus takes a moment to move
                    time.sleep(1.2)
                elif keys == "climb":  # from wherever the form stands, to its last button
                    terminal.type(b"\x1bOQ")
                else:
                    terminal.type(keys.encode())
                stand(terminal, grid, words, name)
        terminal.type(b"q")
        assert terminal.process.wait(15) == 0
        grid.feed(terminal.read(1))
        assert grid.text().strip() == "", "the console is left clean"
    finally:
        terminal.close()
    assert b"\x1b[?1000h" not in terminal.out, "the mouse is left alone on a console"
    assert grid.reverse, "what is highlighted is seen by reverse video or a colour"
    assert (tmp_path / f"{synth.RUN}.html").exists()


def stand(terminal: Terminal, grid: Grid, words: str, flow: str) -> None:
    last = time.monotonic() + 20
    while (words.lstrip("~") in " ".join(grid.text().split())) is words.startswith("~"):
        grid.feed(terminal.read(0.1))
        assert time.monotonic() < last, f"{flow}: never saw {words!r} on\n{grid.text()}"


class Grid:
    """What a plain console makes of it; what it could not show is an error at once."""

    TOKEN = re.compile(r"\x1b\[([0-9;?<>=]*)(\$?[a-zA-Z])|\x1b[()].|\x1b[=>78]|([^\x1b])")

    def __init__(self, seven: bool) -> None:
        self.seven = seven
        self.cells = [[" "] * 80 for _ in range(25)]
        self.row = self.column = 0
        self.reverse = False
        self._rest = ""

    def feed(self, data: bytes) -> None:
        if self.seven:
            assert max(data, default=0) <= 0x7E, sorted({b for b in data if b > 0x7E})
        text = self._rest + data.decode(errors="surrogateescape")
        whole = text.rfind("\x1b") if re.search(r"\x1b[^a-zA-Z]*$", text) else len(text)
        text, self._rest = text[:whole], text[whole:]
        for match in self.TOKEN.finditer(text):
            if match[2]:
                self.sequence(match[1], match[2])
            elif match[3] == "\r":
                self.column = 0
            elif match[3] == "\n":
                self.row += 1
            elif match[3] and match[3] >= " " and self.row < 25 and self.column < 80:
                assert match[3].isascii() or match[3] in CP437 or "\udc80" <= match[3] <= "\udcff", match[3]
                self.cells[self.row][self.column] = match[3]
                self.column += 1

    def sequence(self, numbers: str, kind: str) -> None:
        parts = [int(p or 0) for p in numbers.split(";")] if re.fullmatch(r"[0-9;]*", numbers) else []
        if kind == "m" and parts:
            assert len(parts) <= 8 and not {38, 48} & set(parts), numbers
            colours = [p for p in parts if 30 <= p <= 37 or 40 <= p <= 47 or 90 <= p <= 107]
            assert not (self.seven and colours), numbers
            self.reverse = self.reverse or 7 in parts or any(p >= 40 for p in colours)
        elif kind in "Hf" and parts:
            self.row, self.column = max(0, parts[0] - 1), max(0, (parts[1] if len(parts) > 1 else 1) - 1)
        elif kind == "J" and parts == [2]:
            self.cells = [[" "] * 80 for _ in range(25)]

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)
