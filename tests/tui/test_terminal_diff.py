"""Only what differs goes to the terminal, and the terminal shows the same as if all of it went."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from grid import CODE_PAGE, Grid
from linkladder.app.terminal_diff import ERASE, TerminalPicture
from linkladder.printable import controls_terminal
from terminals import Opened

WIDE, HIGH = 24, 3
CONSOLE = Console(color_system="standard", force_terminal=True, width=WIDE)
TOKEN = re.compile(r"\x1b\[([0-9;]*)([a-zA-Z])|([^\x1b\n])")
STYLES = (None, Style(), Style(bold=True), Style(color="red"), Style(bgcolor="blue"), Style(reverse=True),
          Style(color="red", meta={"offset": (1, 2)}))  # fmt: skip
texts = st.text("  ab\u2588\u6f22", max_size=10)
segments = st.lists(st.builds(lambda text, style: Segment(text, style), texts, st.sampled_from(STYLES)), max_size=4)


def strip_of(found: list[Segment], width: int) -> Strip:
    return Strip(found).adjust_cell_length(width)


@st.composite
def layouts(draw: st.DrawFn) -> LayoutUpdate:
    strips = [[strip_of(draw(segments), WIDE)] for _ in range(HIGH)]
    return LayoutUpdate(strips, Region(0, 0, WIDE, HIGH))


@st.composite
def chops(draw: st.DrawFn) -> ChopsUpdate:
    """A part of one line, as a widget of its own changes it."""
    y = draw(st.integers(0, HIGH - 1))
    first = draw(st.integers(0, WIDE - 2))
    last = draw(st.integers(first + 1, WIDE))
    rows: list[dict[int, Strip | None]] = [
        dict.fromkeys((0, first, last)) if n == y else {0: None} for n in range(HIGH)
    ]
    rows[y][first] = strip_of(draw(segments), last - first)
    ends = [[*list(row)[1:], WIDE] for row in rows]
    return ChopsUpdate(rows, [(y, first, last)], ends)


class Screen:
    """Cells with their looks; half a wide character is none."""

    def __init__(self) -> None:
        self.cells = {(y, x): (" ", "") for y in range(HIGH) for x in range(WIDE)}
        self.y = self.x = 0
        self.look = ""

    def feed(self, text: str) -> None:
        for match in TOKEN.finditer(text):
            numbers, kind, char = match.groups()
            if kind == "H":
                self.y, self.x = (int(n) - 1 for n in numbers.split(";"))
            elif kind == "m":
                self.look = numbers.strip("0")
            elif kind == "K":
                self.cells |= {(self.y, x): (" ", "") for x in range(self.x, WIDE)}
            else:
                assert char, match[0]
                self.show(char)

    def show(self, char: str) -> None:
        width = cell_len(char)
        for x in range(self.x, self.x + width):  # what it covers half of goes
            for side in (-1, 1):
                pair = (self.cells.get((self.y, x)), self.cells.get((self.y, x + side)))
                if pair[0] and pair[1] and cell_len((pair[0] if side == 1 else pair[1])[0]) == 2:
                    self.cells[self.y, x + side] = (" ", "")
        seen = self.look if char != " " or re.search("4|7", self.look) else ""  # a bold blank is a blank
        self.cells[self.y, self.x] = (char, seen)
        if width == 2:
            self.cells[self.y, self.x + 1] = ("", self.look)
        self.x += width


COMMANDS = [
    "\x1b[2J",
    "\x1b]0;x\x07",
    "\x9b6n",
    "\x1bP$q",
    "\r\n",
    "\t",
    "\x08\x08",
    "\x0e",
    "\x7f",
    "\u202e",
    "\u2066",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("beside", ["", "\u2588"])
def test_no_words_of_a_peers_are_commands_to_the_terminal(command: str, beside: str) -> None:
    """What an appliance says of itself is shown: a name with a command in it was obeyed by the terminal."""
    strip = Strip([Segment(f"a{command}b{beside}")])
    layout = LayoutUpdate([[strip]], Region(0, 0, WIDE, 1))
    said = re.sub(r"\x1b\[[0-9;]*[HmK]", "", TerminalPicture().update(layout).render_segments(CONSOLE))
    assert all(not controls_terminal(char) for char in said), repr(said)
    assert said.startswith("a") and "b" in said


@given(st.lists(layouts() | chops(), max_size=8))
def test_the_terminal_shows_the_same_as_if_all_of_it_went(updates: list[CompositorUpdate]) -> None:
    shown, sparing, lavish = TerminalPicture(), Screen(), Screen()
    sent = whole = 0
    for update in [LayoutUpdate([[strip_of([], WIDE)]] * HIGH, Region(0, 0, WIDE, HIGH)), *updates]:
        said = shown.update(update).render_segments(CONSOLE)
        sparing.feed(said)
        lavish.feed(update.render_segments(CONSOLE))
        assert sparing.cells == lavish.cells
        assert shown.update(update).render_segments(CONSOLE) == "", "nothing differs any more"
        sent, whole = sent + len(said), whole + len(update.render_segments(CONSOLE))
    assert sent <= 2 * whole


def test_erasing_leaves_no_half_of_a_wide_character() -> None:
    """Blanks from its right half to the end of the line: it goes, as it does where they are all written."""
    shown, sparing, lavish = TerminalPicture(), Screen(), Screen()
    wide = LayoutUpdate([[strip_of([Segment("ab\u6f22" + "x" * (WIDE - 4))], WIDE)]], Region(0, 0, WIDE, 1))
    blank = ChopsUpdate([{0: None, 3: strip_of([], WIDE - 3)}], [(0, 3, WIDE)], [[3, WIDE]])
    for update in (wide, blank):
        sparing.feed(shown.update(update).render_segments(CONSOLE))
        lavish.feed(update.render_segments(CONSOLE))
    assert sparing.cells == lavish.cells and sparing.cells[0, 2] == (" ", "")


def test_the_rest_of_a_line_is_erased_unless_it_is_coloured() -> None:
    shown = TerminalPicture()
    for style, erased in ((Style(color="red"), True), (Style(bgcolor="blue"), False), (Style(underline=True), False)):
        line = Strip([Segment("a", Style()), Segment(" " * (WIDE - 1), style)])
        said = shown.update(LayoutUpdate([[line]], Region(0, 0, WIDE, 1))).render_segments(CONSOLE)
        assert (ERASE in said) is erased, style
        shown.forget()


REPLAYED = f"""
import os, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from linkladder.app import terminal
surface = terminal.survey(os.environ, "/dev/ttyu0", sys.argv[1])
terminal.prepare(os.environ, surface)
from linkladder.app.main import LadderApp
import recordings
LadderApp(recordings.settled(*recordings.NAMES), surface.glyphs).run(mouse=False)
"""
PLACES = {
    "Runs": (b"r", "Filter"),
    "Results": (b"\r", "[run]"),
    "Link": (b"e", "Climb the ladder ]"),
    "System": (b"s", "Host name"),
    "This machine": (b"m", "offloads"),
}


def on_screen(grid: Grid) -> str:
    return "\n".join("".join(row).rstrip() for row in grid.cells)


Serial = tuple[Grid, Callable[..., int]]


@pytest.fixture
def serial(opened: Opened) -> Serial:
    """linkladder on a serial line, its runs those that were recorded; what its terminal shows, kept up."""
    terminal = opened((sys.executable, "-c", REPLAYED, "cp437"), TERM="vt100")
    grid = Grid(CODE_PAGE, 16)
    grid.feed(terminal.out)

    def follow(keys: bytes, words: str, least: int = 1) -> int:
        """How many bytes come for these keys, so many at least, until the words are there and nothing more comes."""
        before = len(terminal.out)
        terminal.type(keys)
        for _ in range(40):
            new = terminal.read(1.0)
            grid.feed(new)
            answered = not keys or len(terminal.out) >= before + least  # a busy machine may take its second
            if not new and answered and words in on_screen(grid):
                return len(terminal.out) - before
        raise AssertionError(f"never saw {words!r} on:\n{on_screen(grid)}")

    follow(b"", "> Read the report")
    return grid, follow


def test_opening_a_place_over_a_serial_line_takes_less_than_half_a_second(
    serial: Serial, record_property: Callable[[str, object], None]
) -> None:
    grid, follow = serial
    took = {}
    for name, (key, words) in PLACES.items():
        took[name] = follow(key, words)
        text = on_screen(grid)
        follow(b"\x0c", words, 500)  # all of it anew
        assert on_screen(grid) == text
        if name == "Results":
            took["Runs after Results"] = follow(b"\x1b", "Filter")
        if name != "Runs":
            took[f"Home after {name}"] = follow(b"\x1b", "Next step")
    most = max(took, key=lambda name: took[name])
    said = f"opening a place on a serial line: at most {took[most]} bytes ({most})"
    record_property("figure", f"{said}, {took[most] * 10 / 115200:.2f} s at 115200 baud")
    assert took[most] < 115200 / 10 / 2, took


def test_what_somebody_else_wrote_goes_with_a_key(serial: Serial) -> None:
    grid, follow = serial
    text = on_screen(grid)
    grid.feed(b"\x1b[3;1Hvmx0: link state changed to DOWN\x1b[2J")
    assert on_screen(grid) != text
    follow(b"\x0c", "Next step")
    assert on_screen(grid) == text
