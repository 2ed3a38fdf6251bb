"""A change measured in pairs beside the machine as it is: planned, ordered, answered, and kept out of the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trials
from linkladder import phrases
from linkladder import plan as plans
from linkladder.judge import judge_rung
from linkladder.judge.changes import changes
from linkladder.model import (
    CpuUse,
    Direction,
    Document,
    End,
    Experiment,
    ExperimentResult,
    Plan,
    Protocol,
    Rtt,
    RungName,
    RungResult,
    RunInfo,
    TcpCounters,
    TrialResult,
)
from linkladder.verdicts import Answer, Change, ChangedFigure, Measured, Verdict

TABLE = """name = "p"
[[experiment]]
rungs = "dc-link"
settings = [{kind = "mtu", value = 9000}]
baseline = true
"""
WITHOUT = (940e6, 941e6, 939e6, 942e6, 940e6, 941e6)
WITH = (985e6, 988e6, 984e6, 989e6, 986e6, 987e6)


def read(more: str = "") -> Plan:
    return plans.read_plan(TABLE + more)


def cores(used: float) -> dict[str, CpuUse]:
    return {"near": CpuUse(used * 50, used * 100, used), "far": CpuUse(used * 50, used * 100, used)}


def arm(exp: Experiment, rates: tuple[float, ...], used: float) -> ExperimentResult:
    made = (
        trials.trial(
            f"{exp.id}-{n}", n, goodput_bps=bps, by_direction={"forward": bps}, cpu=cores(used * (1 + n / 100))
        )
        for n, bps in enumerate(rates)
    )
    return ExperimentResult(exp, tuple(made))


def rung(without: tuple[float, ...] = WITHOUT, within: tuple[float, ...] = WITH, price: float = 1.0) -> RungResult:
    a, b = read().rungs[0].experiments
    return RungResult(RungName.DC_LINK, experiments=(arm(a, without, 0.4), arm(b, within, 0.4 * price)))


def figures(result: RungResult) -> dict[Measured, Answer]:
    (one,) = changes(result)
    return {f.measured: f.answer for f in one.figures}


def test_a_comparison_has_two_arms_and_six_pairs() -> None:
    a, b = read().rungs[0].experiments
    assert (a.settings, b.baseline, a.repeats, b.repeats) == ((), a.id, 6, 6)
    assert a.begins != b.begins
    assert a.id == "tcp-1s-default-forward-as-it-is"


def test_the_coin_falls_either_way() -> None:
    assert {read().rungs[0].experiments[0].begins for _ in range(64)} == {True, False}


def test_the_arms_mirror_each_other() -> None:
    made = read().rungs[0]
    a, b = made.experiments
    sequence = [exp.id for exp, _ in plans.order(made)]
    first, second = (a.id, b.id) if a.begins else (b.id, a.id)
    assert sequence == [first, second, second, first] * 3


def test_other_experiments_keep_their_order() -> None:
    made = read('[[experiment]]\nrungs = "dc-link"\nstreams = [2, 4]\nrepeats = 2\n').rungs[0]
    others = [(exp.streams, repeat) for exp, repeat in plans.order(made) if exp.streams > 1]
    assert others == [(2, 0), (4, 0), (2, 1), (4, 1)]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('name = "p"\n[[experiment]]\nrungs = "dc-link"\nbaseline = true\n', "expected beside settings"),
        (TABLE + "repeats = 3\n", "at least 4 pairs"),
        (TABLE + 'tool = "ping"\nprotocol = "df"\n', "has no meaning|expected with protocol"),
    ],
)
def test_a_comparison_that_could_tell_nothing_is_refused(table: str, words: str) -> None:
    with pytest.raises(plans.PlanError, match=words):
        plans.read_plan(table)


def test_a_gain_is_told_with_its_interval() -> None:
    (one,) = changes(rung())
    goodput = one.figures[0]
    assert (goodput.measured, goodput.answer, one.pairs) == (Measured.GOODPUT, Answer.DIFFERS, 6)
    assert goodput.ratio == pytest.approx(1.0492, abs=1e-3)
    assert goodput.low is not None and goodput.high is not None and 1.04 < goodput.low < goodput.high < 1.06
    assert figures(rung())[Measured.SENDER_CORES] is Answer.SAME


def test_what_a_gain_costs_is_said_in_one_sentence() -> None:
    document = Document(RunInfo("r", "2026-01-01", Plan("p", rungs=read().rungs)), (rung(price=1.5),))
    briefly, said = judge_rung(document.rungs[0], document).judgement.findings[:2]
    assert briefly == (
        "MTU 9000: 5 % more throughput with 50 % more cores at the sender and "
        "50 % more cores at the receiver (1 stream)."
    )
    assert said.startswith("MTU 9000 (1 stream), near to far, 6 pairs: throughput 940 Mb/s to 986 Mb/s, +4.9 %")
    assert "gained in throughput is paid for in cores at the sender and cores at the receiver" in said


def test_a_failed_trial_voids_its_pair_and_not_its_arm() -> None:
    whole = rung()
    a, b = whole.experiments
    broken = (trials.changed(b.trials[0], ok=False), *b.trials[1:])
    (one,) = changes(replace(whole, experiments=(a, replace(b, trials=broken))))
    assert (one.pairs, one.void) == (5, 1)
    assert one.figures[0].answer is Answer.DIFFERS


def test_the_verdict_is_of_the_machine_as_it_is() -> None:
    """A jumbo frame carries more than the contract's MTU allows: that is no impossible link."""
    document = Document(RunInfo("r", "2026-01-01", Plan("p", rungs=read().rungs)), (rung(),))
    with_change = judge_rung(document.rungs[0], document)
    plain = replace(document.rungs[0], experiments=document.rungs[0].experiments[:1])
    assert with_change.verdict is judge_rung(plain, replace(document, rungs=(plain,))).verdict
    assert with_change.best_experiment == plain.experiments[0].parameters.id
    (lent,) = [e for e in with_change.experiments if e.experiment == document.rungs[0].experiments[1].parameters.id]
    assert not lent.counts and lent.judgement.verdict is not Verdict.IMPOSSIBLE


