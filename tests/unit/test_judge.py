"""Verdicts, one case each."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import pytest

import freebsd_dci
from judge_documents import GIGABIT, GOOD, F, R, both, df, document, failed, ladder, ping, rung, tcp, trial, udp
from linkladder import codec
from linkladder.judge import LimiterKind, Verdict, ceiling, judge_document, judge_rung, with_judgement
from linkladder.model import (
    Affinity,
    CpuUse,
    Document,
    ExperimentResult,
    Fault,
    HeldUp,
    HostSample,
    Interval,
    NicCounters,
    PathMtu,
    Rtt,
    RungName,
    RunInfo,
    RunState,
    TcpCounters,
)
from linkladder.verdicts import Cause
from trials import changed

ENDS = ("near", "far")

# --- verdicts


def test_a_good_link_passes() -> None:
    ways = (tcp(way, tuple(trial(GOOD, way, n) for n in range(3))) for way in (F, R))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), rung(RungName.DC_LINK, ping(0.2), *ways)))
    assert judged.verdict is Verdict.PASS and not judged.provisional
    assert judge_document(ladder(GOOD)).judgement.provisional, "nothing was measured of loss"
    assert "950 Mb/s near to far" in judged.sentence and "99.3 % of the ceiling" in judged.sentence


def test_a_single_repeat_is_provisional_everywhere() -> None:
    judged = judge_document(ladder(GOOD, repeats=1))
    assert judged.verdict is Verdict.PASS and judged.provisional and "provisional" in judged.sentence


def test_one_bad_direction_fails() -> None:
    judged = judge_document(ladder(GOOD, 500e6))
    assert judged.verdict is Verdict.FAIL and "500 Mb/s far to near" in judged.sentence


def test_short_with_a_saturated_core_cannot_be_judged() -> None:
    link = both(RungName.DC_LINK, 700e6, busy=(99.0, 40.0))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link))
    assert judged.verdict is Verdict.CANNOT_JUDGE
    assert any("streams" in r for r in judged.judgement.remedies) and any(
        "vCPU" in r for r in judged.judgement.remedies
    )
    assert judged.rungs[-1].limiter is not None and judged.rungs[-1].limiter.kind is LimiterKind.SENDER


def test_a_saturated_core_on_same_host_is_expected() -> None:
    host = both(RungName.SAME_HOST, 4e9, busy=(100.0, 100.0))
    assert judge_document(document(host, both(RungName.DC_LINK, GOOD))).verdict is Verdict.PASS


def test_errors_of_a_card_inside_one_host_are_told_and_decide_nothing() -> None:
    counted = {
        end: NicCounters("ix0", 68 * 10**8, 68 * 10**8, 10**7, 10**7, crc_errors=50, carrier_lost=1) for end in ENDS
    }
    host = both(RungName.SAME_HOST, 4e9, nics=counted)
    seen = judge_document(document(host, both(RungName.DC_LINK, GOOD))).rungs[0].judgement
    assert seen.verdict is Verdict.PASS
    assert any("ix0 of the near end: 300 CRC errors" in said for said in seen.findings)
    assert any("lost their links meanwhile" in said for said in seen.findings)


def test_too_little_headroom_cannot_judge() -> None:
    judged = judge_document(ladder(GOOD, headroom=1.2e9))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "1.20 times" in " ".join(judged.judgement.reasons)


def test_a_withheld_cpu_cannot_judge() -> None:
    cpu = {"near": CpuUse(20, 30, 0.4, starved=0.4), "far": CpuUse(20, 30, 0.4)}
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), both(RungName.DC_LINK, 300e6, cpu=cpu)))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "withheld" in judged.sentence


def test_missing_lower_rungs_are_said() -> None:
    judged = judge_document(document(both(RungName.DC_LINK, GOOD)))
    assert judged.verdict is Verdict.PASS
    assert sum("does not exclude" in f for f in judged.judgement.findings) == 3


def test_scattered_repeats_cannot_be_judged() -> None:
    values = (955e6, 700e6, 950e6, 952e6, 940e6)
    link = rung(
        RungName.DC_LINK,
        *(tcp(d, tuple(trial(v, d, n) for n, v in enumerate(values))) for d in (F, R)),
    )
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link))
    assert judged.verdict is Verdict.CANNOT_JUDGE and "scattered" in judged.sentence
    assert any("Scattered" in f for f in judged.judgement.findings)


def test_a_tool_fault_in_every_trial_is_incomplete() -> None:
    link = rung(
        RungName.DC_LINK,
        tcp(F, (trial(GOOD),)),
        tcp(R, (failed(Fault.TOOL, "bind failed"),)),
    )
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), link))
    assert judged.verdict is Verdict.INCOMPLETE and "bind failed" in judged.sentence


def test_a_path_fault_fails() -> None:
    link = rung(
        RungName.DC_LINK,
        tcp(F, (trial(GOOD), trial(GOOD, n=1))),
        tcp(R, (failed(Fault.PATH, "stalled"),)),
    )
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), link)).verdict is Verdict.FAIL


def test_an_interrupted_run_never_passes() -> None:
    whole = ladder(GOOD)
    link = whole.rungs[-1]
    cut = dataclasses.replace(link.experiments[1], trials=link.experiments[1].trials[:1])
    part = dataclasses.replace(link, experiments=(link.experiments[0], cut))
    stopped = dataclasses.replace(
        whole,
        rungs=(whole.rungs[0], part),
        run=dataclasses.replace(whole.run, state=RunState.INCOMPLETE),
    )
    judged = judge_document(stopped)
    assert judged.verdict is Verdict.INCOMPLETE and "2 of 6 planned trials" in judged.sentence


@pytest.mark.parametrize(("state", "verdict"), [
    (RunState.COMPLETE, Verdict.PASS), (RunState.INCOMPLETE, Verdict.INCOMPLETE),
])  # fmt: skip
def test_an_arm_that_these_machines_do_not_have_is_not_missed(state: RunState, verdict: Verdict) -> None:
    """As idle hyperthreads where there are none: it was left out, unless the run ended before it."""
    whole = ladder(GOOD)
    link, asked = whole.rungs[-1], whole.run.plan.rungs[-1]
    base = asked.experiments[0]
    arm = dataclasses.replace(base, id="idle", affinity=Affinity.SIBLINGS_IDLE, baseline=base.id)
    plan = dataclasses.replace(
        whole.run.plan,
        rungs=(*whole.run.plan.rungs[:-1], dataclasses.replace(asked, experiments=(*asked.experiments, arm))),
    )
    run = dataclasses.replace(whole.run, plan=plan, state=state)
    judged = judge_document(dataclasses.replace(whole, run=run)).rungs[-1].judgement
    assert judged.verdict is verdict
    assert bool(_lacking(whole, run, link.experiments)) == (verdict is not Verdict.PASS)
    if state is RunState.COMPLETE:
        assert _lacking(whole, run, link.experiments[1:]) == [], "a baseline that nothing was left for"
        done = dataclasses.replace(link.experiments[0], parameters=arm)
        assert _lacking(whole, run, (done, *link.experiments[1:])), "a baseline whose arm was measured"
    first = dataclasses.replace(link.experiments[0], trials=link.experiments[0].trials[:1])
    assert _lacking(whole, run, (first, *link.experiments[1:])), "trials of what the machines have"


def _lacking(whole: Document, run: RunInfo, there: tuple[ExperimentResult, ...]) -> list[str]:
    """What is said of trials that were not run, if the link has only these."""
    link = dataclasses.replace(whole.rungs[-1], experiments=there)
    judged = judge_document(dataclasses.replace(whole, run=run, rungs=(*whole.rungs[:-1], link)))
    return [said for said in judged.rungs[-1].judgement.findings if "planned trials" in said]


def test_an_unavailable_link_is_incomplete() -> None:
    gone = dataclasses.replace(rung(RungName.DC_LINK), unavailable="the peer was not reachable")
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), gone))
    assert judged.verdict is Verdict.INCOMPLETE and "not reachable" in judged.sentence


def test_udp_loss_within_the_contract_fails_beside_good_tcp() -> None:
    good = both(RungName.DC_LINK, GOOD)
    lossy = dataclasses.replace(good, experiments=(*good.experiments, udp(F, 480e6, 400e6)))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), lossy))
    assert judged.verdict is Verdict.FAIL and any("UDP loses" in f for f in judged.judgement.findings)


def test_the_loss_that_is_named_is_said_to_be_the_worst_of_repeats_that_differ() -> None:
    once, more = udp(F, 480e6, 400e6), udp(F, 480e6, 240e6)
    again = dataclasses.replace(more.trials[0], id="again", repeat=1)
    twice = dataclasses.replace(once, trials=(*once.trials, again), min_bps=240e6, median_bps=320e6)
    for lossy, words in ((once, "arrived, 16.67 % of it was lost"), (twice, "in the worst of 2 trials 50.00 % of it")):
        link = dataclasses.replace(both(RungName.DC_LINK, GOOD), experiments=(lossy,))
        judged = judge_rung(link, document(both(RungName.SAME_HOST, 4e9), link))
        assert words in judged.experiments[0].judgement.sentence


@pytest.mark.parametrize("asked", [480e6, 60e6])
def test_a_stream_that_lost_too_much_is_said_to_have_been_slower_than_asked(asked: float) -> None:
    """60 Mb/s were sent, and a sixth of them lost."""
    lossy = udp(F, 60e6, 50e6)
    lossy = dataclasses.replace(lossy, parameters=dataclasses.replace(lossy.parameters, udp_rate_bps=asked))
    link = dataclasses.replace(both(RungName.DC_LINK, GOOD), experiments=(lossy,))
    said = judge_rung(link, document(both(RungName.SAME_HOST, 4e9), link)).experiments[0].judgement
    assert said.verdict is Verdict.FAIL
    assert ("did not keep the pace" in said.sentence) == (asked > 60e6), said.sentence


def test_little_udp_loss_is_a_finding() -> None:
    good = both(RungName.DC_LINK, GOOD)
    some = dataclasses.replace(good, experiments=(*good.experiments, udp(F, 480e6, 479.8e6)))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), some))
    assert judged.verdict is Verdict.PASS and any("UDP loses" in f for f in judged.judgement.findings)


def test_udp_above_the_contract_may_be_lost() -> None:
    good = both(RungName.DC_LINK, GOOD)
    over = dataclasses.replace(good, experiments=(*good.experiments, udp(F, 1.02e9, 960e6)))
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), over)).verdict is Verdict.PASS


def test_udp_lost_beside_a_busy_receiver_leaves_the_question_open() -> None:
    """Nobody counted where the datagrams went: neither the link is blamed nor the loss forgotten."""
    good = both(RungName.DC_LINK, GOOD)
    held = dataclasses.replace(good, experiments=(*good.experiments, udp(F, 900e6, 500e6, busy=(50, 100))))
    judged = judge_rung(held, document(both(RungName.SAME_HOST, 4e9), held))
    of_udp = next(e for e in judged.experiments if e.protocol == "udp")
    assert of_udp.judgement.verdict is Verdict.CANNOT_JUDGE
    assert judged.verdict is Verdict.CANNOT_JUDGE and judged.judgement.cause is Cause.WHO_LOST
    assert any("UDP near to far" in f for f in judged.judgement.findings)


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize(("at", "looks", "elsewhere", "verdict"), [
    (4.5, (4.5, 7.0), 0, Verdict.CANNOT_JUDGE),  # in the one second that lost any
    (8.0, (), 0, Verdict.FAIL),  # in others
    (4.5, (4.5, 5.5, 7.0), 0, Verdict.FAIL),  # it did look at itself meanwhile
    (4.5, (), 40, Verdict.FAIL),  # others lost too much as well
    (None, (), 0, Verdict.FAIL),
])  # fmt: skip
def test_udp_lost_while_an_end_stood_still_is_not_held_against_the_link(
    end: int, at: float | None, looks: tuple[float, ...], elsewhere: int, verdict: Verdict
) -> None:
    """Of an even stream of 5000 datagrams a second the fifth second lost a fifth; the far card counted as much less."""
    good, lossy = both(RungName.DC_LINK, GOOD), udp(F, 60e6, 58.8e6)
    (one,) = lossy.trials
    lost = {i: 1000 if i == 4 else elsewhere for i in range(10)}
    seconds = tuple(Interval(i, i + 1, (5000 - lost[i]) * 1470, F, lost=lost[i], datagrams=5000) for i in lost)
    total = sum(lost.values())
    counted = {
        "near": NicCounters("ix0", tx_bytes=50000 * 1512, tx_packets=50000),
        "far": NicCounters("ix0", rx_bytes=(50000 - total) * 1512, rx_packets=50000 - total),
    }
    one = changed(one, intervals=seconds, nics=counted, lost=total, datagrams=50000)
    ends = list(one.ends)
    samples = tuple(HostSample(t, (), 0, ()) for t in looks)
    still = (HeldUp(at, 2.5),) if at is not None else ()
    ends[end] = dataclasses.replace(ends[end], held_up=still, samples=samples)
    lossy = dataclasses.replace(lossy, trials=(dataclasses.replace(one, ends=tuple(ends)),))
    link = dataclasses.replace(good, experiments=(*good.experiments, lossy))
    judged = judge_rung(link, document(both(RungName.SAME_HOST, 4e9), link))
    of_udp = next(e for e in judged.experiments if e.protocol == "udp").judgement
    assert of_udp.verdict is verdict
    words = f"lost in seconds in which the {ENDS[end]} end stood still"
    assert (words in of_udp.sentence) == (verdict is Verdict.CANNOT_JUDGE), of_udp.sentence


@pytest.mark.parametrize(("asked", "lossy", "verdict"), [
    (480e6, (4,), Verdict.CANNOT_JUDGE),
    (480e6, range(10), Verdict.FAIL),  # a link that loses at random
    (100e6, (4,), Verdict.FAIL),  # the pace was kept nearly enough
])  # fmt: skip
def test_single_seconds_of_a_sender_far_behind_its_pace_are_not_held_against_the_link(
    asked: float, lossy: Collection[int], verdict: Verdict
) -> None:
    """60 Mb/s were sent of what was asked for, and a tenth of the datagrams of some seconds never came."""
    made, good = udp(F, 60e6, 59.4e6 if len(lossy) == 1 else 54e6), both(RungName.DC_LINK, GOOD)
    lost = {i: 510 if i in lossy else 0 for i in range(10)}
    seconds = tuple(Interval(i, i + 1, (5102 - lost[i]) * 1470, F, lost=lost[i], datagrams=5102) for i in lost)
    total = sum(lost.values())
    one = changed(made.trials[0], intervals=seconds, lost=total, datagrams=51020)
    made = dataclasses.replace(made, trials=(one,), parameters=dataclasses.replace(made.parameters, udp_rate_bps=asked))
    link = dataclasses.replace(good, experiments=(*good.experiments, made))
    judged = judge_rung(link, document(both(RungName.SAME_HOST, 4e9), link))
    of_udp = next(e for e in judged.experiments if e.protocol == "udp").judgement
    assert of_udp.verdict is verdict
    said = "the near end sent at 60.0 Mb/s instead of 480 Mb/s, in bursts as far as it could, and 1 of 10 seconds lost"
    assert (said in of_udp.sentence) == (verdict is Verdict.CANNOT_JUDGE), of_udp.sentence
    assert any("vCPUs" in one for one in of_udp.remedies) == (verdict is Verdict.CANNOT_JUDGE)


def test_udp_alone_never_passes() -> None:
    alone = rung(RungName.DC_LINK, udp(F, 900e6, 900e6), udp(R, 900e6, 900e6))
    assert judge_document(document(both(RungName.SAME_HOST, 4e9), alone)).verdict is not Verdict.PASS


def test_a_black_hole_never_passes() -> None:
    good = both(RungName.DC_LINK, GOOD)
    hole = PathMtu(passed=(576, 1280), failed=(1500,), mtu=1280, black_hole=True)
    holed = dataclasses.replace(good, experiments=(df(R, hole), *good.experiments))
    judged = judge_document(document(both(RungName.SAME_HOST, 4e9), holed))
    assert judged.verdict is Verdict.FAIL and "far to near" in judged.sentence and "1280" in judged.sentence


def test_rfc6349_figures() -> None:
    link = rung(
        RungName.DC_LINK,
        ping(10.0),
        tcp(F, (trial(478.2e6),)),
        tcp(R, (trial(478.2e6, R),)),
    )
    figures = judge_rung(link, document(link)).rfc6349[0]
    assert figures.baseline_rtt_ms == pytest.approx(9.0)
    assert figures.bdp_bytes == pytest.approx(1e9 * 0.009 / 8, rel=1e-3)
    assert figures.bdp_bytes is not None
    assert figures.window_per_stream_bytes == pytest.approx(figures.bdp_bytes / 4)
    assert figures.transfer_time_ratio == pytest.approx(2.0, rel=1e-3)
    assert figures.efficiency_percent == 100.0


def test_a_transfer_takes_as_long_as_it_took_slow_start_included() -> None:
    """Three seconds of a warm-up in which half as much came, then the full rate: the bytes tell, not the goodput."""
    best = ceiling(GIGABIT).bps
    made = tcp(F, (trial(best * 0.99, n=0), trial(best * 0.99, n=1), trial(best * 0.5, n=2)))
    (one, *rest), moved = made.trials, best * 0.99 * 11.5 / 8
    slow = changed(one, flows=tuple(dataclasses.replace(f, total_bytes=int(moved / 4)) for f in one.flows))
    link = rung(RungName.DC_LINK, ping(10.0), dataclasses.replace(made, trials=(slow, *rest)))
    figures = judge_rung(link, document(link)).rfc6349[0]
    assert figures.transfer_time_ratio == pytest.approx(13.0 / (0.99 * 11.5), rel=1e-3), "the middle one of three"
    assert figures.transfer_seconds == 13.0 and figures.transfer_bytes == pytest.approx(
        best * 0.99 * 11.5 / 8, rel=1e-3
    )
    bare = dataclasses.replace(made, trials=tuple(changed(t, flows=()) for t in made.trials))
    untold = judge_rung(rung(RungName.DC_LINK, ping(10.0), bare), document(link)).rfc6349[0]
    assert untold.transfer_time_ratio is None, "nobody told when its last byte came"


def test_rfc6349_worked_examples() -> None:
    """The examples that makers of measuring devices give: 2000 of 102000 sent again, 25 ms that become 32 ms."""
    busy = Rtt(50, 50, 26.0, 32.0, 60.0, 30.0, 50.0, 5.0)
    counters = {"near": TcpCounters(102_000, 2_000), "far": TcpCounters(102_000, 0)}
    one = trial(80e6, tcp=counters, rtt_under_load=busy)
    link = rung(RungName.DC_LINK, ping(25.0 / 0.9), tcp(F, (one,)))
    figures = judge_rung(link, document(link)).rfc6349[0]
    assert figures.buffer_delay_percent == pytest.approx(28.0)
    assert figures.efficiency_percent == pytest.approx(98.04, abs=0.05)


def test_judgement_survives_the_codec() -> None:
    judged = with_judgement(freebsd_dci.document())
    assert codec.from_json(Document, codec.to_json(judged)) == judged
