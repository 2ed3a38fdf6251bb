"""What is lost at most, by as many packets as were counted, beside the contract's limit of loss."""

from __future__ import annotations

import pytest

from judge_documents import GIGABIT, GOOD, F, R, both, document, link_pings, tcp, trial, udp
from linkladder.judge import judge_document
from linkladder.judge.loss_bound import most_lost
from linkladder.model import Contract, ExperimentResult, Rtt, RungName, TcpCounters
from linkladder.verdicts import Judgement, Verdict

SLOW = Contract(port_bps=10e9, rate_bps=5e6)


def judged(again: int, sent: int = 20, came: int = 20, *more: ExperimentResult, deal: Contract = GIGABIT) -> Judgement:
    """A link of which TCP sent so many of about a million segments again in each trial, and pings so many."""
    counted = {end: TcpCounters(1_000_000, again) for end in ("near", "far")}
    rate = GOOD * (deal.rate_bps or 0.0) / 1e9
    loads = (tcp(way, tuple(trial(rate, way, n, tcp=counted) for n in range(3))) for way in (F, R))
    rtt = Rtt(sent, came, 0.9, 1.0, 1.1, 1.0, 1.1, 0.05)
    link = link_pings(rtt, *loads, *more)
    return judge_document(document(both(RungName.SAME_HOST, 4e9), link, contract=deal)).rungs[-1].judgement


@pytest.mark.parametrize(
    ("lost", "sent", "percent"),
    [(0, 20, 13.911), (0, 2994, 0.10001), (0, 2995, 0.09997), (40, 42_000, 0.125), (20, 20, 100)],
)
def test_the_largest_share_that_so_few_losses_leave_possible(lost: int, sent: int, percent: float) -> None:
    assert 100 * most_lost(lost, sent) == pytest.approx(percent, rel=0.01 if lost else 0.0005)


def test_twenty_pings_without_a_loss_do_not_show_a_tenth_of_a_percent() -> None:
    few = judged(again=5000)
    assert few.verdict is Verdict.PASS and few.provisional
    assert any("segments sent again leave up to 0.47" in said for said in few.findings)


@pytest.mark.parametrize(("again", "firm"), [(0, True), (300, True), (900, True), (1200, False)])
def test_segments_sent_again_bound_the_loss_from_above(again: int, firm: bool) -> None:
    assert judged(again).provisional is not firm


def at_most(seen: Judgement) -> list[float]:
    return [c.figures["loss_at_most_percent"] for c in seen.concerns if "loss_at_most_percent" in c.figures]


def test_datagrams_bound_it_where_tcp_fills_its_own_queue() -> None:
    of_half = [udp(way, 5e8, 5e8) for way in (F, R)]
    assert not at_most(judged(5000, 20, 20, *of_half))
    assert at_most(judged(5000, 20, 20, *of_half[:1])) == [pytest.approx(0.475, abs=0.01)]  # of the other direction


def test_few_datagrams_of_a_slow_contract_bound_little() -> None:
    """Ten seconds of 2.5 Mb/s are 2126 datagrams."""
    of_half = [udp(way, 2.5e6, 2.5e6) for way in (F, R)]
    few = judged(100, 20, 20, *of_half, deal=SLOW)
    assert few.provisional and any("2126 datagrams without a loss leave up to 0.141 %" in said for said in few.findings)


def test_enough_pings_show_it_by_themselves() -> None:
    assert judged(5000, 2994, 2994).provisional
    assert not judged(5000, 2995, 2995).provisional
