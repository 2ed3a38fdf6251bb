"""A run over restarts, whose arms are kernels: it goes on by itself, and whatever comes between ends it in words.

The measuring process, its store and its pings are real. A folder stands in for the machine's kernels (restarted.py).
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import codec, host, reservation
from linkladder import plan as plans
from linkladder.app.live_backend import LiveBackend
from linkladder.damage import found
from linkladder.host import switches
from linkladder.model import Document, Plan, RunState
from linkladder.model import Path as Way
from linkladder.run import awaited, lock, orders, restarting
from linkladder.store import Store
from restarted import KERNELS, Machine

TOML = """name = "boots"
[[experiment]]
rungs = ["localhost"]
tool = "ping"
count = 2
kernel = "generic"
baseline = {kernel = "kernel"}
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    folder = tmp_path / "machine"
    folder.mkdir()
    made = Machine(folder)
    made.boot()
    # This process is the console of that machine.
    monkeypatch.setattr(host, "boot_id", lambda: made.read("boot"))
    monkeypatch.setattr(switches, "appliance", lambda: switches.Appliance(kernel=made.read("kernel"), kernels=KERNELS))
    return made


def plan(first: str, pairs: int = 1) -> Plan:
    """One ping a boot, in so many pairs; the coin fell for `first`."""
    made = plans.read_plan(TOML)
    (rung,) = made.rungs
    arms = tuple(replace(e, repeats=pairs, begins=e.kernel == first) for e in rung.experiments)
    here = (Way("127.0.0.1", "127.0.0.1"),)
    return replace(made, rungs=(replace(rung, experiments=arms, paths=here),))


def begun(machine: Machine, folder: Path, asked: Plan, die: str = "-", agreed: int | None = None) -> int:
    (folder / "plan.json").write_text(json.dumps(codec.to_json(asked)))
    count = plans.restarts(asked) if agreed is None else agreed
    return measuring(machine, die, str(folder / "plan.json"), "--restarts", str(count)).wait()


def measuring(machine: Machine, die: str, *arguments: str) -> subprocess.Popen[bytes]:
    script = str(Path(__file__).with_name("restarted.py"))
    return subprocess.Popen([sys.executable, script, str(machine.folder), die, *arguments], start_new_session=True)


def went_on(machine: Machine, die: str = "-") -> int:
    return measuring(machine, die, "--after-restart").wait()


def stored(folder: Path) -> Document:
    store = Store(folder)
    store.settle(lock.going(folder))
    try:
        return store.load("last")
    finally:
        store.close()


def reason(folder: Path) -> str:
    store = Store(folder)
    try:
        return store.runs()[0].reason
    finally:
        store.close()


def trials(folder: Path) -> list[tuple[str, int]]:
    (rung,) = stored(folder).rungs
    made = [(e.parameters.kernel, t) for e in rung.experiments for t in e.trials]
    assert all(t.ok for _, t in made), [t.reason for _, t in made]
    return [(kernel, t.repeat) for kernel, t in made]


@pytest.mark.parametrize(
    ("first", "boots"),
    [
        ("kernel", ["kernel", "kernel.GENERIC", "kernel.GENERIC", "kernel"]),
        ("generic", ["kernel.GENERIC", "kernel", "kernel", "kernel.GENERIC", "kernel"]),
    ],
)
def test_each_repeat_has_a_boot_of_its_own_and_the_last_is_the_machines_own(
    machine: Machine, own_state: Path, first: str, boots: list[str]
) -> None:
    asked = plan(first, pairs=2)
    assert plans.restarts(asked) == len(boots)
    assert begun(machine, own_state, asked) == 0
    assert trials(own_state) == [], "no boot that was there before is one of the plan's"
    for number in range(len(boots)):
        assert len(machine.asked) == number + 1 and not lock.measuring(own_state)
        machine.boot()
        assert awaited.came_up(own_state) == (number < len(plans.boots(asked))), "the way back is nobody's boot"
        went_on(machine)
    assert machine.asked == boots and machine.read("kernel") == "kernel"
    assert stored(own_state).run.state is RunState.COMPLETE
    assert sorted(trials(own_state)) == [("generic", 0), ("generic", 1), ("kernel", 0), ("kernel", 1)]
    assert awaited.sentence(own_state) == "" and not awaited.came_up(own_state)
    machine.boot()
    went_on(machine)
    assert machine.asked == boots, "nothing restarts any more"


def test_home_says_what_is_waited_for(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("generic"))
    assert "waits for a restart with kernel GENERIC (no RSS) that did not come" in awaited.sentence(own_state)
    assert "it goes on by itself after the restart" in reason(own_state)
    assert not awaited.came_up(own_state), "before the restart nobody takes it up"
    assert went_on(machine) == 0 and trials(own_state) == []
    machine.boot()
    assert "goes on after the restart with kernel GENERIC" in awaited.sentence(own_state)


