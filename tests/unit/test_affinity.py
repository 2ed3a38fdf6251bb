"""Where the tool runs: which cores serve an adapter, what is left out where nobody tells, and what it did."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

import trials
from linkladder import host, phrases
from linkladder import plan as plans
from linkladder.agent.answering import Service
from linkladder.engine.left_out import left_out
from linkladder.host import cores as own
from linkladder.host import freebsd_text, linux_queues, linux_text
from linkladder.judge.changes import changes
from linkladder.model import (
    Affinity,
    Direction,
    End,
    Experiment,
    ExperimentResult,
    HostFacts,
    Interval,
    Nic,
    Path,
    RungResult,
    TrialResult,
)
from linkladder.verdicts import Answer, Measured
from linkladder.wire import Refused

PATH = Path("192.0.2.1", "192.0.2.2", "beta")


def facts(cores: int, near: tuple[int, ...], far: tuple[int, ...]) -> Mapping[End, HostFacts]:
    pairs = tuple((core, core + 1) for core in range(0, cores, 2))
    return {
        end: HostFacts(name, cores=cores, threads=pairs, nics=(Nic("vmx1", addresses=(address,), queue_cores=served),))
        for end, name, address, served in (
            (End.NEAR, "alpha", PATH.local, near), (End.FAR, "beta", PATH.remote, far),
        )
    }  # fmt: skip


def test_the_plan_compares_each_place_with_the_tool_left_free() -> None:
    (rung,) = plans.builtin("affinity", 4).rungs
    free, beside, again, away, siblings_idle = rung.experiments
    assert [e.affinity for e in rung.experiments] == [
        Affinity.FREE, Affinity.BESIDE, Affinity.FREE, Affinity.AWAY, Affinity.SIBLINGS_IDLE,
    ]  # fmt: skip
    assert {e.baseline for e in (beside, again, away, siblings_idle)} == {free.id}
    assert not any(e.discard_first or e.strongest for e in rung.experiments)
    assert phrases.difference(beside, free) == "pinned beside the adapter's queues instead of free"
    assert "pinned away" in phrases.arm(away)


def test_cores_and_place_are_not_asked_at_once() -> None:
    text = 'name = "p"\n[[experiment]]\nrungs = ["same-vlan"]\naffinity = "beside"\n'
    plans.read_plan(text)
    for more in ("cores = 1\n", 'tool = "ping"\n'):
        with pytest.raises(plans.PlanError, match="affinity"):
            plans.read_plan(text + more)


@pytest.mark.parametrize(
    ("cores", "near", "far", "gone"),
    [
        (4, (0,), (1, 2), {}),
        (4, (), (1,), {"beside": "vmx1 of alpha does not tell", "away": "vmx1 of alpha does not tell"}),
        (2, (0,), (0, 1), {"away": "every core of beta serves a queue of vmx1"}),
        (
            2,
            (0, 1),
            (0, 1),
            dict.fromkeys(("beside", "away"), "every core of alpha serves a queue of vmx1; every core"),
        ),
    ],
)
def test_what_cannot_be_pinned_is_left_out_and_says_why(
    cores: int, near: tuple[int, ...], far: tuple[int, ...], gone: dict[str, str]
) -> None:
    (rung,) = plans.builtin("affinity", 4).rungs
    found = left_out(rung.experiments, PATH, facts(cores, near, far))
    told = {e.affinity.value: found[e.id] for e in rung.experiments if e.id in found and e.affinity != Affinity.FREE}
    assert told.keys() == gone.keys() and all(told[place].startswith(said) for place, said in gone.items())
    single = {
        end: replace(one, threads=tuple((core,) for core in range(cores)))
        for end, one in facts(cores, near, far).items()
    }
    found = left_out(rung.experiments, PATH, single)
    assert any(e.id in found for e in rung.experiments if e.affinity is Affinity.FREE) == (len(gone) == 2)


def test_the_command_runs_on_those_cores_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(own.CORES, "0,1,2")
    monkeypatch.setattr(own.os, "cpu_count", lambda: 4)
    assert host.pinned(Affinity.FREE, (1,)) == ()
    assert host.pinned(Affinity.BESIDE, (1, 3))[-1] == "1"
    assert host.pinned(Affinity.AWAY, (1, 3))[-1] == "0,2"
    for affinity, served in ((Affinity.BESIDE, ()), (Affinity.BESIDE, (3,)), (Affinity.AWAY, (0, 1, 2))):
        with pytest.raises(ValueError, match="no core of this end"):
            host.pinned(affinity, served)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has nothing beside it")
def test_a_tool_is_started_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process, which is asked where it may run."""
    first, second = sorted(os.sched_getaffinity(0))[:2]
    monkeypatch.setenv(own.CORES, f"{first},{second}")
    card = Nic("eth1", addresses=("192.0.2.1",), queue_cores=(first,))
    monkeypatch.setattr(host, "facts", lambda: HostFacts("alpha", cores=2, nics=(card,)))
    monkeypatch.setattr(host, "interface_of", lambda address: {"192.0.2.1": "eth1"}.get(address, ""))
    tell = [sys.executable, "-c", "import os; print(*os.sched_getaffinity(0))"]

    def ran_on(affinity: Affinity, address: str = "192.0.2.1") -> str:
        service = Service(lambda _: None)
        argv = asyncio.run(service._placed(tell, Experiment("e", affinity=affinity), address))
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    assert ran_on(Affinity.BESIDE) == str(first) and ran_on(Affinity.AWAY) == str(second)
    with pytest.raises(Refused, match="no core of this end lies beside"):
        ran_on(Affinity.BESIDE, "192.0.2.9")


