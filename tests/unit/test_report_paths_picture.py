"""The matrix of several paths as a picture: every rate, and words for those who cannot see it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import several
from linkladder import report
from linkladder.report.paths_picture import paths_picture
from linkladder.verdicts import Cell, CompanyJudgement, Judgement, Verdict

GOOD, BAD = (Judgement(verdict, False, str(verdict)) for verdict in (Verdict.PASS, Verdict.FAIL))
ENDS = ("near", "beta", "<gamma>", "delta", "epsilon", "zeta", "eta", "theta")


def test_eight_by_eight_have_a_figure_each() -> None:
    cells = tuple(
        Cell(n, a, b, "forward", BAD if (a, b) == ("beta", "<gamma>") else GOOD, 1e6 * (100 + n), together_bps=4e7)
        for n, (a, b) in enumerate((a, b) for a in ENDS for b in ENDS if a != b)
    )
    drawn = paths_picture(CompanyJudgement(cells, GOOD), "Every path")
    root = ET.fromstring(drawn.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" '))
    texts = [e.text or "" for e in root.iter() if e.tag.endswith("text")]
    assert all(f"{100 + n}M" in " ".join(texts) for n in range(56))
    assert texts.count("40.0M") == 56 and sum(text.endswith(" !") for text in texts) == 1
    assert "beta to <gamma>: 108 Mb/s alone; 40.0 Mb/s with all" in root.attrib["aria-label"]
    height = float(root.attrib["viewBox"].split()[3])
    assert all(0 <= float(e.attrib["y"]) <= height for e in root.iter() if "y" in e.attrib)


def test_the_page_has_the_picture_of_a_run_with_several_paths() -> None:
    page = report.html(several.document(4))
    assert "from row to column: alone, below it with all at once" in page and "gamma to delta: 191 Mb/s alone" in page


def test_what_several_paths_carry_together_is_held_against_what_they_share_alone() -> None:
    """A mesh of 200 Mb/s a pair: no rate of one pair is a line for the sum of six."""
    for shared, needed in ((None, None), (4e8, "needed: 371 Mb/s")):
        document = several.document(4)
        plan = replace(document.run.plan, contract=replace(document.run.plan.contract, shared_bps=shared))
        page = report.html(replace(document, run=replace(document.run, plan=plan)))
        lines = re.findall(r"needed: [0-9.]+ [GM]b/s", page)
        assert lines == ([needed] if needed else []), lines


def test_long_names_that_begin_alike_are_told_apart_and_heads_do_not_touch() -> None:
    ends = [f"{city}-datacentre-{one}" for city in ("frankfurt", "amsterdam") for one in ("a1", "a2")]
    ends += [f"oslo-datacentre-{one}" for one in ("a1", "a2", "b1", "b2")]
    pairs = [(a, b) for a in ends for b in ends if a < b]
    cells = tuple(
        Cell(n, *pair, way, GOOD, 1e8)
        for n, (a, b) in enumerate(pairs)
        for way, pair in (("forward", (a, b)), ("reverse", (b, a)))
    )
    drawn = ET.fromstring(paths_picture(CompanyJudgement(cells, GOOD), "Every path"))
    texts = [e.text or "" for e in drawn.iter() if e.tag.endswith("text")]
    rows, heads = ({t for t in texts if "~" in t and len(t) == letters} for letters in (12, 9))
    assert len(rows) == len(heads) == 8 and {"frank~tre-a1", "oslo-~tre-b2"} < rows and "fran~e-a1" in heads, texts


def test_the_page_shows_what_the_paths_were_to_share() -> None:
    """A verdict of several paths rests on it: it stands under what was sold, and no link is called unbounded."""
    document = several.document(4)
    plan = replace(document.run.plan, contract=replace(document.run.plan.contract, shared_bps=4e8))
    page = report.html(replace(document, run=replace(document.run, plan=plan)))
    assert "contracted rate 200 Mb/s counted in L2; rate of all paths together 400 Mb/s counted in L2; MTU" in page
    assert "not bounded by the contract" not in page
    assert "rate of all paths together" not in report.html(document)
