"""A bundle somebody else runs, packet by packet: reordering is told from loss."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ecmp import Bundle
from linkladder.judge.disorder import Disorder, disorder
from linkladder.model import Direction
from network import Link
from test_bundle import measured

pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(200)]  # a busy machine loses packets of its own


def of_one_flow(lab: Bundle) -> Disorder:
    trial = measured(lab, [1], [20000]).rungs[0].experiments[0].trials[0]
    assert trial.ok, trial.reason
    seen = disorder(trial, Direction.FORWARD)
    assert seen is not None
    return seen


def test_packets_that_take_turns_are_reordered_and_lost_only_where_a_queue_was_full() -> None:
    with Bundle("lbt", Link(rate=1e9), members=(1e8, 0.7e8), in_turn=True).paired() as lab:
        before = lab.sent()
        seen, full = [], [lab.dropped()]
        for _ in range(3):
            seen.append(of_one_flow(lab))
            full.append(lab.dropped())
        moved = [after - first for after, first in zip(lab.sent(), before, strict=True)]
    assert min(moved) > 0.3 * sum(moved), "both members carried it"
    for one, (first, then) in zip(seen, pairwise(full), strict=True):
        assert one.kind in (("reordering", "both") if then > first else ("reordering",)), (one, then - first)


def test_packets_that_are_lost_are_not_called_reordered() -> None:
    with Bundle("lbl", Link(rate=1e9)).paired() as lab:
        lab.lose(0.01)
        seen = [of_one_flow(lab) for _ in range(3)]
    assert [one.kind for one in seen] == ["loss"] * 3, seen