def test_both_ways_of_one_load_are_told_once_or_apart() -> None:
    same, more, less = (
        Change("e", "b", way, 6, figures=(ChangedFigure(Measured.GOODPUT, answer, 1e9, 1e9 * r, 6, ratio=r),))
        for way, r, answer in (
            ("reverse", 1.0, Answer.SAME), ("forward", 1.4, Answer.DIFFERS), ("forward", 1.0, Answer.SAME),
        )
    )  # fmt: skip
    assert phrases.briefly([("MTU 9000", "1 stream", less), ("MTU 9000", "1 stream", same)]) == (
        "MTU 9000: no difference that matters in throughput, either way (1 stream).",
    )
    assert phrases.briefly([("MTU 9000", "1 stream", more), ("MTU 9000", "1 stream", same)]) == (
        "MTU 9000: 40 % more throughput near to far, no difference that matters in throughput far to near (1 stream).",
    )


def test_both_ways_at_once_are_a_load_of_their_own() -> None:
    alone, at_once = (
        [
            ("MTU 9000", load, differs((Measured.GOODPUT, ratio), way=way))
            for way, ratio in zip(WAYS, ratios, strict=True)
        ]
        for load, ratios in (("1 stream", (1.2, 1.2)), (phrases.load(DUPLEX, DUPLEX), (1.5, 0.9)))
    )
    assert phrases.briefly([*alone, *at_once]) == (
        "MTU 9000: 20 % more throughput, either way (1 stream); 50 % more throughput near to far, 10 % less throughput "
        "far to near (1 stream, both ways at once). What is gained in throughput near to far (1 stream) and throughput "
        "far to near (1 stream) and throughput near to far (1 stream, both ways at once) is paid for in throughput far "
        "to near (1 stream, both ways at once).",
    )


def differs(*ratios: tuple[Measured, float], way: str = "forward") -> Change:
    figures = (ChangedFigure(m, Answer.DIFFERS, 1.0, r, 6, ratio=r) for m, r in ratios)
    return Change("e", "b", way, 6, figures=tuple(figures))


