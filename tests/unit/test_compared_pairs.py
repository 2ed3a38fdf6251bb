"""Two runs of several pairs are compared pair by pair, by who sends to whom, whichever numbers their paths have."""

from __future__ import annotations

from dataclasses import replace

import several
from linkladder.judge import compare
from linkladder.model import Direction, Document, Path
from linkladder.phrases.ways import path_name
from linkladder.verdicts import Difference


def alone(found: tuple[Difference, ...]) -> dict[str, float]:
    return {d.pair: d.b_bps for d in found if "all" not in d.pair and "at once" not in d.pair}


def test_a_further_end_does_not_shift_the_pairs() -> None:
    """Of three ends the third path is beta to gamma, of four near to delta: they stood as one that got 59 % faster."""
    found = compare(several.document(3), several.document(4))
    assert len(found.differences) == 6 and not [d for d in found.differences if d.change_percent], found.differences
    assert alone(found.differences)["beta to gamma"] == 120e6
    assert [text for text in found.only_in_one if "near to delta" in text]
    assert not [d for d in found.differences if "all paths" in d.pair], "all of three are not all of four"


def test_paths_in_another_order_are_the_same_pairs() -> None:
    document = several.document(3)
    found = compare(document, turned(document))
    assert not [d for d in found.differences if d.change_percent]
    assert set(alone(found.differences)) == {
        path_name(document.rungs[0].paths, n, way) for n in range(3) for way in (Direction.FORWARD, Direction.REVERSE)
    }


def turned(document: Document) -> Document:
    """The same run, its paths the other way about and in the other order."""
    (rung,) = document.rungs
    last = len(rung.paths) - 1
    paths = tuple(Path(peer=p.peer, origin=p.origin) for p in reversed(rung.paths))
    made = tuple(
        replace(
            e,
            parameters=replace(e.parameters, paths=tuple(last - n for n in e.parameters.paths)),
            trials=tuple(replace(t, legs=tuple(replace(g, path=last - g.path) for g in t.legs)) for t in e.trials),
        )
        for e in rung.experiments
    )
    return replace(document, rungs=(replace(rung, paths=paths, experiments=made),))
