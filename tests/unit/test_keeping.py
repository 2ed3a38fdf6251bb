"""What a staircase won, kept for good: what the helper is asked, and what is refused before anything is changed."""

from __future__ import annotations

import argparse
import asyncio
import io
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

import trials
from judge_documents import document
from linkladder import host, keeping, privilege, wire
from linkladder import plan as plans
from linkladder.commands import keep_settings, measuring
from linkladder.commands.keep_settings import keep, keep_what_won
from linkladder.errors import UsageError
from linkladder.judge import judge_rung
from linkladder.model import (
    Direction,
    Document,
    End,
    Experiment,
    ExperimentResult,
    Path,
    RungName,
    RungResult,
    RunState,
    Setting,
    SettingKind,
)
from staircases import PLAN, climbed, climbed_with

MTU = Setting(SettingKind.MTU, "9000")


@pytest.fixture(scope="module")
def top() -> Document:
    return climbed()


def with_settings(made: Document, *wanted: Setting) -> Document:
    """The same staircase, as if these had won instead of jumbo frames."""

    def instead(p: Experiment) -> Experiment:
        return replace(p, settings=tuple(wanted)) if p.settings else p

    rungs = [
        replace(r, experiments=tuple(replace(e, parameters=instead(e.parameters)) for e in r.experiments))
        for r in made.rungs
    ]
    return replace(made, rungs=tuple(rungs))


def test_what_won_is_found_with_what_to_type_at_the_other_end(top: Document) -> None:
    found = keeping.winners(top)
    assert found.settings == (MTU,)
    assert found.paths == top.rungs[0].paths
    assert found.elsewhere == ("at beta: linkladder system mtu eth0 9000",)


def test_a_run_that_kept_nothing_has_nothing_to_keep() -> None:
    plan, result = climbed_with(plans.read_plan(PLAN), lambda e, way: 1e9)
    with pytest.raises(UsageError, match="kept no setting"):
        keeping.winners(replace(document(result), run=replace(document(result).run, plan=plan)))