WAYS = ("forward", "reverse")
DUPLEX = Experiment("d", direction=Direction.DUPLEX)
SAME = Change("e", "b", "forward", 6, figures=(ChangedFigure(Measured.GOODPUT, Answer.SAME, 1e9, 1e9, 6, ratio=1.0),))


def test_what_one_load_gains_and_another_one_loses_is_said_to_be_paid_for() -> None:
    bulk = differs((Measured.GOODPUT, 1.2), (Measured.RECEIVER_CORES, 0.8), (Measured.LOADED_RTT, 1.5))
    small, pings = differs((Measured.TRANSACTIONS, 0.9)), differs((Measured.IDLE_RTT, 1.3))
    told = [("LRO on", "1 stream", bulk), ("LRO on", "10 sessions", small), ("LRO on", "", pings)]
    assert phrases.briefly(told) == (
        "LRO on: 20 % more throughput with 20 % fewer cores at the receiver and 50 % longer round trip under load "
        "(1 stream); 10 % fewer transactions a second (10 sessions); 30 % longer idle round trip. What is gained in "
        "throughput (1 stream) is paid for in transactions (10 sessions) and idle round trip.",
    )
    opposite = [
        ("LRO on", "", differs((Measured.GOODPUT, ratio), way=w)) for ratio, w in ((1.2, "forward"), (0.8, "reverse"))
    ]
    assert phrases.briefly(opposite)[0].endswith(
        ". What is gained in throughput near to far is paid for in throughput far to near."
    )


def test_a_load_that_carries_the_same_pays_with_what_it_costs_besides() -> None:
    costly = replace(SAME, figures=(*SAME.figures, *differs((Measured.RECEIVER_CORES, 1.6)).figures))
    quick = differs((Measured.IDLE_RTT, 0.7))
    assert phrases.briefly([("interrupts at once", "", quick), ("interrupts at once", "1 stream", costly)])[0].endswith(
        " What is gained in idle round trip is paid for in cores at the receiver (1 stream)."
    )


def test_nothing_is_paid_for_where_every_load_gains_or_another_change_loses() -> None:
    gain, loss = differs((Measured.GOODPUT, 1.2)), differs((Measured.IDLE_RTT, 1.3))
    assert "paid" not in str(phrases.briefly([("MTU 9000", "1 stream", gain), ("MTU 9000", "4 streams", gain)]))
    assert "paid" not in str(phrases.briefly([("MTU 9000", "1 stream", gain), ("LRO on", "", loss)]))
    assert "paid" not in str(phrases.briefly([("MTU 9000", "1 stream", SAME), ("MTU 9000", "", loss)]))


@pytest.mark.parametrize(("low", "high", "told"), [(0.9, 1.2, True), (1e-6, 17_000.0, False)])
def test_an_interval_too_wide_to_mean_anything_is_not_told(low: float, high: float, told: bool) -> None:
    one = ChangedFigure(
        Measured.PER_CORE,
        Answer.UNDECIDED,
        1e9,
        1.1e9,
        6,
        ratio=1.1,
        low=low,
        high=high,
        more_pairs=9 if told else 9000,
    )
    said = phrases.changes.figure(one)
    assert ("between -10.0 % and +20.0 %" in said) is told and ("40 more pairs might not tell" in said) is not told
    assert "between" not in said or told


def resent(counts: tuple[int, ...], rates: tuple[float, ...]) -> tuple[TrialResult, ...]:
    return tuple(
        trials.trial(
            f"t{n}", n, goodput_bps=bps, by_direction={"forward": bps}, tcp={"near": TcpCounters(1_000_000, count)}
        )
        for n, (count, bps) in enumerate(zip(counts, rates, strict=True))
    )