def test_home_offers_to_go_on_only_where_the_process_is_gone(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel"))
    machine.boot()
    went_on(machine)
    home = LiveBackend("a test").home
    assert home().resumable, "the restart did not come"
    with lock.locked(own_state):
        assert home().resumable is None and "this machine restarts now" in home().restart


def test_another_kernel_than_asked_ends_the_run(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("generic"))
    machine.write("next", "")  # such as a boot with that kernel that panicked
    machine.boot()
    went_on(machine)
    said = "came up with the appliance's kernel (RSS), not with kernel GENERIC (no RSS)"
    assert said in awaited.sentence(own_state) and said in reason(own_state)
    ended_for_good(machine, own_state)


def ended_for_good(machine: Machine, folder: Path) -> None:
    """The run is incomplete with its reason, and no later boot takes it up or restarts anything."""
    before = len(machine.asked)
    assert stored(folder).run.state is RunState.INCOMPLETE
    machine.boot()
    assert not awaited.came_up(folder) and restarting.take(folder) is None
    assert len(machine.asked) == before


@pytest.mark.parametrize("step", ["taken", "measured"])
def test_a_power_cut_while_it_measures_ends_the_run(machine: Machine, own_state: Path, step: str) -> None:
    begun(machine, own_state, plan("kernel", pairs=2))
    machine.boot()
    assert went_on(machine, step) == -signal.SIGKILL
    assert "stopped after the restart" in awaited.sentence(own_state)
    machine.boot()
    went_on(machine)
    assert "restarted again while it measured" in awaited.sentence(own_state)
    assert trials(own_state) == ([("kernel", 0)] if step == "measured" else []), "what it has is kept"
    ended_for_good(machine, own_state)


@pytest.mark.parametrize(("step", "first"), [("kept", "kernel"), ("chosen", "kernel"), ("chosen", "generic")])
def test_a_power_cut_instead_of_the_restart_is_as_good(
    machine: Machine, own_state: Path, step: str, first: str
) -> None:
    assert begun(machine, own_state, plan(first), step) == -signal.SIGKILL
    assert machine.asked == []
    machine.boot()
    went_on(machine)
    assert trials(own_state) == [(first, 0)] and len(machine.asked) == 1


def test_a_power_cut_before_the_kernel_was_chosen_ends_the_run(machine: Machine, own_state: Path) -> None:
    assert begun(machine, own_state, plan("generic"), "kept") == -signal.SIGKILL
    machine.boot()
    went_on(machine)
    assert "not with kernel GENERIC" in awaited.sentence(own_state)
    ended_for_good(machine, own_state)


@pytest.mark.parametrize("verb", ["kernel-next", "reboot"])
def test_a_restart_that_is_refused_is_said(machine: Machine, own_state: Path, verb: str) -> None:
    machine.write(f"refuses-{verb}", "linkladder-priv: there is none of that name")
    begun(machine, own_state, plan("generic"))
    assert "could not be restarted: there is none of that name" in reason(own_state)
    assert "could not be restarted" in awaited.sentence(own_state)
    machine.boot()
    assert machine.read("kernel") == "kernel", "whoever restarts it later gets its own kernel"
    ended_for_good(machine, own_state)


def test_a_kernel_that_stays_chosen_though_the_restart_failed_is_said(machine: Machine, own_state: Path) -> None:
    for verb in ("reboot", "kernel-usual"):
        machine.write(f"refuses-{verb}", f"linkladder-priv: {verb} failed")
    begun(machine, own_state, plan("generic"))
    said = "reboot failed; its next boot, once, may be with kernel GENERIC (no RSS), as that could not be undone: "
    assert said in reason(own_state) and said in awaited.sentence(own_state)


def test_no_more_restarts_than_were_agreed_to(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel", pairs=2), agreed=2)
    for _ in range(4):
        machine.boot()
        went_on(machine)
    assert len(machine.asked) == 2 and len(trials(own_state)) == 2
    assert "no further one was agreed to" in awaited.sentence(own_state)


def test_without_a_yes_nothing_restarts_and_the_arms_are_left_out(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("generic"), agreed=0)
    assert machine.asked == [] and trials(own_state) == []
    assert any("left out" in note for note in stored(own_state).run.notes)


def stopped_in_the_countdown(process: subprocess.Popen[bytes], folder: Path) -> None:
    while not (
        lock.measuring(folder)
        and (said := lock.announced(folder))
        and said.pid == process.pid
        and "This machine restarts in" in Path(said.log).read_text()
    ):
        assert process.poll() is None
        time.sleep(0.05)
    asyncio.run(orders.send(said.socket, "cancel"))
    process.wait()


def test_a_person_stops_it_in_the_countdown(machine: Machine, own_state: Path) -> None:
    machine.write("count", "600")  # seconds
    (own_state / "plan.json").write_text(json.dumps(codec.to_json(plan("generic"))))
    process = measuring(machine, "-", str(own_state / "plan.json"), "--restarts", "2")
    stopped_in_the_countdown(process, own_state)
    assert machine.asked == [] and machine.read("next") == ""
    assert awaited.sentence(own_state) == "", "whoever stopped it knows"
    assert "cancelled" in reason(own_state)
    ended_for_good(machine, own_state)


@pytest.mark.parametrize(("by", "said"), [("cancelled", "it was cancelled"), ("ended", "the system ended it")])
def test_an_order_to_end_it_after_the_countdown_stops_the_restart(
    machine: Machine, own_state: Path, by: str, said: str
) -> None:
    begun(machine, own_state, plan("generic"), by)
    assert machine.asked == [] and machine.read("next") == ""
    assert reason(own_state) == said and stored_cancelled(own_state) == (by == "cancelled")
    assert f"did not go on: {said}" in awaited.sentence(own_state)
    ended_for_good(machine, own_state)


def test_an_order_to_end_it_before_the_way_back_leaves_the_kernel_that_runs(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel"))
    machine.boot()
    went_on(machine)
    machine.boot()
    went_on(machine, "cancelled")
    assert machine.asked == ["kernel", "kernel.GENERIC"] and stored(own_state).run.state is RunState.COMPLETE
    assert awaited.read(own_state) is None


def test_a_person_who_stops_it_later_is_told_which_kernel_stays(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("generic", pairs=2))
    machine.boot()
    machine.write("count", "600")  # seconds
    process = measuring(machine, "-", "--after-restart")
    stopped_in_the_countdown(process, own_state)
    assert len(machine.asked) == 1 and trials(own_state) == [("generic", 0)]
    assert "it was cancelled; kernel GENERIC (no RSS) runs until the next restart" in awaited.sentence(own_state)
    assert stored_cancelled(own_state)
    ended_for_good(machine, own_state)


def stored_cancelled(folder: Path) -> bool:
    store = Store(folder)
    try:
        return store.runs()[0].cancelled
    finally:
        store.close()


def test_a_boot_that_comes_too_late_is_not_the_one(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel"))
    record = awaited.read(own_state)
    assert record
    awaited.write(own_state, replace(record, until=time.time() - 1))
    machine.boot()
    went_on(machine)
    assert "came up more than 30 min after" in awaited.sentence(own_state)
    ended_for_good(machine, own_state)


@pytest.mark.parametrize("text", ["", "{}", "[1", '{"run": 5}', "\x00" * 200])
def test_a_damaged_record_is_set_aside_and_said(machine: Machine, own_state: Path, text: str) -> None:
    begun(machine, own_state, plan("kernel"))
    (own_state / awaited.NAME).write_text(text)
    machine.boot()
    assert went_on(machine) == 0 and not awaited.came_up(own_state)
    assert [one.name for one in found(own_state)] == [awaited.NAME]
    assert "can be taken up by hand" in found(own_state)[0].why
    ended_for_good(machine, own_state)


def test_an_appliance_that_is_busy_after_the_restart_ends_it_in_words(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel"))
    machine.boot()
    reserved = reservation.Reservation()
    reserved.take("beta, run 7")
    went_on(machine)
    reserved.release()
    assert "this appliance is busy" in awaited.sentence(own_state) and "this appliance is busy" in reason(own_state)
    ended_for_good(machine, own_state)


def test_a_run_that_is_gone_ends_it(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel"))
    store = Store(own_state)
    store.delete("last")
    store.close()
    machine.boot()
    went_on(machine)
    assert "did not go on" in awaited.sentence(own_state) and len(machine.asked) == 1


def test_another_run_is_not_disturbed_by_what_was_waited_for(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("generic"))
    begun(machine, own_state, replace(plan("kernel"), rungs=()), agreed=0)
    assert awaited.read(own_state) is None
    machine.boot()
    went_on(machine)
    assert len(machine.asked) == 1 and trials_of_all(own_state) == 0


def trials_of_all(folder: Path) -> int:
    store = Store(folder)
    try:
        return sum(run.trials for run in store.runs())
    finally:
        store.close()


def test_two_consoles_take_it_up_once(machine: Machine, own_state: Path) -> None:
    begun(machine, own_state, plan("kernel"))
    machine.boot()
    both = [measuring(machine, "-", "--after-restart") for _ in range(2)]
    for one in both:
        one.wait()
    assert trials(own_state) == [("kernel", 0)] and len(machine.asked) == 2
    assert os.listdir(own_state / "damaged") == [] if (own_state / "damaged").exists() else True
