"""A bundle somebody else runs, packet by packet: reordering is told from loss.

Three draws of each in every run of the tests; LINKLADDER_DRAWS=20 measures twenty.
"""

from __future__ import annotations

import os
import random

import pytest

from ecmp import Bundle
from linkladder.judge.disorder import Disorder, disorder
from linkladder.model import Direction, Protocol
from linkladder.verdicts import Cause, LimiterKind
from network import Link
from test_bundle import measured

FIRST = int(os.environ.get("LINKLADDER_DRAWS_FROM", "0"))
DRAWS = range(FIRST, FIRST + int(os.environ.get("LINKLADDER_DRAWS", "3")))
PATIENCE = 120 + 30 * len(DRAWS)  # seconds
# A busy machine loses packets of its own.
pytestmark = [pytest.mark.lab, pytest.mark.calm, pytest.mark.timeout(PATIENCE)]


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
        for draw in DRAWS:
            dice = random.Random(draw)
            fast = dice.uniform(0.6e8, 1.2e8)
            lab.hold(fast, fast * dice.uniform(0.5, 0.8))
            before, full = lab.sent(), lab.dropped()
            seen, limits = of_one_flow(lab)
            moved = [after - first for after, first in zip(lab.sent(), before, strict=True)]
            full = lab.dropped() - full
            print(f"in turn {draw}: {seen.kind}, {full} dropped, {sorted(limits)}", flush=True)
            assert min(moved) > 0.3 * sum(moved), "both members carried it"
            assert seen.kind in (("reordering", "both") if full else ("reordering",)), (seen, full)
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
        for draw in DRAWS:
            lost = 10 ** random.Random(draw).uniform(-2.5, -1.5)
            lab.lose(lost)
            seen, limits = of_one_flow(lab)
            print(f"{100 * lost:.2f} % lost {draw}: {seen.kind}, {sorted(limits)}", flush=True)
            assert seen.kind == "loss", seen
            assert LimiterKind.REORDERING not in limits
