"""Legs between ends other than who coordinates: three agents on this machine, a pair that is lost, and who agrees."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import events as ev
from linkladder import locks, wire
from linkladder.engine import Engine
from linkladder.model import Company, Document, Experiment, Fault, Plan, Protocol, Rung, RungName
from linkladder.model import Path as Pair
from linkladder.peer import FarEnd, NearEnd
from linkladder.settings.journal import LOCK
from linkladder.store import Store

PAIRS = (
    Pair("127.0.0.1", "127.0.0.2", "beta"),
    Pair("127.0.0.2", "127.0.0.3", "gamma", origin="beta"),
    Pair("127.0.0.1", "127.0.0.4", "delta"),
)
ADDRESSES = {"beta": "127.0.0.2", "gamma": "127.0.0.3", "delta": "127.0.0.4"}
ECHO = Experiment("all", "ping", Protocol.ECHO, count=20)


class Agents:
    """Each with a state folder of its own, as if it were another machine."""

    start = ("-m", "linkladder")

    def __init__(self, folder: Path, introduced: bool = True) -> None:
        self.folder, self.more = folder, ["--introduced"] if introduced else []
        self.open: dict[str, FarEnd] = {}
        self.refuses: set[str] = set()
        self.waits: dict[str, set[str]] = {}  # for whom an end waits before it answers

    async def connect(self, name: str) -> FarEnd:
        while not self.waits.get(name, set()) <= set(self.open):
            await asyncio.sleep(0.05)
        if name in self.refuses:
            raise wire.Refused(f"{name}: busy: omega, run 1 is measuring with this appliance")
        state = ["env", f"LINKLADDER_STATE={self.folder / name}", f"PYTHONPATH={os.pathsep.join(sys.path)}"]
        argv = [*state, sys.executable, *self.start, "agent", "--near", *self.more]
        (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        far = await FarEnd.open(name, argv, "alpha")
        far.hello = replace(far.hello, addresses=(ADDRESSES[name],))  # of this one machine's, the one that is its own
        self.open[name] = far
        return far

    def kill(self, name: str) -> None:
        os.kill(self.open[name]._process.pid, signal.SIGKILL)
        self.refuses.add(name)


async def measured(
    folder: Path,
    agents: Agents,
    *experiments: Experiment,
    kill: str = "",
    free: str = "",
    pairs: tuple[Pair, ...] = PAIRS,
    rungs: tuple[RungName, ...] = (RungName.DC_LINK,),
) -> tuple[Document, list[ev.Event]]:
    plan = Plan("pairs", rungs=tuple(Rung(name, pairs, experiments) for name in rungs))
    store, near = Store(folder), await NearEnd.open()
    engine = Engine(plan, store, near, agents.connect, retries=(0.1,))
    seen: list[ev.Event] = []
    try:
        async for event in engine.run():
            seen.append(event)
            if isinstance(event, ev.TrialStarted) and event.experiment == "all":
                agents.refuses.discard(free)
            if kill and isinstance(event, ev.TrialStarted) and event.experiment == "all":
                asyncio.get_running_loop().call_later(1.2, agents.kill, kill)
                kill = ""
    finally:
        await near.close()
    return store.load(engine.run_id), seen


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Agents]:
    yield Agents(tmp_path)


async def test_a_pair_of_others_is_measured_and_each_leg_knows_its_ends(own_state: Path, agents: Agents) -> None:
    alone = Experiment("alone", "ping", Protocol.ECHO, count=5, company=Company.ALONE, paths=(1,))
    document, _ = await measured(own_state, agents, ECHO, alone)
    every, single = (e.trials[0] for e in document.rungs[0].experiments)
    assert every.ok and [(leg.path, leg.near, leg.far) for leg in every.legs] == [(0, 0, 1), (1, 1, 2), (2, 0, 3)]
    assert [leg.commands[0].end for leg in every.legs] == ["near", "beta", "near"]
    assert "127.0.0.3" in every.legs[1].commands[0].argv
    assert single.ok and [(leg.path, leg.near, leg.far) for leg in single.legs] == [(1, 1, 2)]
    assert {end.name for end in document.run.ends} == {"near", "beta", "gamma", "delta"}
    assert [run.peer for run in Store(own_state).runs()] == ["beta, gamma, delta"], "the list of runs names them all"


async def test_without_a_yes_at_each_no_introduction_is_taken_and_the_others_go_on(
    own_state: Path, tmp_path: Path
) -> None:
    document, _ = await measured(own_state, Agents(tmp_path, introduced=False), ECHO)
    (trial,) = document.rungs[0].experiments[0].trials
    ok = [leg.outcome.ok for leg in trial.legs]
    refused = trial.legs[1].outcome
    assert ok == [True, False, True] and refused.fault is Fault.TOOL
    assert "no introductions are taken here" in refused.reason and "linkladder peers introductions" in refused.reason


async def test_a_lost_end_ends_its_legs_with_a_reason_and_the_others_go_on(own_state: Path, agents: Agents) -> None:
    later = Experiment("later", "ping", Protocol.ECHO, count=5)
    document, _ = await measured(own_state, agents, replace(ECHO, count=60), later, kill="gamma")
    for trial in (e.trials[0] for e in document.rungs[0].experiments):
        assert [leg.outcome.ok for leg in trial.legs] == [True, False, True], trial.reason
        lost = trial.legs[1].outcome
        assert lost.fault is Fault.PEER and "gamma" in lost.reason, lost.reason
        assert not trial.ok and not trial.interruptions
    assert document.run.state == "complete"


BARE = (Pair(peer="beta"), Pair(peer="gamma", origin="beta"), Pair(peer="delta"))  # as a mesh has them


def alone(number: int) -> Experiment:
    return Experiment(f"only-{number}", "ping", Protocol.ECHO, count=3, company=Company.ALONE, paths=(number,))


async def test_an_end_that_is_busy_all_along_costs_a_bare_mesh_its_own_paths_alone(
    own_state: Path, agents: Agents
) -> None:
    agents.refuses.add("delta")
    document, seen = await measured(own_state, agents, alone(2), alone(0), ECHO, pairs=BARE)
    (rung,) = document.rungs
    assert document.run.state == "complete" and not rung.unavailable
    trials = {e.parameters.id: e.trials for e in rung.experiments}
    assert [leg.outcome.ok for leg in trials["all"][0].legs] == [True, True, False], trials["all"][0].reason
    assert trials["only-0"][0].ok and not trials["only-2"][0].ok
    for lacking in (trials["all"][0].legs[2], trials["only-2"][0].legs[0]):
        assert lacking.outcome.fault is Fault.PEER
        assert "delta is out of reach: delta: busy: omega, run 1 is measuring" in lacking.outcome.reason
    begun = [e.experiment for e in seen if isinstance(e, ev.TrialStarted)]
    assert begun == ["only-0", "all", "only-2"], "it is tried again when the others are done"


async def test_an_end_that_is_free_again_when_the_others_are_done_is_measured_then(
    own_state: Path, agents: Agents
) -> None:
    agents.refuses.add("delta")
    document, _ = await measured(own_state, agents, alone(2), ECHO, free="delta", pairs=BARE)
    trials = {e.parameters.id: e.trials for e in document.rungs[0].experiments}
    (only,) = trials["only-2"]
    assert only.ok, only.reason
    first, second, third = trials["all"]
    assert [leg.outcome.ok for leg in first.legs] == [True, True, False], "what was measured without it is kept"
    assert second.ok and third.ok, f"{second.reason} {third.reason}"
    assert "dc-link: what was measured without delta is measured once more with it" in document.run.notes


async def test_a_trial_that_is_given_up_is_not_said_to_be_done_again(own_state: Path, agents: Agents) -> None:
    alone = replace(ECHO, count=60, company=Company.ALONE, paths=(1,))
    document, seen = await measured(own_state, agents, alone, kill="gamma")
    (trial,) = document.rungs[0].experiments[0].trials
    assert not trial.ok and len(trial.interruptions) == 2
    assert sum("will be done again" in e.text for e in seen if isinstance(e, ev.Notice)) == 1, "the first attempt"


async def test_an_end_lost_in_the_last_trial_of_a_rung_does_not_end_the_run(own_state: Path, agents: Agents) -> None:
    both = (RungName.SAME_HOST, RungName.DC_LINK)
    document, seen = await measured(own_state, agents, replace(ECHO, count=40), kill="gamma", rungs=both)
    assert document.run.state == "complete"
    for rung in document.rungs:
        (trial,) = rung.experiments[0].trials
        assert [leg.outcome.ok for leg in trial.legs] == [True, False, True]
        assert trial.legs[1].outcome.fault is Fault.PEER and "gamma" in trial.legs[1].outcome.reason
    assert "gamma" in [e.peer for e in seen if isinstance(e, ev.PeerLost)]


async def test_a_busy_end_delays_none_but_its_own(own_state: Path, agents: Agents) -> None:
    agents.refuses.add("delta")
    document, seen = await measured(own_state, agents, ECHO)
    (trial,) = document.rungs[0].experiments[0].trials
    assert [leg.outcome.ok for leg in trial.legs] == [True, True, False]
    assert "omega, run 1 is measuring" in trial.legs[2].outcome.reason
    assert [e.peer for e in seen if isinstance(e, ev.PeerLost)] == ["delta"]


async def test_an_end_that_takes_long_to_answer_delays_no_other_at_the_start(own_state: Path, agents: Agents) -> None:
    agents.waits["beta"] = {"gamma", "delta"}  # it answers when these are there
    document, _ = await measured(own_state, agents, ECHO)
    assert document.rungs[0].experiments[0].trials[0].ok


IMPATIENT = "import sys; from linkladder import cli; from linkladder.settings import lease; lease.BUSY = 0.2; "


class PutBackSlowly(Agents):
    """The undo process of the agent that is killed holds the lock of loans until the next but one asks for it."""

    start = ("-c", IMPATIENT + "sys.exit(cli.main(sys.argv[1:]))")
    began = 0
    lock: locks.HeldFile | None = None

    async def connect(self, name: str) -> FarEnd:
        self.began += 1
        if self.lock and self.began == 3:
            self.lock.release()
        return await super().connect(name)

    def kill(self, name: str) -> None:
        self.lock = locks.HeldFile(self.folder / name / LOCK, 0o644)
        assert self.lock.take()
        os.kill(self.open[name]._process.pid, signal.SIGKILL)


async def test_an_end_whose_undo_takes_longer_than_one_look_is_asked_again(own_state: Path, tmp_path: Path) -> None:
    agents = PutBackSlowly(tmp_path)
    document, seen = await measured(own_state, agents, replace(ECHO, count=40), kill="beta", pairs=PAIRS[:1])
    assert document.run.state == "complete", [e.reason for e in seen if isinstance(e, ev.RunFinished)]
    (trial,) = document.rungs[0].experiments[0].trials
    assert trial.ok and len(trial.interruptions) == 1 and agents.began == 3
