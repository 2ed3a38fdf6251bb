"""Packets that overtake each other: TCP slows down as for loss, and what it sent again says that nothing was lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

import trials
from linkladder.host import linux_text
from linkladder.judge.disorder import disorder, findings, reordered_or_lost
from linkladder.judge.evidence import Evidence
from linkladder.judge.limiters import limiter_of
from linkladder.model import Direction, Experiment, ExperimentResult, RungName, RungResult, TcpCounters
from linkladder.verdicts import LimiterKind

SEGMENTS = 40_000
SNMP = "Tcp: OutSegs RetransSegs\nTcp: 40000 6000\n"
SLOW = Evidence(
    118e6, 956e6, 1, 1448, "near", "far", loss=0.15, retransmits=6000, sender_busy=40.0, receiver_busy=50.0,
)  # fmt: skip


def limits(mixed: int, again: int, needless: int | None, **changes: float) -> set[LimiterKind]:
    seen = reordered_or_lost(mixed, SEGMENTS, again, needless)
    found = limiter_of(replace(SLOW, disorder=seen, loss=again / SEGMENTS, retransmits=again, **changes), bounded=True)
    assert found.sentence and found.evidence
    return {found.kind, *found.candidates}


def test_what_was_sent_again_for_nothing_was_overtaken() -> None:
    assert limits(16_000, 6000, 5500) == {LimiterKind.REORDERING}


def test_where_some_of_it_was_needed_loss_fits_as_well() -> None:
    assert limits(16_000, 6000, 2600) == {LimiterKind.REORDERING, LimiterKind.LOSS}


def test_a_busy_core_fits_as_well() -> None:
    assert limits(16_000, 6000, 5500, receiver_busy=99.0) == {LimiterKind.REORDERING, LimiterKind.RECEIVER}
    both = {LimiterKind.SENDER, LimiterKind.RECEIVER}
    assert limits(16_000, 6000, 5500, sender_busy=98.0, receiver_busy=99.0) == {LimiterKind.REORDERING, *both}


def test_what_is_sent_twice_makes_a_queue_that_is_not_the_cause() -> None:
    """Seen over two paths in turn: 92 % sent again, nearly all for nothing, and 2.5 ms of queue."""
    queue = {"idle_ms": 0.1, "loaded_ms": 2.6}
    assert limits(35_000, 36_800, 36_000, **queue) == {LimiterKind.REORDERING, LimiterKind.SHAPER}
    few = limiter_of(replace(SLOW, disorder=reordered_or_lost(16_000, SEGMENTS, 6000, 5500), **queue), bounded=True)
    assert few.kind is LimiterKind.SHAPER and "lost" not in few.sentence
    assert few.candidates == (LimiterKind.SHAPER, LimiterKind.REORDERING) and "may be reordering" in few.sentence


@pytest.mark.parametrize(
    ("mixed", "again", "needless"),
    [
        (16_000, 6000, 100),  # nearly all of it was missing
        (16_000, 6000, None),  # the receiver does not tell
        (100, 6000, 5500),  # nothing was overtaken: acknowledgements were lost, or came late
        (16_000, 20, 20),  # hardly anything was sent again, so that TCP kept its pace
    ],
)
def test_it_takes_both_ends_word(mixed: int, again: int, needless: int | None) -> None:
    assert LimiterKind.REORDERING not in limits(mixed, again, needless)


@pytest.mark.parametrize(("needless", "lost"), [(0.95, set()), (0.5, {LimiterKind.LOSS})])
def test_where_reports_are_counted_their_bytes_tell(needless: float, lost: set[LimiterKind]) -> None:
    """FreeBSD counts the reports of what came twice, and one tells of many segments."""
    sent = TcpCounters(
        SEGMENTS, 6000, 0, dsacks=700, retransmitted_bytes=6000 * 1448, needless_bytes=int(needless * 6000 * 1448)
    )
    made = trials.trial("t", 0, tcp={"near": sent, "far": TcpCounters(9000, 0, 16_000)})
    found = limiter_of(replace(SLOW, disorder=disorder(made, Direction.FORWARD)), bounded=True)
    assert {found.kind, *found.candidates} == {LimiterKind.REORDERING} | lost


def test_a_path_that_is_full_is_not_held_by_it() -> None:
    assert limits(16_000, 6000, 5500, goodput=950e6) == {LimiterKind.LINK}


def test_where_the_receiver_reports_nothing_its_own_count_of_what_came_twice_tells() -> None:
    """Of a peer without DSACK: nothing of it would be a sign of loss."""
    sent = TcpCounters(SEGMENTS, 6000, dsacks=0)
    for heard, kind in ((TcpCounters(out_of_order=16_000, came_twice=5500), "reordering"),
                        (TcpCounters(out_of_order=16_000, came_twice=0), "loss")):  # fmt: skip
        seen = disorder(trials.trial("t", 0, tcp={"near": sent, "far": heard}), Direction.FORWARD)
        assert seen and seen.kind == kind


def test_packets_that_overtook_each_other_are_told_though_none_was_sent_again() -> None:
    heard = TcpCounters(out_of_order=7_200, came_twice=0)
    made = trials.trial("t", 0, ok=True, tcp={"near": TcpCounters(SEGMENTS, 0, dsacks=0), "far": heard})
    rung = RungResult(RungName.DC_LINK, experiments=(ExperimentResult(Experiment("x"), (made,)),))
    (said,) = findings(rung)
    assert "18 % of the segments came out of order, 0 % were sent again: packets overtake each other" in said
    assert said.endswith("near sent 40000 segments and 0 again, was told of 0 that came twice; far had 7200 out of "
                         "order, got 0 twice.")  # fmt: skip


def test_what_sender_and_receiver_notice_of_packets_that_overtake_each_other() -> None:
    names = "TCPSACKReorder TCPRenoReorder TCPTSReorder TCPDSACKOldSent TCPDSACKOfoSent TCPDSACKRecv"
    found = linux_text.tcp_counters(SNMP, f"TcpExt: {names}\nTcpExt: 12 0 3 40 2 30\n")
    assert (found.reorderings, found.came_twice, found.dsacks, found.duplicate_acks) == (15, 42, 30, None)
    none = linux_text.tcp_counters(SNMP, "TcpExt: TCPLoss\nTcpExt: 1\n")
    assert (none.reorderings, none.came_twice) == (None, None)
