"""Puts into words how much loss the packets that were counted leave possible."""

from __future__ import annotations

from linkladder import units


def unmeasured(limit: float, which: str) -> str:
    """`which`: a direction, or one of several paths."""
    return (
        f"Loss {which} was measured neither by pings nor by paced UDP: whether it stays within the {limit:g} % of "
        "loss that the contract allows is not known."
    )


def up_to(kind: str, sent: int, lost: int, share: float, which: str, limit: float) -> str:
    """`kind`: of packets: "pings", "datagrams", "segments"; `lost`: of segments those sent again."""
    one = {"pings": "ping", "datagrams": "datagram", "segments": "segment"}[kind]
    if not lost:
        leave = "leaves" if sent == 1 else "leave"
        seen = f"{units.plural(sent, one)} without {'one sent again' if kind == 'segments' else 'a loss'} {leave}"
    else:
        seen = f"{lost} of {units.plural(sent, one)} {'sent again' if kind == 'segments' else 'lost'} leave"
    return (
        f"{seen} up to {100 * share:.3g} % of loss possible {which}: whether it stays within the {limit:g} % of loss "
        "that the contract allows is not shown; paced UDP would tell."
    )
