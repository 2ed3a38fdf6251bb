"""The program and its terminal: how soon it shows something, and how it leaves when terminal or signal say so."""

from __future__ import annotations

import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from textual import constants
from textual._xterm_parser import XTermParser

from linkladder.app import keyboard
from linkladder.app.terminal import prepare, survey
from terminals import LINKLADDER, PATIENCE, Opened, Terminal

LEFT = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?2004l", b"\x1b[?1000l")  # screen, cursor, paste, mouse


def test_the_first_frame_waits_for_textual_alone() -> None:
    asked = "import sys, linkladder.app.main, linkladder.app.screens.home; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    late = {
        "linkladder.model",
        "linkladder.judge",
        "linkladder.store",
        "linkladder.host",
        "sqlite3",
        "psutil",
        "jinja2",
    }
    assert not late & set(done.stdout.split())


def test_a_terminal_that_goes_away_ends_it(opened: Opened) -> None:
    """Nobody tells the program by a signal, and yet it must not read the end of its input for ever."""
    terminal = opened()
    terminal.hang_up()
    assert terminal.process.wait(PATIENCE) == 128 + signal.SIGHUP


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_ends_it_and_the_terminal_is_left_clean(opened: Opened, number: signal.Signals) -> None:
    terminal = opened()
    terminal.process.send_signal(number)
    assert terminal.process.wait(PATIENCE) == 128 + number
    if number == signal.SIGTERM:
        said = terminal.read(1)
        assert all(part in said for part in LEFT)
        assert termios.tcgetattr(terminal.far) == terminal.before


def test_a_key_that_a_serial_line_cuts_in_two_is_still_that_key(opened: Opened) -> None:
    """F1 in two packets, as serial over LAN sends it; taken apart, it would be Esc and two letters."""
    terminal = opened(TERM="vt100", ESCDELAY="20000")  # a busy machine may take longer than a line; the waits: below
    terminal.type(b"\x1b")
    terminal.until_read()
    terminal.type(b"OP")
    terminal.read(PATIENCE, until=b"this help")


def test_noise_on_a_serial_line_is_no_key(opened: Opened) -> None:
    """Bytes that are no UTF-8, as a wrong baud rate or a pulled plug makes them, a sequence cut short among them."""
    terminal = opened(TERM="vt100")
    terminal.type(bytes(range(0x80, 0x100)) * 4 + "\u00e9".encode()[:1])
    terminal.until_read()
    terminal.type(b"?")
    assert b"Traceback" not in terminal.read(PATIENCE, until=b"this help")


def test_an_esc_is_looked_at_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not up to a tenth of a second later, each time that a person goes back."""
    monkeypatch.setattr(constants, "ESCAPE_DELAY", 0.05)
    parser = XTermParser()
    assert list(parser.feed("a")) and keyboard.until_due(parser) == keyboard.POLL
    assert list(parser.feed("\x1b")) == [] and keyboard.until_due(parser) <= 0.05
    deadline = time.monotonic() + PATIENCE
    while not (told := list(parser.tick())) and time.monotonic() < deadline:
        time.sleep(keyboard.until_due(parser))
    assert [getattr(key, "key", "") for key in told] == ["escape"] and keyboard.until_due(parser) == keyboard.POLL


@pytest.mark.parametrize(
    ("tty", "term", "waits"),
    [
        ("ttyv0", "xterm", 50),
        ("ttyu0", "vt220", 300),
        ("ttyS0", "xterm", 300),
        ("pts/1", "vt100", 300),
        ("pts/1", "xterm", 100),
    ],
)
def test_how_long_the_rest_of_a_key_may_be_under_way(tty: str, term: str, waits: int) -> None:
    environ: dict[str, str] = {}
    prepare(environ, survey({"TERM": term}, f"/dev/{tty}"))
    assert environ["ESCDELAY"] == str(waits)


CRASH = f"""
import os, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from linkladder.app.main import LadderApp
import synth
app = LadderApp(synth.settled())
app.call_later(lambda: app.set_interval(0.05, lambda: 1 / 0))  # a single one would be survived
app.run()
sys.exit(app.return_code)
"""


def test_a_flood_of_errors_leaves_the_terminal_clean(opened: Opened) -> None:
    terminal = opened((sys.executable, "-c", CRASH))
    said = terminal.read(PATIENCE, until=b"Traceback")
    assert terminal.process.wait(PATIENCE) == 1
    assert all(part in said for part in LEFT)
    assert said.index(LEFT[0]) < said.index(b"Traceback")
    assert termios.tcgetattr(terminal.far) == terminal.before


def test_leaving_by_a_key(opened: Opened) -> None:
    terminal = opened()
    terminal.type(b"q")
    assert terminal.process.wait(PATIENCE) == 0
    said = terminal.read(1)
    assert all(part in said for part in LEFT)
    assert termios.tcgetattr(terminal.far) == terminal.before


def test_without_a_terminal_it_says_so(tmp_path: Path) -> None:
    done = subprocess.run(LINKLADDER, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3 and "there is no terminal here" in done.stderr and not done.stdout


def test_a_state_that_cannot_be_kept_is_said(opened: Opened) -> None:
    terminal = Terminal(LINKLADDER_STATE="/dev/null/state")
    try:
        assert terminal.process.wait(PATIENCE) == 3
        assert b"cannot keep its state" in terminal.read(1)
    finally:
        terminal.close()


def test_every_verdict_has_its_colour() -> None:
    """widgets/verdict.py writes the words down once more, to spare the first frame an import."""
    from linkladder.app.widgets.verdict import STYLES
    from linkladder.verdicts import Verdict

    assert set(STYLES) == {v.value for v in Verdict}
