"""What would make a generator strong enough, a window large enough, and a result above the ceiling possible."""

from __future__ import annotations

import dataclasses
import math

from linkladder.judge.ceilings import ceiling, rate_sold
from linkladder.model import Contract, Experiment, Layer, Protocol
from linkladder.phrases import remedies as say

PORTS = (1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9)

# What one article's 3.6 GHz vCPUs under ESXi sent between two hosts with iperf2: (vCPUs, bps).
VCPU_SIZING = ((1, 5.83e9), (2, 6.65e9), (4, 10e9), (8, 20e9))


def stronger(contract: Contract) -> tuple[str, ...]:
    """How to make a generator that can show the contract."""
    rate = rate_sold(contract)
    enough = next((cpus for cpus, bps in VCPU_SIZING[1:] if bps >= 1.5 * rate), None)
    mtu = (say.LARGER_MTU,) if contract.mtu < 9000 else ()
    return (say.MORE_STREAMS, say.more_vcpus(rate, enough, *VCPU_SIZING[-1]), *mtu, say.OFFLOADS)


def larger_window(p: Experiment) -> str:
    return say.larger_window(asked=bool(p.window))


def possible_assumptions(
    bps: float, contract: Contract, protocol: Protocol, write_size: int | None = None
) -> tuple[str, ...]:
    """Which other entries would make the result possible, and what to exclude first."""

    def fits(**changes: object) -> bool:
        other = dataclasses.replace(contract, **changes)  # type: ignore[arg-type]
        return ceiling(other, protocol, write_size).bps >= bps

    found = []
    if contract.rate_bps is not None:
        for layer in (Layer.L2, Layer.L3):
            if contract.layer is not layer and fits(layer=layer):
                found.append(say.counted_in(layer))
        if fits(rate_bps=None):
            found.append(say.not_enforced(contract.port_bps))
    if contract.timestamps and protocol is not Protocol.UDP and fits(timestamps=False):
        found.append(say.NO_TIMESTAMPS)
    if contract.vlan_tags and fits(vlan_tags=0):
        found.append(say.NO_TAG)
    for mtu in (1500, 9000):
        if mtu > contract.mtu and fits(mtu=mtu):
            found.append(say.other_mtu(mtu))
            break
    faster = next((p for p in PORTS if p > contract.port_bps * 1.01 and fits(port_bps=p, rate_bps=None)), math.inf)
    if math.isfinite(faster):
        found.append(say.faster_port(faster))
    return (say.possible_if(found),)
