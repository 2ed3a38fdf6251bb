"""Several paths judged: each alone, the whole against what they share, and which of them share something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder.judge import judge_document
from linkladder.judge.able import NOBODY, Able
from linkladder.judge.company import judge_company
from linkladder.model import (
    Company,
    Contract,
    CpuUse,
    Direction,
    Document,
    EndRecord,
    Experiment,
    ExperimentResult,
    Fault,
    Interval,
    Leg,
    NicCounters,
    Outcome,
    Path,
    Plan,
    Protocol,
    Rtt,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    Setting,
    SettingKind,
    TrialResult,
)
from linkladder.verdicts import Cause, CompanyJudgement, Verdict

DEAL = Contract(port_bps=10e9, rate_bps=200e6, shared_bps=400e6)
PAIRS = (
    Path("10.0.0.1", "10.0.0.2", "beta"),
    Path("10.0.0.3", "10.0.0.4", "delta", origin="gamma"),
    Path("10.0.0.5", "10.0.0.6", "zeta", origin="epsilon"),
)
CARDS = tuple(Path(f"10.0.{n}.1", f"10.0.{n}.2", "beta") for n in range(2))
ALONE = 191e6
BUSY = CpuUse(99.0, 99.0, 1.0)


def measured(
    paths: tuple[int, ...], rates: list[float | str], company: Company, repeats: int = 2, cpu: CpuUse | None = None
) -> ExperimentResult:
    """Rates of the legs, or why there is none."""
    p = Experiment(f"{company}-{paths}", company=company, paths=paths if company is not Company.ALL else ())
    legs = tuple(
        Leg(
            Outcome(True, goodput_bps=one, by_direction={"forward": one})
            if isinstance(one, float)
            else Outcome(False, Fault.PEER, one),
            path=n,
            near=0,
            far=1,
            began=0.004 * k,
        )
        for k, (n, one) in enumerate(zip(paths, rates, strict=True))
    )
    ends = (EndRecord("near", cpu=cpu), EndRecord("far"))
    return ExperimentResult(p, tuple(TrialResult(f"t{r}", r, legs, ends) for r in range(repeats)))


def rung(paths: tuple[Path, ...], *experiments: ExperimentResult) -> RungResult:
    return RungResult(RungName.DC_LINK, paths, experiments)


def judged(
    paths: tuple[Path, ...], *experiments: ExperimentResult, deal: Contract = DEAL, below: Able = NOBODY
) -> CompanyJudgement:
    found = judge_company(rung(paths, *experiments), deal, below)
    assert found
    return found


def alone(*rates: float) -> list[ExperimentResult]:
    return [measured((n,), [bps], Company.ALONE) for n, bps in enumerate(rates)]


def together(*rates: float | str) -> ExperimentResult:
    return measured(tuple(range(len(rates))), list(rates), Company.ALL)


def test_three_pairs_that_fill_what_they_share_pass_and_are_told_to_share_it() -> None:
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), together(128e6, 127e6, 127e6))
    assert seen.whole.verdict is Verdict.PASS and not seen.whole.provisional
    assert seen.sum_bps == {"forward": 382e6} and seen.alone_bps == {"forward": 573e6}
    assert seen.ceiling_bps == pytest.approx(400e6 * 1448 / 1514)
    assert [(c.sender, c.receiver, c.judgement.verdict) for c in seen.cells] == [
        ("near", "beta", "PASS"), ("gamma", "delta", "PASS"), ("epsilon", "zeta", "PASS"),
    ]  # fmt: skip
    assert [round(c.lost_share or 0, 2) for c in seen.cells] == [0.33, 0.34, 0.34]
    (one,) = seen.sharing
    assert one.paths == (0, 1, 2) and one.bps == 382e6
    assert one.sentence.startswith("near to beta, gamma to delta and epsilon to zeta share something that carries 382")
    assert seen.fairness["forward"] > 0.999 and seen.skew_ms == pytest.approx(8.0)


def test_paths_that_were_loaded_at_once_only_as_a_bundle_on_loan_are_not_said_to_have_carried_nothing() -> None:
    lent = (Setting(SettingKind.LAGG, "roundrobin"),)
    whole = together(ALONE, ALONE)
    whole = replace(whole, parameters=replace(whole.parameters, settings=lent))
    plan = Plan("lagg", rungs=(Rung(RungName.DC_LINK, CARDS),), contract=DEAL)
    run = RunInfo("x", "2026-11-26T12:00:00+00:00", plan=plan, state=RunState.COMPLETE)
    document = Document(run, rungs=(rung(CARDS, *alone(ALONE, ALONE), whole),))
    verdict = judge_document(document).judgement
    assert verdict.verdict is Verdict.INCOMPLETE
    assert "No TCP throughput of all 2 paths at once, without a setting on loan, was measured" in verdict.sentence
    assert "nothing measured" not in verdict.sentence


def test_what_they_share_carries_too_little() -> None:
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), together(100e6, 100e6, 100e6))
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.FAIL, Cause.SHORT)
    assert "300 Mb/s" in seen.whole.sentence and "371 Mb/s of 383 Mb/s" in seen.whole.sentence


def test_pairs_that_alone_add_up_to_less_cannot_show_it() -> None:
    seen = judged(PAIRS[:2], *alone(143e6, 143e6), together(143e6, 143e6), deal=replace(DEAL, rate_bps=150e6))
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.CANNOT_JUDGE, Cause.WEAK_GENERATOR)
    assert not seen.sharing and _nothing_taken(seen)


def _nothing_taken(seen: CompanyJudgement) -> bool:
    return any("share no end" in text.replace("shares", "share") for text in seen.findings)


def test_a_card_excuses_its_own_path_and_no_other() -> None:
    able = Able(frozenset({"near", "gamma"}), frozenset({"beta", "delta"}))
    measured_so = rung(PAIRS[:2], *alone(100e6, 100e6))
    seen = judge_company(measured_so, DEAL, able, [{}, {Cause.SHORT: "ix0 of delta runs half duplex."}])
    assert seen is not None
    assert [(c.judgement.verdict, c.judgement.cause) for c in seen.cells] == [
        (Verdict.FAIL, Cause.SHORT), (Verdict.CANNOT_JUDGE, Cause.OWN_CARD),
    ]  # fmt: skip
    assert "ix0 of delta" in seen.cells[1].judgement.sentence


def test_a_path_alone_is_not_short_for_a_second_without_link_of_its_card() -> None:
    able = Able(frozenset({"near", "gamma"}), frozenset({"beta", "delta"}))
    bps = ALONE * 0.95
    seconds = [Interval(n, n + 1, 0 if n == 4 else int(ALONE / 8), Direction.FORWARD) for n in range(20)]
    found = measured((1,), [bps], Company.ALONE)
    for times, verdict in ((1, Verdict.CANNOT_JUDGE), (0, Verdict.FAIL)):
        ends = (EndRecord("near"), EndRecord("far", nics=(NicCounters("ix0", carrier_lost=times),)))
        load = found.trials[0].legs[0]
        legs = (replace(load, outcome=replace(load.outcome, intervals=tuple(seconds))),)
        trials = tuple(replace(t, legs=legs, ends=ends) for t in found.trials)
        seen = judged(PAIRS[:2], *alone(ALONE)[:1], replace(found, trials=trials), below=able)
        assert seen.cells[1].judgement.verdict is verdict


def test_that_paths_take_nothing_is_said_only_of_paths_without_a_common_end_measured_together() -> None:
    three = (Path(peer="beta"), Path(peer="gamma"), Path(peer="gamma", origin="beta"))
    assert not _nothing_taken(judged(three, *alone(ALONE, ALONE, ALONE), together(95e6, 96e6, 96e6)))
    four = (*three, Path(peer="delta"), Path(peer="delta", origin="beta"), Path(peer="delta", origin="gamma"))
    six, all_at_once = alone(*[ALONE] * 6), together(*[60e6] * 6)
    assert not _nothing_taken(judged(four, *six, all_at_once)), "every path had others at its own ends"
    rounds = [measured((n, 5 - n), [ALONE, ALONE], Company.ROUNDS) for n in range(3)]
    assert not judged(four, *six, *rounds, all_at_once).sharing
    slow = measured((1, 4), [ALONE, 90e6], Company.ROUNDS)
    assert _nothing_taken(judged(four, *six, rounds[0], rounds[2], all_at_once))
    assert not _nothing_taken(judged(four, *six, rounds[0], slow, all_at_once)), "a path lost half"
    assert not _nothing_taken(judged(CARDS, *alone(ALONE, ALONE), together(ALONE, ALONE))), "they share both ends"
    assert not _nothing_taken(judged(PAIRS, *alone(ALONE, ALONE, ALONE), together(ALONE, "it closed", ALONE)))


def test_a_busy_end_side_by_side_could_not_show_what_they_share() -> None:
    """Alone each pair had a core to spare; with the others beside it one end had none."""
    side_by_side = measured((0, 1, 2), [110e6, 110e6, 110e6], Company.ALL, cpu=BUSY)
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), side_by_side)
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.CANNOT_JUDGE, Cause.BUSY_END)
    assert any("but a core of the near end was 99 % busy" in text for text in seen.whole.reasons)


@pytest.mark.parametrize(("seconds", "verdict"), [(1.0, Verdict.PASS), (10.0, Verdict.IMPOSSIBLE)])
def test_a_short_trial_is_not_held_to_more_than_it_can_be_read_to(seconds: float, verdict: Verdict) -> None:
    """The edges of a single second are 2 % of it."""
    each = (*alone(*[1.015 * 191.28e6] * 3), together(*[1.015 * 127.52e6] * 3))
    seen = judged(PAIRS, *(replace(e, parameters=replace(e.parameters, duration=seconds)) for e in each))
    assert {seen.whole.verdict, *(cell.judgement.verdict for cell in seen.cells)} == {verdict}


def test_more_than_is_shared_goes_past_it() -> None:
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), together(ALONE, ALONE, ALONE))
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.IMPOSSIBLE, Cause.ABOVE_CEILING)
    assert "some go past it" in seen.whole.sentence


def test_a_lost_end_is_named_and_no_whole_is_judged_without_it() -> None:
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), together(190e6, "delta is out of reach: it closed", 190e6))
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.INCOMPLETE, Cause.PEER_LOST)
    assert seen.lacking == ("gamma to delta is not in the sum: delta is out of reach: it closed",)
    assert seen.sum_bps == {"forward": 380e6} and seen.cells[1].together_bps is None


def test_a_repeat_that_lost_an_end_is_not_mixed_with_one_that_lost_none() -> None:
    """Who was left in it had the lost one's share: the sum and what the pairs share are those of the whole repeat."""
    whole, broken = together(67e6, 45e6, 79e6), together(69e6, 62e6, "the channel to zeta closed")
    e = replace(whole, trials=(broken.trials[0], replace(whole.trials[1], repeat=1)))
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), e, deal=replace(DEAL, shared_bps=200e6))
    assert seen.sum_bps == {"forward": 191e6}
    assert seen.lacking == (
        "epsilon to zeta was lost in a repeat, and the sum is that of the others: the channel to zeta closed",
    )
    assert [round((c.together_bps or 0) / 1e6) for c in seen.cells] == [67, 45, 79]
    (one,) = seen.sharing
    assert one.bps == 191e6
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.INCOMPLETE, Cause.PEER_LOST)


