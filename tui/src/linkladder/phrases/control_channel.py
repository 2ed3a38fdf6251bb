"""Puts into words the warnings about a control channel that shares a card with the tests."""

from __future__ import annotations


def under_test(peer: str, address: str) -> str:
    """Shown once for each rung: what an outage means if control goes over the card under test."""
    return (
        f"control of {peer} goes over the card under test ({address}), since no other address of it answers: an outage "
        "of the path ends the trial that it meets, is kept as a result, and looks like the loss of the far machine"
    )


def one_address(peer: str, address: str) -> str:
    """Shown before a run if all addresses of a peer are under test; `address` is the first of them."""
    return f"{peer} has no address beside those under test ({address}): an outage of its card cuts control as well."
