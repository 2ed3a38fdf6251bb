"""The run: rungs in order, their trials interleaved, a lost peer waited for, every result stored at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

from linkladder import events as ev
from linkladder import phrases, wire
from linkladder import plan as plans
from linkladder.engine.clocks import TimesOfDay
from linkladder.engine.command_lines import commands_of
from linkladder.engine.controls import Controls, Skipped, Stop
from linkladder.engine.far_ends import RETRIES, Connect, FarEnds, MissingEnd, Unreachable, with_addresses, without_one
from linkladder.engine.foreseen import Foreseen
from linkladder.engine.generators import Generators
from linkladder.engine.growth import MissedTrials, grown, lost_peers
from linkladder.engine.interruptions import TRIES, CarrierNews, attempt, given_up, with_carriers
from linkladder.engine.kernels import Boots
from linkladder.engine.left_out import refuse_absent_cores, without_effect
from linkladder.engine.long_trial import rung_finished, thinned
from linkladder.engine.paths import PathUnknown, moved
from linkladder.engine.placement import SURVEY, answered, evidence, survey, together
from linkladder.engine.ports import ports, ports_for
from linkladder.engine.reserving import reserve_near
from linkladder.engine.route import Route, bundled, routes
from linkladder.engine.stored_run import conclude, figures_before, keep_host, replan, resume_stored, skipped
from linkladder.engine.trial import Trial
from linkladder.errors import LinkladderError, in_a_line
from linkladder.model import (
    Document,
    Evidence,
    Experiment,
    HostFacts,
    Interruption,
    Path,
    Plan,
    Rung,
    RungName,
    RunState,
    TrialResult,
)
from linkladder.peer import EndPoint, PeerLost, Refused
from linkladder.store import Store, StoreFault

Paths = tuple[Path, ...]


class Engine:
    """Runs one plan: `run` yields what happens, `controls` steers it."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        near: EndPoint,
        connect: Connect,
        *,
        operator: bool = False,  # somebody is there to move machines
        resume: str | None = None,
        retries: tuple[float, ...] = RETRIES,
        boots: Boots | None = None,  # none may be had unless it says so
    ) -> None:
        self.plan, self.store, self.near, self._connect = plan, store, near, connect
        self.controls, self.boots = Controls(), boots or Boots()
        self.run_id = resume or ""
        self._resumed = resume is not None
        self._operator = operator
        self._events: asyncio.Queue[ev.Event | None] = asyncio.Queue()
        self._begun = False  # there is a run to keep things of
        self._ends = FarEnds(near, connect, retries, self._emit, self.controls.raise_if_asked, self._keep_host)
        self._retries, self._ports = retries, ports()
        self._times, self._carriers = TimesOfDay(), CarrierNews()
        self._index = self._failed = 0
        self._round_trip: dict[RungName, float] = {}

    async def run(self) -> AsyncGenerator[ev.Event, None]:
        """All that happens, to RunFinished."""
        work = asyncio.create_task(self._work())
        work.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (event := await self._events.get()) is not None:
                yield event
            await work
        finally:
            try:
                if not work.done():
                    self.controls.cancel()
                    await asyncio.wait({work}, timeout=3.0)
            finally:
                work.cancel()
            await asyncio.wait({work})

    def _emit(self, event: ev.Event) -> None:
        self._events.put_nowait(event)

    async def _work(self) -> None:
        trials = plans.trials(self.plan)
        self.store.check_space(trials)
        self.run_id = self._ends.run_id = self.run_id or self.store.new_id()
        try:
            await self._begin()
        except BaseException:
            await self._close()
            raise
        self._emit(self._foreseen.run_started(self.run_id, self.plan))
        state, reason = RunState.COMPLETE, ""
        try:
            for peer, facts in self._ends.facts.items():
                self._keep_host(peer, facts)
            for index, rung in enumerate(self.plan.rungs):
                await self._rung(index, rung)
            await self.boots.back(self.controls, self._emit)
        except (Stop, Unreachable, Refused, PeerLost, LinkladderError) as error:
            state, reason = RunState.INCOMPLETE, in_a_line(error)
        except asyncio.CancelledError:
            state, reason = RunState.INCOMPLETE, "it was ended"
        finally:
            await self._close()
        self._finish(state, reason)

    async def _begin(self) -> None:
        """Reserve all ends, then store the run."""
        near = reserve_near(self.near, self.run_id, self._retries, self._emit)
        await self.controls.before_all_rungs(near)
        await self._have_peers()
        facts = {"": await self.near.ask(wire.Facts()), **self._ends.facts}
        refuse_absent_cores(self.plan, facts)
        ends = {"": self.near, **self._ends.connected}
        self._foreseen = Foreseen(self.plan, ends, facts, self.boots, self.store.folder, self._stored())
        if self._resumed:
            self._failed = resume_stored(self.store, self.run_id, self.plan)
        else:
            self.store.begin(self.plan, ", ".join(self.plan.peers), self.run_id)
        self._begun = True
        self._keep_host("near", facts[""])

    async def _have_peers(self) -> None:
        """Reserve the peers of the rungs that are still to be measured; the operator may end the wait for them."""
        peers = dict.fromkeys(peer for rung in self.plan.rungs if not self._over(rung) for peer in rung.peers)
        await self.controls.before_all_rungs(self._ends.reserve(peers))

    def _finish(self, state: RunState, reason: str) -> None:
        totals: dict[str, float] = {}
        if self.controls.cancelled and self.boots.call_off():  # while the ends were left, after the count-down
            reason = self.controls.why
        by_person = self.controls.by_person and state is RunState.INCOMPLETE
        try:
            self._keep_notes()
            totals = conclude(self.store, self.run_id, state, reason, by_person)
        except StoreFault as error:
            state, reason = RunState.INCOMPLETE, reason or in_a_line(error)
        self._emit(ev.RunFinished(self.run_id, state, self._failed, reason, totals, by_person))

    async def _close(self) -> None:
        await self._ends.close()
        with contextlib.suppress(Refused, LinkladderError):  # its own agent may be what ended the run
            await self.near.ask(wire.Release())

    # --- one rung

    async def _rung(self, index: int, rung: Rung) -> None:
        if self.controls.cancelled:
            raise Stop(self.controls.why)
        self.controls.skip_rung = False
        begun = self._index
        before = figures_before(self.store, self.run_id, rung) if self._resumed else {}
        self._emit(replace(self._foreseen.rung_started(rung.name, index), before=before))
        unavailable = ""
        try:
            await self._climb(rung, rung.paths if self._over(rung) else await self._ready(rung))
        except PathUnknown as error:
            unavailable = str(error)
        except Skipped:
            unavailable = skipped(self.store, self.run_id, rung)
        finally:
            for said in self._carriers.over(rung.name):
                self.store.note(self.run_id, said)
        if unavailable:
            self.store.keep_rung(self.run_id, rung.name, unavailable=unavailable)
            self._emit(ev.Notice(f"{rung.name}: not measured: {unavailable}"))
        self._index = begun + plans.trials(self._planned(rung.name))
        self._emit(rung_finished(rung.name, self._document(), self.plan))

    def _stored(self) -> set[tuple[str, str, int]]:
        """What was measured before the run was resumed."""
        return self.store.stored_trials(self.run_id) if self._resumed else set()

    def _over(self, rung: Rung) -> bool:
        """Whether the rung was measured completely before the run was resumed: then no machine need be moved for it."""
        done, _ = plans.measured(rung, self._stored())
        if done != plans.trials(rung) or (self._resumed and lost_peers(self._document(), rung)):
            return False
        return not grown(self.plan, rung.name, self._document)[1]

    def _document(self) -> Document:
        return self.store.load(self.run_id, output=False)

    async def _ready(self, rung: Rung) -> Paths:
        """The rung's paths, with the far ends reached and the machines where they belong."""
        if rung.name == RungName.LOCALHOST:
            return rung.paths
        asked = ""
        if self._operator and moved(self.plan, rung):
            asked = rung.move.format(peer=" and ".join(rung.peers) or "the other appliance")
        words, word = f"{asked}, then press Enter.", ""
        for last in (not asked, True):
            if asked:
                word = await self._operator_moves(rung, words, word)
            if not all(path.peer for path in rung.paths):
                raise PathUnknown("no peer is named for it; pair one, or name it with --peer")
            paths, found = await self._look(rung, asked, word)
            if last or not found.contradicts:
                break
            against = "; ".join(found.against)
            words = f"The facts speak against it: {against}. Put it right, or leave it so; then press Enter."
        self.store.keep_rung(self.run_id, rung.name, found)
        self._emit(ev.EvidenceFound(rung.name, found))
        for peer in dict.fromkeys(filter(None, map(self._ends.peer_under_test, paths))):
            self._say(f"{rung.name}: {phrases.under_test(peer, self._ends.address(peer) or '')}")
        return paths

    async def _operator_moves(self, rung: Rung, words: str, before: str) -> str:
        """Wait for the operator; what was answered and when."""
        self._emit(ev.WaitingForOperator(rung.name, words))
        if not await self.controls.operator():
            self.controls.raise_if_asked()
        for peer in rung.peers:
            await self._ends.drop(peer)
        self._keep_notes()
        return answered(before)

    async def _look(self, rung: Rung, asked: str, word: str) -> tuple[Paths, Evidence]:
        """Reach the far ends, and check what can be checked of where they stand."""
        paths: list[Path] = []
        found: list[Evidence] = []
        for named in rung.paths:
            surveyed = bool(named.origin)  # what two others are to each other cannot be seen from here
            while True:
                ends = await self._ends.connected_or_missing(rung.peers)
                path = with_addresses(named, ends, self.near)
                if surveyed or isinstance(ends[named.peer], MissingEnd):
                    break
                over = routes([(path, self.near, ends[named.peer])], self.near)
                trial = Trial(over, SURVEY, 0, (next(self._ports),), lambda _: None)
                came = await attempt(trial, self._ends, self.controls)
                if isinstance(came, TrialResult):
                    seen, earlier, contract = survey(came), self._round_trip, self.plan.contract
                    found.append(await asyncio.to_thread(evidence, rung, path, seen, earlier, contract, asked, word))
                    surveyed = True
            paths.append(path)
        return tuple(paths), together(found) if found else Evidence(asked=asked, word=word)

    async def _climb(self, rung: Rung, paths: Paths) -> None:
        done = self._stored()
        if plans.generator_open(rung) and not any(name == rung.name for name, _, _ in done):
            rung = await self._strengthened(replace(rung, paths=paths))
        left_out = await self._left_out(rung, paths)
        missed = MissedTrials(self._ends, self.near, rung, paths, self._document() if self._resumed else None)
        todo = deque(
            (e, r) for e, r in plans.order(rung) if (rung.name.value, e.id, r) not in done and e.id not in left_out
        )
        self._index += sum(e.repeats for e in rung.experiments) - len(todo)
        last: tuple[Experiment, int] | None = None
        while todo or self.controls.again or await self._grow(rung, missed, todo):
            await self._pause(rung)
            self.controls.raise_if_asked()  # what was asked while no trial ran that it could have ended
            again = self.controls.again and last is not None
            self.controls.again = False
            if again and last:
                self.store.note(
                    self.run_id, f"{rung.name} {last[0].id}, repeat {last[1] + 1}: done again by the operator"
                )
            elif todo:
                await missed.ends()
                if why := missed.postpone(*todo[0]):
                    self._emit(ev.Notice(f"{rung.name} {todo.popleft()[0].id}: {phrases.put_off(why)}"))
                    continue
                last = todo.popleft()
            else:
                continue  # there was nothing to do again
            await self.boots.reach(rung.name, *last, self.controls, self._emit)
            await self._trial(rung, missed, self._as_planned(rung, last[0]), last[1])
            self._index += not again

    async def _strengthened(self, rung: Rung) -> Rung:
        """The rung with the strongest setting of the generator in those experiments that leave it open."""

        async def measure(exp: Experiment, over: tuple[Route, ...]) -> TrialResult | Interruption:
            one = Trial(over, exp, 0, (next(self._ports),), lambda _: None, self._ends.channels)
            return await attempt(one, self._ends, self.controls)

        known, far = Generators(self.store.folder), partial(self._ends.connected_or_missing, rung.peers)
        if found := await known.patiently(self.plan, rung, self.near, far, measure, self._emit):
            before, self.plan = self.plan, found.plan
            replan(self.store, self.run_id, before, self.plan, f"{rung.name}: {found.said}")
            self._emit(found)
        return replace(rung, experiments=self._planned(rung.name).experiments)

    async def _grow(self, rung: Rung, missed: MissedTrials, todo: deque[tuple[Experiment, int]]) -> bool:
        """What was put off, or what the results ask for next, which the plan then has, too; False where nothing is
        left to do."""
        todo.extend(await missed.postponed())
        while not todo:
            before = self.plan
            self.plan, more, why = missed.once_more(before, self._document)
            if not more:
                self.plan, more = grown(before, rung.name, self._document)
            if not more:
                return False
            replan(self.store, self.run_id, before, self.plan, why)
            if why:
                self._emit(ev.Notice(why))
            trials, seconds = (of(self.plan) - of(before) for of in (plans.trials, plans.seconds))
            self._emit(ev.PlanGrown(rung.name, self.plan, int(trials), seconds))
            new = tuple(dict.fromkeys(e for e, _ in more))
            left_out = await self._left_out(replace(rung, experiments=new), missed.paths)
            todo.extend((e, repeat) for e, repeat in more if e.id not in left_out)
        return True

    async def _left_out(self, rung: Rung, paths: Paths) -> dict[str, str]:
        """Experiments whose settings would change nothing; each is told of, and why."""
        found = self.boots.lacking(rung)
        found |= without_effect(rung, paths, await self._ends.facts_now(rung.peers))
        for name, why in found.items():
            self._say(f"{rung.name} {name}: left out: {why}")
        if news := self._foreseen.news(rung, found):
            self._emit(news)
        return found

    async def _pause(self, rung: Rung) -> None:
        if self.controls.pause_asked:
            self._emit(ev.Paused(rung.name))
            await self.controls.may_run()
            self._emit(ev.Paused(rung.name, ended=True))
        self._keep_notes()

    def _planned(self, rung: RungName) -> Rung:
        """The rung in the present plan, which `plans.with_longer_warmup` and `grown` change."""
        return next(r for r in self.plan.rungs if r.name is rung)

    def _as_planned(self, rung: Rung, exp: Experiment) -> Experiment:
        return next(e for e in self._planned(rung.name).experiments if e.id == exp.id)

    async def _trial(self, rung: Rung, missed: MissedTrials, exp: Experiment, repeat: int) -> None:
        """One trial to the store, tried again when a peer was lost, and no lost attempt forgotten."""
        lost: tuple[Interruption, ...] = ()
        attempts: list[Trial] = []
        mine = exp.paths or tuple(range(len(missed.paths)))
        while len(lost) < TRIES:
            ends = await missed.ends()
            paths = missed.paths
            over = routes([(paths[n], ends[paths[n].origin], ends[paths[n].peer]) for n in mine], self.near)
            drawn = ports_for(self._ports, exp, len(over))
            lent = bundled(exp, paths, ends, self.near)
            trial = Trial(over, exp, repeat, drawn, self._emit, self._ends.channels, mine, self._ports, lent)
            commands = commands_of(exp, over, drawn, trial.key)
            self._emit(ev.TrialStarted(rung.name, exp.id, repeat, self._index, plans.trial_seconds(exp), commands))
            came = await attempt(trial, self._ends, self.controls)
            if isinstance(came, TrialResult):
                result = replace(came, interruptions=with_carriers(lost, attempts, trial))
                break
            lost, attempts = (*lost, came), [*attempts, trial]
            result = given_up(exp, repeat, lost, mine)
            if without_one(trial.routes):
                break  # whoever is sought beside the trials is not waited for
        missed.note(exp, result)
        self._keep(rung, exp, result)

    def _keep(self, rung: Rung, exp: Experiment, result: TrialResult) -> None:
        result = thinned(replace(result, id=f"{rung.name}-{result.id}"), exp)
        self.store.keep_trial(self.run_id, rung.name, exp.id, result)
        self._failed += not result.ok
        if result.rtt and result.rtt.p50_ms is not None:
            self._round_trip[rung.name] = result.rtt.p50_ms
            before, self.plan = self.plan, plans.with_longer_warmup(self.plan, rung.name, result.rtt.p50_ms)
            if self.plan != before:
                replan(self.store, self.run_id, before, self.plan)
        self._emit(ev.TrialFinished(rung.name, exp.id, result))
        for said in self._times.news(result):
            self._say(said)
        for said in self._carriers.of(result):
            self._emit(ev.Notice(said))

    def _say(self, text: str) -> None:
        """Tell something to whoever watches, and keep it as a note of the run."""
        self.store.note(self.run_id, text)
        self._emit(ev.Notice(text))

    def _keep_host(self, name: str, facts: HostFacts) -> None:
        if self._begun:
            keep_host(self.store, self.run_id, name, facts)

    def _keep_notes(self) -> None:
        while self.controls.notes:
            self.store.note(self.run_id, self.controls.notes.pop(0))