def test_a_path_that_carried_nothing_in_one_repeat_is_in_what_they_carried() -> None:
    silent = together(69e6, 62e6, "nothing arrived")
    legs = tuple(
        replace(g, outcome=replace(g.outcome, fault=g.outcome.fault and Fault.PATH)) for g in silent.trials[0].legs
    )
    whole = together(67e6, 45e6, 79e6)
    e = replace(whole, trials=(replace(silent.trials[0], legs=legs), replace(whole.trials[1], repeat=1)))
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE), e)
    assert "nothing arrived" in seen.lacking[0]


def test_one_bad_pair_is_told_and_a_busy_end_is_no_bad_pair() -> None:
    one = (*alone(ALONE, 80e6, ALONE), together(128e6, 80e6, 128e6))
    bad = judged(
        PAIRS, *one, deal=replace(DEAL, shared_bps=None), below=Able(frozenset({"gamma"}), frozenset({"delta"}))
    )
    assert bad.whole.verdict is Verdict.FAIL and "gamma to delta carries too little alone" in bad.whole.sentence
    assert bad.ceiling_bps is None
    able = Able(frozenset({"gamma", "epsilon"}), frozenset({"delta", "zeta"}))
    two = (*alone(ALONE, 80e6, 80e6), together(128e6, 80e6, 80e6))
    both = judged(PAIRS, *two, deal=replace(DEAL, shared_bps=None), below=able)
    assert "gamma to delta and epsilon to zeta carry too little alone" in both.whole.sentence
    unknown = judged(PAIRS, *one, deal=replace(DEAL, shared_bps=None))
    assert (unknown.whole.verdict, unknown.whole.cause) == (Verdict.CANNOT_JUDGE, Cause.UNKNOWN_GENERATOR)
    slow = measured((1,), [80e6], Company.ALONE, cpu=BUSY)
    parts = alone(ALONE, 80e6, ALONE)
    busy = judged(PAIRS, parts[0], slow, parts[2], together(ALONE, 80e6, ALONE), deal=replace(DEAL, shared_bps=None))
    assert busy.whole.verdict is Verdict.CANNOT_JUDGE and "99 % busy" in busy.cells[1].judgement.text