def test_what_won_for_the_application_alone_is_named_and_keeps_nothing_here(
    top: Document, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two streams carry 30 % more, and nothing of a machine won; nobody needs to be asked."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert keep(with_settings(top)) == 0
    assert capsys.readouterr().out.splitlines() == [
        "nothing is to be made permanent on these machines: what was best is for the application:",
        "2 streams, at the end that connects: let the application open 2 connections",
    ]


def test_what_won_for_the_application_is_named_beside_what_is_kept(
    top: Document, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert keep(with_settings(top, replace(MTU, ends=(End.FAR,)))) == 0
    assert capsys.readouterr().out.splitlines() == [
        "for the other end, to type there:",
        "at beta: linkladder system mtu eth0 9000",
        "for the application:",
        "2 streams, at the end that connects: let the application open 2 connections",
    ]


@pytest.mark.parametrize(
    ("setting", "said"),
    [(Setting(SettingKind.MTU, "4000"), "an MTU of 4000"), (Setting(SettingKind.GRO, "off"), "gro is nothing")],
)
def test_what_no_appliance_can_keep_is_refused_at_once(top: Document, setting: Setting, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        keeping.winners(with_settings(top, setting))


class Helper:
    """Stands in for root, and notes what it is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, agreed: bool) -> None:
        self.asked: list[tuple[str, ...]] = []
        monkeypatch.setattr(host, "system", lambda: "FreeBSD")
        monkeypatch.setattr(host, "interface_of", lambda address: "vmx1")
        monkeypatch.setattr(privilege, "run", self.run)

        async def tried(found: keeping.Winners, confirmed: keeping.Confirm) -> bool:
            return agreed

        monkeypatch.setattr(keeping, "tried", tried)

    async def run(self, *words: str) -> privilege.Completed:
        self.asked.append(words)
        return privilege.Completed(0, "", "")


async def nobody(changes: Sequence[str], seconds: float) -> bool:
    raise AssertionError("the trial asks, which is not here")


@pytest.mark.parametrize("agreed", [True, False])
def test_it_is_kept_only_when_it_was_agreed(top: Document, monkeypatch: pytest.MonkeyPatch, agreed: bool) -> None:
    helper = Helper(monkeypatch, agreed)
    wanted = (MTU, Setting(SettingKind.TSO, "off"), Setting(SettingKind.CONGESTION, "htcp"))
    done = asyncio.run(keeping.keep(keeping.winners(with_settings(top, *wanted)), nobody))
    verbs = [("frames", "vmx1", "9000"), ("offloads", "vmx1", "tso=off"), ("congestion", "htcp")]
    assert helper.asked == (verbs if agreed else [])
    assert done == (
        (
            "linkladder system mtu vmx1 9000",
            "linkladder system offloads vmx1 tso=off",
            "linkladder system congestion htcp",
        )
        if agreed
        else ()
    )


def test_a_machine_that_is_no_appliance_is_left_to_its_owner(top: Document) -> None:
    with pytest.raises(UsageError, match="this is Linux"):
        asyncio.run(keeping.keep(keeping.winners(top), nobody))


def test_two_ways_that_disagree_are_for_a_person_to_settle(top: Document) -> None:
    (first,) = top.rungs
    other = with_settings(top, Setting(SettingKind.MTU, "1500")).rungs[0]
    both = replace(top, rungs=(first, RungResult(other.name, (Path(),), other.experiments)))
    with pytest.raises(UsageError, match="what is to be kept"):
        keeping.winners(both)


async def test_who_is_asked_has_the_whole_minute_however_slow_the_adapters_were(
    top: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not a second more than the undo, which counts from the renewal."""
    slow = {wire.TakeLease: 40.0, wire.RenewLease: 5.0}
    clock = [1000.0]
    asked: list[str] = []

    class Near:
        async def ask(self, request: wire.Request[object]) -> wire.LeaseReply:
            clock[0] += slow.get(type(request), 0.0)
            asked.append(request.verb)
            return wire.LeaseReply(("mtu vmx1: 1500 -> 9000",))

        async def close(self) -> None:
            asked.append("close")

    async def near_end() -> Near:
        return Near()

    async def confirmed(changes: Sequence[str], seconds: float) -> bool:
        asked.append(f"{seconds:g} s")
        return True

    monkeypatch.setattr(keeping, "near_end", near_end)
    monkeypatch.setattr(keeping, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    assert await keeping.tried(keeping.winners(top), confirmed)
    assert asked == ["reserve", "lease", "renew", "55 s", "return", "close"]


def measured_by(made: Document, card: str = "eth0") -> tuple[RungName, tuple[Path, ...]]:
    """The rung of the same climb over another card."""
    return RungName.DC_LINK, (replace(made.rungs[0].paths[0], local="10.0.9.1", local_interface=card),)


def test_what_won_at_each_end_by_itself_is_kept_at_each(top: Document) -> None:
    near, far = (Setting(SettingKind.TSO, value, (end,)) for value, end in (("off", End.NEAR), ("on", End.FAR)))
    found = keeping.winners(with_settings(top, near, far))
    assert found.settings == (near,)
    assert found.elsewhere == ("at beta: linkladder system offloads eth0 tso=on",)


def test_what_wins_one_way_and_surely_loses_another_is_for_a_person_to_settle() -> None:
    keys = 'rungs = "same-vlan"\nrepeats = 4\ndirection = "both"\nsteps = [{settings = [{kind = "mtu", value = 9000}]}]'
    gains = {Direction.FORWARD: 2.0, Direction.REVERSE: 0.8}
    plan, result = climbed_with(
        plans.read_plan(f'name = "p"\n[[experiment]]\n{keys}\n'),
        lambda e, way: (3e9 if way is Direction.FORWARD else 2.9e9) * (gains[way] if e.settings else 1),
    )
    made = document(result)
    with pytest.raises(UsageError) as told:
        keeping.winners(replace(made, run=replace(made.run, plan=plan)))
    assert told.value.cause == "mtu 9000 won one way and lost another"


def test_a_card_over_which_it_did_not_win_does_not_get_it(top: Document) -> None:
    """Each rung's own winners are for its own cards."""
    (first,) = top.rungs
    name, paths = measured_by(top)
    other = with_settings(top, Setting(SettingKind.TSO, "off")).rungs[0]
    with pytest.raises(UsageError) as told:
        keeping.winners(replace(top, rungs=(first, RungResult(name, paths, other.experiments))))
    assert "won, and not over 10.0." in told.value.cause
    alike = replace(top, rungs=(first, RungResult(name, paths, first.experiments)))
    assert keeping.winners(alike).settings == (MTU,)


def test_a_run_of_another_machine_changes_nothing_here(top: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = Helper(monkeypatch, agreed=True)
    monkeypatch.setattr(host, "interface_of", lambda address: "")
    wanted = with_settings(top, Setting(SettingKind.CONGESTION, "htcp"))
    with pytest.raises(UsageError, match=r"no card here has 10\.0\.0\.1"):
        asyncio.run(keeping.keep(keeping.winners(wanted), nobody))
    assert helper.asked == []


def test_a_trial_that_the_report_does_not_believe_keeps_nothing(top: Document) -> None:
    """Its seconds make half of the rate that it claims, so the report says that MTU 9000 won nothing."""

    def claimed(e: ExperimentResult) -> ExperimentResult:
        if not e.parameters.settings:
            return e
        halved = (
            trials.changed(t, intervals=tuple(replace(i, bytes=i.bytes // 2) for i in t.intervals)) for t in e.trials
        )
        return replace(e, trials=tuple(halved))

    (rung,) = top.rungs
    doubted = replace(top, rungs=(replace(rung, experiments=tuple(map(claimed, rung.experiments))),))
    assert not any(one.kept and "MTU" in one.words for one in judge_rung(doubted.rungs[0], doubted).staircase)
    with pytest.raises(UsageError, match="kept no setting"):
        keeping.winners(doubted)


def test_a_run_that_ends_with_nothing_won_says_so_and_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    plan, result = climbed_with(plans.read_plan(PLAN), lambda e, way: 1e9)
    made = replace(document(result), run=replace(document(result).run, plan=plan))
    assert keep_what_won(made) == 0
    assert capsys.readouterr().out == "nothing was surely better: nothing is kept\n"


@pytest.mark.parametrize(("state", "asked"), [(RunState.COMPLETE, 1), (RunState.INCOMPLETE, 0)])
def test_a_failed_trial_does_not_keep_tune_from_asking(
    monkeypatch: pytest.MonkeyPatch, state: RunState, asked: int
) -> None:
    """It voids its own pair; the exit status still says that a trial failed."""
    kept: list[object] = []

    async def measured(*_: object, **__: object) -> SimpleNamespace:
        return SimpleNamespace(state=state, run_id="run1")

    monkeypatch.setattr(measuring.process, "measure", measured)
    monkeypatch.setattr(measuring, "_result", lambda *_: 1)
    monkeypatch.setattr(measuring, "Store", lambda _: SimpleNamespace(load=lambda run, output: run))
    monkeypatch.setattr(keep_settings, "keep_what_won", lambda made: kept.append(made) or 0)
    args = argparse.Namespace(call=None, quiet=True, json=None, keep=True, note="")
    assert measuring._measure(args, plans.read_plan(PLAN), None) == 1
    assert kept == ["run1"] * asked
