"""Round trips on a full link, and what an interval of one trial's seconds is worth."""

from __future__ import annotations

import dataclasses
import random
import statistics

import pytest

from judge_documents import GOOD, both, document, link_pings, tcp, trial
from linkladder import phrases
from linkladder.judge import judge_document
from linkladder.judge.latency import grade
from linkladder.judge.stats import effective, half_width, half_width_of_neighbours
from linkladder.model import Direction, Interval, Rtt, RungName
from linkladder.verdicts import Verdict

F, R = Direction.FORWARD, Direction.REVERSE


def pinged(*samples: float) -> Rtt:
    ordered = sorted(samples)
    return Rtt(
        len(samples), len(samples), ordered[0], statistics.fmean(samples), ordered[-1], statistics.median(samples),
        ordered[-2], 0.1, samples,
    )  # fmt: skip


def test_each_way_that_was_filled_has_its_round_trips_and_a_grade() -> None:
    there, back = pinged(*[20.0, 24.0] * 10), pinged(*[300.0] * 15, *[900.0] * 5)
    link = link_pings(
        pinged(*[4.0] * 20),
        tcp(F, tuple(trial(GOOD, F, n, rtt_under_load=there) for n in range(3))),
        tcp(R, tuple(trial(GOOD, R, n, rtt_under_load=back) for n in range(3))),
    )
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link)).rungs[-1]
    one, other = judged.latency
    assert (one.direction, one.samples, one.idle_ms, one.median_ms) == (F, 60, 4.0, 22.0)
    assert (one.p95_ms, one.jitter_ms, one.grade) == (24.0, 4.0, "A")
    assert (other.direction, other.p99_ms, other.grade) == (R, 900.0, "F")
    assert [(b.low_ms, b.high_ms, b.count) for b in other.histogram] == [(200, 500, 45), (500, 1000, 15)]
    assert sum(b.count for b in one.histogram) == 60


def test_the_slower_of_both_ends_pings_are_graded_and_their_end_is_told() -> None:
    quick, slow = pinged(*[20.0] * 20), pinged(*[304.0] * 20)
    ways = (
        tcp(w, tuple(trial(GOOD, w, n, rtt_under_load=quick, far_rtt_under_load=slow) for n in range(3)))
        for w in (F, R)
    )
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link_pings(pinged(*[4.0] * 20), *ways))).rungs[-1]
    assert {(one.pinged_by, one.median_ms, one.grade) for one in judged.latency} == {("far", 304.0, "D")}
    assert "of 60 pings of the far end" in phrases.latency(judged.latency[0], ())
    assert any("rises from 4.00 ms to 304 ms" in text for text in judged.judgement.findings), "a long queue"


def test_without_pings_beside_the_load_nothing_is_claimed() -> None:
    assert judge_document(document(both(RungName.DC_LINK, GOOD))).rungs[-1].latency == ()


RULE = [(-1, "A+"), (4.9, "A+"), (5, "A"), (59, "B"), (199, "C"), (399, "D"), (400, "F")]


@pytest.mark.parametrize(("rise", "word"), RULE)
def test_the_grade_follows_its_published_rule(rise: float, word: str) -> None:
    assert grade(rise) == word


def test_seconds_that_follow_each_other_are_worth_fewer() -> None:
    rng = random.Random(7)
    apart = [rng.gauss(100, 1) for _ in range(300)]
    wander = [100.0]
    for step in apart[1:]:
        wander.append(0.9 * wander[-1] + 0.1 * step)
    assert effective(apart) > 200 and effective(wander) < 60
    assert (half_width_of_neighbours(wander) or 0) > 2 * (half_width(wander) or 0)
    assert effective([5.0, 5.0, 5.0]) == 3


def test_the_interval_of_seconds_that_follow_each_other_covers_as_it_says() -> None:
    """Of many short trials whose seconds hang together, few intervals may miss the truth."""
    rng, missed = random.Random(3), 0
    for _ in range(400):
        values = [rng.gauss(0, 1)]
        for _ in range(29):
            values.append(0.6 * values[-1] + 0.8 * rng.gauss(0, 1))
        missed += abs(statistics.fmean(values)) > (half_width_of_neighbours(values) or 0)
    assert missed <= 0.09 * 400, missed


def test_one_repeat_that_wanders_across_the_bar_cannot_be_judged_and_says_what_it_rests_on() -> None:
    """In three counted seconds above and then some below: not ten independent ones."""
    bar = 0.97 * 956.4e6
    shares = [1.006] * 5 + [1.001] * 5
    rates = [bar] * 3 + [bar * share for share in shares]
    seconds = tuple(Interval(float(n), n + 1.0, int(r / 8), F, counted=n >= 3) for n, r in enumerate(rates))
    mean = statistics.fmean(rates[3:])
    one = tcp(F, (dataclasses.replace(trial(mean, F), legs=trial(mean, F, intervals=seconds).legs),))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link_pings(None, one))).rungs[-1]
    assert judged.verdict in (Verdict.CANNOT_JUDGE, Verdict.INCOMPLETE) and judged.provisional
    assert "as many as are independent" in judged.rests_on[0]
    three = judge_document(document(both(RungName.SAME_HOST, 4e9), both(RungName.DC_LINK, GOOD))).rungs[-1]
    assert all(
        "t interval, 95 % sure, of the mean of 3 repeats" in said and "is needed" in said for said in three.rests_on
    )
