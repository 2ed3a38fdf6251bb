"""What is kept of a run, and from when on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import trials
from linkladder import cli, state, wire
from linkladder import plan as plans
from linkladder.agent.targets import Caller, Targets
from linkladder.engine import Engine
from linkladder.engine.far_ends import FarEnds
from linkladder.engine.reserving import reserve_near
from linkladder.errors import EnvironmentFault
from linkladder.events import Notice
from linkladder.model import (
    Direction,
    Experiment,
    Plan,
    Protocol,
    Rtt,
    Rung,
    RungName,
    RunState,
)
from linkladder.model import Path as Way
from linkladder.peer import Refused
from linkladder.store import Store

ECHO = Experiment("round-trip", "ping", Protocol.ECHO)
TCP = Experiment("tcp", repeats=2)
BACK = Experiment("back", direction=Direction.REVERSE, warmup=8)
NEAR_BY = Rung(RungName.SAME_HOST, experiments=(TCP,))
LINK = Rung(RungName.DC_LINK, experiments=(ECHO, TCP, BACK))
BETA = (Way(peer="beta"),)
PLAN = Plan("p", rungs=(NEAR_BY, LINK))


class Free:
    """This appliance, with which nobody measures."""

    name, hello = "alpha", None

    async def ask(self, request: Any) -> Any:
        return None


class FreeFar(Free):
    """One at the far end."""

    name, address, lost = "beta", "192.0.2.2", False


class Busy:
    """An appliance with which somebody else measures."""

    name = "alpha"

    async def ask(self, request: Any) -> Any:
        raise Refused("busy: beta, run 1 is measuring with this appliance", "beta, run 1")


async def test_where_the_appliance_is_busy_no_run_is_stored(own_state: Path) -> None:
    store, near = Store(own_state), Busy()
    with pytest.raises(EnvironmentFault, match="busy") as error:
        async for _ in Engine(PLAN, store, near, None).run():
            pass
    assert error.value.cause == "beta, run 1 is measuring with it" and error.value.hint
    assert store.runs() == []


class BusyFar(Busy):
    """An appliance at the far end with which somebody else measures."""

    address = "198.51.100.2"
    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_where_the_far_end_is_busy_no_run_is_stored(own_state: Path) -> None:
    store, far = Store(own_state), BusyFar()
    plan = replace(PLAN, rungs=(Rung(RungName.LOCALHOST, experiments=(TCP,)), replace(LINK, paths=BETA)))

    async def connect(name: str) -> Any:
        assert name == "beta"
        return far

    with pytest.raises(EnvironmentFault, match="beta is busy") as error:
        async for _ in Engine(plan, store, Free(), connect).run():
            pass
    assert "beta, run 1 is measuring" in error.value.cause and error.value.hint
    assert store.runs() == [] and far.closed


async def test_a_stored_run_stays_as_it_was_where_the_far_end_is_busy(own_state: Path) -> None:
    store = Store(own_state)
    plan = replace(PLAN, rungs=(replace(LINK, paths=BETA),))
    run = store.begin(plan, "beta")
    store.finish(run, RunState.INCOMPLETE, reason="cancelled")
    before = store.runs()

    async def connect(name: str) -> Any:
        return BusyFar()

    with pytest.raises(EnvironmentFault, match="beta is busy"):
        async for _ in Engine(plan, store, Free(), connect, resume=run).run():
            pass
    assert store.runs() == before


async def test_a_far_end_that_keeps_one_waiting_can_be_left(own_state: Path) -> None:
    """A person is told after a second what is waited for, and may end it; there is no run then."""
    store = Store(own_state)
    plan = replace(PLAN, rungs=(replace(LINK, paths=BETA),))

    async def connect(name: str) -> Any:
        await asyncio.sleep(3600)

    engine = Engine(plan, store, Free(), connect)
    told = []
    with pytest.raises(EnvironmentFault, match="ended before it began"):
        async for event in engine.run():
            told.append(event)
            engine.controls.cancel()
    assert [event.text for event in told if isinstance(event, Notice)] == [
        "Waiting for beta to say whether it is free ..."
    ]
    assert store.runs() == []


async def test_a_loan_that_is_still_being_put_back_is_not_a_run_that_measures(own_state: Path) -> None:
    class StillLent(Busy):
        async def ask(self, request: Any) -> Any:
            raise Refused("settings are changed: another process has them on loan", getattr(request, "holder", ""))

    near: Any = StillLent()
    with pytest.raises(EnvironmentFault) as error:
        async for _ in Engine(PLAN, Store(own_state), near, None, retries=(0.01,)).run():
            pass
    assert error.value.cause == "settings are changed: another process has them on loan"


WAITED_FOR = [
    "Waiting for {} to be free: settings are changed: another process has them on loan",
    "{} is free.",
]


class Lent(FreeFar):
    """An appliance whose loan is still being put back the first two times that it is asked."""

    def __init__(self, name: str) -> None:
        self.name, self.asked = name, 0

    async def ask(self, request: Any) -> Any:
        if isinstance(request, wire.Reserve):
            self.asked += 1
            if self.asked < 3:
                raise Refused("settings are changed: another process has them on loan", request.holder)

    async def close(self) -> None: ...


async def test_this_appliance_is_waited_for_as_a_far_one_is_and_the_reason_is_told() -> None:
    """What an earlier run left there is put back soon: to refuse at once made a person begin the run anew."""
    near, told = Lent("alpha"), list[Any]()
    await reserve_near(near, "7", (0.01, 0.01), told.append)
    assert near.asked == 3 and [event.text for event in told] == [words.format("alpha") for words in WAITED_FOR]

    far, told = Lent("beta"), []

    async def connect(name: str) -> Any:
        return far

    ends = FarEnds(Free(), connect, (0.01, 0.01), told.append, lambda: None, lambda *_: None)
    await ends.reserve(["beta"])
    assert far.asked == 3 and [event.text for event in told] == [words.format("beta") for words in WAITED_FOR]


async def test_a_person_may_end_the_wait_for_this_appliance(own_state: Path) -> None:
    class Held(Lent):
        async def ask(self, request: Any) -> Any:
            raise Refused("settings are changed: another process has them on loan", getattr(request, "holder", ""))

    engine = Engine(PLAN, Store(own_state), Held("alpha"), None)
    with pytest.raises(EnvironmentFault, match="ended before it began"):
        async for event in engine.run():
            assert isinstance(event, Notice) and event.text == WAITED_FOR[0].format("alpha")
            engine.controls.cancel()
    assert engine.store.runs() == []


async def never(name: str) -> Any:
    """Wait for a far end that does not answer."""
    await asyncio.sleep(3600)


async def held_all_along(name: str) -> Any:
    """Reach one that an earlier agent of this very run has still."""

    class Held(FreeFar):
        async def ask(self, request: Any) -> Any:
            raise Refused("busy: this run is measuring with this appliance", request.holder)

        async def close(self) -> None: ...

    return Held()


@pytest.mark.parametrize("connect", [never, held_all_along])
async def test_to_skip_while_a_far_end_keeps_one_waiting_ends_nothing(own_state: Path, connect: Any) -> None:
    """There is no rung yet that could be left."""
    engine = Engine(replace(PLAN, rungs=(replace(LINK, paths=BETA),)), Store(own_state), Free(), connect)
    engine.controls.skip()
    with pytest.raises(EnvironmentFault, match="ended before it began"):
        async for _ in engine.run():
            engine.controls.skip()
            asyncio.get_running_loop().call_later(0.5, engine.controls.cancel)


async def test_what_is_ended_before_a_far_end_is_asked_waits_for_none(own_state: Path) -> None:
    engine = Engine(replace(PLAN, rungs=(replace(LINK, paths=BETA),)), Store(own_state), Free(), never)
    engine.controls.cancel()
    with pytest.raises(EnvironmentFault, match="ended before it began"):
        async for event in engine.run():
            pytest.fail(f"{event}")


async def test_a_far_end_that_was_waited_for_is_said_to_be_free() -> None:
    """Else the wait would stand on the screen as the last word, while the first rung is measured."""
    told: list[Any] = []

    async def connect(name: str) -> Any:
        while not told:
            await asyncio.sleep(0.01)
        return FreeFar()

    ends = FarEnds(Free(), connect, (), told.append, lambda: None, lambda *_: None)
    await ends.reserve(["beta"])
    assert [event.text for event in told] == ["Waiting for beta to say whether it is free ...", "beta is free."]


class HeldFar(FreeFar):
    """One that `holder` has for as long as it is asked for the first time."""

    def __init__(self, holder: str) -> None:
        self.holders = [holder]

    async def ask(self, request: Any) -> Any:
        if isinstance(request, wire.Reserve) and self.holders:
            raise Refused("busy: run 7 is measuring with this appliance", self.holders.pop())

    async def close(self) -> None: ...


@pytest.mark.parametrize(("holder", "waited"), [("alpha, run 7", True), ("omega, run 7", False), ("", False)])
async def test_only_an_agent_of_this_very_run_is_waited_for(holder: str, waited: bool) -> None:
    """Who holds an end is told beside the sentence: what stands in that is for people."""
    far = HeldFar(holder)

    async def connect(name: str) -> Any:
        return far

    ends = FarEnds(Free(), connect, (0.01,), lambda _: None, lambda: None, lambda *_: None)
    ends.run_id = "7"
    if waited:
        await ends.reserve(["beta"])
    else:
        with pytest.raises(EnvironmentFault, match="beta is busy"):
            await ends.reserve(["beta"])
    assert (ends.address("beta") is not None) == waited


@pytest.mark.parametrize(("round_trip", "stored"), [(19.0, 3.0), (31.0, 5.0)])
def test_the_stored_warm_up_is_the_one_that_was_cut(own_state: Path, round_trip: float, stored: float) -> None:
    store = Store(own_state)
    engine = Engine(PLAN, store, None, None)
    engine.run_id = store.begin(PLAN, "beta")
    engine._keep(PLAN.rungs[1], ECHO, trials.trial("e", 0, rtt=Rtt(5, 5, p50_ms=round_trip)))
    assert engine._as_planned(PLAN.rungs[1], TCP).warmup == stored
    document = store.load(engine.run_id)
    link = {e.parameters.id: e.parameters.warmup for e in document.rungs[1].experiments}
    assert link == {"round-trip": 3.0, "tcp": stored, "back": 8.0}
    assert document.rungs[0].experiments[0].parameters.warmup == 3.0, "of another rung nothing was learnt"
    assert document.run.plan == engine.plan == plans.with_longer_warmup(PLAN, RungName.DC_LINK, round_trip)


def test_two_peers_in_turn_are_both_targets_for_the_whole_run() -> None:
    """beta, gamma, beta: who was met does not go when another is, and the ends' agents of one run know both."""
    targets = Targets(Caller.CONSOLE)
    for address in ("198.51.100.2", "198.51.100.3", "198.51.100.2"):
        targets.met(address)
    for address in ("198.51.100.2", "198.51.100.3", "::ffff:198.51.100.2"):
        targets.check(address)
    targets.forget()
    with pytest.raises(Refused, match="has not shown in this run"):
        targets.check("198.51.100.2")


def test_a_misspelt_peer_is_told_before_anything_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--peer", "betaa", "--quiet"]) == 3
    said = capsys.readouterr().err
    assert "no peer is called" in said and "linkladder pair adds one" in said
    assert Store(state.folder()).runs() == []
