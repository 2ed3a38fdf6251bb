"""Puts into words what in a record no card, system or ping makes, or another machine did."""

from __future__ import annotations

from linkladder import units


def small_packets(end: str, card: str, moved: int, packets: int) -> str:
    return f"{card} of the {end} end is said to have moved {units.size(moved)} in {packets} packets"


def no_packets(end: str, card: str, moved: int) -> str:
    return f"{card} of the {end} end is said to have moved {units.size(moved)} without a packet"


def many_segments(end: str, counted: int) -> str:
    return f"the {end} end's system is said to have counted {counted} segments, more than the trial's bytes can make"


def connections_carried_more(end: str, seen: int, moved: int) -> str:
    return f"the {end} end's connections are said to have carried {units.size(seen)}, the trial {units.size(moved)}"


def connections_afterwards(end: str, at: float, took: float) -> str:
    return f"the {end} end's connections were looked at after {at:.0f} s of a trial of {took:.0f} s"


def no_round_trip(ms: float) -> str:
    return f"a round trip of {ms:g} ms is shorter than any ping's"


def long_round_trip() -> str:
    return "a round trip of one of its seconds is longer than the trial"


def flow_without_time() -> str:
    return "one of its flows carried its bytes in no time"


def tool_cannot(tool: str, key: str) -> str:
    what = {"incompressible": "choose a payload that nothing makes smaller", "zero_copy": "send without a copy"}[key]
    return f"it is said to have been measured by {tool}, which cannot {what}"


def not_probed(size: int) -> str:
    return f"packets of {size} bytes were to be probed, and nothing is told of them"


def reported_less(reported: int, passed: int) -> str:
    return f"packets of {passed} bytes are said to pass, and a router said that it takes no more than {reported}"


def larger_than_card(arm: str, passed: int, mtu: int) -> str:
    return f"{arm}: packets of {passed} bytes are said to pass, and a card of the path sends none above {mtu}."


def same_card(mac: str) -> str:
    return f"The cards at both ends have one address, {mac}: what is told of one of them is of the other."


def other_memory(end: str, had: int, asked: int) -> str:
    seen = f"{units.size(had)} of memory in a trial, and of {units.size(asked)} when it was asked"
    return f"The {end} end is a machine of {seen}: it is not the same one."


def windows_too_small(most: float, least: float) -> str:
    made, carried = units.rate(most), units.rate(least)
    return (
        f"its congestion windows make {made} at most, and no second of it is said to have carried less than {carried}"
    )


def other_cores(end: str, had: int, known: int) -> str:
    seen, asked = units.plural(had, "core"), units.plural(known, "core")
    return (
        f"The {end} end had {seen} in a trial, and told of {asked}: they changed meanwhile, or are another machine's."
    )


def other_version(tool: str, printed: str, known: str) -> str:
    return f"its output is that of {tool} {printed}, and the end told of {known}"


def without_beginning() -> str:
    return "The run is said to be complete, and not when it began."


def left_off() -> str:
    return "The run was left off before its end: what it was still to find is not known."


def datagrams_of_tcp() -> str:
    return "it tells of datagrams, their pace or their jitter, and TCP has none"


def retransmits_of_udp() -> str:
    return "one of its flows is said to have sent segments again, and UDP has none"


def probes_of_pings() -> str:
    return "it tells of probes of the path MTU, and it is of pings"


def transactions_under_way(seen: float, sessions: int) -> str:
    made = units.three(seen)
    have = "1 session has one" if sessions == 1 else f"{sessions} sessions have one each"
    return f"its rate and its mean latency make {made} transactions at once, and {have}"
