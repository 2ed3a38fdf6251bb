"""Members are concluded from rates only where the way held the one flow; what else may have held it is forged here."""

from __future__ import annotations

import pytest
from forge import (
    Edit,
    Json,
    again,
    arms,
    busy,
    contract,
    each,
    forged,
    idle_rtt,
    loaded_rtt,
    rung,
    scaled,
    together,
)

from linkladder.judge.bundles import judge_bundles
from linkladder.model import RungName
from linkladder.verdicts import BundleJudgement, LimiterKind

ONE, MANY = ("tcp-1s-default-forward",), ("tcp-2s-default-forward",)
HALF = each(ONE, scaled(0.5))
CALM = together(each((*ONE, *MANY), busy(30.0, 30.0)), each((*ONE, *MANY), again(0.0)))


def flows_from_stated_ports(d: Json) -> None:
    for e in arms(d, (*ONE, *MANY)):
        e["parameters"]["client_port"] = 20000


def window(size: int) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ONE):
            e["parameters"]["window"] = size

    return edit


def no_cores(t: Json) -> None:
    t["cpu"] = {}


def no_round_trips(d: Json) -> None:
    rung(d)["experiments"] = [e for e in rung(d)["experiments"] if e["parameters"]["protocol"] != "echo"]
    for e in arms(d, (*ONE, *MANY)):
        for t in e["trials"]:
            t["rtt_under_load"] = None
            for i in t["intervals"]:
                i["rtt_ms"] = None


def flat(ms: float) -> Edit:
    """A round trip that no load raises: no queue is seen."""
    return together(idle_rtt(ms), each((*ONE, *MANY), loaded_rtt(ms)))


def judged(*edits: Edit) -> BundleJudgement:
    ten_gigabit = contract(port_bps=1e10, rate_bps=None)
    document = forged(ten_gigabit, flows_from_stated_ports, HALF, *edits)
    (link,) = (r for r in document.rungs if r.name is RungName.DC_LINK)
    (found,) = judge_bundles(link, document.run.plan.contract)
    return found


TOLD = {
    "a queue of the way": (CALM, idle_rtt(0.5), each(ONE, loaded_rtt(30.0))),
    "nothing that the ends show, and all was measured": (CALM, flat(0.5)),
}
HELD = {
    "a busy core of the sender": (CALM, flat(0.5), each(ONE, busy(99.0, 30.0)), LimiterKind.SENDER),
    "a busy core of the receiver": (CALM, flat(0.5), each(ONE, busy(30.0, 99.0)), LimiterKind.RECEIVER),
    "a window that was asked for": (CALM, flat(20.0), window(122_880), LimiterKind.WINDOW),
    "lost packets": (CALM, flat(20.0), each(ONE, again(0.002)), LimiterKind.BURST),
    "nobody knows, as no core was measured": (CALM, flat(0.5), each(ONE, no_cores), LimiterKind.UNKNOWN),
    "nobody knows, as no round trip was": (CALM, no_round_trips, LimiterKind.UNKNOWN),
}


@pytest.mark.parametrize("what", TOLD)
def test_members_are_told_where_the_way_held_the_one_flow(what: str) -> None:
    seen = judged(*TOLD[what])
    assert (
        seen.members == 2 and not seen.held and "at least 2 members are at work; more flows tell" in seen.sentences[0]
    )


@pytest.mark.parametrize("what", HELD)
def test_no_members_are_told_where_something_of_its_own_may_have_held_it(what: str) -> None:
    *edits, kind = HELD[what]
    seen = judged(*edits)
    assert (seen.members, seen.chance, seen.held) == (0, 0.0, str(kind)), seen
    (said,) = seen.sentences
    assert "It cannot be told from that whether the way has several members" in said and "To tell, " in said
    assert "likely" not in said


def test_what_an_end_held_together_is_a_bound_from_below() -> None:
    """Two flows made a core busy: there may be more members than they used."""
    queue = (CALM, idle_rtt(0.5), each(ONE, loaded_rtt(30.0)))
    seen = judged(*queue, each(MANY, loaded_rtt(0.5)), each(MANY, busy(99.0, 30.0)))
    assert seen.members == 2 and "at least 2 members are at work, and an end could do no more" in seen.sentences[0]
    none = judged(*queue, each(MANY, scaled(0.5)), each(MANY, loaded_rtt(0.5)), each(MANY, busy(99.0, 30.0)))
    assert none.members == 0 and none.held == LimiterKind.SENDER
    assert "the flows together were held by a busy core of the sender" in none.sentences[0]
