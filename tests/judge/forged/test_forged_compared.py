"""Two runs compared, one of them forged: what a difference is told of, and what it must not be told of.

The end that was kept from its CPU is the machine's matter; the answer is that of the best TCP near to far.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from forge import BEST, HALF, TCP, Edit, claim, each, forged, loaded_rtt, loss, scaled, together
from forged_culprits import kept_from
from forged_words import nothing

from linkladder.judge import compare
from linkladder.verdicts import Answer, Measured

DIFFERS, SAME, UNDECIDED = Answer.DIFFERS, Answer.SAME, Answer.UNDECIDED
KEPT, NOT_BORNE_OUT, BEYOND, ALIKE = (
    "was kept from its CPU", "not borne out", "differ beyond the noise", "No difference beyond the noise",
)  # fmt: skip
Row = tuple[str, Edit, Edit, Answer, str]  # what is forged of the first and of the second run; what the sentence says


def cut(share: float, *more: Edit) -> Edit:
    return together(each(TCP, scaled(share)), *more)


def kept(share: float, end: str = "near", repeats: tuple[int, ...] | None = None) -> Edit:
    return each(TCP, kept_from(end, share), repeats)


def rates() -> Iterator[Row]:
    yield "nothing", nothing, nothing, SAME, ALIKE
    yield "60 % in the second", nothing, cut(0.6), DIFFERS, BEYOND
    yield "60 % in the first", cut(0.6), nothing, DIFFERS, BEYOND
    yield "60 % in both", cut(0.6), cut(0.6), SAME, ALIKE
    yield "60 %, 25 % of the near end's CPU withheld", nothing, cut(0.6, kept(0.25)), UNDECIDED, KEPT
    yield "60 %, 25 % of the far end's CPU withheld", nothing, cut(0.6, kept(0.25, "far")), UNDECIDED, KEPT
    yield "60 % in the first, and CPU withheld there", cut(0.6, kept(0.25)), nothing, UNDECIDED, KEPT
    yield "60 % in the second, and CPU withheld in the first", kept(0.25), cut(0.6), DIFFERS, BEYOND
    yield "60 %, 6 % withheld", nothing, cut(0.6, kept(0.06)), UNDECIDED, KEPT
    yield "40 %, 6 % withheld, which explains less", nothing, cut(0.4, kept(0.06)), DIFFERS, BEYOND
    yield "60 %, 1 % withheld", nothing, cut(0.6, kept(0.01)), DIFFERS, BEYOND
    yield "60 %, 6 % withheld in one of three", nothing, cut(0.6, kept(0.06, repeats=(1,))), DIFFERS, BEYOND
    yield "as much, 25 % withheld", nothing, kept(0.25), SAME, ALIKE
    yield "as much, and the rates are only claimed", nothing, each(BEST, claim(1.3)), UNDECIDED, NOT_BORNE_OUT
    yield "60 %, and that is only claimed", nothing, each(BEST, claim(0.6)), UNDECIDED, NOT_BORNE_OUT


def figures() -> Iterator[tuple[str, Edit, Edit, Measured, Answer]]:
    lost, waits = Measured.LOSS, Measured.LOADED_RTT
    yield "5 % of UDP lost", nothing, each(HALF, loss(0.05)), lost, DIFFERS
    yield "5 % of UDP lost, 6 % withheld", nothing, each_half(loss(0.05), 0.06), lost, UNDECIDED
    yield "70 % of UDP lost, 6 % withheld", nothing, each_half(loss(0.7), 0.06), lost, DIFFERS
    yield "5 % of UDP lost, withheld in the first", each(HALF, kept_from("far", 0.3)), each(HALF, loss(0.05)), lost, (
        DIFFERS
    )  # fmt: skip
    quick, slow = each(TCP, loaded_rtt(2.0)), each(TCP, loaded_rtt(20.0))
    yield "round trips ten times as long", quick, slow, waits, DIFFERS
    yield "round trips ten times as long, 25 % withheld", quick, together(slow, kept(0.25)), waits, UNDECIDED
    yield "round trips a tenth as long, 25 % withheld", slow, together(quick, kept(0.25)), waits, DIFFERS


def each_half(change: object, share: float) -> Edit:
    assert callable(change)
    return together(each(HALF, change), each(HALF, kept_from("far", share)))


RATES, FIGURES = list(rates()), list(figures())


@pytest.mark.parametrize("row", RATES, ids=[row[0] for row in RATES])
def test_a_difference_of_rates(row: Row) -> None:
    _, first, second, answer, said = row
    found = compare(forged(first), forged(second))
    best = next(d for d in found.differences if d.rung == "dc-link" and "2 streams" in d.experiment)
    assert best.answer is answer, best.sentence
    assert said in found.sentence, found.sentence
    assert bool(best.doubt) is (said in (KEPT, NOT_BORNE_OUT))


@pytest.mark.parametrize("row", FIGURES, ids=[row[0] for row in FIGURES])
def test_a_difference_of_other_figures(row: tuple[str, Edit, Edit, Measured, Answer]) -> None:
    _, first, second, measured, answer = row
    found = compare(forged(first), forged(second))
    seen = [f for f in found.figures if f.rung == "dc-link" and f.measured is measured and f.a != f.b]
    assert seen and {f.answer for f in seen} == {answer}, seen
    assert all(f.withheld is (answer is UNDECIDED) for f in seen)


def test_what_was_withheld_stands_among_what_is_not_the_same() -> None:
    found = compare(forged(), forged(cut(0.6, kept(0.25))))
    assert "near CPU withheld: none / up to 25 %" in found.environment
