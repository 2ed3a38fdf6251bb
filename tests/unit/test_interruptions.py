"""An attempt that the far end's absence broke is kept, and a run that has one is no unqualified PASS."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from judge_documents import GOOD, both, document, ping
from linkladder.codec import from_json, to_json
from linkladder.engine.account import MOST_STILL, Watched
from linkladder.engine.controls import Controls, Skipped, Stop
from linkladder.engine.far_ends import FarEnds, shares_a_card
from linkladder.engine.interruptions import TRIES, AttemptTimer, CarrierNews, attempt, given_up, with_carriers
from linkladder.judge import Verdict, judge_document
from linkladder.judge.outages import outages
from linkladder.model import (
    CarrierLost,
    Contract,
    Document,
    Experiment,
    Fault,
    HeldUp,
    HostFacts,
    HostSample,
    Interruption,
    Nic,
    NicCounters,
    Path,
    Protocol,
    RungName,
    RungResult,
    TcpCounters,
    TrialResult,
)
from linkladder.phrases.outages import carriers_lost
from linkladder.verdicts import Cause
from linkladder.wire import CountersReply

PATH = Path("10.0.0.1", "10.0.0.2", "beta")
FACTS = HostFacts("beta", nics=(Nic("vmx0", addresses=("10.9.0.2",)), Nic("vmx1", addresses=("10.0.0.2", "10.0.0.9"))))


@pytest.mark.parametrize("control,shared", [("10.0.0.2", True), ("10.0.0.9", True), ("10.9.0.2", False)])
def test_control_over_the_card_under_test_is_known(control: str, shared: bool) -> None:
    assert shares_a_card(PATH, "beta", control, "", FACTS) is shared


def test_control_over_this_end_s_card_under_test_is_known_too() -> None:
    path = dataclasses.replace(PATH, local_interface="vmx1")
    assert [shares_a_card(path, "beta", "10.9.0.2", card, FACTS) for card in ("vmx1", "vmx0", "")] == [
        True,
        False,
        False,
    ]


def test_a_lost_attempt_has_its_time_and_its_reason() -> None:
    timer = AttemptTimer(shares_a_card(PATH, "beta", "10.0.0.2", "", FACTS))
    lost = timer.interruption(ConnectionError("the connection broke"))
    assert lost.started and lost.seconds >= 0 and lost.shared and "the connection broke" in lost.reason


def test_a_trial_that_never_came_to_its_end_is_kept_as_such() -> None:
    lost = (Interruption("2026-11-22T10:00:00+00:00", 4.0, "gone"),) * TRIES
    kept = given_up(Experiment("tcp"), 1, lost)
    assert not kept.ok and kept.fault is Fault.PEER and kept.repeat == 1 and kept.interruptions == lost


class Answering:
    """An end that answers, and lets its address be seen."""

    name, address, lost, hello = "beta", "192.0.2.2", False, None

    async def ask(self, request: Any) -> Any:
        return None


class Begun:
    """A trial that must not begin."""

    routes = ()

    async def run(self) -> Any:
        pytest.fail("it was run")


@pytest.mark.parametrize(("order", "outcome"), [(Controls.cancel, Stop), (Controls.skip, Skipped)])
async def test_what_was_asked_while_a_lost_peer_was_reached_ends_the_trial_before_it_begins(
    order: Any, outcome: type[Exception]
) -> None:
    """No trial ran that the order could have ended."""
    controls = Controls()

    async def connect(name: str) -> Any:
        order(controls)
        return Answering()

    ends = FarEnds(Answering(), connect, (), lambda _: None, controls.raise_if_asked, lambda *_: None)
    await ends.reach("beta")
    with pytest.raises(outcome):
        await attempt(Begun(), ends, controls)


class Attempted:
    """An attempt at a trial before which a far card had lost its link so many times."""

    def __init__(self, times: int | None) -> None:
        nic = NicCounters("vmx1", carrier_lost=times)
        end = Watched("beta")
        end.count("10.0.0.2", CountersReply("vmx1", nic, TcpCounters(), None, 0))
        self.watched = {1: end}


def test_whose_link_was_lost_is_known_once_the_ends_are_reached_again() -> None:
    lost = tuple(Interruption(f"2026-11-22T10:0{n}:00+00:00", 15.0, "gone") for n in range(2))
    first, second = with_carriers(lost, [Attempted(3), Attempted(5)], Attempted(5))
    assert first.carriers == (CarrierLost("beta", "vmx1", 2),) and not second.carriers
    silent = with_carriers(lost[:1], [Attempted(None)], Attempted(None))
    assert not silent[0].carriers, "a system that does not tell of it"


def test_what_befell_a_far_card_is_said_of_the_attempt() -> None:
    lost = Interruption("2026-11-22T10:00:00+00:00", 15.0, "gone", True, (CarrierLost("beta", "vmx1"),))
    link = both(RungName.DC_LINK, GOOD)
    first, *rest = link.experiments
    trials = (dataclasses.replace(first.trials[0], interruptions=(lost,)), *first.trials[1:])
    broken = dataclasses.replace(link, experiments=(dataclasses.replace(first, trials=trials), *rest))
    judged = judge_document(from_json(Document, to_json(document(both(RungName.SAME_HOST, 4e9), broken)))).rungs[-1]
    assert judged.verdict is Verdict.CANNOT_JUDGE and "vmx1 of the beta end lost its link" in judged.sentence
    assert CarrierNews().of(trials[0]) == (carriers_lost(lost.carriers),)


def test_a_card_without_link_is_said_once_on_a_rung_and_at_its_end_in_how_many_trials() -> None:
    first, other = (CarrierLost("beta", name, times) for times, name in enumerate(("vmx1", "vmx2"), 1))
    good = both(RungName.DC_LINK, GOOD).experiments[0].trials[0]
    trials = [
        dataclasses.replace(good, interruptions=(Interruption("2026-11-22T10:00:00+00:00", 15.0, "gone", True, cards),))
        for cards in ((first,), (first, other), (first,))
    ]
    news = CarrierNews()
    assert [len(news.of(one)) for one in trials] == [1, 1, 0]
    told = news.over("dc-link")
    assert [one.partition(": ")[0] for one in told] == ["dc-link, 3 trials", "dc-link, 1 trial"], told
    assert "vmx1 of the beta end lost its link" in told[0] and not news.over("same-host")
    assert news.of(trials[0]), "on another rung it is said anew"


@pytest.mark.parametrize("shared", [True, False])
def test_the_repeat_does_not_erase_an_outage(shared: bool) -> None:
    link = both(RungName.DC_LINK, GOOD)
    first, *rest = link.experiments
    lost = Interruption("2026-11-22T10:00:00+00:00", 15.0, "the connection broke", shared)
    trials = (dataclasses.replace(first.trials[0], interruptions=(lost,)), *first.trials[1:])
    broken = dataclasses.replace(link, experiments=(dataclasses.replace(first, trials=trials), *rest))
    whole = document(both(RungName.SAME_HOST, 4e9), broken)
    judged = judge_document(from_json(Document, to_json(whole))).rungs[-1]
    if shared:
        assert judged.verdict is Verdict.CANNOT_JUDGE and judged.judgement.cause is Cause.OUTAGE
        assert "control goes over the card under test" in judged.sentence
    else:
        assert judged.verdict is Verdict.PASS and judged.provisional
        assert any("2026-11-22T10:00:00" in f and "lost" in f for f in judged.judgement.findings)


def test_a_gap_of_less_than_a_second_is_told_with_its_length() -> None:
    link = both(RungName.DC_LINK, GOOD)
    first, *rest = link.experiments
    held = first.trials[0]
    intervals = tuple(dataclasses.replace(i, end=i.end - 0.6) if i.start == 6 else i for i in held.intervals)
    (leg,) = held.legs
    gap = dataclasses.replace(
        held, legs=(dataclasses.replace(leg, outcome=dataclasses.replace(leg.outcome, intervals=intervals)),)
    )
    (seen,) = outages(
        dataclasses.replace(link, experiments=(dataclasses.replace(first, trials=(gap, *first.trials[1:])), *rest)),
        Contract(),
    )
    assert seen.sentence.startswith("0.6 s carried nothing")


def opening(*megabits: float, round_trip: float) -> RungResult:
    """A link whose first trial carried that much in its seconds, over so many milliseconds."""
    link = both(RungName.DC_LINK, GOOD)
    first, *rest = link.experiments
    held = first.trials[0]
    (leg,) = held.legs
    seconds = tuple(
        dataclasses.replace(held.intervals[0], start=float(n), end=n + 1.0, bytes=int(rate * 125_000), counted=n > 0)
        for n, rate in enumerate(megabits)
    )
    legs = (dataclasses.replace(leg, outcome=dataclasses.replace(leg.outcome, intervals=seconds)),)
    trials = (dataclasses.replace(held, legs=legs), *first.trials[1:])
    return dataclasses.replace(link, experiments=(ping(round_trip), dataclasses.replace(first, trials=trials), *rest))


@pytest.mark.parametrize(
    ("megabits", "round_trip", "dead"),
    [
        ((1, 1, 2, 6, 39, 54, 162, 129, 141, 109), 401.0, 0.0),  # measured over 400 ms
        ((1, 1, 2, 6, 39, 54, 162, 129, 141, 109), 40.0, 2.0),  # 8 round trips had passed long before
        ((0, 0, 0, 6, 39, 54, 162, 129, 141, 109), 401.0, 2.0),  # nothing at all is no slow start
        ((90, 120, 130, 120, 1, 2, 162, 129, 141, 109), 401.0, 2.0),  # later than any start
    ],
)
def test_a_connection_that_opens_over_a_long_way_is_no_outage(
    megabits: tuple[float, ...], round_trip: float, dead: float
) -> None:
    found = outages(opening(*megabits, round_trip=round_trip), Contract())
    assert sum(one.figures["dead_seconds"] for one in found) == dead


@pytest.mark.parametrize(("rest", "dead"), [(0.03, 0.0), (0.4, 0.4)])
def test_what_a_tool_s_last_line_holds_after_its_last_second_is_no_outage(rest: float, dead: float) -> None:
    link = opening(*(950,) * 10, 0, round_trip=0.1)
    pings, first, *others = link.experiments
    (leg,) = first.trials[0].legs
    *seconds, last = leg.outcome.intervals
    kept = (*seconds, dataclasses.replace(last, end=last.start + rest, counted=False))
    legs = (dataclasses.replace(leg, outcome=dataclasses.replace(leg.outcome, intervals=kept)),)
    first = dataclasses.replace(first, trials=(dataclasses.replace(first.trials[0], legs=legs), *first.trials[1:]))
    found = outages(dataclasses.replace(link, experiments=(pings, first, *others)), Contract())
    assert sum(one.figures["dead_seconds"] for one in found) == pytest.approx(dead)


# --- an end that stands still


def standing(*still: HeldUp, looks: tuple[float, ...] = ()) -> RungResult:
    """Of the link's first trial seconds 4 to 8 are empty; its far end tells of times in which it stood still."""
    link = both(RungName.DC_LINK, GOOD)
    first, *rest = link.experiments
    held = first.trials[0]
    (leg,) = held.legs
    seconds = tuple(dataclasses.replace(i, bytes=0) if 4 <= i.start < 8 else i for i in held.intervals)
    legs = (dataclasses.replace(leg, outcome=dataclasses.replace(leg.outcome, intervals=seconds)),)
    near, far, *others = held.ends
    samples = tuple(HostSample(t, (), 0, ()) for t in looks)
    ends = (near, dataclasses.replace(far, held_up=still, samples=samples), *others)
    one = dataclasses.replace(held, legs=legs, ends=ends)
    return dataclasses.replace(link, experiments=(dataclasses.replace(first, trials=(one, *first.trials[1:])), *rest))


