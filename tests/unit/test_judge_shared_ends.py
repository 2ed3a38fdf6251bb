"""Paced UDP over several cards of one pair, or in a mesh: an end's counters are those of all its paths."""

from __future__ import annotations

import pytest

from linkladder.judge.experiments import judge_experiment
from linkladder.model import (
    Contract,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    Leg,
    NicCounters,
    Outcome,
    Protocol,
    TrialResult,
)
from linkladder.verdicts import Judgement, Verdict

SENT = 100_000  # datagrams on each path
RATE = SENT * 1470 * 8 / 10
DEAL = Contract(port_bps=10e9, rate_bps=1e9)
F = Direction.FORWARD


def card(name: str, tx: int = 0, rx: int = 0) -> NicCounters:
    return NicCounters(name, tx_packets=tx, rx_packets=rx, tx_bytes=1512 * tx, rx_bytes=1512 * rx)


def load(path: int, far: int, lost: int) -> Leg:
    bps = RATE * (1 - lost / SENT)
    came = Outcome(True, goodput_bps=bps, by_direction={"forward": bps}, lost=lost, datagrams=SENT, offered_bps=RATE)
    return Leg(came, path=path, near=0, far=far)


def judged(legs: tuple[Leg, ...], *ends: EndRecord) -> Judgement:
    p = Experiment("udp", protocol=Protocol.UDP, direction=F, udp_rate_bps=2 * RATE)
    result = ExperimentResult(p, (TrialResult("t", 0, legs, ends, seconds=10.0),))
    return judge_experiment(result, DEAL, F).judgement


def two_cards(lost: tuple[int, int], came: tuple[int, int], dropped: int | None = None) -> Judgement:
    near = EndRecord("near", nics=(card("a0", tx=SENT), card("b0", tx=SENT)))
    far = EndRecord("far", nics=(card("a0", rx=came[0]), card("b0", rx=came[1])), udp_dropped=dropped)
    return judged((load(0, 1, lost[0]), load(1, 1, lost[1])), near, far)


def test_what_one_path_loses_is_no_smaller_for_a_path_beside_it() -> None:
    assert two_cards((0, 0), (SENT, SENT)).verdict is Verdict.PASS
    seen = two_cards((160, 0), (SENT - 160, SENT))  # 0.16 % of one is 0.08 % of both
    assert seen.verdict is Verdict.FAIL and "0.16 % of what the sending card put out" in seen.sentence


def test_what_the_sockets_of_an_end_dropped_is_of_each_path_by_what_it_lost() -> None:
    assert two_cards((5000, 0), (SENT, SENT), dropped=5000).verdict is Verdict.PASS
    for dropped, verdict in ((10_000, Verdict.PASS), (5000, Verdict.CANNOT_JUDGE)):
        assert two_cards((5000, 5000), (SENT, SENT), dropped=dropped).verdict is verdict


@pytest.mark.parametrize(("dropped", "verdict"), [(5000, Verdict.PASS), (0, Verdict.FAIL)])
def test_cards_that_also_sent_to_others_do_not_tell_who_lost(dropped: int, verdict: Verdict) -> None:
    """The near end sends to two others by one card; what the second one lost was at its own full sockets."""
    near = EndRecord("near", nics=(card("a0", tx=2 * SENT),))
    ends = [EndRecord(name, nics=(card("a0", rx=SENT),), udp_dropped=n) for name, n in (("b", 0), ("c", dropped))]
    assert judged((load(0, 1, 0), load(1, 2, 5000)), near, *ends).verdict is verdict
