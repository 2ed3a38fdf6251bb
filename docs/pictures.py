"""README's pictures of the console: `.venv/bin/python docs/pictures.py`.

They are drawn from runs that were recorded in the lab, by replaying them: tests/tui/recorded/record.py measures anew.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from unittest import mock

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "tests" / "tui"), str(TOP / "tui" / "src")]
os.environ.pop("NO_COLOR", None)

from linkladder.app import terminal  # noqa: E402

terminal.prepare(os.environ, terminal.survey({"TERM": "xterm", "LANG": "C.UTF-8"}))  # before textual is imported

from textual.pilot import Pilot  # noqa: E402
from textual.screen import Screen  # noqa: E402

import recordings  # noqa: E402
from helpers import settled, until  # noqa: E402
from linkladder import report  # noqa: E402
from linkladder.app.main import LadderApp  # noqa: E402
from linkladder.app.screens.link import LinkScreen  # noqa: E402
from linkladder.app.screens.pair import PairScreen  # noqa: E402
from linkladder.app.screens.results import ResultsScreen  # noqa: E402
from linkladder.app.screens.runs import RunsScreen  # noqa: E402
from linkladder.app.screens.system import SystemScreen  # noqa: E402

SIZE = (92, 28)
RUN, MATRIX = recordings.load("quick"), recordings.load("matrix")
LIVE = RUN.trial_began("dc-link", "tcp", 1) + 10.5  # in the last TCP trial on the link
Steps = Callable[[Pilot[None]], Awaitable[object]]


async def home(pilot: Pilot[None]) -> None:
    await until(pilot, "round trip")
    await until(pilot, "checks want")


async def pair(pilot: Pilot[None]) -> None:
    await pilot.app.backend.open_pairing()  # type: ignore[attr-defined]
    await pilot.app.backend.pair_with("")  # type: ignore[attr-defined]
    await shown(pilot, PairScreen(), recordings.pairing()[1].words[-1])


async def ladder(pilot: Pilot[None]) -> None:
    await recordings.watch(pilot.app, RUN, LIVE)  # type: ignore[arg-type]
    await until(pilot, "dc-link measuring")


async def results(pilot: Pilot[None]) -> None:
    await shown(pilot, ResultsScreen(MATRIX.id), "[run]")
    await pilot.press("left")  # the last tab: the link itself
    await until(pilot, "[dc-link]")


async def system(pilot: Pilot[None]) -> None:
    """Its clock at the end of the run, or every drawing would differ."""
    clock = f"{datetime.fromisoformat(RUN.document.run.ended):%d %b %H:%M}"
    with mock.patch("time.strftime", return_value=clock):
        await shown(pilot, SystemScreen(), "records are in UTC")
        await settled(pilot)


async def shown(pilot: Pilot[None], screen: Screen[object], words: str) -> None:
    pilot.app.push_screen(screen)
    await until(pilot, words)


PICTURES: dict[str, Steps] = {
    "home": home,
    "pair": pair,
    "link": lambda pilot: shown(pilot, LinkScreen(), "[ Climb the ladder ]"),
    "ladder": ladder,
    "results": results,
    "runs": lambda pilot: shown(pilot, RunsScreen(), f"{len(recordings.NAMES)} runs"),
    "system": system,
}


async def draw(name: str) -> str:
    """One picture, as SVG."""
    runs = {"runs": recordings.NAMES, "results": ("matrix",)}.get(name, ("quick",))
    app = LadderApp(recordings.fresh() if name == "pair" else recordings.settled(*runs))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, "Next step")
        await PICTURES[name](pilot)
        await settled(pilot)
        return app.export_screenshot(title="linkladder")


def first_page(picture: Path) -> None:
    """The first page of the report, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chrome")
    if not browser:
        print(f"no chromium here: {picture} stays as it is")
        return
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "report.html"
        page.write_text(report.html(RUN.document), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1060,1100"]
        argv = [browser, *options, f"--screenshot={picture}", page.as_uri()]
        subprocess.run(argv, check=True, stderr=subprocess.DEVNULL)
    print(f"wrote {picture}")


async def main() -> None:
    for name in PICTURES:
        path = TOP / "docs" / f"{name}.svg"
        path.write_text(await draw(name), encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    asyncio.run(main())
    first_page(TOP / "docs" / "report.png")
