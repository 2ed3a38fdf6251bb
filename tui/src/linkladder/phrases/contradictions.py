"""Figures of one trial that cannot all be true, in words: each a clause that says what is wrong with 'it'."""

from __future__ import annotations

from collections.abc import Iterable

from linkladder import units
from linkladder.phrases.ways import way


def other_way(directions: Iterable[str]) -> str:
    return f"it was measured {' and '.join(map(way, directions))}, which was not asked for"


def other_sum(total: float, claimed: float) -> str:
    return f"its directions make {units.rate(total)} together, it claims {units.rate(claimed)}"


def ended_before() -> str:
    return "it ended before it began"


def seconds_before() -> str:
    return "seconds of before its beginning are in it"


def counted_too_long(seconds: float, asked: float) -> str:
    return f"{seconds:.1f} s were counted where {asked:g} s were asked for"


def warmup_counted(warmup: float) -> str:
    return f"seconds of the warm-up of {warmup:g} s were counted"


def seconds_overlap() -> str:
    return "its seconds overlap"


def one_flow_twice() -> str:
    return "two of its flows are one, by addresses and ports"


def empty_flow() -> str:
    return "one of its flows carried nothing"


def short_flow(seconds: float, asked: float) -> str:
    return f"one of its flows lasted {seconds:.1f} of {asked:g} s"


def more_than_asked(arrived: float, asked: float) -> str:
    return f"{units.rate(arrived)} arrived where {units.rate(asked)} were asked for"


def more_than_sent(arrived: float, sent: float) -> str:
    return f"{units.rate(arrived)} arrived where {units.rate(sent)} were sent"


def other_loss(share: float, of_parts: float) -> str:
    return f"{share:.2%} of its datagrams are said to be lost, its parts say {of_parts:.2%}"


def card_backwards(counters: str, card: str, end: str) -> str:
    """`counters`: 'bytes', 'packets', 'errors', 'drops'."""
    return f"the {counters} of {card or 'the card'} of the {end} end went backwards"


def tcp_backwards(end: str) -> str:
    return f"the TCP counters of the {end} end went backwards"


def impossible_share(end: str, busy: float) -> str:
    return f"a core of the {end} end is said to be {busy:.0f} % busy"


def pings_answered(received: int, sent: int) -> str:
    return f"{received} of {sent} pings were answered"


def negative_round_trip() -> str:
    return "a round trip is shorter than nothing"


def passed_and_failed() -> str:
    return "a size of packets both passed and failed"


def not_the_largest(mtu: int, largest: int) -> str:
    return f"packets of {mtu} are said to pass where {largest} is the largest that did"
