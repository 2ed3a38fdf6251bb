"""Of several paths every end is asked: its cores, its card's counters and what it dropped."""

from __future__ import annotations

import dataclasses

import pytest

from judge_documents import F, both, document, rung, tcp, trial
from linkladder.judge import judge_document
from linkladder.model import CpuUse, Document, NicCounters, Path, RungName, TrialResult
from linkladder.verdicts import Cause, LimiterKind, Verdict


def two_paths(bps: float, busy: float = 40.0, counted: float = 1.0) -> Document:
    """Two peers at once, half of the rate each; the second one's core and card as said."""

    def made(n: int) -> TrialResult:
        one = trial(bps / 2, F, n)
        (leg,), (near, far) = one.legs, one.ends
        flows = tuple(dataclasses.replace(f, local_port=51000) for f in leg.outcome.flows)
        more = tuple(dataclasses.replace(i, bytes=i.bytes + 1448) for i in leg.outcome.intervals)
        second = dataclasses.replace(leg.outcome, flows=flows, intervals=more)
        other = dataclasses.replace(
            far,
            name="gamma",
            cpu=CpuUse(busy / 2, busy, 1.0),
            nics=tuple(_times(card, counted) for card in far.nics),
        )
        sent = dataclasses.replace(near, nics=tuple(_times(card, 2) for card in near.nics))
        legs = (leg, dataclasses.replace(leg, outcome=second, path=1, far=2))
        return dataclasses.replace(one, legs=legs, ends=(sent, dataclasses.replace(far, name="beta"), other))

    one_path = tcp(F, tuple(trial(bps, F, n) for n in range(3)), streams=1)
    link = rung(RungName.DC_LINK, dataclasses.replace(one_path, trials=tuple(made(n) for n in range(3))))
    paths = (link.paths[0], Path("10.0.0.1", "10.0.0.3", "gamma", "eth0", "eth0"))
    return document(both(RungName.SAME_HOST, 4e9), dataclasses.replace(link, paths=paths))


def _times(card: NicCounters, by: float) -> NicCounters:
    return dataclasses.replace(card, rx_bytes=int(card.rx_bytes * by), tx_bytes=int(card.tx_bytes * by))


def test_flows_and_counters_of_all_paths_account_for_the_trial() -> None:
    link = judge_document(two_paths(950e6)).rungs[-1].judgement
    assert not {Cause.UNACCOUNTED, Cause.CONTRADICTION} & {c.cause for c in link.concerns}, link.sentence


def test_a_card_of_the_second_path_that_saw_too_little_is_found() -> None:
    link = judge_document(two_paths(950e6, counted=0.1)).rungs[-1].judgement
    assert Cause.UNACCOUNTED in {c.cause for c in link.concerns} and link.verdict is not Verdict.PASS


@pytest.mark.parametrize("busy", [97.0, 99.0])
def test_the_busy_end_of_another_path_is_named(busy: float) -> None:
    found = judge_document(two_paths(600e6, busy=busy)).rungs[-1]
    assert found.limiter is not None and found.limiter.kind is LimiterKind.RECEIVER
    assert "gamma end" in found.limiter.sentence and found.verdict is not Verdict.FAIL
