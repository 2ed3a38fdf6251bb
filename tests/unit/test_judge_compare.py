"""Two runs side by side, and the ladder's rungs."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest

from judge_documents import GOOD, F, R, both, document, failed, ladder, rung, tcp, trial, udp, with_facts
from linkladder import cli, phrases, report
from linkladder.codec import to_json
from linkladder.judge import compare, judge_document
from linkladder.model import Contract, Document, Evidence, Fault, HostFacts, Nic, RungName, RungResult
from linkladder.verdicts import Answer, Verdict


def test_comparison_says_what_would_have_been_seen() -> None:
    a = document(both(RungName.SAME_VLAN, 900e6))
    noisy = rung(
        RungName.SAME_VLAN, *(tcp(d, tuple(trial(9e8 + 4e6 * (n - 1), d, n) for n in range(3))) for d in (F, R))
    )
    same = compare(document(noisy), document(noisy))
    assert {d.answer for d in same.differences} == {Answer.SAME} and "All 2 settings are the same" in same.sentence
    # two settings, so at 97.5 %: 3.50 times the error of a mean of three with a deviation of 4 Mb/s
    assert same.differences[0].detectable_percent == pytest.approx(1.27, abs=0.05)
    worse = compare(document(noisy), document(both(RungName.SAME_VLAN, 850e6)))
    assert [d.beyond_noise and d.change_percent < -5 for d in worse.differences] == [True, True]
    single = compare(document(both(RungName.SAME_VLAN, 9e8, 1)), document(both(RungName.SAME_VLAN, 5e8, 1)))
    assert "cannot be told" in single.sentence and not any(d.beyond_noise for d in single.differences)
    assert compare(a, a).environment == ()


@pytest.mark.parametrize(
    ("repeats", "said"), [((1, 1), "one repeat each"), ((1, 3), "one repeat in the first"), ((3, 1), "in the second")]
)
def test_the_side_with_a_single_repeat_is_named(repeats: tuple[int, int], said: str) -> None:
    a, b = (document(both(RungName.SAME_VLAN, 9e8, n)) for n in repeats)
    found = compare(a, b)
    assert said in found.sentence.lower() and all(said in d.sentence for d in found.differences)
    assert all(said in phrases.compared(f) for f in found.figures) and found.figures


def test_where_the_single_repeats_are_in_either_run_no_side_is_named() -> None:
    once, thrice = (both(RungName.SAME_VLAN, 9e8, n).experiments for n in (1, 3))
    a, b = (document(rung(RungName.SAME_VLAN, x[0], y[1])) for x, y in ((once, thrice), (thrice, once)))
    assert compare(a, b).sentence.startswith("One repeat of every setting in one of the runs: ")


@pytest.mark.parametrize(
    ("low", "high", "said"), [(1, 1, "one repeat each"), (3, 1, "one repeat at dc-link"), (1, 3, "at same-vlan")]
)
def test_the_rung_with_a_single_repeat_is_named(low: int, high: int, said: str) -> None:
    for bps in (4e9, 3.8e9, 3e8):
        rungs = both(RungName.SAME_VLAN, 3.9e9, low), both(RungName.DC_LINK, bps, high)
        assert (
            f"{said}, so the noise is not known"
            in judge_document(document(*rungs, contract=Contract(port_bps=10e9))).diagnosis[0]
        )


@pytest.mark.parametrize(("repeats", "why"), [(1, "one repeat each"), (2, "one repeat in the second run")])
def test_settings_of_unknown_noise_are_not_among_those_without_a_difference(repeats: int, why: str) -> None:
    def run(*back: float) -> Document:
        ways = (
            tcp(F, tuple(trial(950e6, F, n) for n in range(3))),
            tcp(R, tuple(trial(b, R, n) for n, b in enumerate(back))),
        )
        return document(both(RungName.SAME_HOST, 4e9), rung(RungName.DC_LINK, *ways))

    found = compare(run(*[950e6] * repeats), run(400e6))
    assert found.sentence.startswith("No difference beyond the noise in 3 of 4 settings (3 the same within 2 % ")
    assert "of the rate would have been seen. Of another the noise is not known; the largest change: " in found.sentence
    assert found.sentence.endswith(f"950 Mb/s to 400 Mb/s (-57.9 % of the first), {why}: the noise is not known.")
    known = max(d.detectable_percent for d in found.differences if d.detectable_percent is not None)
    assert f"; {known:.1f} % of the rate" in found.sentence


def test_every_command_takes_the_named_run_for_the_earlier_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, bps in (("before", 9e8), ("after", 4.5e8)):
        made = document(both(RungName.DC_LINK, bps))
        made = dataclasses.replace(made, run=dataclasses.replace(made.run, id=name))
        (tmp_path / name).write_text(json.dumps(to_json(made)))
    asked = [str(tmp_path / "after"), "--compare", str(tmp_path / "before")]
    cli.main(["judge", *asked])
    assert "\nbefore / after: " in (judged := capsys.readouterr().out) and "(-50.0 % of the first)" in judged
    cli.main(["report", *asked, "--unsigned", "--html", "-"])
    assert "before (first) and after (second, this run): " in (page := capsys.readouterr().out) and "-50.0 %" in page
    assert "means of the repeats" in judged and "means of the repeats" in page


def test_comparison_lists_what_else_changed() -> None:
    a = document(both(RungName.SAME_VLAN, 900e6))
    beta = HostFacts("beta", "FreeBSD", "15.1", kernel="15.1-p2", cores=4, sysctls={"cc": "cubic"})
    b = with_facts(a, "beta", beta)
    said = compare(a, b).environment
    assert any("beta kernel" in s and "15.1-p2" in s for s in said) and any(
        "cc" in s and "none / cubic" in s for s in said
    )


def test_the_diagnosis_looks_at_the_weaker_direction() -> None:
    said = judge_document(ladder(GOOD, 300e6)).diagnosis
    assert (
        "300 Mb/s" in said[0] and "69 % of the 956 Mb/s that the link can carry is lost to the interconnect" in said[0]
    )
    assert "dc-link: look at the interconnect" in said[-1]


def test_what_one_direction_loses_is_laid_to_where_that_direction_loses_it() -> None:
    deal = Contract(port_bps=10e9, rate_bps=1e9)

    def each(name: RungName, there: float, back: float) -> RungResult:
        ways = ((F, there), (R, back))
        return rung(name, *(tcp(w, tuple(trial(bps * (1 + 0.002 * n), w, n) for n in range(3))) for w, bps in ways))

    crossed = each(RungName.SAME_VLAN, 9.3e9, 700e6), each(RungName.DC_LINK, 700e6, 950e6)
    said = judge_document(document(both(RungName.SAME_HOST, 20e9), *crossed, contract=deal)).diagnosis
    lost = {text.partition(":")[0]: text for text in said if " is lost to " in text}
    assert lost["From same-vlan to dc-link, near to far"].endswith(
        "that the link can carry is lost to the interconnect."
    )
    assert "96 % of it is lost to the physical cards" in lost["From same-host to same-vlan, far to near"]
    assert any(text.startswith("From same-vlan to dc-link, far to near: 701 Mb/s to 952 Mb/s, noth") for text in said)
    assert not any("701 Mb/s to 701 Mb/s" in text for text in said)
    assert [text.partition(" that is needed is ")[2] for text in said[-2:]] == [
        "same-vlan: look at the physical cards, cables and switches of the data centre.",
        "dc-link: look at the interconnect.",
    ]
    assert said[-2].startswith("Far to near, the first") and said[-1].startswith("Near to far, the first")


def test_where_both_directions_say_the_same_it_is_said_once() -> None:
    for back in (300e6, 310e6):
        judged = judge_document(document(both(RungName.SAME_HOST, 4e9), *ladder(300e6, back).rungs[1:]))
        assert len(judged.diagnosis) == 2 and "From same-host to dc-link: 4.00 Gb/s to 300 Mb/s;" in judged.diagnosis[0]
        assert judged.diagnosis[1].startswith("The first rung below the 928 Mb/s")
    forward = document(rung(RungName.SAME_VLAN, tcp(F, (trial(9e9),))), both(RungName.DC_LINK, 300e6))
    assert judge_document(forward).diagnosis[0].startswith("From same-vlan to dc-link, near to far: 9.00 Gb/s")


def test_the_diagnosis_does_not_clear_a_rung_that_did_not_pass() -> None:
    scattered = both(RungName.DC_LINK, GOOD)
    lossy = dataclasses.replace(scattered, experiments=(*scattered.experiments, udp(F, 500e6, 300e6)))
    judged = judge_document(document(both(RungName.SAME_VLAN, 4e9), lossy))
    assert judged.rungs[-1].verdict is not Verdict.PASS
    assert judged.diagnosis[-1].startswith("The rate alone of every rung reaches")


def test_what_a_rung_claims_is_not_blamed_for_traffic_that_went_elsewhere() -> None:
    run = ladder(GOOD, 300e6)
    elsewhere = Evidence("the link lies between", ("one hop",), contradicts=True)
    rungs = tuple(dataclasses.replace(r, evidence=elsewhere) if r.name is RungName.DC_LINK else r for r in run.rungs)
    said = judge_document(dataclasses.replace(run, rungs=rungs)).diagnosis
    assert "lost to a way that the rung does not claim" in said[0]
    assert "dc-link: its traffic went another way than the rung claims" in said[-1]
    assert "interconnect" not in " ".join(said)


def test_identical_runs_of_many_settings_hardly_ever_differ() -> None:
    """Of 48 comparisons at 95 % each, two or three would differ by chance; together one in twenty runs has one."""
    draw = random.Random(13)

    def run() -> Document:
        made = [
            tcp(F, tuple(trial(9e8 * (1 + draw.gauss(0, 0.01)), F, n) for n in range(4)), streams, window=1000 * w)
            for streams in (1, 2, 4, 8)
            for w in range(1, 13)
        ]
        named = [
            dataclasses.replace(e, parameters=dataclasses.replace(e.parameters, id=f"{n}")) for n, e in enumerate(made)
        ]
        return document(rung(RungName.SAME_VLAN, *named))

    differ = sum(any(d.answer is Answer.DIFFERS for d in compare(run(), run()).differences) for _ in range(20))
    assert differ <= 3


def test_what_changed_between_two_runs_is_named_beside_the_difference() -> None:
    off, on = (document(both(RungName.SAME_VLAN, bps)) for bps in (91e6, 550e6))
    cards = {
        state: HostFacts("beta", nics=(Nic("vmx0", offloads={"tso": state, "lro": state}),)) for state in (True, False)
    }
    said = compare(with_facts(on, "beta", cards[True]), with_facts(off, "beta", cards[False])).sentence
    assert "differ beyond the noise" in said and "beta vmx0 offloads: lro=on tso=on / lro=off tso=off" in said


def two_repeats(low: float, high: float) -> Document:
    return document(rung(RungName.SAME_VLAN, *(tcp(d, (trial(low, d, 0), trial(high, d, 1))) for d in (F, R))))


def test_repeats_far_apart_are_told_of_with_what_changed_though_they_are_too_few() -> None:
    """A sixth of the rate with large sends off, in two repeats each: no firm difference, and not nothing either."""
    on, off = two_repeats(500e6, 600e6), two_repeats(80e6, 102e6)
    cards = {
        state: HostFacts("beta", nics=(Nic("vmx0", offloads={"tso": state, "lro": True}),)) for state in (True, False)
    }
    found = compare(with_facts(on, "beta", cards[True]), with_facts(off, "beta", cards[False]))
    assert {(d.answer, d.apart, d.beyond_noise) for d in found.differences} == {(Answer.UNDECIDED, True, False)}
    assert found.sentence == (
        "2 of 2 settings lie far apart, in too few repeats to be sure of the noise; the most: same-vlan, TCP, 4 "
        "streams, default window, near to far: 550 Mb/s to 91.0 Mb/s (-83.5 % of the first); all 2 repeats lie far "
        "below all 2 of the first, and with more repeats it could be told for sure. Changed as well, and the likely "
        "cause: beta vmx0 offloads: lro=on tso=on / lro=on tso=off."
    )
    back = compare(off, on)
    assert "far above all 2 of the first" in back.sentence and back.sentence.endswith(
        "Nothing is known to have changed that would explain it."
    )


@pytest.mark.parametrize(("low", "high"), [(500e6, 620e6), (80e6, 520e6), (420e6, 450e6)])
def test_repeats_that_overlap_or_lie_close_are_within_the_noise(low: float, high: float) -> None:
    found = compare(two_repeats(500e6, 600e6), two_repeats(low, high))
    assert not any(d.apart for d in found.differences)
    assert found.sentence.startswith("No difference beyond the noise")


def link(carried: int, fault: Fault, broken: int) -> Document:
    """The link in so many trials that carried all and so many that failed."""
    good = tuple(trial(GOOD, F, n) for n in range(carried))
    bad = tuple(failed(fault, "the transfer stalled", carried + n) for n in range(broken))
    return document(rung(RungName.DC_LINK, tcp(F, (*good, *bad))))


def test_trials_in_which_the_path_carried_nothing_are_compared_as_well() -> None:
    """A link that went down afterwards, now and then or for good, is neither the same nor without a counterpart."""
    before = link(3, Fault.PATH, 0)
    for carried, broken, answer in ((2, 3, Answer.UNDECIDED), (0, 3, Answer.DIFFERS)):
        after = link(carried, Fault.PATH, broken)
        assert judge_document(after).verdict is Verdict.FAIL
        found = compare(before, after)
        assert [d.answer for d in found.differences] == [answer] and not found.only_in_one
        silent = f"3 of {carried + broken} trials of the second run carried nothing or stalled."
        assert found.sentence.endswith(silent) and found.differences[0].sentence.endswith(silent)


def test_a_first_run_that_carried_nothing_is_not_the_same() -> None:
    found = compare(link(0, Fault.PATH, 3), link(3, Fault.PATH, 0))
    assert [d.answer for d in found.differences] == [Answer.DIFFERS]
    assert (
        "0 b/s to 950 Mb/s (the first carried nothing), beyond the noise. 3 of 3 trials of the first" in found.sentence
    )
    page = report.html(link(3, Fault.PATH, 0), comparison=found)
    assert '<td class="n">0 b/s</td><td class="n">950 Mb/s</td><td class="n">-</td>' in page


def test_a_setting_whose_trials_all_broke_is_not_called_absent() -> None:
    (said,) = compare(link(3, Fault.PATH, 0), link(0, Fault.TOOL, 3)).only_in_one
    assert said.endswith(": only in the first run, as all trials of the other failed")
