"""Helpers for addresses and numbers in the tools' commands."""

from __future__ import annotations

import ipaddress


def family(address: str) -> int:
    """The IP version, 4 or 6. In a dry run the address may be a name or a question mark; the agent checks real ones."""
    return 6 if ":" in address else 4


def same_address(one: str, other: str) -> bool:
    try:
        return ipaddress.ip_address(one.split("%")[0]) == ipaddress.ip_address(other.split("%")[0])
    except ValueError:
        return one == other


def number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
