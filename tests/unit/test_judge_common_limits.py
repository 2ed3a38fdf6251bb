"""Several paths that carry no more than one: whether the end is to blame, or what they are known to share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder.judge import judge_document
from linkladder.model import Contract, Document, ExperimentResult, Leg, Path
from linkladder.verdicts import CompanyJudgement
from paths_documents import CARDS, PAIRS, of_paths

GIGABIT = Contract(port_bps=10e9, rate_bps=1e9, shared_bps=1e9)
UNSAID = replace(GIGABIT, shared_bps=None)
SAYS = {PAIRS: ("its own card, the machine itself, or what these paths share",), CARDS: ("the sum stays at",)}


def told(document: Document, paths: tuple[Path, ...]) -> list[str]:
    link = judge_document(document).rungs[-1]
    assert isinstance(link.company, CompanyJudgement)
    found = [text for text in link.company.findings if any(part in text for part in SAYS[paths])]
    assert set(found) <= set(link.judgement.findings)
    assert paths is CARDS or [one.sentence for one in link.company.own_limits] == found
    return found


def none_below(document: Document) -> Document:
    return replace(document, rungs=document.rungs[1:])


@pytest.mark.parametrize("paths", [PAIRS, CARDS], ids=["pairs", "cards"])
def test_paths_that_fill_what_they_share_blame_no_end(paths: tuple[Path, ...]) -> None:
    filled = of_paths(paths, 950e6, 475e6, GIGABIT)
    assert not told(filled, paths) and not told(none_below(filled), paths), "950 Mb/s are 99.3 % of the shared ceiling"
    assert told(none_below(of_paths(paths, 900e6, 450e6, GIGABIT)), paths), "94 % of it may have another reason"


@pytest.mark.parametrize("paths", [PAIRS, CARDS], ids=["pairs", "cards"])
def test_a_slow_path_beside_a_fast_one_blames_nothing_that_is_common(paths: tuple[Path, ...]) -> None:
    """10.4 Gb/s of a card and 0.1 Gb/s of another were a sum that stays at 10.4 Gb/s over one path or over two."""
    slow = none_below(of_paths(paths, 900e6, 900e6, UNSAID))
    made = tuple(_slower(e) for e in slow.rungs[-1].experiments)
    assert not told(replace(slow, rungs=(replace(slow.rungs[-1], experiments=made),)), paths)


def _slower(e: ExperimentResult) -> ExperimentResult:
    """The second path carries a fiftieth."""

    def less(g: Leg) -> Leg:
        rates = {way: bps / 50 for way, bps in g.outcome.by_direction.items()}
        return replace(g, outcome=replace(g.outcome, goodput_bps=g.outcome.goodput_bps / 50, by_direction=rates))

    trials = tuple(replace(t, legs=tuple(less(g) if g.path else g for g in t.legs)) for t in e.trials)
    return replace(e, trials=trials)


@pytest.mark.parametrize("paths", [PAIRS, CARDS], ids=["pairs", "cards"])
def test_an_end_that_is_shown_to_carry_more_is_not_blamed(paths: tuple[Path, ...]) -> None:
    able = of_paths(paths, 900e6, 450e6, UNSAID)
    assert not told(able, paths)
    assert len(told(none_below(able), paths)) == 2
    assert len(told(of_paths(paths, 900e6, 450e6, UNSAID, 920e6), paths)) == 2, "2 % more may be chance"
