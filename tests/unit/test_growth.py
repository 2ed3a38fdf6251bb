"""TCP that had met no limit of a long way when the trial ended: a longer trial is asked for, and nothing is judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge_documents import F, R, both, cards, document, link_pings, tcp, trial
from linkladder.judge import Verdict, judge_document
from linkladder.judge.disorder import reordered_or_lost
from linkladder.judge.evidence import Evidence
from linkladder.judge.limiters import limiter_of
from linkladder.model import Direction, Interval, Rtt, RungName, TrialResult
from linkladder.verdicts import Cause, LimiterKind

SEGMENTS = 8000
OVER_150_MS = Evidence(
    154e6, 956e6, 1, 1448, "near", "far", retransmits=0, loss=0.0, idle_ms=150.0, loaded_ms=150.4,
    sender_busy=20.0, receiver_busy=25.0, seconds=(55e6, 90e6, 140e6, 170e6, 210e6, 260e6),
)  # fmt: skip


def kind(**changes: object) -> LimiterKind:
    return limiter_of(replace(OVER_150_MS, **changes), bounded=True).kind  # type: ignore[arg-type]


def test_what_grew_to_the_end_without_loss_or_a_queue_met_no_limit() -> None:
    found = limiter_of(OVER_150_MS, bounded=True)
    assert found.kind is LimiterKind.GROWTH
    assert "55.0 Mb/s in the first counted second, 260 Mb/s in the last" in found.sentence
    assert "150 ms" in found.sentence and "warm-up" in found.experiment


@pytest.mark.parametrize(
    "changes",
    [
        {"retransmits": 4, "loss": 1e-4},  # it met a limit
        {"retransmits": None, "loss": None},  # nobody knows whether it did
        {"loaded_ms": 163.0},  # a queue stands
        {"loaded_ms": None},
        {"idle_ms": 0.4, "loaded_ms": 0.4},  # so near, growing takes no second
        {"seconds": (150e6, 155e6, 152e6, 153e6, 151e6, 154e6)},  # it does not grow
        {"seconds": (55e6, 90e6, 240e6, 250e6, 50e6, 210e6)},  # nor does this
        {"seconds": (55e6, 260e6)},
        {"seconds": ()},
    ],
)
def test_it_takes_every_witness(changes: dict[str, object]) -> None:
    assert kind(**changes) is not LimiterKind.GROWTH


def test_what_was_sent_again_and_had_arrived_is_no_loss() -> None:
    """Such as a probe of a last segment whose acknowledgement is slow to come over a long way."""
    once = {"retransmits": 1, "loss": 1 / SEGMENTS}
    assert kind(**once, disorder=reordered_or_lost(0, SEGMENTS, 1, 1)) is LimiterKind.GROWTH
    assert kind(**once, disorder=reordered_or_lost(0, SEGMENTS, 1, 0)) is not LimiterKind.GROWTH, "it was missing"
    assert kind(**once, disorder=reordered_or_lost(0, SEGMENTS, 1, None)) is not LimiterKind.GROWTH, "nobody tells"
    many = {"retransmits": 1200, "loss": 1200 / SEGMENTS}
    assert kind(**many, disorder=reordered_or_lost(3200, SEGMENTS, 1200, 1190)) is not LimiterKind.GROWTH, "overtaken"


def test_growth_beside_a_busy_core_may_be_either() -> None:
    """A core that other work keeps busy does not make the growth another thing, and it may be that core as well."""
    found = limiter_of(replace(OVER_150_MS, sender_busy=99.0), bounded=True)
    assert found.candidates == (LimiterKind.GROWTH, LimiterKind.SENDER) and "99 % busy" in found.sentence


def test_a_path_that_was_filled_in_the_end_is_the_limit_all_the_same() -> None:
    assert kind(goodput=935e6, seconds=(850e6, 900e6, 945e6, 950e6, 953e6, 955e6)) is LimiterKind.LINK


def growing(direction: Direction, repeat: int) -> TrialResult:
    """Ten counted seconds, each a sixth above the one before, after three that opened the connection."""
    steps = [1.17**n for n in range(-2, 11)]
    scale = (154e6 if direction is F else 148e6) * 10 / sum(steps[3:]) * (1 + repeat / 1000)
    seconds = tuple(
        Interval(float(n), n + 1.0, int(scale * step / 8), direction, counted=n >= 3) for n, step in enumerate(steps)
    )
    bps = sum(i.bytes for i in seconds if i.counted) * 8 / 10
    total = sum(i.bytes for i in seconds)
    flow = replace(trial(bps, direction).flows[0], total_bytes=total)
    under = Rtt(40, 40, 150.0, 150.3, 151.0, 150.3, 150.9, 0.1)
    return trial(
        bps, direction, repeat, intervals=seconds, flows=(flow,), nics=cards(total), rtt_under_load=under,
        far_rtt_under_load=under,
    )  # fmt: skip


def test_the_path_is_not_judged_by_it_and_a_longer_trial_is_asked_for() -> None:
    slow = [tcp(way, tuple(growing(way, n) for n in range(5))) for way in (F, R)]
    link = link_pings(Rtt(100, 100, 150.0, 150.1, 151.0, 150.1, 150.4, 0.1), *slow)
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link)).rungs[-1]
    assert judged.verdict is Verdict.CANNOT_JUDGE and judged.judgement.cause is Cause.WINDOW, judged.sentence
    assert judged.limiter is not None and judged.limiter.kind is LimiterKind.GROWTH
    assert any("warm-up so long" in one for one in judged.judgement.remedies)