@pytest.mark.parametrize(
    ("counts", "answer"),
    [
        ((3000, 2500, 4000, 3100, 2900, 3300), Answer.DIFFERS),
        ((0, 0, 0, 0, 0, 0), Answer.SAME),
        ((1, 0, 2, 1, 1, 0), Answer.SAME),  # a segment in a million
        ((1, 1, 1, 1, 1, 1), Answer.SAME),  # always one, where there was none: sure, and of no importance
        ((0, 0, 5000, 0, 0, 0), Answer.UNDECIDED),
    ],
)
def test_segments_sent_again_are_judged_where_most_trials_have_none(counts: tuple[int, ...], answer: Answer) -> None:
    a, b = read().rungs[0].experiments
    made = ExperimentResult(a, resent((0,) * 6, WITHOUT)), ExperimentResult(b, resent(counts, WITH))
    (one,) = changes(RungResult(RungName.DC_LINK, experiments=made))
    found = {f.measured: f for f in one.figures}
    assert found[Measured.RESENT].answer is answer
    assert found[Measured.GOODPUT].answer is Answer.DIFFERS
    said = phrases.change("MTU 9000", "", one)
    paid = " What is gained in throughput is paid for in segments sent again."
    assert said.endswith(paid) is (answer is Answer.DIFFERS)
    if answer is Answer.DIFFERS:
        assert "segments sent again 0 % to 0.3 %, more." in said


def test_the_idle_round_trip_is_compared_as_any_load_is() -> None:
    a, b, again = read('tool = "ping"\ncount = 20\ncontrol = true\n').rungs[0].experiments
    assert (b.protocol, b.baseline, a.repeats) == (Protocol.ECHO, a.id, 6)

    def pinged(p: Experiment, least: float) -> ExperimentResult:
        rtts = [Rtt(20, 20, p50_ms=least * (1 + n / 500)) for n in (0, 2, 1, 3, 1, 2)]
        return ExperimentResult(p, tuple(trials.trial(f"p{n}", n, rtt=rtt) for n, rtt in enumerate(rtts)))

    made = pinged(a, 0.20), pinged(b, 0.35), pinged(again, 0.201)
    one, noise = changes(RungResult(RungName.DC_LINK, experiments=made))
    (figure,) = one.figures
    assert (figure.measured, figure.answer) == (Measured.IDLE_RTT, Answer.DIFFERS)
    assert phrases.briefly([("MTU 9000", "", one)]) == ("MTU 9000: 75 % longer idle round trip.",)
    assert noise.figures[0].answer is Answer.SAME and figure.floor == pytest.approx(1.005)


def test_all_figures_of_all_arms_share_one_error_and_what_is_carried_has_half_of_it() -> None:
    noisy = (940e6, 990e6, 910e6, 960e6, 930e6, 970e6)
    result = rung(within=noisy)
    (one,) = changes(result)
    by = {f.measured: 1 - f.confidence for f in one.figures}
    assert len(by) == 4 and by[Measured.GOODPUT] == pytest.approx(0.025)
    assert by[Measured.SENDER_CORES] == pytest.approx(0.025 / 3)
    a, b = result.experiments
    other = replace(b, parameters=replace(b.parameters, id="other", streams=2))
    more = changes(replace(result, experiments=(a, b, other)))
    assert [1 - c.figures[0].confidence for c in more] == [pytest.approx(0.0125)] * 2


def test_each_step_of_a_staircase_has_the_same_part_of_the_error_from_the_first_on() -> None:
    noisy = (940e6, 990e6, 910e6, 960e6, 930e6, 970e6)
    first = rung(within=noisy)
    steps = []
    for number in (1, 2):
        a, b = (replace(e, parameters=replace(e.parameters, step=number)) for e in first.experiments)
        names = f"a{number}", f"b{number}"
        steps += [
            replace(a, parameters=replace(a.parameters, id=names[0])),
            replace(b, parameters=replace(b.parameters, id=names[1], baseline=names[0])),
        ]
    alone = changes(replace(first, experiments=tuple(steps[:2])), to_come=1)
    both = changes(replace(first, experiments=tuple(steps)))
    assert alone[0] == both[0], "what was decided stays decided"
    assert [1 - c.figures[0].confidence for c in both] == [pytest.approx(0.0125)] * 2