def test_a_pair_whose_interval_contains_the_bar_is_no_bad_pair() -> None:
    bar = 0.97 * 200e6 * 1448 / 1514
    able, deal = Able(frozenset({"gamma"}), frozenset({"delta"})), replace(DEAL, shared_bps=None)
    for shares, verdict, cause in (
        ((0.96, 0.99, 1.03), Verdict.CANNOT_JUDGE, Cause.SCATTERED),
        ((0.96, 0.965, 0.97), Verdict.FAIL, Cause.SHORT),
    ):
        each = [measured((1,), [share * bar], Company.ALONE, repeats=1).trials[0] for share in shares]
        trials = tuple(replace(t, id=f"t{n}", repeat=n) for n, t in enumerate(each))
        slow = replace(measured((1,), [bar], Company.ALONE), trials=trials)
        parts = alone(ALONE, ALONE, ALONE)
        seen = judged(PAIRS, parts[0], slow, parts[2], together(ALONE, bar, ALONE), deal=deal, below=able)
        assert (seen.cells[1].judgement.verdict, seen.cells[1].judgement.cause) == (verdict, cause)
        assert (seen.whole.verdict, seen.whole.cause) == (verdict, cause)


def test_two_of_a_round_share_and_the_third_does_not() -> None:
    rounds = measured((0, 1, 2), [100e6, 100e6, ALONE], Company.ROUNDS)
    seen = judged((*PAIRS, Path(peer="beta", origin="gamma")), *alone(ALONE, ALONE, ALONE, ALONE), rounds)
    (one,) = seen.sharing
    assert one.paths == (0, 1) and one.bps == 200e6 and seen.cells[2].beside_bps == ALONE


