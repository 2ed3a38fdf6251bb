"""Says in words what to do about a verdict that is not a PASS."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Layer

MORE_REPEATS = "Repeat more often or longer, on a quieter path, until the interval is narrow enough."
MEASURE_BELOW = (
    "Measure same-host as well, both ways: what these machines carry there tells whether they can fill the link."
)
UDP_QUEUES = (
    "All UDP between two addresses lands on one receive queue: judge high rates by TCP, or use more addresses for UDP."
)
MORE_STREAMS = "More parallel streams: half the number of vCPUs is a good start."
LARGER_MTU = "MTU 9000, if the path carries it (DF probes tell)."
OFFLOADS = "TSO, LRO and checksum offloads on, several queues, nothing else running on these hosts."

_COUNTED = {Layer.L2: "L2 frames", Layer.L3: "L3 packets"}
NO_TIMESTAMPS = "TCP timestamps are off"
NO_TAG = "there is no VLAN tag"


def more_vcpus(rate: float, enough: int | None, most: int, sent: float) -> str:
    """`enough`: how many vCPUs would do, None if more than `most`, the largest known number, which `sent` bit/s."""
    known = f"about {units.plural(enough or 0, 'vCPU')} at each end"
    beyond = f"more than {most} vCPUs ({most} sent about {units.rate(sent)} there)"
    return (
        f"More vCPUs: for {units.rate(rate)} with headroom, as a hint from 3.6 GHz cores under ESXi, "
        f"{known if enough else beyond}."
    )


def larger_window(asked: bool) -> str:
    """`asked`: whether the plan asked for a size of the window, rather than leaving it to the system."""
    what = "A larger socket buffer, or the system's own choice" if asked else "A higher limit of the socket buffers"
    return f"{what}, or more streams: their windows add up."


def counted_in(layer: Layer) -> str:
    return f"the contracted rate counts {_COUNTED[layer]}"


def not_enforced(port: float) -> str:
    return f"nothing enforces the contracted rate below the port's {units.rate(port)}"


def other_mtu(mtu: int) -> str:
    return f"the MTU is {mtu}"


def faster_port(bps: float) -> str:
    return f"the port or the path in between runs at {units.rate(bps)}"


def possible_if(assumptions: Sequence[str]) -> str:
    """Which wrong assumptions would explain a result above the ceiling."""
    if not assumptions:
        return "No usual entry makes it possible: check what was measured."
    return f"Possible if {', or '.join(assumptions)}."
