"""A loss that the contract permits holds few TCP streams over a long way: that fails no link that many streams fill."""

from __future__ import annotations

import pytest

from judge_documents import F, R, both, document, ping, rung, tcp, trial, trials
from linkladder.judge import judge_document
from linkladder.model import Direction, Document, Experiment, ExperimentResult, Protocol, Rtt, RungName, TcpCounters
from linkladder.verdicts import Cause, Verdict

RTT = 20.0  # ms
LOST = 1e-4  # share of all packets
SOLD = 957e6  # bit/s of UDP


def paced(way: Direction, bps: float, lost: float) -> ExperimentResult:
    sent = round(bps * 10 / 8 / 1470)
    p = Experiment(f"udp-{bps:.0f}-{way}", protocol=Protocol.UDP, direction=way, udp_rate_bps=bps, repeats=2)
    made = (
        trial(bps * (1 - lost), way, n, lost=round(sent * lost) + n * (lost > 0), datagrams=sent + n) for n in range(2)
    )
    return ExperimentResult(p, tuple(made))


def load(way: Direction, streams: int, mbps: float) -> ExperimentResult:
    def one(n: int) -> trials.TrialResult:
        sent = int(mbps * 1e6 * 13 / 8 / 1448) + 97 * n
        mine = TcpCounters(sent, int(sent * 1.1 * LOST))
        counted = {"near": mine, "far": TcpCounters(sent // 2, 0)}
        counted = counted if way is F else {"near": counted["far"], "far": mine}
        flat = Rtt(50, 50, RTT, RTT + 0.02, RTT + 0.1, RTT + 0.01, RTT + 0.1, 0.02, (RTT + 0.01,) * 50)
        return trial(mbps * 1e6 * (1 + 0.004 * (n - 1)), way, n, tcp=counted, rtt_under_load=flat)

    return tcp(way, tuple(one(n) for n in range(3)), streams=streams)


def link(rates: dict[int, float], lost: float = LOST, shares: tuple[float, ...] = (0.5, 0.9)) -> Document:
    of_way = [
        one
        for way in (F, R)
        for one in (*(paced(way, share * SOLD, lost) for share in shares), *(load(way, *r) for r in rates.items()))
    ]
    return document(both(RungName.SAME_HOST, 4e9), rung(RungName.DC_LINK, ping(RTT), *of_way))


@pytest.mark.parametrize(("rates", "next_streams"), [({2: 140}, 16), ({2: 140, 8: 560}, 32), ({2: 140, 32: 800}, 64)])
def test_few_streams_leave_it_open_and_more_are_asked_for(rates: dict[int, float], next_streams: int) -> None:
    judged = judge_document(link(rates))
    assert (judged.verdict, judged.judgement.cause) == (Verdict.CANNOT_JUDGE, Cause.PERMITTED_LOSS)
    (asked,) = (f for f in judged.rungs[-1].follow_up if "more streams" in f.question)
    assert asked.plan.count(f"streams = {next_streams}\n") == 2  # one for each direction
    assert any(f"{next_streams} streams" in text for text in judged.rungs[-1].judgement.remedies)


def test_what_many_streams_carry_decides() -> None:
    assert judge_document(link({2: 140, 16: 945})).verdict is Verdict.PASS
    assert judge_document(link({2: 140, 64: 800})).verdict is Verdict.FAIL


def test_more_loss_than_is_permitted_fails() -> None:
    assert judge_document(link({2: 140}, lost=3e-3)).verdict is Verdict.FAIL


def test_bursts_that_only_tcp_sends_are_no_permitted_loss() -> None:
    of_udp = {way: [paced(way, share * SOLD, 0.0) for share in (0.5, 0.9)] for way in (F, R)}
    clean = [one for way in (F, R) for one in (*of_udp[way], load(way, 2, 140))]
    made = document(both(RungName.SAME_HOST, 4e9), rung(RungName.DC_LINK, ping(RTT), *clean))
    assert judge_document(made).judgement.cause is not Cause.PERMITTED_LOSS


@pytest.mark.parametrize("shares", [(), (0.5, 0.6)])
def test_nothing_is_excused_where_paced_udp_does_not_show_what_was_sold(shares: tuple[float, ...]) -> None:
    assert judge_document(link({2: 140}, shares=shares)).judgement.cause is not Cause.PERMITTED_LOSS
