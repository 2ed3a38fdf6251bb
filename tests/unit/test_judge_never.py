"""What must never happen, whatever was measured: properties of every verdict, and wrong PASSes one by one."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trials
from judge_documents import GIGABIT, GOOD, F, R, both, both_ways, df, document, failed, ladder, ping, rung, tcp, trial
from linkladder.judge import Verdict, ceiling, judge_document
from linkladder.model import Contract, Direction, Evidence, Fault, PathMtu, RungName

# --- what must never happen

rates = st.one_of(st.just(0.0), st.floats(1e3, 3e9))
some = st.lists(rates, min_size=1, max_size=5)
about_all = st.lists(st.floats(0.95, 1.004).map(lambda share: share * ceiling(GIGABIT).bps), min_size=1, max_size=2)


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(some, some) | st.tuples(about_all, about_all),  # of the first alone, none in a thousand is a PASS
    st.floats(1e9, 2e9) | st.floats(2e9, 8e9),
)
def test_never_pass_short_or_above_or_silent(rates_seen: tuple[list[float], list[float]], headroom: float) -> None:
    forward, reverse = rates_seen
    link = rung(
        RungName.DC_LINK,
        tcp(F, tuple(trial(v, F, n) for n, v in enumerate(forward))),
        tcp(R, tuple(trial(v, R, n) for n, v in enumerate(reverse))),
    )
    judged = judge_document(document(both(RungName.SAME_HOST, headroom), link))
    best = ceiling(GIGABIT).bps
    if judged.verdict is Verdict.PASS:
        assert min(*forward, *reverse) > 0
        assert max(*forward, *reverse) <= best * 1.003
        assert sum(forward) / len(forward) >= 0.97 * best and sum(reverse) / len(reverse) >= 0.97 * best
        assert headroom >= 1.5e9
    if max(*forward, *reverse) > best * 1.003 and min(*forward, *reverse) > 0:
        assert judged.verdict is Verdict.IMPOSSIBLE


RANK = {
    Verdict.FAIL: 0,
    Verdict.CANNOT_JUDGE: 1,
    Verdict.PASS: 2,
    Verdict.IMPOSSIBLE: 3,
}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0.9, 1.0), min_size=2, max_size=5),
    st.floats(1e8, 1.5e9),
    st.floats(1.0, 2.0),
)
def test_verdict_is_monotone_in_throughput(shape: list[float], level: float, factor: float) -> None:
    def verdict(scale: float) -> Verdict:
        trials = {d: tuple(trial(s * scale, d, n) for n, s in enumerate(shape)) for d in (F, R)}
        link = rung(RungName.DC_LINK, *(tcp(d, t) for d, t in trials.items()))
        return judge_document(document(both(RungName.SAME_HOST, 9e9), link)).verdict

    assert RANK[verdict(level)] <= RANK[verdict(level * factor)]


@settings(max_examples=60, deadline=None)
@given(st.floats(0.5, 1.1), st.sampled_from([1e-3, 0.1, 10.0, 40.0]))
def test_verdict_is_unit_safe(share: float, factor: float) -> None:
    """The same shares of a link a thousand times slower or forty times faster get the same verdict."""

    def verdict(scale: float) -> Verdict:
        deal = Contract(port_bps=10e9 * scale, rate_bps=1e9 * scale)
        return judge_document(ladder(share * 956.4e6 * scale, contract=deal, headroom=4e9 * scale)).verdict

    if abs(share - 0.97) > 0.005 and not 0.995 < share < 1.12:  # the error of measuring depends on the rate
        assert verdict(1.0) is verdict(factor)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([Fault.TOOL, Fault.PATH]), st.booleans(), st.integers(1, 4))
def test_never_pass_with_a_failed_direction(fault: Fault, forward: bool, count: int) -> None:
    bad, good = (F, R) if forward else (R, F)
    link = rung(
        RungName.DC_LINK,
        tcp(good, tuple(trial(GOOD, good, n) for n in range(3))),
        tcp(bad, tuple(failed(fault, n=n) for n in range(count))),
    )
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), link)).verdict is not Verdict.PASS


@pytest.mark.parametrize("name", [RungName.LOCALHOST, RungName.SAME_HOST])
def test_a_run_without_a_link_never_passes(name: RungName) -> None:
    judged = judge_document(document(both(name, 9e9)))
    assert judged.rungs[0].verdict is Verdict.PASS
    assert judged.verdict is Verdict.INCOMPLETE and "no link" in judged.sentence


def test_traffic_that_did_not_cross_the_link_never_passes() -> None:
    near = both(RungName.DC_LINK, GOOD)
    near = dataclasses.replace(near, experiments=(ping(0.1), *near.experiments))
    far = dataclasses.replace(near, experiments=(ping(5.0), *near.experiments[1:]))
    deal = dataclasses.replace(GIGABIT, expected_rtt_ms=5.0)
    host = both(RungName.SAME_HOST, 4e9)
    assert judge_document(document(host, far, contract=deal)).verdict is Verdict.PASS
    judged = judge_document(document(host, near, contract=deal))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "crossed the link" in judged.sentence


@pytest.mark.parametrize(
    ("before", "pinged", "verdict"),
    [
        (5.2, None, Verdict.PASS),
        (12.0, None, Verdict.CANNOT_JUDGE),  # seen before the rung was climbed
        (12.0, 5.2, Verdict.PASS),  # and a whole series of pings knows better
        (5.2, 12.0, Verdict.CANNOT_JUDGE),
        (None, None, Verdict.PASS),  # a document of before: nothing is known
    ],
)
def test_a_round_trip_far_longer_than_was_sold_never_passes(
    before: float | None, pinged: float | None, verdict: Verdict
) -> None:
    link = both(RungName.DC_LINK, GOOD)
    link = dataclasses.replace(link, evidence=Evidence("the link lies between", ("it answers",), rtt_ms=before))
    if pinged is not None:
        link = dataclasses.replace(link, experiments=(ping(pinged), *link.experiments))
    deal = dataclasses.replace(GIGABIT, expected_rtt_ms=5.0)
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link, contract=deal))
    assert judged.verdict is verdict
    assert ("not be the way that was sold" in judged.sentence) is (verdict is Verdict.CANNOT_JUDGE)


def test_contradicted_claims_never_pass() -> None:
    link = dataclasses.replace(
        both(RungName.DC_LINK, GOOD), evidence=Evidence("the link lies between", ("one hop",), contradicts=True)
    )
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), link)).verdict is Verdict.CANNOT_JUDGE


def test_a_black_hole_above_the_sold_mtu_is_no_failure() -> None:
    good = both(RungName.DC_LINK, GOOD)
    hole = PathMtu(passed=(1500,), failed=(9000,), mtu=1500, black_hole=True)
    holed = dataclasses.replace(good, experiments=(df(R, hole), *good.experiments))
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), holed)).verdict is Verdict.PASS


def test_full_duplex_far_below_one_way_fails() -> None:
    good = both(RungName.DC_LINK, GOOD)
    at_once = tuple(both_ways(trial(600e6, F, n), trial(500e6, R, n), 1) for n in range(2))
    together = tcp(Direction.DUPLEX, at_once, streams=1)
    judged = judge_document(
        document(both(RungName.SAME_HOST, 4e9), dataclasses.replace(good, experiments=(*good.experiments, together)))
    )
    assert judged.verdict is Verdict.FAIL and "both at once" in " ".join(judged.judgement.reasons)


def test_figures_without_bytes_never_pass() -> None:
    one = trial(GOOD)
    empty = trials.changed(one, flows=tuple(dataclasses.replace(f, bytes=0, total_bytes=0) for f in one.flows))
    link = rung(RungName.DC_LINK, tcp(F, (empty,) * 3), tcp(R, tuple(trial(GOOD, R, n) for n in range(3))))
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), link)).verdict is Verdict.FAIL
