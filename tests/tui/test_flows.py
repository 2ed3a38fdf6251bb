"""The main flows by keys through the real program on terminals of every kind: what is sent is what they can show.

A serial line of seven bits without colour; the video console as the appliance's launcher makes it, and with the
characters of code page 437 alone: neither takes more than eight numbers in a colour sequence, or has an alternate
screen; then a terminal by ssh with 256 colours, and one with all.
"""

from __future__ import annotations

import re
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import synth
from grid import CODE_PAGE, SEVEN_BITS, TRUECOLOUR, VT_FONT, Grid
from replay_backend import THEIRS
from terminals import PATIENCE, Terminal

PROGRAM = f"""
import os, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
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
from linkladder.cli import main
sys.exit(main(sys.argv[3:]))
"""
ENTER, ESC, UP, DOWN, RIGHT, LEFT, END = "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[F"
# Keys, then words that must come to stand on the screen, or after ~ go from it.
FLOWS: dict[str, list[tuple[str, str]]] = {
    "pair by the other's code": [
        ("", "> Open pairing"), (ENTER, "heard 2 s ago"), (ENTER, "402 917 otter lamp river"), ("wait", "402 917"),
        (ENTER, "402 917"), (THEIRS + ENTER, "beta is paired"),
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
        (ESC, "2 runs"), (" " + DOWN + " ", "2 of 2"), ("c", "No difference beyond the noise"), (ESC, "2 of 2"),
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
SOME = ("pair by the other's code", "describe the link", "be told of a fault and go on",
        "climb, move, and see the commands", "read the results")  # fmt: skip
LAUNCHER = Path(__file__).parents[2] / "overlay/usr/local/libexec/linkladder-console"


def launched() -> dict[str, str]:
    """The environment that the launcher makes on the video console."""
    text = LAUNCHER.read_text()
    exports = "\n".join(line for line in text.splitlines() if line.startswith("export "))
    found = dict(re.findall(r"((?:TEXTUAL|LANG|LC)\w*)=(\S+)", exports))
    return found | dict(re.findall(r'/dev/ttyv\*\) : "\$\{(LINKLADDER_GLYPHS):=(\w+)\}"', text))


@dataclass(frozen=True)
class Kind:
    """A terminal, how the program is started on it, and what it may be sent."""

    tty: str
    environ: dict[str, str]
    characters: frozenset[str] | None
    colours: int
    options: tuple[str, ...] = ()
    flows: tuple[str, ...] = tuple(FLOWS)
    mouse: bool = False


KINDS = {
    "seven": Kind("/dev/ttyu0", {"TERM": "vt100", "NO_COLOR": "1"}, SEVEN_BITS, 0),
    "sixteen": Kind("/dev/ttyv0", {"COLORTERM": "truecolor"}, CODE_PAGE, 16, ("--glyphs", "cp437"), SOME),
    "vt": Kind("/dev/ttyv0", launched(), VT_FONT, 16),
    "256": Kind("/dev/pts/7", {"TERM": "xterm-256color"}, None, 256, mouse=True),
    "truecolor": Kind("/dev/pts/7", {"TERM": "xterm-256color", "COLORTERM": "truecolor"}, None, TRUECOLOUR,
                      ("--no-mouse",)),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_the_main_flows(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    terminal = Terminal((sys.executable, "-c", PROGRAM, kind.tty, str(tmp_path), *kind.options), **kind.environ)
    grid = Grid(kind.characters, kind.colours)
    try:
        for flow in kind.flows:
            for keys, words in FLOWS[flow]:
                if keys == "wait":
                    time.sleep(1.2)  # what is to be read first must have stood for a second; and a focus takes a moment
                elif keys == "climb":  # from wherever the form stands, to its last button
                    terminal.type(b"\x1bOQ")
                else:
                    terminal.type(keys.encode())
                stand(terminal, grid, words, flow)
        terminal.type(b"q")
        assert terminal.process.wait(PATIENCE) == 0
        grid.feed(terminal.read(1))
        assert grid.left_clean(), grid.modes
        assert termios.tcgetattr(terminal.far) == terminal.before
        if "pts" not in kind.tty:
            assert grid.text().strip() == "", "a console has no other screen to go back to"
    finally:
        terminal.close()
    assert (b"\x1b[?1000h" in terminal.out) is kind.mouse, "the mouse is left alone on a console, and where so asked"
    assert grid.reverse, "what is highlighted is seen by reverse video or a colour"
    assert bool(grid.shown - CODE_PAGE) is (kind.characters in (VT_FONT, None)), "what the font has is made use of"
    if kind.flows == tuple(FLOWS):
        assert (tmp_path / f"{synth.RUN}.html").exists()


def stand(terminal: Terminal, grid: Grid, words: str, flow: str) -> None:
    last = time.monotonic() + PATIENCE
    while (words.lstrip("~") in " ".join(grid.text().split())) is words.startswith("~"):
        grid.feed(terminal.read(0.1))
        assert time.monotonic() < last, f"{flow}: never saw {words!r} on\n{grid.text()}"