def test_what_ends_in_one_machine_shares_that_machine() -> None:
    star = (Path(peer="beta"), Path(peer="gamma"), Path(peer="delta"))
    seen = judged(star, *alone(ALONE, ALONE, ALONE), together(64e6, 64e6, 63e6), deal=replace(DEAL, shared_bps=None))
    assert not seen.sharing, "that they meet in one machine explains it"
    said = "near sends 191 Mb/s, over one path or over 3 at once: its own card, the machine itself, or what these paths"
    assert f"{said} share." in seen.findings


def test_cards_that_add_up_to_nothing_more_are_held_by_the_machine() -> None:
    seen = judged(CARDS, *alone(32e9, 31.5e9), together(16e9, 15.8e9), deal=Contract(port_bps=40e9))
    assert any("the sum stays at 31.8 Gb/s, over one path or over 2" in text for text in seen.findings)
    better = judged(CARDS, *alone(2e8, 3e8), together(2e8, 3e8), deal=Contract(port_bps=1e9))
    assert not any("the sum stays" in text for text in better.findings)
    assert better.sum_bps == {"forward": 5e8} and better.fairness["forward"] == pytest.approx(1.0)


def test_where_all_at_once_was_not_measured_no_sum_is_told() -> None:
    seen = judged(PAIRS, *alone(ALONE, ALONE, ALONE))
    assert seen.whole.verdict is Verdict.INCOMPLETE and seen.sum_bps == {}
    assert seen.whole.text == "what all paths carry at once was not measured."


