"""README pictures of the console from a real lab run: `sudo .venv/bin/python docs/pictures.py [LOG DATABASE]`.

Without arguments it sets the lab up, climbs the quick plan headless through the process the console uses,
and draws Home, Ladder, Results, Pair and the report from what came out.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TOP / "tests" / "lab"), str(TOP / "tui" / "src")]
os.environ.pop("NO_COLOR", None)

from linkladder.app import terminal  # noqa: E402

terminal.prepare(os.environ, terminal.survey({"TERM": "xterm", "LANG": "C.UTF-8"}))

from linkladder import codec, eventlog, events  # noqa: E402
from linkladder.app.backend import Finding, Heard, PeerView  # noqa: E402
from linkladder.app.main import LadderApp  # noqa: E402
from linkladder.app.replay import ReplayBackend, ReplaySession  # noqa: E402
from linkladder.app.screens.ladder import LadderScreen  # noqa: E402
from linkladder.app.screens.pair import PairScreen  # noqa: E402
from linkladder.app.screens.results import ResultsScreen  # noqa: E402
from linkladder.plan import Link  # noqa: E402
from linkladder.store import Store  # noqa: E402

SIZE = (92, 28)
CLIMB = """
import json, sys
from linkladder import codec, state
from linkladder.app.live import LiveBackend
made = LiveBackend()
link = made.link()
(state.folder() / "pictures.json").write_text(json.dumps(codec.to_json(made.plan("quick", link))))
(state.folder() / "findings.json").write_text(json.dumps([codec.to_json(f) for f in made.findings()]))
"""


def measure(folder: Path) -> tuple[Path, Path]:
    """A quick run in the lab; its event log and its store."""
    from world import Lab

    with Lab("llp").paired() as lab:
        state = lab.state("alpha")
        subprocess.run(lab.command("alpha", [sys.executable, "-c", CLIMB]), check=True)
        runner = [sys.executable, "-m", "linkladder.app.runner", str(state / "pictures.json")]
        process = subprocess.Popen(lab.command("alpha", [*runner]))
        _proceed_when_asked(state, process)
        log = max((state / "live").glob("*.jsonl"))
        kept = folder / "pictures.jsonl"
        kept.write_bytes(log.read_bytes())
        subprocess.run(["cp", "-a", str(state), str(folder / "state")], check=True)
    return kept, folder / "state"


def _proceed_when_asked(state: Path, process: subprocess.Popen[bytes]) -> None:
    from linkladder.app.session import LiveSession, where

    async def steer() -> None:
        while process.poll() is None and not (found := where(state)):
            await asyncio.sleep(0.2)
        session = LiveSession(state, found, "pictures")
        while process.poll() is None:
            for _, event in await session.poll():
                if isinstance(event, events.WaitingForOperator):
                    await session.control("proceed")
            await asyncio.sleep(0.5)

    asyncio.run(steer())


async def draw(log: Path, state: Path) -> None:
    entries = list(eventlog.read(log))
    store = Store(state)
    run = store.runs()[0]
    document = store.load(run.id)
    contract = document.run.plan.contract
    paths = {r.name: r.path for r in document.run.plan.rungs if r.path.peer}
    far = next(iter(paths.values())).remote
    host = document.run.hosts["near"]
    checks = tuple(codec.from_json(Finding, f) for f in json.loads((state / "findings.json").read_text()))
    backend = ReplayBackend(
        host, checks, peers=(PeerView("beta", (far,), True, 0.05),), described=Link(contract, paths)
    )
    backend.stored = {run.id: (run, document)}
    backend.entries = entries
    backend.nearby = (Heard("beta", far, "vmx0", 1.0, 0.05),)
    app = LadderApp(backend)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(1.5)
        save(app, "home")
        app.push_screen(ResultsScreen(run.id))
        await pilot.pause(1.0)
        await pilot.press("left")  # the last tab: the link itself
        await pilot.pause(0.5)
        save(app, "results")
        app.pop_screen()
        app.push_screen(PairScreen())
        await pilot.pause(0.7)
        await backend.pair_with(far)
        await pilot.pause(0.7)
        save(app, "pair")
        app.pop_screen()
        session = ReplaySession(entries, clock=lambda: 0.0)
        progress = app.watch_run(session)
        trials = [(i, e) for i, (_, e) in enumerate(entries) if isinstance(e, events.TrialStarted)]
        last = max(i for i, e in trials if e.rung == "dc-link" and e.experiment.startswith("tcp"))
        for at, event in entries:
            if at <= entries[last][0] + 10.5:
                progress.apply(event, at)
        app.session = None
        app.push_screen(LadderScreen())
        await pilot.pause(1.0)
        save(app, "ladder")
    store.close()


def report(state: Path, scratch: Path) -> None:
    """The first page of the report, as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chrome")
    if not browser:
        print("no chromium here: docs/report.png stays as it is")
        return
    page, picture = scratch / "report.html", TOP / "docs" / "report.png"
    make = [sys.executable, "-m", "linkladder", "report", "last", "--html", str(page)]
    subprocess.run(make, check=True, env=os.environ | {"LINKLADDER_STATE": str(state)})
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1060,1100"]
    subprocess.run([browser, *options, f"--screenshot={picture}", page.as_uri()], check=True, stderr=subprocess.DEVNULL)
    print(f"wrote {picture}")


def save(app: LadderApp, name: str) -> None:
    path = TOP / "docs" / f"{name}.svg"
    path.write_text(app.export_screenshot(title="linkladder"), encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        given = [Path(a) for a in sys.argv[1:3]]
        log, state = given if len(given) == 2 else measure(Path(scratch))
        asyncio.run(draw(log, state))
        report(state, Path(scratch))