def test_freebsd_tells_the_core_of_each_queue() -> None:
    values = {
        "dev.vmx.1.iflib.rxq0.cpu": "2", "dev.vmx.1.iflib.rxq1.cpu": "3", "dev.vmx.1.iflib.txq0.cpu": "0",
        "dev.vmx.1.iflib.rxq0.rxq_fl0.credits": "9", "dev.vmx.1.mtu": "1500",
    }  # fmt: skip
    assert freebsd_text.queue_cores(values) == (2, 3)
    assert freebsd_text.queue_cores({"dev.em.0.iflib.rxq0.cpu": "?"}) == ()


def test_linux_tells_it_of_steered_packets_and_of_interrupts(
    tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linux_queues, "NET", tmp_path / "net")
    monkeypatch.setattr(linux_queues, "IRQ", tmp_path / "irq")
    for number, cores in ((25, "2"), (26, "3")):
        (tmp_path / f"net/eth1/device/msi_irqs/{number}").mkdir(parents=True)
        (tmp_path / f"irq/{number}").mkdir(parents=True)
        (tmp_path / f"irq/{number}/effective_affinity_list").write_text(cores + "\n")
    assert linux_queues.queue_cores("eth1") == (2, 3)
    assert linux_queues.queue_cores("veth0") == ()
    (tmp_path / "net/eth1/queues/rx-0").mkdir(parents=True)
    (tmp_path / "net/eth1/queues/rx-0/rps_cpus").write_text("00000000\n")
    assert linux_queues.queue_cores("eth1") == (2, 3)
    (tmp_path / "net/eth1/queues/rx-0/rps_cpus").write_text("00000000,00000005\n")
    assert linux_queues.queue_cores("eth1") == (0, 2)
    assert linux_text.cores_of_mask("x") == linux_text.cores_of_list("a-b") == ()
    assert linux_text.cores_of_list("0-2,5") == (0, 1, 2, 5)


def trial(repeat: int, bps: float, scatter: float) -> TrialResult:
    seconds = [bps * (1 + side * scatter) for side in (-1, 1, -1, 1, -1, 1)]
    told = tuple(Interval(float(n), n + 1.0, b, Direction.FORWARD) for n, b in enumerate(seconds))
    return trials.trial("t", repeat, goodput_bps=bps, by_direction={"forward": bps}, intervals=told)


def test_scatter_and_rate_are_each_judged_in_pairs() -> None:
    (asked,) = plans.builtin("affinity", 4).rungs
    free, _, _, away, _ = asked.experiments
    noise = (1.0, 1.003, 0.998, 1.001, 0.999, 1.002)
    a = ExperimentResult(free, tuple(trial(n, 9e9 * noise[n], 0.010 * noise[-n]) for n in range(6)))
    b = ExperimentResult(away, tuple(trial(n, 9e9 * noise[-n], 0.060 * noise[n]) for n in range(6)))
    (one,) = changes(RungResult(asked.name, (PATH,), (a, b)))
    found = {f.measured: f for f in one.figures}
    assert found[Measured.GOODPUT].answer is Answer.SAME
    assert found[Measured.SCATTER].answer is Answer.DIFFERS
    assert found[Measured.SCATTER].ratio == pytest.approx(6, rel=0.05)
    (said,) = phrases.briefly([("pinned", "1 stream", one)])
    assert "500 % more scatter between seconds" in said and "no difference that matters in throughput" in said
    plain = replace(b, parameters=replace(away, affinity=Affinity.FREE, streams=2))
    (other,) = changes(RungResult(asked.name, (PATH,), (a, plain)))
    assert Measured.SCATTER not in {f.measured for f in other.figures}