@pytest.mark.parametrize(
    ("still", "looks", "verdict"),
    [
        ((), (), Verdict.FAIL),
        ((HeldUp(3.9, 4.2),), (3.9, 8.1), Verdict.CANNOT_JUDGE),
        ((HeldUp(3.9, 2.1), HeldUp(6.0, 2.1)), (3.9, 6.0, 8.1), Verdict.CANNOT_JUDGE),
        ((HeldUp(3.5, 4.62),), (3.5, 8.12), Verdict.CANNOT_JUDGE),  # 3.5 + 4.62 is more than 8.12 by a hair
        ((HeldUp(3.9, 4.2),), (3.9, 5.0, 6.0, 7.0, 8.1), Verdict.FAIL),  # it did look at itself meanwhile
        ((HeldUp(20.0, 4.2),), (), Verdict.FAIL),  # at another time
    ],
)
def test_seconds_in_which_an_end_stood_still_are_not_held_against_the_path(
    still: tuple[HeldUp, ...], looks: tuple[float, ...], verdict: Verdict
) -> None:
    (found,) = outages(standing(*still, looks=looks), Contract())
    assert found.best is verdict and found.figures["dead_seconds"] == 4.0
    assert ("stood still itself" in found.sentence) is (verdict is Verdict.CANNOT_JUDGE), found.sentence