def test_the_exact_test_beside_the_interval_is_told_from_eight_pairs_on() -> None:
    """Eight gains in eight pairs: one of 2 x 2^-8 sign patterns."""
    (few,) = changes(rung())
    (many,) = changes(rung((*WITHOUT, *WITHOUT[:2]), (*WITH, *WITH[:2])))
    assert few.figures[0].rank_p is None and many.figures[0].rank_p == pytest.approx(2 / 256)
    assert "; signed ranks p 0.0078)" in phrases.changes.figure(many.figures[0])
    assert "ranks" not in phrases.changes.figure(few.figures[0])


def without_figures(result: RungResult, repeat: int, ends: dict[str, object]) -> RungResult:
    """The same rung, but that one trial of the changed arm has these values instead."""
    a, b = result.experiments
    made = tuple(trials.changed(t, **ends) if t.repeat == repeat else t for t in b.trials)
    return replace(result, experiments=(a, replace(b, trials=made)))


def test_a_figure_that_a_pair_lacks_is_named_and_not_left_out_without_a_word() -> None:
    whole = rung()
    cpu = whole.experiments[1].trials[2].end(End.FAR).cpu
    assert cpu is not None
    for values, why in (
        ({"cpu": {"far": None}}, "not known in 1"),
        ({"cpu": {"far": replace(cpu, cores_used=0.0)}}, "none of it in 1"),
    ):
        (one,) = changes(without_figures(whole, 2, values))
        assert Measured.RECEIVER_CORES not in {f.measured for f in one.figures}
        assert Measured.RECEIVER_CORES in {u.measured for u in one.uncompared}
        said = phrases.change("MTU 9000", "1 stream", one)
        assert f" Not compared: cores at the receiver, {why} of 6 pairs." in said
    assert changes(whole)[0].uncompared == ()


def test_a_change_that_rests_on_fewer_pairs_than_planned_says_so_wherever_it_is_told() -> None:
    """A run that was ended early, and trials that failed with the change alone, are no clean comparison."""
    a, b = rung().experiments
    four = RungResult(RungName.DC_LINK, experiments=tuple(replace(e, trials=e.trials[:4]) for e in (a, b)))
    lost = replace(b, trials=tuple(trials.changed(t, ok=t.repeat > 1) for t in b.trials))
    for result, words in (
        (four, "4 pairs (2 more not measured)"),
        (replace(four, experiments=(a, lost)), "4 pairs (2 more failed or not borne out)"),
    ):
        (one,) = changes(result)
        assert (one.pairs, one.planned, one.short) == (4, 6, True)
        assert words in phrases.change("MTU 9000", "1 stream", one)
        (brief,) = phrases.briefly([("MTU 9000", "1 stream", one)])
        assert brief == "MTU 9000: 5 % more throughput, in 4 of 6 pairs (1 stream)."
    (whole,) = changes(rung())
    assert not whole.short and "pairs" not in phrases.briefly([("MTU 9000", "", whole)])[0]


def test_a_change_with_which_every_trial_failed_is_not_passed_over() -> None:
    a, b = rung().experiments
    lost = replace(b, trials=tuple(trials.changed(t, ok=False) for t in b.trials))
    (one,) = changes(RungResult(RungName.DC_LINK, experiments=(a, lost)))
    assert phrases.briefly([("MTU 9000", "1 stream", one)]) == (
        "MTU 9000: nothing to compare, in 0 of 6 pairs (1 stream).",
    )


def test_the_pair_that_decides_is_named_by_its_repeat_though_an_earlier_one_failed() -> None:
    """As the report and the CSV number the trials: an outlier in repeat 9 is there, whichever pairs are left."""
    gains = [1 + percent / 100 for percent in (3, 4, 3, 3, 2, 4, 3, 2, -60, 3, 5, 4, 3)]
    a, b = rung((940e6,) * 13, tuple(940e6 * gain for gain in gains)).experiments
    lost = replace(b, trials=tuple(trials.changed(t, ok=t.repeat != 2) for t in b.trials))
    for arm_b, pairs in ((b, 13), (lost, 12)):
        (one,) = changes(RungResult(RungName.DC_LINK, experiments=(a, arm_b)))
        assert (one.pairs, one.figures[0].outlier) == (pairs, 9)
        assert ", as pair 9 decides" in phrases.changes.figure(one.figures[0])
