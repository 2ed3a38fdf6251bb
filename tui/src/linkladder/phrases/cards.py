"""A network card in words."""

from __future__ import annotations

from linkladder import units
from linkladder.model import Nic


def card_state(nic: Nic) -> str:
    """Whether it could carry anything now."""
    if not nic.up:
        return "down"
    return "no carrier" if nic.carrier is False else "up"


def card_speed(nic: Nic) -> str:
    """'10.0 Gb/s'; nothing where none is to be told."""
    if nic.speed_bps:
        return units.rate(nic.speed_bps)
    return "" if nic.loopback or nic.carrier is False else "speed unknown"
