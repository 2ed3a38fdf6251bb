"""The run: rungs in order, their trials interleaved, a lost peer waited for, every result stored at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime

from linkladder import events as ev
from linkladder import plan as plans
from linkladder import wire
from linkladder.engine.command_lines import commands_of
from linkladder.engine.conclusion import conclude
from linkladder.engine.controls import Controls
from linkladder.engine.interruptions import TRIES, Watch, given_up, shares_a_card
from linkladder.engine.left_out import left_out
from linkladder.engine.paths import PathUnknown, moved, resolve
from linkladder.engine.placement import SURVEY, evidence, survey, together
from linkladder.engine.ports import ports, ports_for
from linkladder.engine.resumption import admitted, keep_host, take_up
from linkladder.engine.route import routes
from linkladder.engine.trial import Trial
from linkladder.engine.warmup import lengthened
from linkladder.errors import LinkladderError, in_a_line
from linkladder.model import (
    End,
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
from linkladder.peer import EndPoint, FarEnd, PeerLost, Refused
from linkladder.store import Store, StoreFault

Paths = tuple[Path, ...]
Connect = Callable[[str, wire.HelloReply], Awaitable[FarEnd]]
RETRIES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # seconds before each try to reach a lost peer again


class Stop(Exception):
    """The run ends here; the reason is for people."""


class Skipped(Exception):
    """The operator leaves the rung."""


class Engine:
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
    ) -> None:
        self.plan, self.store, self.near, self._connect = plan, store, near, connect
        self.controls = Controls()
        self.run_id = resume or ""
        self._resumed = resume is not None
        self._operator = operator
        self._retries = retries
        self._events: asyncio.Queue[ev.Event | None] = asyncio.Queue()
        self._far: dict[str, FarEnd] = {}
        self._facts: dict[str, HostFacts] = {}  # as they last told
        self._known: set[str] = set()  # peers that answered in this run
        self._lost: set[str] = set()  # those of them that do not answer now
        self._ports = ports()
        self._index = 0
        self._failed = 0
        self._round_trip: dict[RungName, float] = {}

    async def run(self) -> AsyncIterator[ev.Event]:
        """All that happens, to RunFinished."""
        work = asyncio.create_task(self._work())
        work.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (event := await self._events.get()) is not None:
                yield event
            await work
        finally:
            if not work.done():
                self.controls.cancel()
                with contextlib.suppress(TimeoutError, asyncio.CancelledError):
                    await asyncio.wait_for(asyncio.shield(work), 3.0)
            work.cancel()

    def _emit(self, event: ev.Event) -> None:
        self._events.put_nowait(event)

    async def _work(self) -> None:
        trials = plans.trials(self.plan)
        self.store.check_space(trials)
        self.run_id = self.run_id or self.store.new_id()
        await admitted(self.near, self.run_id)
        if self._resumed:
            take_up(self.store, self.run_id, self.plan)
        else:
            self.store.begin(self.plan, next((peer for r in self.plan.rungs for peer in r.peers), ""), self.run_id)
        self._emit(ev.RunStarted(self.run_id, self.plan, plans.seconds(self.plan), trials, *self._before(self.plan)))
        state, reason = RunState.COMPLETE, ""
        try:
            keep_host(self.store, self.run_id, "near", await self.near.ask(wire.Facts()))
            for index, rung in enumerate(self.plan.rungs):
                await self._rung(index, rung)
        except (Stop, Refused, PeerLost, LinkladderError) as error:
            state, reason = RunState.INCOMPLETE, in_a_line(error)
        except asyncio.CancelledError:
            state, reason = RunState.INCOMPLETE, "it was ended"
        finally:
            await self._close()
        self._finish(state, reason)

    def _finish(self, state: RunState, reason: str) -> None:
        totals: dict[str, float] = {}
        try:
            self._keep_notes()
            totals = conclude(self.store, self.run_id, state, reason)
        except StoreFault as error:
            state, reason = RunState.INCOMPLETE, reason or in_a_line(error)
        self._emit(ev.RunFinished(self.run_id, state, self._failed, reason, totals))

    async def _close(self) -> None:
        for far in self._far.values():
            with contextlib.suppress(Exception):
                await far.close()
        self._far.clear()
        with contextlib.suppress(Refused):
            await self.near.ask(wire.Cancel())
            await self.near.ask(wire.Release())

    # --- one rung

    async def _rung(self, index: int, rung: Rung) -> None:
        controls = self.controls
        if controls.cancelled:
            raise Stop(controls.why)
        controls.skip_rung = False
        begun = self._index
        self._emit(ev.RungStarted(rung.name, plans.seconds(rung), plans.trials(rung), index, *self._before(rung)))
        unavailable = ""
        try:
            await self._climb(rung, rung.paths if self._over(rung) else await self._ready(rung))
        except PathUnknown as error:
            unavailable = str(error)
        except Skipped:
            stored = len([name for name, _, _ in self.store.done(self.run_id) if name == rung.name])
            unavailable = "" if stored else "skipped by the operator"
            if stored:
                of = f"{stored} of {plans.trials(rung)} trials"
                self.store.note(self.run_id, f"{rung.name}: the rest was skipped by the operator after {of}")
        if unavailable:
            self.store.rung(self.run_id, rung.name, unavailable=unavailable)
            self._emit(ev.Notice(f"{rung.name}: not measured: {unavailable}"))
        self._index = begun + plans.trials(rung)
        document = self.store.load(self.run_id, output=False)
        result = next(r for r in document.rungs if r.name == rung.name)
        self._emit(ev.RungFinished(rung.name, result))

    def _before(self, of: Plan | Rung) -> tuple[int, float]:
        """Trials measured before the run was resumed, and the time expected for them."""
        return plans.measured(of, self.store.done(self.run_id)) if self._resumed else (0, 0.0)

    def _over(self, rung: Rung) -> bool:
        """Was all of it measured before the run was resumed?  Then nobody need move for it."""
        return self._before(rung)[0] == plans.trials(rung)

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
        self.store.rung(self.run_id, rung.name, found)
        self._emit(ev.EvidenceFound(rung.name, found))
        return paths

    async def _operator_moves(self, rung: Rung, words: str, before: str) -> str:
        """Wait for the operator; what was answered and when."""
        self._emit(ev.WaitingForOperator(rung.name, words))
        if not await self.controls.operator():
            self._stop_if_asked()
        for peer in rung.peers:
            await self._drop(peer)
        self._keep_notes()
        now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        return f"{before}, and again at {now} after the facts had been shown" if before else f"done, at {now}"

    def _stop_if_asked(self) -> None:
        """Leave the run or the rung, whichever the operator has asked for."""
        if self.controls.cancelled:
            raise Stop(self.controls.why) from None
        if self.controls.skip_rung:
            raise Skipped from None

    async def _look(self, rung: Rung, asked: str, word: str) -> tuple[Paths, Evidence]:
        """Reach the far ends, and check what can be checked of where they stand."""
        paths: list[Path] = []
        found: list[Evidence] = []
        for named in rung.paths:
            while len(found) == len(paths):
                far = await self._reach(named.peer)
                path = resolve(named, self.near.hello, far.hello)
                over = routes([(path, far)], self.near)
                seen = await self._attempt(Trial(over, SURVEY, 0, (next(self._ports),), lambda _: None))
                if isinstance(seen, TrialResult):
                    known = rung, path, survey(seen), self._round_trip, self.plan.contract, asked, word
                    found.append(await asyncio.to_thread(evidence, *known))
            paths.append(path)
        return tuple(paths), together(found)

    async def _climb(self, rung: Rung, paths: Paths) -> None:
        done = self.store.done(self.run_id) if self._resumed else set()
        vain = await self._left_out(rung, paths)
        todo = deque(
            (e, r) for e, r in plans.order(rung) if (rung.name.value, e.id, r) not in done and e.id not in vain
        )
        self._index += plans.trials(rung) - len(todo)
        last: tuple[Experiment, int] | None = None
        while todo or self.controls.again:
            await self._pause(rung)
            self._stop_if_asked()  # what was asked while no trial ran that it could have ended
            again = self.controls.again and last is not None
            self.controls.again = False
            if again and last:
                self.store.note(
                    self.run_id, f"{rung.name} {last[0].id}, repeat {last[1] + 1}: done again by the operator"
                )
            elif todo:
                last = todo.popleft()
            else:
                return
            await self._trial(rung, paths, self._timed(rung, last[0]), last[1])
            self._index += not again

    async def _left_out(self, rung: Rung, paths: Paths) -> dict[str, str]:
        """Experiments whose settings would change nothing on any path; each is told of, and why."""
        if not any(e.settings for e in rung.experiments):
            return {}
        near, each = await self.near.ask(wire.Facts()), []
        for path in paths:
            far = near if rung.name == RungName.LOCALHOST else await (await self._reach(path.peer)).ask(wire.Facts())
            each.append(left_out(rung.experiments, path, {End.NEAR: near, End.FAR: far}))
        found = {name: why for name, why in each[0].items() if all(name in one for one in each)}
        for name, why in found.items():
            self.store.note(self.run_id, f"{rung.name} {name}: left out: {why}")
            self._emit(ev.Notice(f"{rung.name} {name}: left out: {why}"))
        return found

    async def _pause(self, rung: Rung) -> None:
        if self.controls.pause_asked:
            self._emit(ev.Paused(rung.name))
        await self.controls.may_run()
        self._keep_notes()

    def _timed(self, rung: Rung, exp: Experiment) -> Experiment:
        """As the plan has it by now: see `lengthened`."""
        return next(e for r in self.plan.rungs if r.name is rung.name for e in r.experiments if e.id == exp.id)

    async def _trial(self, rung: Rung, paths: Paths, exp: Experiment, repeat: int) -> None:
        """One trial to the store, tried again when a peer was lost, and no lost attempt forgotten."""
        lost: tuple[Interruption, ...] = ()
        while len(lost) < TRIES:
            local = rung.name == RungName.LOCALHOST
            over = routes([(path, self.near if local else await self._reach(path.peer)) for path in paths], self.near)
            drawn = ports_for(self._ports, exp, len(over))
            channels = tuple(far.address for far in self._far.values())
            trial = Trial(over, exp, repeat, drawn, self._emit, channels)
            commands = commands_of(exp, over, drawn, trial.key)
            self._emit(ev.TrialStarted(rung.name, exp.id, repeat, self._index, plans.trial_seconds(exp), commands))
            came = await self._attempt(trial)
            if isinstance(came, TrialResult):
                self._keep(rung, exp, replace(came, interruptions=lost))
                return
            lost = (*lost, came)
        self._keep(rung, exp, given_up(exp, repeat, lost))

    async def _attempt(self, trial: Trial) -> TrialResult | Interruption:
        """What came of it, or how it was lost with a peer.  The operator may end it."""
        watch = Watch(any(self._shares_a_card(route.path) for route in trial.routes))
        work = asyncio.create_task(trial.run())
        self.controls.guard(work.cancel)
        try:
            return await work
        except PeerLost as error:
            came = watch.broke(error)
            await self._peer_went(error)
            return came
        except asyncio.CancelledError:
            self._stop_if_asked()
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, PeerLost):
                await work
            raise
        finally:
            self.controls.guard(None)

    def _shares_a_card(self, path: Path) -> bool:
        far = self._far.get(path.peer)
        return far is not None and shares_a_card(path, far.address, self._facts.get(path.peer))

    def _keep(self, rung: Rung, exp: Experiment, result: TrialResult) -> None:
        result = replace(result, id=f"{rung.name}-{result.id}")
        self.store.trial(self.run_id, rung.name, exp.id, result)
        self._failed += not result.ok
        if result.rtt and result.rtt.p50_ms is not None:
            self._round_trip[rung.name] = result.rtt.p50_ms
            before, self.plan = self.plan, lengthened(self.plan, rung.name, result.rtt.p50_ms)
            if self.plan != before:
                self.store.replan(self.run_id, self.plan)
        self._emit(ev.TrialFinished(rung.name, exp.id, result))

    def _keep_notes(self) -> None:
        while self.controls.notes:
            self.store.note(self.run_id, self.controls.notes.pop(0))

    # --- the far end

    async def _reach(self, peer: str) -> FarEnd:
        """The connected far end, waited for with growing pauses when it is lost."""
        if peer in self._far:
            return self._far[peer]
        for pause in (*self._retries, 0.0):
            try:
                far = await self._connect(peer, self.near.hello)
                if not await self._reserved(far, last=pause == 0.0):
                    await self._nap(pause)
                    continue
                facts = await far.ask(wire.Facts())
            except (PeerLost, LinkladderError) as error:
                permanent = isinstance(error, LinkladderError) and not getattr(error, "passing", True)
                if pause == 0.0 or permanent or peer not in self._known:  # one that answered is lost, not wrong
                    self._emit(ev.PeerLost(peer, in_a_line(error), 0.0))
                    raise Stop(f"{peer} cannot be reached: {in_a_line(error)}") from error
                self._lost.add(peer)
                self._emit(ev.PeerLost(peer, in_a_line(error), pause))
                await self._nap(pause)
                continue
            if peer in self._lost:
                self._lost.discard(peer)
                self._emit(ev.PeerBack(peer))
            self._far[peer] = far
            self._facts[peer] = facts
            self._known.add(peer)
            keep_host(self.store, self.run_id, peer, facts)
            return far
        raise AssertionError("the last pause is 0")

    async def _reserved(self, far: FarEnd, last: bool) -> bool:
        """Is it ours?  Not yet while the agent of this run's connection before has not quite gone."""
        try:
            await far.ask(wire.Reserve(f"{self.near.name}, run {self.run_id}"))
        except Refused as error:
            await far.close()
            if last or self.run_id not in str(error):
                raise
            return False
        return True

    async def _nap(self, seconds: float) -> None:
        for _ in range(max(1, int(seconds * 10))):
            self._stop_if_asked()
            await asyncio.sleep(0.1)

    async def _peer_went(self, error: PeerLost) -> None:
        """Whoever went did so in the middle of something, which is done again once it is back."""
        for peer in [peer for peer, far in self._far.items() if far.lost]:
            self._lost.add(peer)
            await self._drop(peer)
        self._emit(ev.Notice(f"{str(error).rstrip('.')}; the trial will be done again"))

    async def _drop(self, peer: str) -> None:
        far = self._far.pop(peer, None)
        if far:
            with contextlib.suppress(Exception):
                await far.close()
