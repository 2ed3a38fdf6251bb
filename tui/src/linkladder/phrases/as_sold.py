"""Says in words how a measurement differs from what was sold: other path, class or packets, or the ends' own cards."""

from __future__ import annotations

from collections.abc import Iterable

from linkladder import units

TROUBLES = {  # counters of a card that should stay at zero
    "crc_errors": "CRC errors",
    "rx_errors": "receive errors",
    "tx_errors": "transmit errors",
    "rx_drops": "frames dropped on arrival",
    "tx_drops": "frames dropped before sending",
    "rx_pause": "pause frames received",
    "tx_pause": "pause frames sent",
}


def whose(end: str) -> str:
    """An end's name in a sentence; the near end has no name of its own."""
    return "the near end" if end == "near" else end


def other_class(measured: Iterable[int], wanted: int) -> str:
    return f"Measured in class DSCP {', '.join(map(str, measured))}; the contract is for DSCP {wanted}."


def limits_of_another_class(datagrams: bool, measured: Iterable[int], wanted: int) -> str:
    what = "Loss and jitter of paced UDP were" if datagrams else "Round trip and loss of pings were"
    return f"{what} measured in class DSCP {', '.join(map(str, measured))}; the contract is for DSCP {wanted}."


def looped(address: object, rung: str) -> str:
    return f"Flows ran over {address}, inside one machine, and not over {rung}."


def one_address(address: str, rung: str) -> str:
    return f"Both sides of the path are {address}: that is inside one machine, and not {rung}."


def own_address(address: str, rung: str) -> str:
    return f"{address} is an address of the near end itself: what goes there stays inside it, and this is not {rung}."


def same_cards(mac: str, rung: str) -> str:
    return f"Two ends have the same cards ({mac}): they are one machine, and this is not {rung}."


def other_ip_version(measured: int, wanted: int) -> str:
    return f"Measured over IPv{measured}; the contract is for IPv{wanted}."


def both_ip_versions() -> str:
    return "Some paths use IPv4 and others IPv6: each is held against what the contract allows its own headers."


def strange_address(address: str) -> str:
    return f"Flows ran from or to {address}, which is not an address of this rung."


def small_segments(size: int, mtu: int, room: int) -> str:
    return f"TCP sent segments of {size} bytes; the contract's MTU of {mtu} has room for {room}."


def maybe_larger(cards: int, sold: int) -> str:
    return (
        f"Both ends' cards send packets of up to {cards} bytes, the contract is for {sold}, and nothing tells how "
        "large they were."
    )


def slow_card(card: str, end: str, speed: float, sold: float) -> str:
    return f"{card} of {whose(end)} runs at {units.rate(speed)}, less than the {units.rate(sold)} sold."


def half_duplex(card: str, end: str) -> str:
    return f"{card} of {whose(end)} runs half duplex: it cannot send while it receives, acknowledgements too."


def without_link(card: str, end: str) -> str:
    return f"{card} of {whose(end)} had no link when the run began: look at it, its cable and the port it is in."


def or_the_card(said: str, card: str) -> str:
    """`said` and `card`: sentences on a loss, and on the card that may have caused it."""
    return f"{said} But {card}"


def small_mtu(card: str, end: str, mtu: int, entered: int) -> str:
    return f"{card} of {whose(end)} is set to MTU {mtu}, less than the {entered} entered."


def unequal_mtus(mtus: Iterable[int]) -> str:
    return f"The ends' interfaces have different MTUs ({' and '.join(map(str, sorted(mtus)))})."


def tagged(card: str, end: str, measured: int, entered: int) -> str:
    if entered:
        return f"{card} of {whose(end)} puts {measured} VLAN tags on its frames; the contract as entered has {entered}."
    return (
        f"{card} of {whose(end)} tags its frames, which the contract as entered has no VLAN tag for: see the ceiling."
    )


def untagged(entered: int, bare: bool) -> str:
    """A contract's VLAN tags are missing; `bare`: both ends are physical, so no virtual switch can add them."""
    wanted = "a VLAN tag" if entered == 1 else f"{entered} VLAN tags"
    said = f"The contract counts {wanted} on each frame, and neither end's card puts one on"
    if bare:
        return f"{said}: unless the switch's port does, this is a verdict of untagged frames."
    return f"{said}: the virtual switch or the port behind it has to."


def other_vlans(numbers: Iterable[str]) -> str:
    return f"The ends' cards are in different VLANs ({' and '.join(sorted(numbers))}): that is not one VLAN."


def other_layer(bps: float, counted: str, entered: str) -> str:
    return (
        f"{units.rate(bps)} is what this rate comes to when it is counted in {counted}; the contract as entered counts "
        f"{entered}."
    )


def card_trouble(card: str, end: str, counter: str, count: int) -> str:
    return f"{card or 'The card'} of the {end} end: {count} {TROUBLES[counter]}."


def other_traffic(ends: Iterable[str], sent: float, moved: float) -> str:
    return (
        f"The card of {' and '.join(map(whose, ends))} sent {units.size(sent)} where the trial moved "
        f"{units.size(moved)}: other traffic left by it at the same time."
    )


def other_option(role: str, option: str, what: str, ran: str | None, asked: str | None) -> str:
    """A command's option is not as expected; `ran`, `asked`: its value, '' if it has none, None if it is absent."""
    if ran is None:
        return f"its {role} was run without {_option(option, asked)} ({what}), which was asked for"
    if asked is None:
        return f"its {role} was run with {_option(option, ran)} ({what}), which was not asked for"
    return f"its {role} was run with {_option(option, ran)} ({what}), and {asked} was asked for"


def _option(option: str, value: str | None) -> str:
    return f"{option.removeprefix('-- ')} {value or ''}".strip()


def other_program(argv: Iterable[str], program: str) -> str:
    return f"its command is none of {program}: {' '.join(argv)[:120]}"


def no_addresses() -> str:
    return "The rung does not tell the addresses of its path: where its flows ran is not known."


def inside_card(card: str, rung: str) -> str:
    return f"{card} is a card of the end's own loopback: what goes there stays inside it, and this is not {rung}."


def delay_unknown(limit_ms: float, which: str = "") -> str:
    """`which`: of several paths those that it is about."""
    of = f" of {which}" if which else ""
    return f"The round trip{of} was not measured: whether it stays within {units.milliseconds(limit_ms)} is not known."


def delay_above(idle_ms: float, limit_ms: float) -> str:
    return (
        f"The idle round trip is {units.milliseconds(idle_ms)} where the contract allows "
        f"{units.milliseconds(limit_ms)}."
    )


def end_hardly_ran(said: str, end: str) -> str:
    return (
        f"{said} But the {end} end was starved in most trials: whether the path or that end took the time is not known."
    )


def as_long_below(said: str, rung: str, ms: float) -> str:
    return f"{said} But on {rung} it is {units.milliseconds(ms)}: the ends take that time without this link."


def no_such_address(end: str, address: str) -> str:
    return f"No card of {end} has the address {address}, by what it told of itself: it may be another machine."


def no_such_card(end: str, card: str) -> str:
    return f"{end} has no card {card}, by what it told of itself: it may be another machine."


def was_down(card: str, end: str) -> str:
    return (
        f"{card} of {end} was down or without a link when it was asked: that was at another time, or of another card."
    )


def other_ping(option: str, value: str) -> str:
    return f"its ping was run without {option} {value}, which was asked for"


def ran_elsewhere(end: str) -> str:
    return f"its client is said to have run at the {end} end, which is not where the clients of that tool run"
