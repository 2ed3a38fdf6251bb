"""Puts into words that a peer is out of reach, and the warnings about control over a card that the tests load."""

from __future__ import annotations

import math

from linkladder import units

OUT_OF_REACH = "out of reach"


def under_test(peer: str, address: str) -> str:
    """Shown once for each rung: what an outage means if control goes over the card under test."""
    return (
        f"control of {peer} goes over the card under test ({address}), since no other address of it answers: an outage "
        "of the path ends the trial that it meets, is kept as a result, and looks like the loss of the far machine"
    )


def one_address(peer: str, address: str) -> str:
    """Shown before a run if all addresses of a peer are under test; `address` is the first of them."""
    return f"{peer} has no address beside those under test ({address}): an outage of its card cuts control as well."


def not_measured(near: str, far: str) -> str:
    """Shown in place of the commands of a path whose addresses nobody can tell by now."""
    return f"{near} to {far}: not measured while an end of it is {OUT_OF_REACH}"


def out_of_reach(peer: str, why: str, retry_in: float | None = None) -> str:
    """`retry_in`: seconds until it is sought again, 0 where that was given up; None: nothing is said of it."""
    again = "" if retry_in is None else f", trying again in {math.ceil(retry_in)} s" if retry_in else ", given up"
    return f"{peer} is {OUT_OF_REACH}: {why.rstrip('.?')}{again}"  # the reason may be a question, and more words follow


def waits(end: str, why: str) -> str:
    """That a run cannot begin yet, as what an earlier one left at that end passes by itself."""
    return f"Waiting for {end} to be free: {why}"


def is_free(end: str) -> str:
    return f"{end} is free."


def put_off(why: str) -> str:
    return f"put off to the end of the rung: {why}"


def once_more_with(rung: str, back: str) -> str:
    return f"{rung}: what was measured without {back} is measured once more with it"


def never_reached(attempts: int, why: str) -> str:
    return f"the far end was {OUT_OF_REACH} in {units.plural(attempts, 'attempt')}: {why}"


def back(peer: str) -> str:
    return f"{peer} is back"
