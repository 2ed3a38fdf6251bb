"""A member of a bundle that goes down in mid-trial and comes back, as a plan asks for it."""

from __future__ import annotations

import pytest

from linkladder import phrases
from linkladder import plan as plans
from linkladder.engine.command_lines import planned
from linkladder.engine.left_out import without_effect
from linkladder.model import Bundle, End, Experiment, HostFacts, Member, Nic, Rung, Setting, SettingKind
from linkladder.model import Path as Way
from linkladder.model.same_setting import identity
from linkladder.tools import ToolVersions
from linkladder.wire import Refused
from linkladder.wire.limits import check_settings
from two_cards import PATHS

LAGG = '{kind = "lagg", value = "loadbalance"}, '
DOWN = '{kind = "member", value = 2, from = 5, until = 9}'


def text(settings: str = LAGG + DOWN, more: str = "duration = 16\n", paths: str = PATHS) -> str:
    return f'name = "p"\n[[experiment]]\nrungs = "dc-link"\nstreams = 8\nsettings = [{settings}]\n{more}{paths}'


def rung(*args: str) -> Rung:
    return plans.read_plan(text(*args)).rungs[0]


def one(*args: str) -> Experiment:
    return rung(*args).experiments[0]


def test_it_is_down_for_some_seconds_of_the_trial_counted_after_the_warm_up() -> None:
    made = one()
    assert made.settings[1] == Setting(SettingKind.MEMBER, "2", since=5.0, until=9.0)
    assert made.member_down == (made.warmup + 5, made.warmup + 9) and Experiment("e").member_down is None
    assert "member 2 of the bundle down from 5 s to 9 s" in phrases.arm(made)
    later = one(LAGG + DOWN.replace("from = 5", "from = 6"))
    assert identity(made) != identity(later) and made.id != later.id


def test_it_may_be_one_of_a_bundle_that_is_there_already_at_one_end() -> None:
    made = one(
        '{kind = "member", value = 1, from = 5, until = 9, ends = "near"}', "duration = 16\nclient_port = 20000\n"
    )
    assert made.settings[0].ends == (End.NEAR,) and not made.bundled


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        (DOWN, "duration = 16\n", 'a member is one of a bundle: expected kind = "lagg" beside it, or client_port'),
        (LAGG + DOWN, "duration = 15\n", "expected at least 16 s: after 4 s down a flow may wait as long"),
        (LAGG + DOWN, "duration = 16\nbaseline = true\n", "without baseline"),
        (LAGG + DOWN, 'duration = 16\ncompany = "alone"\n', "company all"),
        (LAGG + DOWN, 'tool = "netperf"\nprotocol = "rr"\n', "protocol tcp, udp|has no meaning"),
        (LAGG + DOWN.replace(", until = 9", ""), "duration = 16\n", "expected tables such as .*from = 5, until = 9"),
        (LAGG + DOWN.replace("until = 9", "until = 4"), "duration = 16\n", "the first before the second"),
        (LAGG + DOWN.replace("until = 9", "until = 6"), "duration = 16\n", "at least 3 s apart"),
        (LAGG + DOWN.replace("from = 5", "from = 1"), "duration = 20\n", "at least 3 s apart and in"),
        (LAGG + DOWN.replace("value = 2", 'value = "vmx2"'), "duration = 16\n", "which member it is, from 1 to 8"),
        (LAGG.replace('"}', '", from = 5, until = 9}') + DOWN, "duration = 16\n", "expected tables such as"),
        (f"{LAGG}{DOWN}, {DOWN}", "duration = 16\n", "each kind once an end"),
    ],
)
def test_what_is_no_member_of_a_bundle_or_leaves_no_room_is_refused(settings: str, more: str, words: str) -> None:
    with pytest.raises(plans.PlanError, match=words):
        plans.read_plan(text(settings, more))


def test_its_undo_is_told_beforehand_for_each_end() -> None:
    known = {end: ToolVersions({"iperf": "2.1.8"}, "FreeBSD") for end in End}
    lines = planned(one(), [Way("10.77.1.1", "10.77.1.2", "beta")], [known], [5301], "KEY")
    told = [line for line in lines if "member" in line]
    assert [line.partition(":")[0] for line in told] == ["far", "near"]
    assert all("down 8 s after the start, and up again at 12 s; undo: switch it up, whatever" in line for line in told)


def facts(bundle: Bundle | None) -> dict[str, HostFacts]:
    near, far = (Nic("lagg0", addresses=(address,), bundle=bundle) for address in ("10.77.1.1", "10.77.1.2"))
    return {"": HostFacts("alpha", "FreeBSD", nics=(near,)), "beta": HostFacts("beta", "FreeBSD", nics=(far,))}


def test_where_there_is_no_such_member_it_is_left_out_and_told() -> None:
    plain = PATHS.partition('[[path.dc-link]]\nlocal = "10.77.2.1"')[0].replace('interface = "vmx1"\n', "")
    there = rung(DOWN, "duration = 16\nclient_port = 20000\n", plain.replace('remote_interface = "vmx1"\n', ""))
    two = Bundle("lacp", members=(Member("ix0"), Member("ix1")))
    assert without_effect(there, there.paths, facts(two)) == {}
    (why,) = without_effect(there, there.paths, facts(None)).values()
    assert why == "lagg0 of alpha has no members: it is no bundle"
    (why,) = without_effect(there, there.paths, facts(Bundle("lacp", members=(Member("ix0"),)))).values()
    assert why == "lagg0 of alpha has 1 member"
    lent = rung(LAGG + DOWN.replace("value = 2", "value = 3"))
    (why,) = without_effect(lent, lent.paths, facts(None)).values()
    assert why == "the bundle of this rung's 2 paths has no member 3"


def test_a_peer_cannot_ask_for_moments_that_are_none() -> None:
    for bad in (
        Setting(SettingKind.MEMBER, "2"),
        Setting(SettingKind.MEMBER, "0", since=1, until=2),
        Setting(SettingKind.MEMBER, "9", since=1, until=2),
        Setting(SettingKind.MEMBER, "2", since=1, until=float("inf")),
        Setting(SettingKind.MEMBER, "2", since=float("nan"), until=2),
        Setting(SettingKind.MTU, "9000", since=1, until=2),
    ):
        with pytest.raises(Refused, match="settings"):
            check_settings((bad,))


def test_the_built_in_plan_takes_a_card_down_and_back() -> None:
    found = [e for r in plans.builtin("lagg").rungs for e in r.experiments if e.member_down]
    assert {(e.direction.value, e.bundled, e.streams) for e in found} == {
        ("forward", "loadbalance", 8), ("reverse", "loadbalance", 8),
    }  # fmt: skip
