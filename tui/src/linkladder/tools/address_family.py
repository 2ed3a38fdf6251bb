"""Addresses and numbers as the tools' commands want them."""

from __future__ import annotations

import ipaddress


def family(address: str) -> int:
    """4 or 6; a dry run may show a name or a question mark in its place, the agent is strict about real ones."""
    return 6 if ":" in address else 4


def same_address(one: str, other: str) -> bool:
    try:
        return ipaddress.ip_address(one.split("%")[0]) == ipaddress.ip_address(other.split("%")[0])
    except ValueError:
        return one == other


def number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
