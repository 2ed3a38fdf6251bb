"""A backend that plays a recorded run: screens are tested and pictured with it, without a second appliance."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from linkladder import events, plan
from linkladder.app.backend import (
    Heard,
    HomeView,
    PairingState,
    PairStage,
    PeerView,
    PlanChoice,
    Reach,
    Setting,
)
from linkladder.app.stored_runs import Overview
from linkladder.errors import LinkladderError
from linkladder.findings import Finding
from linkladder.host.disks import Disk
from linkladder.host.switches import Appliance, Stick
from linkladder.judge import ceiling
from linkladder.keeping import Confirm, Winners
from linkladder.model import Document, HostFacts, Plan, RunState
from linkladder.plan import Asked, Link
from linkladder.run.eventlog import Entry
from linkladder.settings.overview import OnLoan
from linkladder.store import KeptVerdict, RunSummary
from linkladder.upgrade import Manifest
from linkladder.upgrade.status import Status
from linkladder.verdicts import Ceiling, Comparison, DocumentJudgement

THEIRS = "530284"  # what the other end's screen shows while this one pairs


class ReplaySession:
    """Plays entries at `speed` times real time; it waits at an operator's move and heeds the controls it can."""

    def __init__(self, entries: list[Entry], speed: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries = entries
        self._speed = speed
        self._clock = clock
        self._last = clock()
        self._at = 0.0
        self._next = 0
        self._held = False
        self.controlling = True
        self.holder = "this screen"
        self.said: list[tuple[str, str]] = []
        self.run_id = next((e.run_id for _, e in entries if isinstance(e, events.RunStarted)), "")

    @property
    def log(self) -> str:
        return self.run_id

    async def now(self) -> float:
        tick = self._clock()
        if not self._held:
            self._at += (tick - self._last) * self._speed
        self._last = tick
        return self._at

    async def poll(self) -> list[Entry]:
        now = await self.now()
        due: list[Entry] = []
        while not self._held and self._next < len(self._entries) and self._entries[self._next][0] <= now:
            entry = self._entries[self._next]
            due.append(entry)
            self._next += 1
            if isinstance(entry[1], events.WaitingForOperator):
                self._held = True
                self._at = entry[0]
        return due

    async def control(self, verb: str, text: str = "") -> None:
        self.said.append((verb, text))
        if verb == "proceed":
            self._held = False
        elif verb == "cancel":
            finished = events.RunFinished(
                self.run_id, RunState.INCOMPLETE, 0, "cancelled by the operator", cancelled=True
            )
            self._entries = [*self._entries[: self._next], (self._at, finished)]
            self._held = False

    async def take_over(self) -> None:
        self.controlling = True
        self.holder = "this screen"

    def skip_to(self, at: float) -> None:
        """Jump forward and stay there, for tests and pictures: what is seen depends on no machine's speed."""
        self._at = max(self._at, at)
        self._last = self._clock()
        self._speed = 0.0


@dataclass
class ReplayBackend:
    """Everything from memory; tests set what they need."""

    host: HostFacts = field(default_factory=lambda: HostFacts("alpha"))
    checks: tuple[Finding, ...] = ()
    tunables: tuple[Setting, ...] = ()
    peers: tuple[PeerView, ...] = ()
    stored: dict[str, tuple[RunSummary, Document | None]] = field(default_factory=dict)
    described: Link = field(default_factory=Link)
    entries: list[Entry] = field(default_factory=list)
    speed: float = 1.0
    nearby: tuple[Heard, ...] = ()
    state: PairingState = field(default_factory=PairingState)
    judged: Callable[[Document], DocumentJudgement] | None = None
    log: list[str] = field(default_factory=list)
    running: ReplaySession | None = None
    started: list[Plan] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    system_calls: list[tuple[str, ...]] = field(default_factory=list)
    patience: float = 60.0  # seconds to say that what won is to be kept
    upgrades: Status = field(default_factory=lambda: Status("0.1.0 runs and is kept", "vtbd0p3"))
    offered: Manifest = field(
        default_factory=lambda: Manifest("9.0.0", "amd64", 8, "2026-11-22 12:00", 3 << 30, "0" * 64, 300 << 20)
    )
    switches: Appliance = field(default_factory=lambda: Appliance(zone="Etc/UTC", ssh=False, kernel="kernel"))
    plugged: tuple[Stick, ...] = ()
    drives: tuple[Disk, ...] = ()
    export_folder: str = "/tmp"
    user: str = ""
    lent: OnLoan | None = None

    def home(self) -> HomeView:
        seen = Overview(tuple(self.runs()))
        return HomeView(
            self.host,
            (),
            self.peers,
            self.described,
            self._finished(seen.last) if seen.last else None,
            seen.resumable,
            seen.runs[0].plan if seen.runs else "",
            empty=seen.empty,
        )

    def _finished(self, run: RunSummary) -> RunSummary:
        """With the verdicts that the engine keeps when a run ends."""
        document = self.stored[run.id][1]
        rungs = self.judge(document).rungs if document else ()
        return replace(run, verdicts={r.rung: KeptVerdict(r.verdict.value, r.provisional) for r in rungs})

    def facts(self) -> HostFacts:
        return self.host

    def findings(self, anew: bool = False) -> tuple[Finding, ...]:
        return self.checks

    def settings(self) -> tuple[Setting, ...]:
        return self.tunables

    def log_lines(self, count: int) -> list[str]:
        return self.log[-count:]

    async def probe(self, peer: PeerView) -> PeerView:
        return peer

    def leaves_by(self, address: str, local: str = "") -> str:
        return ""

    def link(self) -> Link:
        return self.described

    def save_link(self, link: Link) -> None:
        self.described = link

    def plans(self, link: Link) -> tuple[PlanChoice, ...]:
        made = [one for name in plan.BUILTIN if not plan.only_pings(one := self.plan(name, link))]
        return tuple(PlanChoice(p.name, p.title, plan.seconds(p), plan.trials(p), plan.longest(p)) for p in made)

    def plan(self, name: str, link: Link, asked: Asked | None = None) -> Plan:
        asked = asked or plan.Asked(available=plan.rungs_to_try(link))
        return plan.with_link(plan.builtin(name, self.host.cores, link.contract, asked), link)

    def soonest(self, made: Plan) -> float:
        return plan.soonest(made)

    def vain(self, made: Plan) -> str:
        return self.switches.why_not if plan.restarts(made) else ""

    def unpaired(self, made: Plan, resume: str = "") -> tuple[str, ...]:
        return ()

    def ceiling(self, link: Link) -> Ceiling | None:
        return ceiling(link.contract) if link.contract else None

    def runs(self, words: str = "") -> list[RunSummary]:
        found = [summary for summary, _ in self.stored.values()]
        asked = words.lower().split()
        return sorted(
            (r for r in found if all(w in f"{r.id} {r.plan} {r.peer} {r.state} {r.verdict}".lower() for w in asked)),
            key=lambda r: r.id,
            reverse=True,
        )

    def load(self, run_id: str) -> Document:
        document = self.stored[run_id][1]
        if document is None:
            raise LinkladderError("this run cannot be read", "it is not part of the replay")
        return document

    def judge(self, document: Document) -> DocumentJudgement:
        if self.judged:
            return self.judged(document)
        from linkladder.judge import judge_document

        return judge_document(document)

    def compare(self, run_a: str, run_b: str) -> Comparison:
        from linkladder.judge import compare

        return compare(self.load(run_a), self.load(run_b))

    def delete(self, run_id: str) -> None:
        del self.stored[run_id]

    def export(self, run_id: str, kind: str) -> tuple[str, ...]:
        path = f"{self.export_folder}/{run_id}.{kind}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"replayed run {run_id}\n")
        return (path,)

    def reach(self) -> Reach:
        return Reach("admin", next((a for n in self.host.nics if not n.loopback for a in n.addresses), ""), False)

    def sticks(self) -> tuple[Stick, ...]:
        return self.plugged

    async def to_stick(self, paths: tuple[str, ...], stick: Stick | None) -> str:
        self.system_calls.append(("to_stick", stick.device if stick else ""))
        return "Written to the stick."

    async def start(self, plan: Plan, resume: str = "") -> ReplaySession:
        self.started.append(plan)
        if resume:
            self.resumed.append(resume)
        self.running = ReplaySession(self.entries, self.speed)
        return self.running

    def current(self) -> ReplaySession | None:
        return self.running

    def used_by(self) -> str:
        return self.user

    def on_loan(self) -> OnLoan | None:
        return self.lent

    async def open_pairing(self, minutes: float = 10) -> None:
        self.state = PairingState(PairStage.LISTENING, minutes * 60, self.nearby)

    def pairing(self) -> PairingState:
        return self.state

    async def pair_with(self, address: str) -> None:
        self.state = replace(
            self.state, stage=PairStage.COMPARE, peer="beta", code="402 917", words=("otter", "lamp", "river")
        )

    async def answer_code(self, typed: str) -> None:
        await asyncio.sleep(0)
        if typed.replace(" ", "") == THEIRS:
            self.peers = (*self.peers, PeerView("beta", ("10.7.0.2",), True, 0.21))
            self.state = replace(self.state, stage=PairStage.PAIRED, message="beta is paired")
        else:
            await self.refuse_code()

    async def refuse_code(self) -> None:
        self.state = replace(self.state, stage=PairStage.FAILED, message="refused here; nothing was kept")

    async def close_pairing(self) -> None:
        self.state = PairingState()

    def paired(self) -> tuple[PeerView, ...]:
        return self.peers

    def rename_peer(self, name: str, new: str) -> None:
        self.peers = tuple(replace(p, name=new) if p.name == name else p for p in self.peers)

    def remove_peer(self, name: str) -> None:
        self.peers = tuple(p for p in self.peers if p.name != name)

    def appliance(self) -> Appliance:
        return self.switches

    def disks(self) -> tuple[Disk, ...]:
        return self.drives

    def upgrade_status(self) -> Status:
        return self.upgrades

    async def upgrade(
        self, source: str, told: Callable[[str, int, int, float], None], agreed: Callable[[Manifest], Awaitable[bool]]
    ) -> str:
        self.system_calls.append(("upgrade", source))
        for done in (1, 50, 100):
            told("writing", done, 100, done / 10)
        return "9.0.0 is written" if await agreed(self.offered) else ""

    async def keep(self, found: Winners, confirmed: Confirm) -> tuple[str, ...]:
        changes = tuple(f"{one.kind} vmx1: {one.value}" for one in found.settings)
        return changes if await confirmed(changes, self.patience) else ()

    async def system(self, verb: str, *words: str, said: str = "") -> str:
        self.system_calls.append((verb, *words, *([said] if said else [])))
        return ""