def test_a_single_path_has_no_company() -> None:
    assert judge_company(rung(PAIRS[:1], *alone(ALONE)), DEAL) is None


def test_the_rung_s_verdict_is_the_whole_s_and_round_trips_are_told() -> None:
    echo = ExperimentResult(
        Experiment("e", "ping", Protocol.ECHO),
        (TrialResult("e", 0, tuple(Leg(Outcome(True, rtt=Rtt(20, 19, p50_ms=1.0 + n)), path=n) for n in range(3))),),
    )
    result = rung(PAIRS, echo, *alone(ALONE, ALONE, ALONE), together(128e6, 127e6, 127e6))
    plan = Plan(
        "p", contract=DEAL, rungs=(Rung(RungName.DC_LINK, PAIRS, tuple(e.parameters for e in result.experiments)),)
    )
    document = Document(RunInfo("r", "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE), (result,))
    (found,) = judge_document(document).rungs
    assert found.company and found.company.whole.verdict is Verdict.PASS
    assert found.company.whole.text[1:] in found.judgement.text, "the rung says it, once its figures are borne out"
    assert found.verdict is Verdict.CANNOT_JUDGE and found.judgement.cause is Cause.UNACCOUNTED
    assert [c.rtt_ms for c in found.company.cells] == [1.0, 2.0, 3.0]
    assert [text.partition(":")[0] for text in found.rests_on] == [
        "Near to beta alone", "Gamma to delta alone", "Epsilon to zeta alone", "All together",
    ]  # fmt: skip
    assert all("of the mean of 2 repeats" in text for text in found.rests_on)
    assert found.company.cells[0].loss_percent == pytest.approx(5.0)


@pytest.mark.parametrize(("shared", "told"), [(None, False), (400e6, True)])
def test_the_sum_of_pairs_is_held_against_no_single_pair_s_contract(shared: float | None, told: bool) -> None:
    result = rung(PAIRS, *alone(ALONE, ALONE, ALONE), together(128e6, 127e6, 127e6))
    deal = replace(DEAL, shared_bps=shared)
    plan = Plan(
        "p", contract=deal, rungs=(Rung(RungName.DC_LINK, PAIRS, tuple(e.parameters for e in result.experiments)),)
    )
    document = Document(RunInfo("r", "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE), (result,))
    (found,) = judge_document(document).rungs
    assert (found.limiter is not None) == bool(found.rfc6349) == told


def test_a_repeat_that_lost_an_end_measured_the_others() -> None:
    result = rung(PAIRS, *alone(ALONE, ALONE, ALONE), together(69e6, 62e6, "the channel to zeta closed"))
    plan = Plan(
        "p", contract=DEAL, rungs=(Rung(RungName.DC_LINK, PAIRS, tuple(e.parameters for e in result.experiments)),)
    )
    document = Document(RunInfo("r", "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE), (result,))
    findings = judge_document(document).rungs[0].judgement.findings
    assert any("2 repeats, and none with all paths: the channel to zeta closed" in one for one in findings), findings


EAST, WEST = "east", "west"
MESH = (  # near and gamma in the east, beta and delta in the west
    Path("1", "2", "beta", origin_site=EAST, peer_site=WEST),
    Path("1", "3", "gamma", origin_site=EAST, peer_site=EAST),
    Path("2", "3", "gamma", origin="beta", origin_site=WEST, peer_site=EAST),
    Path("3", "4", "delta", origin="gamma", origin_site=EAST, peer_site=WEST),
)


def test_paths_within_a_site_are_not_in_what_the_sites_share() -> None:
    """Forward, two pairs send west, one east and one stays; all four add up to more than is shared."""
    rates = [192e6, 191e6, 191e6, 190e6]
    seen = judged(MESH, *alone(ALONE, ALONE, ALONE, ALONE), together(*rates))
    assert seen.sum_bps == {"forward": 764e6}, "the sum of all is told all the same"
    assert seen.whole.figures["east to west_bps"] == 382e6 and seen.whole.figures["west to east_bps"] == 191e6
    assert seen.whole.verdict is Verdict.CANNOT_JUDGE, "one pair alone could not show that the way east carries 371"
    back = [_reversed(e) for e in (*alone(*[ALONE] * 4), together(190e6, 191e6, 191e6, 191e6))]
    seen = judged(MESH, *alone(ALONE, ALONE, ALONE, ALONE), together(*rates), *back)
    assert seen.whole.verdict is Verdict.PASS
    assert "between the sites went 382 Mb/s east to west and 381 Mb/s west to east;" in seen.whole.sentence


def test_two_pairs_side_by_side_fill_a_direction_that_all_at_once_do_not() -> None:
    """All at once each card is shared by its pairs, and half of them send the other way."""
    all_at_once, two = together(64e6, 64e6, 64e6, 64e6), measured((0, 3), [190e6, 192e6], Company.ROUNDS)
    back = [_reversed(e) for e in (*alone(*[ALONE] * 4), all_at_once, two)]
    seen = judged(MESH, *alone(*[ALONE] * 4), all_at_once, two, *back)
    assert seen.whole.verdict is Verdict.PASS and "382 Mb/s east to west" in seen.whole.sentence


def test_two_pairs_that_pass_more_than_the_sites_share_go_past_it() -> None:
    seen = judged(MESH, *alone(*[ALONE] * 4), together(210e6, 191e6, 191e6, 210e6))
    assert (seen.whole.verdict, seen.whole.cause) == (Verdict.IMPOSSIBLE, Cause.ABOVE_CEILING)


def _reversed(e: ExperimentResult) -> ExperimentResult:
    return replace(e, parameters=replace(e.parameters, id=f"{e.parameters.id}-back", direction=Direction.REVERSE))


@pytest.mark.parametrize("repeats", [1, 2])
def test_what_each_path_did_alone_is_not_told_as_missing(repeats: int) -> None:
    """Seen with the plan lagg: 4 of 5 trials were not run, it said, and all were."""
    experiments = (*alone(ALONE, ALONE), together(95e6, 95e6))
    arms = tuple(replace(e.parameters, repeats=repeats) for e in experiments)
    one = rung(CARDS, *(replace(e, parameters=p) for e, p in zip(experiments, arms, strict=True)))
    plan = Plan("p", contract=Contract(port_bps=10e9, rate_bps=200e6), rungs=(Rung(RungName.DC_LINK, CARDS, arms),))
    run = RunInfo("r", "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE)
    less = replace(one, experiments=tuple(replace(e, trials=e.trials[:1]) for e in one.experiments))
    for made, missing in ((one, 0), (less, 3 * (repeats - 1))):
        (found,) = judge_document(Document(run, (made,))).rungs
        said = [text for text in found.judgement.findings if "planned trials" in text]
        assert said == ([f"{missing} of {3 * repeats} planned trials were not run."] if missing else [])
