"""A changed setting compared pair by pair, its arms forged: what is not borne out makes no pair, and is told."""

from __future__ import annotations

from typing import Any

import pytest
from forge_pairs import Change, Json, kept, loads, scaled

from linkladder import formats
from linkladder.judge import judge_document
from linkladder.verdicts import Cause as C

CHANGED, PLAIN = "tso-off", "as-it-is"


def claimed(share: float) -> Change:
    """Rates of this share, and everything else as it was."""

    def change(_: Json, leg: Json) -> None:
        one = leg["outcome"]
        one.update(goodput_bps=one["goodput_bps"] * share)
        one["by_direction"] = {way: bps * share for way, bps in one["by_direction"].items()}

    return change


def without_commands(change: Change) -> Change:
    return lambda t, leg: (leg.update(commands=[]), change(t, leg))


ROWS: list[tuple[str, Any, tuple[int, int]]] = [  # pairs that were compared, and pairs that were void
    ("nothing", lambda d: None, (4, 0)),
    ("all rates of the changed arm are half", loads(scaled(0.5), CHANGED), (4, 0)),
    ("all rates of the changed arm are claimed to be half", loads(without_commands(claimed(0.5)), CHANGED), (0, 4)),
    ("one rate of the changed arm is claimed to be half", loads(claimed(0.5), CHANGED, repeat=2), (3, 1)),
    ("one rate of the unchanged arm is claimed to be half", loads(claimed(0.5), PLAIN, repeat=0), (3, 1)),
    ("a rate out of all measure", loads(claimed(1e290), CHANGED, repeat=1), (3, 1)),
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_forgery(row: tuple[str, Any, tuple[int, int]]) -> None:
    _, edit, pairs = row
    made = kept("v2/arms")
    edit(made)
    judged = judge_document(formats.document(made)).rungs[-1]
    (change,) = judged.changes
    assert (change.pairs, change.void) == pairs
    seen = {c.cause for c in judged.judgement.concerns}
    assert bool(seen & {C.CONTRADICTION, C.RAW_OUTPUT}) is (change.void > 0), judged.judgement.findings
