"""The sentence that a published test of large sends ended with is said of figures like its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkladder import phrases
from linkladder.model import Experiment, Protocol, Setting, SettingKind
from linkladder.verdicts import Answer, Change, ChangedFigure, Measured

TSO, LRO = SettingKind.TSO, SettingKind.LRO
Arms = tuple[Experiment, Experiment, Change]


def arms(before: Experiment, figures: dict[Measured, tuple[float, float, Answer]], *switched: Setting) -> Arms:
    made = tuple(ChangedFigure(m, answer, a, b, 6, ratio=b / a) for m, (a, b, answer) in figures.items())
    return replace(before, settings=switched), before, Change("b", "a", "forward", 6, figures=made)


ONE, EIGHT = Experiment("one"), Experiment("eight", streams=8, write_size=1 << 20)
FIFTY = Experiment("fifty", "netperf", Protocol.RR, sessions=50)
# as they were published, with large sends on and then off
BULK = {
    Measured.GOODPUT: (6200e6, 2500e6, Answer.DIFFERS),
    Measured.SENDER_CORES: (3.22, 4.02, Answer.DIFFERS),
}
SMALL = {Measured.TRANSACTIONS: (131e3, 131e3, Answer.SAME), Measured.SENDER_CORES: (6.5, 6.5, Answer.SAME)}
OFF, ON = Setting(TSO, "off"), Setting(TSO, "on")


def test_what_was_taken_away_is_told_as_what_it_is_worth() -> None:
    (said,) = phrases.offloads([arms(ONE, BULK, OFF), arms(FIFTY, SMALL, OFF)])
    assert said == (
        "TSO on against off: +148 % throughput with 20 % fewer cores at the sender (1 stream); "
        "no difference for small transactions."
    )


def test_what_was_switched_on_is_told_alike() -> None:
    other_way = {m: (b, a, answer) for m, (a, b, answer) in BULK.items()}
    taken = phrases.offloads([arms(ONE, BULK, OFF), arms(FIFTY, SMALL, OFF)])
    assert phrases.offloads([arms(ONE, other_way, ON), arms(FIFTY, SMALL, ON)]) == taken


def test_each_load_and_each_end_is_told() -> None:
    receiver = BULK | {Measured.RECEIVER_CORES: (2.0, 4.0, Answer.DIFFERS)}
    both = (OFF, Setting(LRO, "off"))
    (said,) = phrases.offloads([arms(ONE, BULK, *both), arms(EIGHT, receiver, *both), arms(FIFTY, SMALL, *both)])
    assert said.startswith(
        "TSO and LRO on against off: +148 % throughput with 20 % fewer cores at the sender (1 stream),"
    )
    assert "20 % fewer cores at the sender and 50 % fewer cores at the receiver (8 streams, writes of 1M)" in said


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer.UNDECIDED, "no clear difference for small transactions."),
        (Answer.DIFFERS, "+25 % small transactions (50 sessions)."),
    ],
)
def test_transactions_that_are_not_the_same_are_not_called_so(answer: Answer, words: str) -> None:
    small = {Measured.TRANSACTIONS: (100.0, 80.0, answer)}
    (said,) = phrases.offloads([arms(ONE, BULK, OFF), arms(FIFTY, small, OFF)])
    assert said.endswith(words)


def test_throughput_that_does_not_differ_is_not_called_a_gain() -> None:
    same = {Measured.GOODPUT: (9e9, 9e9, Answer.SAME)}
    (said,) = phrases.offloads([arms(ONE, same, OFF), arms(FIFTY, SMALL, OFF)])
    assert said == "TSO on against off: the same throughput (1 stream); no difference for small transactions."


def test_it_is_said_only_where_both_were_tried_and_only_of_switches() -> None:
    assert phrases.offloads([arms(ONE, BULK, OFF)]) == ()
    assert phrases.offloads([arms(FIFTY, SMALL, OFF)]) == ()
    mtu = Setting(SettingKind.MTU, "9000")
    assert phrases.offloads([arms(ONE, BULK, mtu), arms(FIFTY, SMALL, mtu)]) == ()
    mixed = (OFF, Setting(LRO, "on"))
    assert phrases.offloads([arms(ONE, BULK, *mixed), arms(FIFTY, SMALL, *mixed)]) == ()
