"""What is lost in seconds that count for no figure is told all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trials
from judge_documents import GOOD, F, R, both, document, tcp, trial, udp
from linkladder.judge import judge_document
from linkladder.model import ExperimentResult, Fault, Leg, Outcome, PathMtu, Role, RungName, TrialResult
from linkladder.verdicts import Judgement, Verdict


def judged(*more: ExperimentResult) -> Judgement:
    link = both(RungName.DC_LINK, GOOD)
    made = replace(link, experiments=(*link.experiments, *more))
    return judge_document(document(both(RungName.SAME_HOST, 4e9), made)).rungs[-1].judgement


def with_early_loss(share: float, offered: float = 5e8) -> ExperimentResult:
    """Paced UDP that lost this share of its datagrams in the warm-up, and nothing afterwards."""
    made = udp(F, offered, offered)
    each = round(offered / 8 / 1470)
    (t,) = made.trials
    lost = [0 if i.counted else round(share * each) for i in t.intervals]
    seconds = tuple(replace(i, datagrams=each, lost=n) for i, n in zip(t.intervals, lost, strict=True))
    return replace(made, trials=(trials.changed(t, intervals=seconds),))


def test_what_udp_loses_in_the_warm_up_alone_is_a_finding() -> None:
    seen = judged(with_early_loss(0.2))
    assert seen.verdict is Verdict.PASS
    (said,) = [one for one in seen.findings if "warm-up" in one]
    assert "25509 of 127551 datagrams were lost, 20.00 % of them" in said and "afterwards 0.00 %" in said


@pytest.mark.parametrize(("share", "offered"), [(0.0, 5e8), (0.0009, 5e8), (0.2, 2e9)])
def test_loss_within_the_limit_and_of_more_than_was_sold_is_none(share: float, offered: float) -> None:
    assert not any("warm-up" in one for one in judged(with_early_loss(share, offered)).findings)


def stalled(t: TrialResult, fault: Fault | None) -> TrialResult:
    """The trial after a short load that is counted nowhere, and that failed so."""
    load = Leg(Outcome(fault is None, fault, "nothing arrived for 5 s" if fault else ""), Role.DISCARDED)
    return replace(t, legs=(*t.legs, load, load))


def probed(t: TrialResult, size: int) -> TrialResult:
    """The trial after a packet of that size was sent in vain."""
    vain = Outcome(False, Fault.PATH, f"the probe of {size} bytes was not answered", path_mtu=PathMtu(failed=(size,)))
    return replace(t, legs=(*t.legs, Leg(vain, Role.DISCARDED)))


def test_a_size_that_an_adapter_carried_once_it_was_up_is_not_called_unanswered() -> None:
    more = tcp(R, tuple(trial(GOOD, R, n) for n in range(3)), streams=2, discard_first=True)
    then = Leg(Outcome(True, path_mtu=PathMtu(passed=(9000,), mtu=9000)), Role.DISCARDED)
    trials = [probed(t, 9000) for t in more.trials]
    up = tuple(replace(t, legs=(*t.legs, then)) for t in trials)
    said = " ".join(judged(replace(more, trials=up)).findings)
    assert "no packet of 9000 bytes" not in said
    assert "before 3 of 3 trials the short load that counts for no figure failed" in said


@pytest.mark.parametrize(("vain", "told"), [(3, True), (2, False)])
def test_a_size_that_was_never_answered_is_told_as_that(vain: int, told: bool) -> None:
    more = tcp(R, tuple(trial(GOOD, R, n) for n in range(3)), streams=2, discard_first=True)
    trials = [probed(t, 9000) if n < vain else stalled(t, None) for n, t in enumerate(more.trials)]
    said = " ".join(judged(replace(more, trials=tuple(trials))).findings)
    assert ("no packet of 9000 bytes was answered (before any of its 3 trials, 3 were sent)" in said) is told
    assert ("before 2 of 3 trials the short load that counts for no figure failed" in said) is not told


@pytest.mark.parametrize(("fault", "told"), [(Fault.PATH, True), (Fault.TOOL, False), (None, False)])
def test_a_discarded_load_that_stalled_is_a_finding(fault: Fault | None, told: bool) -> None:
    more = tcp(R, tuple(trial(GOOD, R, n) for n in range(3)), streams=2, discard_first=True)
    seen = judged(replace(more, trials=(stalled(more.trials[0], fault), *more.trials[1:])))
    said = [one for one in seen.findings if "the short load that counts for no figure failed on the path" in one]
    assert bool(said) is told and seen.verdict is Verdict.PASS
    if told:
        assert "before 1 of 1 trial" in said[0] and "2 times: nothing arrived for 5 s" in said[0]
