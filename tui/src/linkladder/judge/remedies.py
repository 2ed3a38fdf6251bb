"""What to do about a verdict that is not a PASS."""

from __future__ import annotations

import dataclasses
import math

from linkladder import units
from linkladder.judge.ceilings import ceiling, rate_sold
from linkladder.model import Contract, Experiment, Layer, Protocol

MORE_REPEATS = "Repeat more often or longer, on a quieter path, until the interval is narrow enough."
MEASURE_BELOW = (
    "Measure same-host or localhost as well: what this generator carries there tells whether it can fill the link."
)
UDP_QUEUES = (
    "All UDP between two addresses lands on one receive queue: judge high rates by TCP, or use more addresses for UDP."
)
PORTS = (1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9)

# What one article's 3.6 GHz vCPUs under ESXi sent between two hosts with iperf2: (vCPUs, bps).
VCPU_SIZING = ((1, 5.83e9), (2, 6.65e9), (4, 10e9), (8, 20e9))


def stronger(contract: Contract) -> tuple[str, ...]:
    """How to make a generator that can show the contract."""
    rate = rate_sold(contract)
    enough = next((cpus for cpus, bps in VCPU_SIZING[1:] if bps >= 1.5 * rate), None)
    sizing = (
        f"about {enough} vCPUs at each end" if enough else f"more than 8 vCPUs (8 sent about {units.rate(20e9)} there)"
    )
    mtu = ("MTU 9000, if the path carries it (DF probes tell)",) if contract.mtu < 9000 else ()
    return (
        "More parallel streams: half the number of vCPUs is a good start.",
        f"More vCPUs: for {units.rate(rate)} with headroom, as a hint from 3.6 GHz cores under ESXi, {sizing}.",
        *(f"{m}." for m in mtu),
        "TSO, LRO and checksum offloads on, several queues, nothing else running on these hosts.",
    )


def larger_window(p: Experiment) -> str:
    return (
        "A larger socket buffer, or the system's own choice" if p.window else "A higher limit of the socket buffers"
    ) + ", or more streams: their windows add up."


def possible_assumptions(
    bps: float, contract: Contract, protocol: Protocol, write_size: int | None = None
) -> tuple[str, ...]:
    """Which other entries would make the result possible, and what to exclude first."""

    def fits(**changes: object) -> bool:
        other = dataclasses.replace(contract, **changes)  # type: ignore[arg-type]
        return ceiling(other, protocol, write_size).bps >= bps

    found = []
    if contract.rate_bps is not None:
        for layer, words in ((Layer.L2, "L2 frames"), (Layer.L3, "L3 packets")):
            if contract.layer is not layer and fits(layer=layer):
                found.append(f"the contracted rate counts {words}")
        if fits(rate_bps=None):
            found.append(f"nothing enforces the contracted rate below the port's {units.rate(contract.port_bps)}")
    if contract.timestamps and protocol is not Protocol.UDP and fits(timestamps=False):
        found.append("TCP timestamps are off")
    if contract.vlan_tags and fits(vlan_tags=0):
        found.append("there is no VLAN tag")
    for mtu in (1500, 9000):
        if mtu > contract.mtu and fits(mtu=mtu):
            found.append(f"the MTU is {mtu}")
            break
    faster = next((p for p in PORTS if p > contract.port_bps * 1.01 and fits(port_bps=p, rate_bps=None)), math.inf)
    if math.isfinite(faster):
        found.append(f"the port or the path in between runs at {units.rate(faster)}")
    return (
        f"Possible if {', or '.join(found)}."
        if found
        else "No usual entry makes it possible: check what was measured.",
    )
