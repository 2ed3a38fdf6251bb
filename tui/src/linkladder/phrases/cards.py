"""Puts the state of network cards and bundles into words."""

from __future__ import annotations

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


def _member(one: Member, unanswered: bool) -> str:
    if unanswered:
        return "nobody answers LACP"
    if not one.active:
        return "not active"
    return "active" + (f", with {one.partner}" if one.partner else "")
