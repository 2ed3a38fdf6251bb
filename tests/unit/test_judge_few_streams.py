"""Both ways at once few streams leave one way of a good link empty: what they lack is no evidence, of several it is."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence

import pytest

import trials
from judge_documents import GOOD, F, R, both, both_ways, document, rung, tcp, trial
from linkladder import judge
from linkladder.judge import Verdict, judge_document
from linkladder.model import Direction, Document, ExperimentResult, Interval, RungName, TrialResult
from linkladder.verdicts import Cause, DocumentJudgement, Judgement

# Mb/s each way of one stream, 10 s each on a clear lab link of 1 Gb/s; and of sixteen
ONE = ((210, 955), (926, 954), (121, 954), (888, 944))
MANY = ((949, 951), (942, 950), (949, 954))


def at_once(rates: Sequence[tuple[float, float]], streams: int) -> ExperimentResult:
    made = (
        both_ways(trial(there * 1e6, F, n), trial(back * 1e6, R, n), streams) for n, (there, back) in enumerate(rates)
    )
    return tcp(Direction.DUPLEX, tuple(made), streams=streams)


def link(*experiments: ExperimentResult, alone: bool = True) -> Document:
    good = both(RungName.DC_LINK, GOOD)
    first = good.experiments if alone else ()
    return document(both(RungName.SAME_HOST, 4e9), dataclasses.replace(good, experiments=(*first, *experiments)))


@pytest.mark.parametrize("rates", [ONE, ONE[:1] + ONE[2:3], ONE[2:3], ((836, 892), (830, 890))])
@pytest.mark.parametrize("streams", [1, 8])
def test_few_streams_do_not_fail_a_link_and_do_not_pass_it(rates: Sequence[tuple[float, float]], streams: int) -> None:
    judged = judge_document(link(at_once(rates, streams)))
    assert judged.verdict is Verdict.CANNOT_JUDGE
    found = judged.rungs[-1]
    assert "acknowledgements wait behind its data" in found.judgement.sentence
    (asked,) = (f for f in found.follow_up if "both ways" in f.question)
    assert "streams = 16\n" in asked.plan and 'direction = "duplex"' in asked.plan
    assert any("16 streams or more" in text for text in found.judgement.remedies)


@pytest.mark.parametrize("rates", [((600, 500), (605, 505)), ((850, 855), (850, 852))])
def test_few_streams_do_not_excuse_a_link_that_is_short_both_ways(rates: Sequence[tuple[float, float]]) -> None:
    judged = judge_document(link(at_once(rates, 1)))
    assert judged.verdict is Verdict.FAIL and "both at once" in " ".join(judged.judgement.reasons)


def test_nor_a_trial_that_is_short_both_ways() -> None:
    judged = judge_document(link(at_once((*MANY, (300, 310)), 1)))
    assert (judged.verdict, judged.judgement.cause) == (Verdict.CANNOT_JUDGE, Cause.SCATTERED)


def test_what_several_streams_carry_decides() -> None:
    passed = judge_document(link(at_once(ONE, 1), at_once(MANY, 16)))
    assert passed.verdict is Verdict.PASS
    assert Cause.FEW_STREAMS not in {c.cause for c in passed.rungs[-1].judgement.concerns}
    short = judge_document(link(at_once(ONE, 1), at_once(((600, 500), (605, 505)), 16)))
    assert short.verdict is Verdict.FAIL and "both at once" in " ".join(short.judgement.reasons)
    for done in (passed, short):
        assert not [f for f in done.rungs[-1].follow_up if "several streams" in f.question]


def test_several_streams_that_were_not_measured_decide_nothing() -> None:
    wanted = at_once(MANY, 16)
    broken = dataclasses.replace(wanted, trials=tuple(trials.changed(t, ok=False) for t in wanted.trials))
    assert judge_document(link(at_once(ONE, 1), broken)).verdict is Verdict.CANNOT_JUDGE


def test_where_only_both_ways_at_once_were_measured_the_better_setting_counts() -> None:
    passed = judge_document(link(at_once(ONE, 1), at_once(MANY, 16), alone=False))
    assert passed.verdict is Verdict.PASS
    assert judge_document(link(at_once(ONE, 1), alone=False)).verdict is Verdict.CANNOT_JUDGE


def test_one_stream_that_carries_enough_both_ways_is_no_less_for_being_one() -> None:
    assert judge_document(link(at_once(MANY, 1))).verdict is Verdict.PASS


def test_silence_fails_whatever_the_number_of_streams() -> None:
    assert judge_document(link(at_once(((0.0, 953), (0.0, 955)), 1))).verdict is Verdict.FAIL


def of_seconds(there: Sequence[float], back: Sequence[float]) -> ExperimentResult:
    """Two trials of one stream, by the rates of their seconds in Mb/s."""

    def way(rates: Sequence[float], direction: Direction, n: int) -> TrialResult:
        made = trial(statistics.fmean(rates[3:]) * 1e6, direction, n)
        seconds = tuple(
            dataclasses.replace(i, bytes=int(bps * 1e6 / 8) + (97 + 31 * n + (direction is R)) * (k + 1))
            for k, (i, bps) in enumerate(zip(made.intervals, rates, strict=True))
        )
        moved = sum(i.bytes for i in seconds)
        (flow,) = made.flows
        flow = dataclasses.replace(flow, bytes=sum(i.bytes for i in seconds if i.counted), total_bytes=moved)
        return trials.changed(made, intervals=seconds, flows=(flow,))

    return tcp(Direction.DUPLEX, tuple(both_ways(way(there, F, n), way(back, R, n), 1) for n in range(2)), streams=1)


FULL, FELL, DEAD = [948.0] * 13, [940.0] * 7 + [400.0] * 6, [940.0] * 6 + [9.0] * 3 + [940.0] * 4


def test_a_way_whose_rate_fell_while_the_other_was_full_is_no_more_than_few_streams() -> None:
    one = of_seconds(FULL, FELL)
    open_yet = judge_document(link(one))
    assert (open_yet.verdict, open_yet.judgement.cause) == (Verdict.CANNOT_JUDGE, Cause.FEW_STREAMS)
    assert judge_document(link(one, at_once(MANY, 16))).verdict is Verdict.PASS


def test_seconds_in_which_the_other_way_was_full_are_no_outage() -> None:
    """What fills it is acknowledged over the empty one."""
    empty = judge_document(link(of_seconds(FULL, DEAD)))
    assert empty.verdict is Verdict.CANNOT_JUDGE and Cause.OUTAGE not in causes(empty)
    assert judge_document(link(of_seconds(FULL, DEAD), at_once(MANY, 16))).verdict is Verdict.PASS
    dead = judge_document(link(of_seconds(DEAD, DEAD)))
    assert dead.verdict is Verdict.FAIL and Cause.OUTAGE in causes(dead)


def test_below_the_link_few_streams_are_no_evidence_either() -> None:
    def only(*made: ExperimentResult) -> Judgement:
        measured = document(both(RungName.SAME_HOST, 4e9), rung(RungName.SAME_VLAN, *made))
        return judge_document(measured).rungs[-1].judgement

    assert only(at_once(ONE, 1)).verdict is Verdict.CANNOT_JUDGE
    least = at_once(((915, 916), (916, 915)), 16)  # as much as the link needs of both ways at once
    assert only(least).verdict is Verdict.PASS
    assert only(at_once(((700, 705), (702, 701)), 16)).verdict is Verdict.FAIL


def causes(judged: DocumentJudgement) -> set[Cause]:
    return {c.cause for c in judged.rungs[-1].judgement.concerns}


def test_more_repeats_of_too_few_streams_are_not_asked_for() -> None:
    """They would scatter as before."""
    one = at_once(ONE, 1)
    open_yet = dataclasses.replace(one, parameters=dataclasses.replace(one.parameters, at_most=8))
    made = link(open_yet)
    assert open_yet.parameters.id not in judge.unsettled(made.rungs[-1], made)
    several = at_once(ONE, 16)
    open_yet = dataclasses.replace(several, parameters=dataclasses.replace(several.parameters, at_most=8))
    made = link(open_yet)
    assert open_yet.parameters.id in judge.unsettled(made.rungs[-1], made)
    assert judge_document(made).rungs[-1].experiments[-2].judgement.cause is Cause.SCATTERED


def later_by(seconds: float, made: TrialResult, bytes_too: bool = True) -> TrialResult:
    """The trial with its last second closed so much later, as a busy end does: it carried at the same rate in it."""

    def longer(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
        *first, last = intervals
        more = round(last.bytes * (1 + seconds)) if bytes_too else last.bytes
        return (*first, dataclasses.replace(last, end=last.end + seconds, bytes=more))

    flows = tuple(
        dataclasses.replace(
            f,
            intervals=(mine := longer(f.intervals)) if f.intervals else (),
            bytes=f.bytes + (mine[-1].bytes - f.intervals[-1].bytes if f.intervals else 0),
            seconds=f.seconds + seconds,
        )
        for f in made.flows
    )
    kept = longer(made.intervals)
    more = kept[-1].bytes - made.intervals[-1].bytes
    flows = tuple(dataclasses.replace(f, total_bytes=f.total_bytes + more // len(flows)) for f in flows)
    return dataclasses.replace(trials.changed(made, intervals=kept, flows=flows), seconds=made.seconds + seconds)


@pytest.mark.parametrize("late", [0.0, 0.35, 0.9])
@pytest.mark.parametrize("borne_out", [True, False])
def test_each_way_is_held_to_its_own_seconds(late: float, borne_out: bool) -> None:
    """Between busy machines the last second of one way was closed 90 ms after that of the other."""

    def trial_of(n: int, there: float, back: float) -> TrialResult:
        return both_ways(trial(there * 1e6, F, n), later_by(late, trial(back * 1e6, R, n), borne_out), 16)

    arms = tuple(trial_of(n, there, back) for n, (there, back) in enumerate(MANY))
    judged = judge_document(link(tcp(Direction.DUPLEX, arms, streams=16)))
    if borne_out or not late:
        assert judged.verdict is Verdict.PASS, judged.judgement.sentence
    else:
        assert judged.verdict is Verdict.CANNOT_JUDGE and "but its seconds make" in judged.judgement.sentence
