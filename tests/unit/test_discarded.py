"""What is measured on adapters that have just started anew is kept, and counts nowhere."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

import trials
from linkladder import host, plan
from linkladder.agent import lending
from linkladder.codec import from_json, to_json
from linkladder.engine.discarded import carried, discarded, loads_before
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


def test_an_adapter_that_has_no_partner_yet_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [Nic("vmx1", up=False), Nic("vmx1", up=True, carrier=False), Nic("vmx1", up=True)]
    monkeypatch.setattr(host, "facts", lambda: HostFacts("alpha", nics=(seen.pop(0) if len(seen) > 1 else seen[0],)))
    assert asyncio.run(lending._still_down(["vmx1"])) == ""
    assert len(seen) == 1