def test_an_outage_that_goes_on_after_the_end_does_is_the_path_s() -> None:
    (found,) = outages(standing(HeldUp(3.9, 1.2)), Contract())
    assert found.best is Verdict.FAIL


def test_when_an_end_did_not_look_at_itself_is_kept_and_bounded() -> None:
    watched = Watched("far")
    for t in (0.9, 1.9, 6.6, 7.0, 8.0):
        watched.look(HostSample(t, (), 0, ()))
    assert watched.held_up == [HeldUp(1.9, 4.7)] and len(watched.samples) == 5
    for n in range(MOST_STILL + 50):
        watched.look(HostSample(10.0 + 3 * n, (), 0, ()))
    assert len(watched.held_up) == MOST_STILL and HeldUp(1.9, 4.7) in watched.held_up


@pytest.mark.parametrize(
    ("looks", "verdict"),
    [((), Verdict.CANNOT_JUDGE), ((4.0, 5.0, 6.0, 7.0), Verdict.FAIL)],  # it did look at itself meanwhile
)
def test_an_end_stood_still_for_a_low_rate_only_if_it_did_not_look_at_itself(
    looks: tuple[float, ...], verdict: Verdict
) -> None:
    """As in the seconds of an outage: samples that were only late to be heard show that the end ran."""
    samples = tuple(HostSample(t, (), 0, ()) for t in looks)
    link = both(RungName.DC_LINK, 700e6)

    def still(t: TrialResult) -> TrialResult:
        near, far = t.ends
        return dataclasses.replace(
            t, ends=(near, dataclasses.replace(far, held_up=(HeldUp(3.0, 5.0),), samples=samples))
        )

    held = tuple(
        dataclasses.replace(e, trials=tuple(map(still, e.trials))) if e.parameters.protocol is Protocol.TCP else e
        for e in link.experiments
    )
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), dataclasses.replace(link, experiments=held)))
    assert judged.verdict is verdict, judged.sentence
