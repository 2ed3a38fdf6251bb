"""Implements the backend on the real host, doctor, store, peers, pairing and measuring process."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from linkladder import __version__, atomic_files, damage, host, log_file, plan, reservation, state
from linkladder.app.backend import HomeView, PairingState, PeerView, PlanChoice
from linkladder.app.own_machine import Machine
from linkladder.app.probe import probe
from linkladder.app.stored_runs import StoredRuns, as_finding, open_store
from linkladder.errors import LinkladderError, UsageError
from linkladder.findings import Finding, Health
from linkladder.model import HostFacts, Plan, RungName
from linkladder.plan import Asked, Link
from linkladder.plan.link import FILE as LINK
from linkladder.run import lock
from linkladder.run.launch import launch, log_lines
from linkladder.run.session import LiveSession, current
from linkladder.run.steering import Seat, terminal
from linkladder.store.recovery import NAME as DATABASE
from linkladder.trust import peers as pinned
from linkladder.verdicts import Ceiling

FRESH = 30.0  # seconds for which the doctor's findings are kept at least
STANDS = 10.0  # times as long as they took, for which they are kept if that is longer
if TYPE_CHECKING:
    from linkladder.app.pairing_adapter import PairingAdapter
    from linkladder.settings.overview import OnLoan


class LiveBackend(Machine, StoredRuns):
    """The backend of a real appliance; blocking methods close what they open, so each may run in its own thread."""

    def __init__(self, who: str = "") -> None:
        self.folder = state.ensure(state.folder())
        self._seat = Seat(self.folder, who or f"the screen on {terminal()}")
        self._examined: tuple[float, tuple[Finding, ...]] = (-1.0, ())  # until when the findings are kept, and they
        self._pairing: PairingAdapter | None = None
        log_file.start(self.folder, logging.WARNING)  # not to standard error, which is the screen

    # --- this machine

    def home(self) -> HomeView:
        from linkladder.run import awaited  # imported late, so that the first frame comes sooner

        seen = self.overview()
        troubles = [as_finding(seen.trouble)] if seen.trouble else []
        link = Link()
        try:
            link = self.link()
        except UsageError as error:  # edited by hand and damaged; the Link screen writes it anew
            troubles.append(Finding("the link's description", Health.BAD, str(error), "describe the link again"))
        peers, no_peers = tuple[PeerView, ...](), ""
        try:
            peers = self.peers()
        except LinkladderError as error:  # Home must come up all the same
            no_peers = f"{error.title}: {error.cause}"
            troubles.append(Finding("the list of peers", Health.BAD, no_peers, error.hint))
        return HomeView(
            self.facts(),
            tuple(troubles),
            peers,
            link,
            seen.last,
            None if lock.measuring(self.folder) else seen.resumable,  # such as one that is about to restart
            seen.runs[0].plan if seen.runs else "",
            f"{seen.trouble.title}: {seen.trouble.cause}" if seen.trouble and seen.unreadable else "",
            seen.hosts,
            awaited.sentence(self.folder),
            damage.why(self.folder, DATABASE),
            bool(damage.why(self.folder, LINK)),
            no_peers or damage.why(self.folder, pinned.FILE),
            seen.empty,
        )

    def facts(self) -> HostFacts:
        return replace(host.facts(), version=__version__)

    def findings(self, anew: bool = False) -> tuple[Finding, ...]:
        from linkladder import doctor  # imported late, so that the first frame comes sooner

        until, found = self._examined
        began = time.monotonic()
        if anew or began > until:
            found = doctor.examine()
            ended = time.monotonic()
            self._examined = (ended + max(FRESH, STANDS * (ended - began)), found)
        return found

    def log_lines(self, count: int) -> list[str]:
        return log_lines(self.folder, count)

    # --- peers

    def peers(self) -> tuple[PeerView, ...]:
        return tuple(PeerView(p.name, p.addresses, None, None, p.fingerprint, port=p.port) for p in pinned.load())

    async def probe(self, peer: PeerView) -> PeerView:
        return await probe(peer)

    def leaves_by(self, address: str, local: str = "") -> str:
        return host.route_interface(address, local)

    # --- link and plans

    def link(self) -> Link:
        return plan.load_link_or_empty(self.folder)

    def save_link(self, link: Link) -> None:
        plan.save_link(self.folder, link)

    def plans(self, link: Link) -> tuple[PlanChoice, ...]:
        """The built-in plans and the files in the state folder's plans/; the title of an unusable one says why."""
        choices = []
        for name in (*plan.BUILTIN, *sorted(p.stem for p in (self.folder / "plans").glob("*.toml"))):
            try:
                made = self.plan(name, link)
            except UsageError as error:
                choices.append(PlanChoice(name, f"This plan cannot be used: {error.title}"))
            else:
                if name in plan.BUILTIN and plan.only_pings(made):
                    continue
                least, most = self.soonest(made), plan.longest(made)
                choices.append(PlanChoice(name, made.title, least, plan.trials(made), most))
        return tuple(choices)

    def plan(self, name: str, link: Link, asked: Asked | None = None) -> Plan:
        cores, asked = len(host.core_times()), asked or plan.Asked(available=plan.rungs_to_try(link))
        if name in plan.BUILTIN:
            read = plan.builtin(name, cores, link.contract, asked)
        else:
            read = plan.read_plan_file(self.folder / "plans" / f"{name}.toml", cores, link.contract, asked)
        made = plan.with_link(read, link, paired=[peer.name for peer in self.peers()])
        rungs = tuple(r for r in made.rungs if r.name == RungName.LOCALHOST or r.path.remote or made.mesh)
        made = replace(made, rungs=rungs)
        if not any(r.stairs for r in rungs):
            return made
        from linkladder.run.starting_point import begun_at_best  # imported late: the first page needs no earlier run

        with open_store(self.folder) as store:
            return begun_at_best(made, store)[0]

    def soonest(self, made: Plan) -> float:
        from linkladder.run.expected import soonest  # imported late, so that the first frame comes sooner

        return soonest(made, self.folder)

    def vain(self, made: Plan) -> str:
        if not plan.restarts(made):
            return ""
        from linkladder.engine.kernels import Boots  # imported late, as hardly any run restarts the machine
        from linkladder.run import restarting

        boots = Boots(restarting.kernels())
        lacking = [boots.lacking(rung).get(e.id, "") for rung in made.rungs for e in rung.experiments]
        return lacking[0] if all(lacking) else ""

    def unpaired(self, made: Plan, resume: str = "") -> tuple[str, ...]:
        with open_store(self.folder) as store:
            stored = store.stored_trials(resume) if resume else set()
        return pinned.unknown(plan.peers_left(made, stored))

    def ceiling(self, link: Link) -> Ceiling | None:
        from linkladder.judge import ceiling  # imported late, so that the first frame comes sooner

        return ceiling(link.contract) if link.contract else None

    # --- the way out

    def export(self, run_id: str, kind: str) -> tuple[str, ...]:
        from linkladder import report
        from linkladder.report import signing

        with open_store(self.folder) as store:
            document = store.load(run_id)
        path = state.ensure(self.export_folder(self.folder / "export")) / f"{run_id}.{kind}"
        texts: dict[Path, Iterable[str]] = {}
        if kind == "html":
            texts[path] = [report.html(document, key=signing.own_key())]
        elif kind == "json":
            texts[path] = report.json_pieces(document)
        else:
            texts[path] = [report.csv_trials(document)]
            texts[path.with_name(f"{run_id}-intervals.csv")] = report.csv_intervals(document)
        for each, text in texts.items():
            atomic_files.deliver(each, text)
        return tuple(str(each) for each in texts)

    # --- the measuring process

    async def start(self, plan: Plan, resume: str = "") -> LiveSession:
        return await launch(self.folder, plan, resume, self._seat)

    def current(self) -> LiveSession | None:
        return current(self.folder, self._seat)

    def used_by(self) -> str:
        return reservation.holder().split(",")[0]  # the name without the run

    def on_loan(self) -> OnLoan | None:
        from linkladder.settings import overview

        return overview.on_loan()

    # --- pairing

    def _service(self) -> PairingAdapter:
        if self._pairing is None:
            # Imported late, as a console rarely pairs.
            from linkladder.app.pairing_adapter import PairingAdapter

            self._pairing = PairingAdapter()
        return self._pairing

    async def open_pairing(self, minutes: float = 10) -> None:
        await self._service().open(minutes)

    def pairing(self) -> PairingState:
        return self._pairing.state() if self._pairing else PairingState()

    async def pair_with(self, address: str) -> None:
        await self._service().pair_with(address)

    async def answer_code(self, typed: str) -> None:
        await self._service().answer(typed)

    async def refuse_code(self) -> None:
        await self._service().refuse()

    async def close_pairing(self) -> None:
        if self._pairing:
            await self._pairing.close()
            self._pairing = None

    def paired(self) -> tuple[PeerView, ...]:
        return self.peers()

    def rename_peer(self, name: str, new: str) -> None:
        pinned.rename(name, new)
        plan.rename_peer(self.folder, name, new)

    def remove_peer(self, name: str) -> None:
        pinned.remove(name)
