"""Pings from both ends: those of an end with idle cores tell a queue of the path from a wait inside the other."""

from __future__ import annotations

import pytest

from judge_documents import GIGABIT, F, R, document, ping, rung, tcp, trial
from linkladder.judge import Verdict, judge_document
from linkladder.judge.limiters import limiter
from linkladder.model import Direction, End, Rtt, RungName
from linkladder.verdicts import Limiter, LimiterKind

IDLE = 10.0  # ms


def seen(ms: float) -> Rtt:
    return Rtt(50, 50, ms - 1, ms, ms + 1, ms, ms + 1, 0.1)


def found(near: float, far: float, busy: tuple[float, float], way: Direction = F) -> Limiter:
    one = trial(6e8, way, busy=busy, rtt_under_load=seen(near), far_rtt_under_load=seen(far))
    link = rung(RungName.DC_LINK, ping(IDLE), tcp(way, (one,)))
    measured = link.experiments[1]
    return limiter(measured.trials[0], measured.parameters, GIGABIT, link, way)


@pytest.mark.parametrize("way,end", [(F, LimiterKind.SENDER), (R, LimiterKind.RECEIVER)])
def test_what_the_busy_end_alone_sees_waits_inside_it(way: Direction, end: LimiterKind) -> None:
    inside = found(30.0, 9.2, (90.0, 20.0), way)
    assert inside.kind is end and inside.candidates == (end,)
    assert "those of the other end, whose cores are idle, stay at 9.20 ms" in inside.sentence


def test_what_both_see_may_be_either_and_both_figures_are_told() -> None:
    either = found(30.0, 29.0, (90.0, 20.0))
    assert set(either.candidates) == {LimiterKind.SHAPER, LimiterKind.SENDER}
    assert any("29.0 ms under load by the pings of the end with idle cores" in text for text in either.evidence)


@pytest.mark.parametrize("busy", [(90.0, 80.0), (90.0, 88.0)])
def test_two_ends_at_work_are_no_witness_for_each_other(busy: tuple[float, float]) -> None:
    assert LimiterKind.SHAPER in found(30.0, 9.2, busy).candidates


def test_with_idle_cores_at_both_ends_a_queue_is_the_path_s() -> None:
    assert found(30.0, 9.2, (40.0, 30.0)).candidates == (LimiterKind.SHAPER,)


def test_a_wait_inside_an_end_is_no_failure_of_the_link() -> None:
    slow = {"rtt_under_load": seen(30.0), "far_rtt_under_load": seen(9.2), "busy": (92.0, 20.0)}
    ways = (tcp(way, tuple(trial(6e8, way, n, **slow) for n in range(3))) for way in (F, R))
    judged = judge_document(document(rung(RungName.DC_LINK, ping(IDLE), *ways))).rungs[-1]
    assert judged.verdict is Verdict.CANNOT_JUDGE


def test_the_far_end_s_pings_stand_beside_the_near_one_s() -> None:
    one = trial(6e8, F, rtt_under_load=seen(30.0), far_rtt_under_load=seen(9.2))
    assert one.rtt_under_load == seen(30.0) and one.pinged_under_load(End.FAR) == seen(9.2)


@pytest.mark.parametrize("by", ["near", "far"])
def test_pings_of_either_end_that_were_lost_beside_a_load_are_told(by: str) -> None:
    lossy = {f"{'' if by == 'near' else 'far_'}rtt_under_load": Rtt(50, 40, 9, 10, 11, 10, 11, 0.1)}
    both = {"rtt_under_load": seen(IDLE), "far_rtt_under_load": seen(IDLE)} | lossy
    ways = (tcp(way, tuple(trial(9.5e8, way, n, **both) for n in range(3))) for way in (F, R))
    judged = judge_document(document(rung(RungName.DC_LINK, ping(IDLE), *ways))).rungs[-1]
    told = [said for said in judged.judgement.findings if "beside TCP were not answered" in said]
    assert told == [f"60 of 300 pings of the {by} end beside TCP were not answered."]
