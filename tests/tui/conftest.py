"""Screens are tested at the console's size and at a roomy one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from linkladder.app import terminal
from terminals import LINKLADDER, PATIENCE, Opened, Terminal

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from helpers import Ticks

os.environ.pop("NO_COLOR", None)
terminal.prepare(os.environ, terminal.survey({"TERM": "xterm", "LANG": "C.UTF-8"}))  # before textual is imported


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """The program on a terminal of its own, once its first frame is there; ended after the test."""
    made: list[Terminal] = []

    def make(argv: Sequence[str] = LINKLADDER, **environ: str) -> Terminal:
        made.append(Terminal(argv, LINKLADDER_STATE=str(tmp_path), **environ))
        made[-1].read(PATIENCE, until=b"Next step")
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Those that the console survived; a test that asks for them expects some."""
    from linkladder.app.error_handling import ErrorTolerantApp

    found: list[Exception] = []
    survive = ErrorTolerantApp.survive

    def noted(self: ErrorTolerantApp, error: Exception) -> bool:
        found.append(error)
        return survive(self, error)

    monkeypatch.setattr(ErrorTolerantApp, "survive", noted)
    return found


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    """Waits until the console's clock has come round so many times more."""
    from helpers import until_true
    from linkladder.app.main import LadderApp

    count, tick = 0, LadderApp._tick

    async def counted(app: LadderApp) -> None:
        nonlocal count
        await tick(app)
        count += 1

    async def wait(pilot: Pilot[Any], times: int) -> None:
        last = count + times
        await until_true(pilot, lambda: count >= last)

    monkeypatch.setattr(LadderApp, "_tick", counted)
    return wait


@pytest.fixture(autouse=True)
def nothing_unexpected(request: pytest.FixtureRequest) -> Iterator[None]:
    """The console goes on after an error of its own, and a test must not."""
    asked = "errors" in request.fixturenames
    found = request.getfixturevalue("errors")
    yield
    if found and not asked:
        raise found[0]
