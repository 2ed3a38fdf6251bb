"""Which characters and colours a terminal is thought to have; what reaches it is looked at in test_flows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import synth
from linkladder.app.glyphs import CP437, GlyphFilter, plain
from linkladder.app.main import LadderApp
from linkladder.app.terminal import Glyphs, survey


@given(st.text())
def test_a_tier_holds_and_keeps_the_width(text: str) -> None:
    for tier in Glyphs:
        out = plain(text, tier)
        assert len(out) == len(text)
        if tier is Glyphs.ASCII:
            assert out.isascii()
        elif tier is Glyphs.CP437:
            assert all(c.isascii() or c in CP437 for c in out)


@pytest.mark.parametrize(
    ("environ", "tty", "glyphs", "console", "colour"),
    [
        ({"TERM": "xterm", "LANG": "C.UTF-8"}, "/dev/ttyv0", Glyphs.CP437, True, "standard"),
        ({"TERM": "vt100"}, "/dev/ttyu0", Glyphs.ASCII, True, "standard"),
        ({"TERM": "xterm-256color", "LANG": "en_GB.UTF-8"}, "/dev/pts/3", Glyphs.UNICODE, False, "auto"),
        ({"TERM": "xterm-256color", "LC_ALL": "C"}, "/dev/pts/3", Glyphs.ASCII, False, "auto"),
        ({"TERM": "dumb"}, "", Glyphs.ASCII, True, "standard"),
    ],
)
def test_terminals_are_told_apart(
    environ: dict[str, str], tty: str, glyphs: Glyphs, console: bool, colour: str
) -> None:
    found = survey(environ, tty)
    assert (found.glyphs, found.console, found.colour) == (glyphs, console, colour)
    assert survey(environ, tty, "ascii").glyphs is Glyphs.ASCII


async def test_a_line_is_converted_once_and_not_at_all_where_the_terminal_has_everything() -> None:
    """A new filter a frame would defeat Textual's cache of filtered lines, a third of what a live trial costs."""
    for tier, wanted in ((Glyphs.UNICODE, 0), (Glyphs.CP437, 1), (Glyphs.ASCII, 1)):
        app = LadderApp(synth.settled(), tier)
        async with app.run_test(size=(80, 25)):
            first, again = app.get_line_filters(), app.get_line_filters()
            assert all(a is b for a, b in zip(first, again, strict=True))
            assert sum(isinstance(f, GlyphFilter) for f in first) == wanted
