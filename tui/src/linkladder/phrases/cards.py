"""Puts the state of network cards, their queues and bundles into words."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Bundle, Member, Nic


def card_state(nic: Nic) -> str:
    """The card's state: 'down', 'no carrier', or 'up' if it can carry traffic."""
    if not nic.up:
        return "down"
    return "no carrier" if nic.carrier is False else "up"


def card_speed(nic: Nic) -> str:
    """The card's speed, such as '10.0 Gb/s'; '' for a loopback or a card without carrier."""
    if nic.speed_bps:
        return units.rate(nic.speed_bps)
    return "" if nic.loopback or nic.carrier is False else "speed unknown"


def bundle(one: Bundle) -> str:
    """A bundle, such as 'lacp of ix0 (active) and ix1 (nobody answers LACP), hash l2,l3,l4'."""
    members = [f"{m.name} ({_member(m, m in one.unanswered)})" for m in one.members]
    listed = units.joined(members) or "no card"
    sentence = f"{one.protocol} of {listed}" + (f", hash {one.hash}" if one.hash else "")
    return sentence + (f", flapped {units.plural(one.flapping, 'time')}" if one.flapping else "")


def leaves_by_another(end: str, local: str, remote: str, card: str, gateway: str, wanted: str) -> str:
    """`card`: by which packets of that end go out, `wanted`: the one that its path goes over."""
    return (
        f"from {local} to {remote} packets of the {end} end leave by {card}{f' to {gateway}' if gateway else ''}, not "
        f"by {wanted}: give each card a network of its own, or that end a route to {remote} by {wanted}"
    )


def no_link(end: str, card: str, leaves: str) -> str:
    """`leaves`: the card by which packets would go out instead."""
    return (
        f"{card} of the {end} end has no link, and {leaves} is not what the path goes over: look at {card}, its cable "
        "and the port at the other end of the cable"
    )


def unlike_mtus(cards: Sequence[tuple[str, int]]) -> str:
    """Of cards that go beside each other, by name."""
    listed = units.joined([f"{name} {mtu}" for name, mtu in cards])
    return f"its paths have cards of unlike MTU ({listed}), so that their rates do not compare."


def unlike_ends(near: str, mtu: int, far: str, peer: str, other: int) -> str:
    return (
        f"{near} has MTU {mtu}, and {far} at {peer} {other}: TCP agrees on the smaller where both know it, and what is "
        "larger is lost."
    )


def of_one_core(queues: Sequence[tuple[str, int]], share: float, of: int, core: int, busy: float) -> tuple[str, str]:
    """A sentence, and the figures; `of`: how many queues there are, `share`: of all that came in."""
    names = " and ".join(f"queue {number} of {card}" for card, number in queues)
    figures = f"{names}: {units.share(share)} of what came in, on core {core}, {busy:.0f} % busy"
    if of == 1:
        return f"{queues[0][0]} has a single receive queue, whose core {core} was {busy:.0f} % busy.", figures
    if len(queues) == 1:
        return (
            f"One receive queue of {of} did the work: {units.share(share)} of what came in went by {names}, whose "
            f"core {core} was {busy:.0f} % busy."
        ), figures
    return (
        f"One core took the packets of {len(queues)} receive queues of {of}: {units.share(share)} of what came in "
        f"went by {names} to core {core}, which was {busy:.0f} % busy."
    ), figures


def _member(one: Member, unanswered: bool) -> str:
    if unanswered:
        return "nobody answers LACP"
    if not one.active:
        return "not active"
    return "active" + (f", with {one.partner}" if one.partner else "")
