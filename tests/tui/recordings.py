"""Real lab runs as tests and pictures replay them; recorded/record.py made them, and says how to make them again."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from linkladder import codec, events, formats, report
from linkladder.app.backend import PairingState, PairStage, PeerView, Setting
from linkladder.app.main import LadderApp
from linkladder.app.screens.ladder import LadderScreen
from linkladder.findings import Finding, Health
from linkladder.host.switches import Appliance
from linkladder.judge import judge_document
from linkladder.model import Document, ExperimentResult, HostFacts, RungResult, TrialResult
from linkladder.plan import Link
from linkladder.run import eventlog
from linkladder.run.eventlog import Entry
from linkladder.run.progress import Progress
from linkladder.store import KeptVerdict, RunSummary
from linkladder.verdicts import DocumentJudgement, RungJudgement
from replay_backend import ReplayBackend, ReplaySession

FOLDER = Path(__file__).parent / "recorded"
NAMES = ("quick", "matrix", "failed", "contradicted", "lost")


@dataclass(frozen=True)
class Recorded:
    """A run's events as they came, and what the store had of it afterwards."""

    entries: list[Entry]
    document: Document
    summary: RunSummary

    @property
    def id(self) -> str:
        return self.document.run.id

    @cached_property
    def judged(self) -> DocumentJudgement:
        return judge_document(self.document)

    @property
    def word(self) -> KeptVerdict:
        """The verdict as the store keeps it."""
        judgement = self.judged.judgement
        return KeptVerdict(judgement.verdict.value, judgement.provisional)

    def rung(self, name: str) -> RungResult:
        return next(r for r in self.document.rungs if r.name == name)

    def verdict(self, name: str) -> RungJudgement:
        return next(r for r in self.judged.rungs if r.rung == name)

    def trials(self) -> list[tuple[RungResult, ExperimentResult, TrialResult]]:
        return [(r, e, t) for r in self.document.rungs for e in r.experiments for t in e.trials]

    def when(self, kind: type, rung: str = "", number: int = 0) -> float:
        """The time of the event of this kind, of this rung."""
        found = [at for at, e in self.entries if isinstance(e, kind) and (not rung or getattr(e, "rung", "") == rung)]
        return found[number]

    def trial_began(self, rung: str, begins: str, number: int = 0) -> float:
        """When a trial of an experiment whose name begins so began."""
        found = [at for at, e in self.entries if isinstance(e, events.TrialStarted)
                 and e.rung == rung and e.experiment.startswith(begins)]  # fmt: skip
        return found[number]

    def progress(self, at: float) -> Progress:
        """What the events to this moment come to."""
        shown = Progress()
        for when, event in self.entries:
            if when <= at:
                shown.apply(event, when)
        shown.at = at
        return shown


@cache
def load(name: str) -> Recorded:
    with lzma.open(FOLDER / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        entries = [eventlog.parse(line) for line in lines]
    with lzma.open(FOLDER / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        stored = json.load(file)
    run = Recorded(entries, formats.document(stored["document"]), codec.from_json(RunSummary, _kept(stored["summary"])))
    judged = {r.rung: r.best_bps for r in run.judged.rungs if r.best_bps is not None}
    return replace(run, summary=replace(run.summary, best_bps=run.summary.best_bps | judged))


def _kept(summary: dict[str, Any]) -> dict[str, Any]:
    """They were recorded as words: 'provisional PASS'."""

    def kept(words: str) -> dict[str, Any]:
        return {"word": words.removeprefix("provisional "), "provisional": words.startswith("provisional ")}

    verdicts = {rung: kept(words) for rung, words in summary.get("verdicts", {}).items()}
    return {**summary, "verdict": kept(summary["verdict"]), "verdicts": verdicts}


@cache
def pairing() -> tuple[PairingState, ...]:
    """alpha's screen when it had heard beta, when it had the code, and when they were paired."""
    return tuple(codec.from_json(PairingState, stage) for stage in _alpha()["pairing"])


@cache
def _alpha() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "alpha.json").read_text(encoding="utf-8"))
    return found


class Alpha(ReplayBackend):
    """The lab's alpha, which pairs as it did, and exports what the product makes of a document."""

    async def open_pairing(self, minutes: float = 10) -> None:
        self.state = pairing()[0]

    async def pair_with(self, address: str) -> None:
        self.state = pairing()[1]

    async def answer_code(self, typed: str) -> None:
        await super().answer_code(typed)
        if self.state.stage is PairStage.PAIRED:
            self.state, self.peers = pairing()[2], peers()

    def export(self, run_id: str, kind: str) -> tuple[str, ...]:
        forms: dict[str, Callable[[Document], Iterable[str]]] = {
            "html": report.html,
            "json": report.json_pieces,
            "csv": report.csv_trials,
        }
        path = Path(self.export_folder) / f"{run_id}.{kind}"
        path.write_text("".join(forms[kind](self.load(run_id))), encoding="utf-8")
        return (str(path),)


def peers() -> tuple[PeerView, ...]:
    return tuple(codec.from_json(PeerView, peer) for peer in _alpha()["peers"])


def fresh() -> Alpha:
    """alpha before it knew anybody."""
    told = _alpha()
    findings = tuple(Finding(f["title"], Health(f["state"]), f["detail"], f["remedy"]) for f in told["findings"])
    settings = tuple(codec.from_json(Setting, s) for s in told["settings"])
    made = Alpha(formats.record(HostFacts, told["host"], "linkladder/1"), findings, settings)
    made.switches = codec.from_json(Appliance, told["switches"])
    return made


def settled(*names: str) -> Alpha:
    """alpha, paired, with these runs stored; the first of them is what it would measure now."""
    made = fresh()
    made.peers, made.described = peers(), codec.from_json(Link, _alpha()["link"])
    made.stored = {load(n).id: (load(n).summary, load(n).document) for n in names}
    made.entries = load(names[0]).entries if names else []
    return made


async def watch(app: LadderApp, run: Recorded, at: float) -> ReplaySession:
    """The Ladder as it was at this second of the run, all that was asked before it answered; there time stands."""
    session = ReplaySession(run.entries, clock=lambda: 0.0)
    assert isinstance(app.backend, ReplayBackend)
    app.backend.running = session
    progress = app.watch_run(session)
    while True:
        session.skip_to(at)
        for when, event in await session.poll():
            progress.apply(event, when)
        progress.at = max(progress.at, at)
        if not session._held or session._entries[session._next][0] > at:
            break
        await session.control("proceed")
    session.said.clear()
    app.push_screen(LadderScreen())
    return session
