"""One fact of a healthy run forged at a time: the verdict and the cause that each must get."""

from __future__ import annotations

import pytest
from forge import BEST, TCP, busy, each, forged, scaled, values
from forged_culprits import opened
from forgeries import Row, table

from linkladder.judge import judge_document
from linkladder.judge.soundness import flaws
from linkladder.verdicts import Cause, LimiterKind, Verdict

ROWS = table()


def test_the_table_is_large() -> None:
    assert len(ROWS) >= 120


@pytest.mark.parametrize("row", ROWS, ids=[r.name for r in ROWS])
def test_forgery(row: Row) -> None:
    document = forged(row.edit)
    assert not flaws(document)
    judged = judge_document(document)
    rung = next(r for r in judged.rungs if r.rung == row.rung)
    link = rung.judgement
    got = "UNSURE" if link.verdict == "PASS" and link.provisional else str(link.verdict)
    causes = {link.cause} if link.verdict != "PASS" else {link.cause, *(c.cause for c in link.concerns)}
    assert (got, row.cause) == (row.verdict, row.cause if row.cause in causes else link.cause), judged.sentence
    if link.verdict == "CANNOT JUDGE" and row.rung == "dc-link":
        assert not any("lost to the interconnect" in text and "or to an end" not in text for text in judged.diagnosis)
    if row.limiter is not None:
        named = rung.limiter
        assert named is not None and named.kind is row.limiter, named
        assert link.cause is Cause.BUSY_END or named.sentence in judged.sentence
    if link.verdict != "PASS" and rung is judged.rungs[-1]:
        assert judged.verdict == link.verdict


@pytest.mark.parametrize("percent,provisional", [(60.0, False), (74.0, False), (76.0, True), (84.0, True)])
def test_a_core_that_is_nearly_too_busy_makes_a_fail_provisional(percent: float, provisional: bool) -> None:
    """Else the verdict would turn from a firm FAIL to CANNOT JUDGE with a single percent."""
    judged = judge_document(forged(each(TCP, scaled(0.6)), each(TCP, busy(percent))))
    assert (judged.verdict, judged.judgement.provisional) == (Verdict.FAIL, provisional)
    assert provisional is any("may have a part in it" in text for text in judged.rungs[-1].judgement.findings)


def test_what_stalled_one_trial_is_not_what_limits_the_others() -> None:
    judged = judge_document(forged(each(BEST, opened(0), (1,))))
    reasons = [j.judgement.sentence for j in judged.rungs[-1].experiments if j.experiment in BEST]
    assert all("1 of 3 trials carried nothing or stalled: Large sends" in text for text in reasons), reasons


@pytest.mark.parametrize(
    "name,other",
    [
        ("stalled beside a black hole of the load's packets, of which many arrived", LimiterKind.OUTAGE),
        (
            "stalled beside a black hole above the contract's MTU, the load's packets are not known",
            LimiterKind.LARGE_SENDS,
        ),
        ("stalled beside a black hole of the load's packets", None),
    ],
)
def test_what_may_stall_a_load_as_well_is_named_beside_a_black_hole(name: str, other: LimiterKind | None) -> None:
    (edit,) = [row.edit for row in ROWS if row.name == name]
    limiter = judge_document(forged(edit)).rungs[-1].limiter
    assert limiter is not None and limiter.candidates[1:] == ((other,) if other else ())


def test_a_name_keeps_its_capitals_after_but() -> None:
    rows = [row for row in ROWS if row.name == "TCP grows to the end over 80 ms"]
    (judged,) = [judge_document(forged(row.edit)) for row in rows]
    assert "But TCP was still growing" in judged.sentence


@pytest.mark.parametrize("figure", [{"seconds": 1e308}, {"goodput_bps": 1e300}])
def test_a_figure_beyond_all_others_is_no_run_s(figure: dict[str, float]) -> None:
    """It would be infinite in a sum, and no sentence tells of that."""
    assert flaws(forged(each(TCP, values(**figure))))
