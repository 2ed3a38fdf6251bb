"""What is measured on adapters that have just started anew is kept, and counts nowhere."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

import trials
from linkladder import host, plan
from linkladder.agent import lending
from linkladder.codec import from_json, to_json
from linkladder.engine import trial
from linkladder.engine.discarded import carried, discarded, loads_before
from linkladder.engine.leases import Loan
from linkladder.engine.leg import RunningLeg
from linkladder.engine.route import Route, Side
from linkladder.model import (
    Command,
    End,
    Experiment,
    Fault,
    HostFacts,
    Leg,
    Nic,
    Outcome,
    PathMtu,
    Protocol,
    Role,
    Rtt,
    Setting,
    SettingKind,
    TrialResult,
)

JUMBO = Setting(SettingKind.MTU, "9000")
TSO = Setting(SettingKind.TSO, "off", (End.NEAR,))
LEG = Leg(Outcome(True, goodput_bps=1e9), commands=(Command("near", "client", ("iperf",)),))


def read(more: str) -> tuple[Experiment, ...]:
    return plan.read_plan(f'name = "p"\n[[experiment]]\nrungs = ["same-vlan"]\n{more}\n').rungs[0].experiments


def test_all_arms_of_a_change_begin_alike() -> None:
    arms = read('settings = [{kind = "tso", value = "off"}]\nbaseline = true\ncontrol = true')
    assert len(arms) == 3 and all(e.discard_first for e in arms)
    assert not any(e.discard_first for e in read("streams = 4\nbaseline = {streams = 1}"))


def test_a_staircase_that_has_settings_has_it_in_each_step() -> None:
    text = 'streams = 1\nsteps = [{settings = [{kind = "mtu", value = 9000}]}, {streams = [2, 4]}]'
    (rung,) = plan.read_plan(f'name = "p"\n[[experiment]]\nrungs = ["same-vlan"]\n{text}\n').rungs
    assert len(rung.experiments) == 2 and all(e.discard_first for e in rung.experiments)
    for best in rung.experiments:
        arms, _ = plan.next_step(rung.stairs[0], best)
        assert [e.streams for e in arms] == [1, 2, 4] and all(e.discard_first for e in arms)


def test_it_has_its_place_in_the_time_and_in_no_comparison() -> None:
    plain, changed = read('settings = [{kind = "tso", value = "off"}]\nbaseline = true')
    without = replace(changed, discard_first=False)
    assert plan.trial_seconds(changed) - plan.trial_seconds(without) == plan.DISCARDED + 1.0
    assert plain.repeats == changed.repeats


def test_pings_that_are_arms_themselves_are_preceded_by_a_few() -> None:
    exp = Experiment("e", "ping", Protocol.ECHO, settings=(TSO,), discard_first=True)
    (load,) = loads_before(exp)
    assert (load.protocol, load.count, exp.count) == (Protocol.ECHO, 10, 100)


def test_large_packets_are_waited_for_and_then_a_short_load_of_its_own_kind() -> None:
    exp = Experiment("e", streams=4, write_size=1 << 20, settings=(JUMBO, TSO), discard_first=True)
    probe, load = loads_before(exp)
    assert (probe.protocol, probe.sizes) == (Protocol.DF, (9000,))
    assert load == replace(exp, settings=(), discard_first=False, warmup=0.0, duration=plan.DISCARDED)
    (only,) = loads_before(replace(exp, settings=(TSO,)))
    assert only == load


def test_what_does_not_carry_yet_is_tried_again_and_a_missing_tool_is_not() -> None:
    def came(outcome: Outcome) -> bool:
        return carried(TrialResult("t", 0, (Leg(outcome),)))

    assert came(Outcome(True, goodput_bps=1.0)) and came(Outcome(True, path_mtu=PathMtu(mtu=9000)))
    assert not came(Outcome(False, Fault.PATH, "nothing arrived"))
    assert came(Outcome(False, Fault.TOOL, "ping is not installed"))


def test_it_is_kept_and_counts_nowhere() -> None:
    before = discarded(TrialResult("t", 0, (replace(LEG, outcome=Outcome(False, Fault.PATH, "no link yet")), LEG)))
    assert [leg.role for leg in before] == [Role.DISCARDED] * 2
    assert [c.role for leg in before for c in leg.commands] == ["discarded client"] * 2
    plain = trials.trial("e", 0)
    kept = replace(plain, legs=(*plain.legs, *before))
    assert (kept.ok, kept.goodput_bps, kept.loads, kept.reason) == (True, plain.goodput_bps, plain.loads, "")
    assert kept.end(End.FAR) == plain.end(End.FAR) and kept.intervals == plain.intervals
    assert len(kept.commands) == len(plain.commands) + 2
    assert from_json(TrialResult, to_json(kept)) == kept
    pinged = replace(kept, legs=(*kept.legs, replace(LEG, role=Role.DISCARDED, outcome=Outcome(True, rtt=Rtt(1, 1)))))
    assert pinged.rtt == plain.rtt and pinged.rtt_under_load == plain.rtt_under_load


SIZE = Experiment("e", settings=(JUMBO,), discard_first=True)


def tried(
    monkeypatch: pytest.MonkeyPatch, passes: Sequence[int], late: int = 0, ready: float = 0.0, exp: Experiment = SIZE
) -> tuple[tuple[Leg, ...], list[RunningLeg], list[str]]:
    """What is discarded before a trial, of whose paths each carries packets up to a size of its own after `late` tries;
    the legs after it, and what was run.
    """
    ran: list[str] = []

    class Short:
        def __init__(self, routes: object, exp: Experiment, *_: object) -> None:
            self.exp = exp
            ran.append(" ".join(map(str, exp.sizes)) or str(exp.protocol))

        async def run(self) -> TrialResult:
            return TrialResult("t", 0, tuple(Leg(self.over(most if len(ran) > late else 0)) for most in passes))

        def over(self, most: int) -> Outcome:
            sizes = self.exp.sizes or (1500,)
            passed, failed = (tuple(n for n in sizes if (n <= most) is good) for good in (True, False))
            return Outcome(bool(passed), None if passed else Fault.PATH, path_mtu=PathMtu(passed, failed))

    sides = [Side(n, cast(Any, None), name, f"10.0.0.{n + 1}", "lo") for n, name in enumerate(("near", "far"))]
    made = trial.Trial(
        [Route(cast(Any, None), *sides)] * len(passes), exp, 0, [5301, 5303][: len(passes)], lambda _: None
    )
    monkeypatch.setattr(trial, "Trial", Short)
    monkeypatch.setattr(trial, "READY", ready)
    monkeypatch.setattr(trial, "PAUSE", 0.001)
    before = asyncio.run(made._discard(itertools.count(5400), Loan((), (), ())))
    return before, made.legs, list(dict.fromkeys(ran))


def test_a_path_that_carries_small_packets_alone_is_no_measurement_of_a_large_mtu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, legs, ran = tried(monkeypatch, [1500, 1500])
    assert ran == ["9000", "1280 9000"], "nothing more is loaded"
    for leg in legs:
        assert leg.broken and leg.broken.fault is Fault.PATH
        assert "no packet of 9000 bytes from 10.0.0.1 was answered by 10.0.0.2" in leg.broken.reason
    assert before and all(leg.outcome.fault is Fault.PATH for leg in before), "as the judge tells it of the arm"


def test_of_several_paths_those_that_carry_it_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    _, legs, ran = tried(monkeypatch, [9000, 1500])
    assert [bool(leg.broken) for leg in legs] == [False, True] and ran == ["9000", "1280 9000", "tcp"]


@pytest.mark.parametrize(
    ("passes", "late", "ready", "exp"),
    [
        (9000, 3, 60.0, SIZE),  # an adapter that is not up yet
        (9000, 1, 0.0, SIZE),  # one that is up only after the last try
        (1000, 0, 0.0, SIZE),  # nobody answers pings, or none above 1000 bytes: that tells nothing of the size set
        (1500, 0, 0.0, replace(SIZE, tool="ping", protocol=Protocol.DF, sizes=(1500, 9000))),  # it finds that itself
    ],
)
def test_a_trial_of_which_nothing_is_known_beforehand_goes_on(
    passes: int, late: int, ready: float, exp: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, legs, ran = tried(monkeypatch, [passes], late, ready, exp)
    assert not any(leg.broken for leg in legs) and ran[-1] in ("tcp", "1500 9000")


def test_an_adapter_that_has_no_partner_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [Nic("vmx1", up=False), Nic("vmx1", up=True, carrier=False), Nic("vmx1", up=True)]
    monkeypatch.setattr(host, "facts", lambda: HostFacts("alpha", nics=(seen.pop(0) if len(seen) > 1 else seen[0],)))
    assert asyncio.run(lending._still_down(["vmx1"])) == ""
    assert len(seen) == 1
