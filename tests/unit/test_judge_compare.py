"""Two runs side by side, and the ladder's rungs."""

from __future__ import annotations

import dataclasses

import pytest

from judge_documents import GOOD, F, R, both, document, ladder, rung, tcp, trial
from linkladder.judge import compare, judge_document
from linkladder.model import Evidence, RungName


def test_comparison_says_what_would_have_been_seen() -> None:
    a = document(both(RungName.SAME_VLAN, 900e6))
    noisy = rung(
        RungName.SAME_VLAN, *(tcp(d, tuple(trial(9e8 + 4e6 * (n - 1), d, n) for n in range(3))) for d in (F, R))
    )
    same = compare(document(noisy), document(noisy))
    assert "No difference beyond the noise" in same.sentence and not any(d.beyond_noise for d in same.differences)
    assert same.differences[0].detectable_percent == pytest.approx(1.0, abs=0.1)
    worse = compare(document(noisy), document(both(RungName.SAME_VLAN, 850e6)))
    assert [d.beyond_noise and d.change_percent < -5 for d in worse.differences] == [True, True]
    single = compare(document(both(RungName.SAME_VLAN, 9e8, 1)), document(both(RungName.SAME_VLAN, 5e8, 1)))
    assert "cannot be told" in single.sentence and not any(d.beyond_noise for d in single.differences)
    assert compare(a, a).environment == ()


def test_comparison_lists_what_else_changed() -> None:
    a = document(both(RungName.SAME_VLAN, 900e6))
    beta = dataclasses.replace(a.run.hosts["beta"], kernel="15.1-p2", tunables={"cc": "cubic"})
    b = dataclasses.replace(a, run=dataclasses.replace(a.run, hosts={**a.run.hosts, "beta": beta}))
    said = compare(a, b).environment
    assert any("beta kernel" in s and "15.1-p2" in s for s in said) and any(
        "cc" in s and "none / cubic" in s for s in said
    )


def test_the_diagnosis_looks_at_the_weaker_direction() -> None:
    said = judge_document(ladder(GOOD, 300e6)).diagnosis
    assert (
        "300 Mb/s" in said[0] and "69% of the 956 Mb/s that the link can carry is lost to the interconnect" in said[0]
    )
    assert "dc-link: look at the interconnect" in said[-1]


def test_what_a_rung_claims_is_not_blamed_for_traffic_that_went_elsewhere() -> None:
    run = ladder(GOOD, 300e6)
    elsewhere = Evidence("the link lies between", ("one hop",), contradicts=True)
    rungs = tuple(dataclasses.replace(r, evidence=elsewhere) if r.name is RungName.DC_LINK else r for r in run.rungs)
    said = judge_document(dataclasses.replace(run, rungs=rungs)).diagnosis
    assert "lost to a way that the rung does not claim" in said[0]
    assert "dc-link: its traffic went another way than the rung claims" in said[-1]
    assert "interconnect" not in " ".join(said)
