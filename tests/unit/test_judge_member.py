"""A member of a bundle down in mid-trial: gaps and shares reckoned, what is planted excused, and nothing else."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from linkladder.judge.member_down import besides, members_down, planted_seconds, silence, unclaimed
from linkladder.judge.outages import outages
from linkladder.judge.paths_and_bundles import paths_and_bundles
from linkladder.judge.rungs import as_it_is, without_planted
from linkladder.judge.weighing import weigh
from linkladder.model import (
    Away,
    Contract,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    Flow,
    HostSample,
    Interval,
    Leg,
    NicCounters,
    Outcome,
    RungName,
    RungResult,
    Setting,
    SettingKind,
    TrialResult,
)
from linkladder.verdicts import Cause, Judgement, MemberDown, Verdict

WARM, SINCE, UNTIL, OVER = 1, 5.0, 9.0, 17  # seconds of the trial
DOWN = Setting(SettingKind.MEMBER, "2", since=SINCE - WARM, until=UNTIL - WARM)
EXP = Experiment("e", warmup=WARM, duration=OVER - WARM, streams=2, settings=(DOWN,))
RATE = 10_000_000  # bytes a second of each member
Quiet = tuple[float, float]


def samples(away: Quiet | None, silent: tuple[Quiet, ...] = (), stays_on: bool = False) -> tuple[HostSample, ...]:
    """Ten a second, of a sender whose two members count alike what they send, and its receiver as much."""
    made, counted = [], [0.0, 0.0]
    for n in range(OVER * 10 + 1):
        t = n / 10
        made.append(
            HostSample(t, (), 0, tuple(
                NicCounters(f"m{k}", rx_bytes=round(counted[k]), tx_bytes=round(counted[k])) for k in (0, 1)
            ), retransmits=100 if t > SINCE else 3)
        )  # fmt: skip
        gone = away is not None and away[0] <= t < away[1]
        back = away is not None and t >= away[1] and stays_on
        if not any(a <= t < b for a, b in silent):
            counted[0] += RATE / 10 * (2 if back else 1)
            counted[1] += 0 if gone or back else RATE / 10
    return tuple(made)


def seconds(silent: tuple[Quiet, ...]) -> tuple[Interval, ...]:
    return tuple(
        Interval(float(n), n + 1.0, 0 if any(a <= n < b for a, b in silent) else 2 * RATE, counted=n >= WARM)
        for n in range(OVER)
    )


def measured(
    away: Quiet | None = (SINCE, UNTIL),
    claimed: Quiet | None = (SINCE, UNTIL),
    arrives_not: tuple[Quiet, ...] = (),
    silent: tuple[Quiet, ...] = (),
    stays_on: bool = False,
    flows: tuple[Flow, ...] = (),
) -> RungResult:
    looked = samples(away, silent, stays_on)
    cards = tuple(NicCounters(name) for name in ("m0", "m1"))
    near = EndRecord("near", members=cards, samples=looked, away=(Away("m1", *claimed),) if claimed else ())
    far = EndRecord("far", members=cards, samples=looked)
    outcome = Outcome(True, goodput_bps=1e8, intervals=seconds(arrives_not), flows=flows)
    trial = TrialResult("e-1", 0, (Leg(outcome),), (near, far), seconds=OVER + 1.0)
    return RungResult(RungName.DC_LINK, experiments=(ExperimentResult(EXP, (trial,)),))


def judged(rung: RungResult) -> MemberDown:
    (found,) = members_down(rung)
    return found


def flow(stop: Quiet | None) -> Flow:
    return Flow(
        "1", Direction.FORWARD, "a", 1, "b", 2, 100, 100.0, 100, OVER, intervals=seconds((stop,) if stop else ())
    )


def test_what_the_bundle_did_is_said_with_figures() -> None:
    seen = judged(measured(silent=((SINCE, SINCE + 0.4),), flows=(flow(None), flow((SINCE, SINCE + 2)))))
    assert seen.believed and (seen.end, seen.card, seen.sends) == ("near", "m1", True)
    assert seen.silent_down_s == pytest.approx(0.4) and seen.silent_back_s == 0
    assert seen.resolution_s == pytest.approx(0.1)
    assert (seen.flows, seen.stopped, seen.longest_stop_s, seen.not_back) == (2, 1, 2.0, 0)
    assert (seen.again, seen.again_before) == (97, 0)
    assert [seen.share_before, seen.share_without, seen.share_after] == [pytest.approx(s) for s in (0.5, 0.0, 0.5)]
    carried, gap, lost, shares = seen.sentences
    assert carried.startswith("m1 at the near end was down from 5.0 s to 9.0 s, as planned (2 flows, near to far):")
    assert gap == (
        "Nothing arrived for 0.4 s when it went down and for less than 0.1 s when it came back "
        "(looked at every 0.1 s); 1 of 2 flows stopped, for 2 s at the most (to the second), and all went on."
    )
    assert lost == "97 segments sent again from then on, 0 before."
    assert shares == (
        "Of what near sent it had 50 % before, 0 % meanwhile, the other members all else, and 50 % after it came back: "
        "flows came back to it."
    )


def test_flows_that_stay_on_the_others_and_a_flow_that_never_goes_on_are_told() -> None:
    seen = judged(measured(stays_on=True, flows=(flow(None), flow((SINCE, float(OVER))))))
    assert seen.share_after == 0 and "flows stayed on the others" in seen.sentences[-1]
    assert seen.not_back == 1 and "1 for good" in seen.sentences[1]


def test_a_flow_whose_tool_gave_up_is_stopped_for_good_and_stayed_nowhere() -> None:
    """FreeBSD tells a sender of datagrams that the network is down while the card comes up."""
    whole = flow(None)
    ended = replace(whole, intervals=tuple(i for i in whole.intervals if i.end <= UNTIL))
    seen = judged(measured(stays_on=True, flows=(whole, ended)))
    assert (seen.stopped, seen.longest_stop_s, seen.not_back) == (1, OVER - UNTIL, 1)
    assert "1 for good" in seen.sentences[1] and "stayed on" not in seen.sentences[-1]


@pytest.mark.parametrize("case", range(30))
def test_a_silence_is_found_as_long_as_it_is_to_within_what_is_looked_at(case: int) -> None:
    chance = random.Random(case)
    step = chance.choice((0.1, 0.2, 0.5))
    start, length = chance.uniform(5, 6), chance.uniform(0.1, 4)
    counted, points = 0.0, []
    for n in range(int(15 / step)):
        t = n * step
        points.append((t, counted))
        quiet = max(0.0, min(t + step, start + length) - max(t, start))
        counted += RATE * (step - quiet) * chance.uniform(0.8, 1.2)
    found = silence(points, 5, 12, RATE)
    assert found is not None and length - 2 * step - 1e-6 <= found <= length + 1e-6


def test_where_nothing_was_looked_at_nothing_is_said() -> None:
    assert silence([], 5, 9, RATE) is None and silence([(5.0, 0.0), (6.0, 1.0)], 5, 9, 0.0) is None
    assert silence([(5.0, 0.0), (6.0, 0.0), (7.0, 0.0)], 5.5, 6.5, RATE) == pytest.approx(1.0), "clipped at its edges"


def test_its_rate_is_nobodys_and_no_outage_while_the_planted_seconds_are_away() -> None:
    rung = measured(arrives_not=((SINCE, UNTIL + 3),))
    deal = Contract(port_bps=1e9)
    assert planted_seconds(EXP, rung.experiments[0].trials[0]) == (SINCE, UNTIL + 5)
    assert outages(besides(rung), deal) == []
    assert as_it_is(rung).experiments == without_planted(rung).experiments == ()
    plain = ExperimentResult(Experiment("plain"), ())
    assert as_it_is(replace(rung, experiments=(*rung.experiments, plain))).experiments == (plain,)


def test_a_gap_that_nobody_planted_is_still_an_outage() -> None:
    rung = measured(arrives_not=((2, 5), (SINCE, UNTIL)))
    (found,) = outages(besides(rung), Contract(port_bps=1e9))
    assert (found.cause, found.best) == (Cause.OUTAGE, Verdict.FAIL)
    assert found.figures["dead_seconds"] == 3


FORGED = {
    "its counters move": (measured(away=None), "its own counters moved by"),
    "it was down at another time": (measured(away=(1.5, 3), claimed=(1.5, 3)), "not the moments that were asked for"),
    "it comes up before it goes": (measured(claimed=(UNTIL, SINCE)), "not the moments that were asked for"),
    "it is up early": (measured(claimed=(SINCE, UNTIL - 2)), "not the moments that were asked for"),
    "it is hardly down": (measured(claimed=(UNTIL - 0.2, UNTIL)), "too little of the time that was asked for"),
    "it goes when it is to come back": (measured(claimed=(UNTIL + 2, UNTIL + 9)), "too little of the time that was"),
}


@pytest.mark.parametrize("how", FORGED)
def test_what_its_counters_do_not_show_is_not_believed_and_excuses_nothing(how: str) -> None:
    rung, words = FORGED[how]
    seen = judged(rung)
    assert not seen.believed and words in seen.sentences[0] and "not believed" in seen.sentences[0]
    assert planted_seconds(EXP, rung.experiments[0].trials[0]) is None


def test_a_claim_without_counters_excuses_nothing() -> None:
    rung = measured(arrives_not=((SINCE, UNTIL),))
    (e,) = rung.experiments
    (t,) = e.trials
    for ends in (
        (replace(t.ends[0], samples=()), t.ends[1]),
        (replace(t.ends[0], away=(Away("m7", SINCE, UNTIL),)), t.ends[1]),
    ):
        forged = replace(rung, experiments=(replace(e, trials=(replace(t, ends=ends),)),))
        assert "do not tell" in judged(forged).sentences[0]
        (found,) = outages(besides(forged), Contract(port_bps=1e9))
        assert found.best is Verdict.FAIL and found.figures["dead_seconds"] == 4


def test_where_no_end_says_that_it_went_down_that_is_told_and_nothing_excused() -> None:
    rung = measured(claimed=None, arrives_not=((SINCE, UNTIL),))
    assert members_down(rung) == () and "no end says that a member went down" in unclaimed(rung)[0]
    assert outages(besides(rung), Contract(port_bps=1e9))[0].best is Verdict.FAIL


@pytest.mark.parametrize("claimed", [None, (SINCE, UNTIL - 2)])
def test_where_it_did_not_go_down_no_pass_is_firm(claimed: Quiet | None) -> None:
    """Its rate counts for nothing, so that it may hide what the link lacks; a bundle that did as planned hides none."""
    (concern,) = paths_and_bundles(measured(claimed=claimed), Contract(port_bps=1e9)).concerns
    assert (concern.cause, concern.best, concern.provisional) == (Cause.TRIALS_MISSING, Verdict.PASS, True)
    base = Judgement(Verdict.PASS, False, "as sold", cause=Cause.REACHED)
    assert weigh(base, [concern]).provisional and concern.sentence in weigh(base, [concern]).findings
    assert not weigh(replace(base, verdict=Verdict.FAIL, cause=Cause.SHORT), [concern]).provisional
    assert paths_and_bundles(measured(), Contract(port_bps=1e9)).concerns == ()


def test_a_trial_without_such_a_member_is_none_of_this() -> None:
    plain = RungResult(RungName.DC_LINK, experiments=(ExperimentResult(Experiment("plain"), ()),))
    assert members_down(plain) == () and unclaimed(plain) == () and besides(plain).experiments == ()
    assert without_planted(plain) is plain
