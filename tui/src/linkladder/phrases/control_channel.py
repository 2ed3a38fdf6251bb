"""The control channel beside the tests, in words."""

from __future__ import annotations


def under_test(peer: str, address: str) -> str:
    """Told once a rung: what an outage then means."""
    return (
        f"control of {peer} goes over the card under test ({address}), since no other address of it answers: an outage "
        "of the path ends the trial that it meets, is kept as a result, and looks like the loss of the far machine"
    )


def one_address(peer: str, address: str) -> str:
    """Said before a run, of a peer all of whose addresses (the first of them given) are tested."""
    return f"{peer} has no address beside those under test ({address}): an outage of its card cuts control as well."
