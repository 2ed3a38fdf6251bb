"""The lab as a person opens it: two consoles in one window, or one; leaving them takes the lab down."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tui"))

from console import Console
from journey import REAL_CONSOLES
from linkladder import __version__
from world import TOP, Lab

pytestmark = [*REAL_CONSOLES, pytest.mark.timeout(180)]
NAME = "lla"  # not the lab's own name: one that a person has open is left alone
SERVER = f"linkladder-{NAME}"
HERE = str(Path(__file__).parent)
OPEN = f"import sys; sys.path.insert(0, {HERE!r}); import lab; lab.PREFIX = {NAME!r}; sys.exit(lab.main())"


@pytest.fixture
def opened() -> Iterator[list[Console]]:
    """Whatever became of the test, no server, lab or result of it stays."""
    made: list[Console] = []
    yield made
    with contextlib.suppress(subprocess.CalledProcessError):
        _panes("kill-server")
    for one in made:
        one.close()
    for _ in range(100):  # the lab takes itself down
        if not _spaces():
            break
        time.sleep(0.1)
    Lab(NAME).down(forget=True)


def _panes(*words: str) -> str:
    return subprocess.run(["tmux", "-L", SERVER, *words], check=True, capture_output=True, text=True).stdout


def _spaces() -> list[str]:
    found = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True).stdout
    return re.findall(rf"^{NAME}-\S+", found, re.MULTILINE)


def _lab(opened: list[Console], *options: str) -> Console:
    # a home of its own: the person's tmux.conf may number panes otherwise
    argv = ["env", f"HOME={TOP}/.work", sys.executable, "-c", OPEN, *options]
    opened.append(Console(argv))
    return opened[-1]


def test_two_consoles_in_one_window_of_a_small_terminal(opened: list[Console]) -> None:
    """alpha's Home above, beta's below; a key leaves each, and with the last of them the lab is gone."""
    window = _lab(opened)
    for pane, (name, step) in enumerate((("alpha", "> Climb the ladder"), ("beta", "> Describe the link"))):
        window.until(f"linkladder {__version__} {name}")
        window.until(step)
        lines = _panes("capture-pane", "-p", "-t", f"lab.{pane}").splitlines()
        assert lines[0].split() == ["linkladder", __version__, name], "Home's first line stands above its pane"
        assert "Next step: press Enter" in "\n".join(lines) and "q  Quit" in lines[-1]
    assert _panes("list-panes", "-t", "lab", "-F", "#{pane_width}x#{pane_height}").split() == ["80x12", "80x11"]
    assert len(_spaces()) == 3
    window.keys("q")
    for _ in range(200):
        if len(_panes("list-panes", "-t", "lab").splitlines()) == 1:
            break
        time.sleep(0.1)
    assert window.until("q Quit").split()[:3] == ["linkladder", __version__, "beta"], "beta's has the whole window"
    window.keys("q")
    window.until("left with 0")
    assert _spaces() == []
    with pytest.raises(subprocess.CalledProcessError):
        _panes("list-sessions")


def test_one_console_without_a_window_of_its_own(opened: list[Console]) -> None:
    console = _lab(opened, "--single", "--unpaired")
    text = console.until("> Open pairing")
    assert text.splitlines()[0].split() == ["linkladder", __version__, "alpha"]
    with pytest.raises(subprocess.CalledProcessError):
        _panes("list-sessions")
    console.keys("q")
    console.until("left with 0")
    assert _spaces() == []
