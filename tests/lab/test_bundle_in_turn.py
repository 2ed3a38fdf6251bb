"""A bundle somebody else runs, packet by packet: reordering is told from loss."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ecmp import Bundle
from linkladder.judge.disorder import Disorder, disorder
from linkladder.model import Direction, Protocol
from linkladder.verdicts import Cause, LimiterKind
from network import Link
from test_bundle import measured

pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(200)]  # a busy machine loses packets of its own


def of_one_flow(lab: Bundle) -> tuple[Disorder, set[LimiterKind]]:
    """What the ends counted, and what the judge says may have held the flow."""
    document = measured(lab, [1], [20000])
    loads = (e for e in document.rungs[0].experiments if e.parameters.protocol is Protocol.TCP)
    trial = next(loads).trials[0]
    assert trial.ok, trial.reason
    seen = disorder(trial, Direction.FORWARD)
    assert seen is not None and document.judgement is not None
    judged = document.judgement.rungs[0]
    assert not {c.cause for c in judged.judgement.concerns} & {Cause.UNACCOUNTED, Cause.OWN_CARD}, "TCP sent it again"
    found = judged.limiter
    return seen, {found.kind, *found.candidates} if found else set()


def test_packets_that_take_turns_are_reordered_and_lost_only_where_a_queue_was_full() -> None:
    with Bundle("lbt", Link(rate=1e9), members=(1e8, 0.7e8), in_turn=True).paired() as lab:
        before = lab.sent()
        seen, full = [], [lab.dropped()]
        for _ in range(3):
            seen.append(of_one_flow(lab))
            full.append(lab.dropped())
        moved = [after - first for after, first in zip(lab.sent(), before, strict=True)]
    assert min(moved) > 0.3 * sum(moved), "both members carried it"
    for (one, limits), (first, then) in zip(seen, pairwise(full), strict=True):
        assert one.kind in (("reordering", "both") if then > first else ("reordering",)), (one, then - first)
        assert LimiterKind.REORDERING in limits and LimiterKind.POLICER not in limits


def test_packets_that_take_turns_on_three_members_are_reordered() -> None:
    with Bundle("lt3", Link(rate=1e9), members=(1e8, 0.8e8, 0.6e8), in_turn=True).paired() as lab:
        before, full = lab.sent(), lab.dropped()
        seen, limits = of_one_flow(lab)
        moved = [after - first for after, first in zip(lab.sent(), before, strict=True)]
        full = lab.dropped() - full
    assert min(moved) > 0.25 * sum(moved), "all three carried it"
    assert seen.kind in (("reordering", "both") if full else ("reordering",)), (seen, full)
    assert LimiterKind.REORDERING in limits and LimiterKind.POLICER not in limits


def test_packets_that_are_lost_are_not_called_reordered() -> None:
    with Bundle("lbl", Link(rate=1e9)).paired() as lab:
        lab.lose(0.01)
        seen = [of_one_flow(lab) for _ in range(3)]
    assert [one.kind for one, _ in seen] == ["loss"] * 3, seen
    assert all(LimiterKind.REORDERING not in limits for _, limits in seen)
