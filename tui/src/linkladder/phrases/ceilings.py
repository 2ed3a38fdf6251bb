"""Puts a ceiling into words: from which rate it comes, and what that rate counts."""

from __future__ import annotations

from linkladder import units
from linkladder.model import Contract, Layer, Protocol


def ceiling(contract: Contract, protocol: Protocol, best: float, port: bool, payload: int, counted: int) -> str:
    """`port`: whether the port's line rate limits, not the contract; of `counted` bytes `payload` are payload."""
    name = "UDP" if protocol is Protocol.UDP else "TCP"
    layer = "L1 with preamble and gap" if port or contract.layer is Layer.L1 else (
        f"L2 frames {'with' if contract.fcs else 'without'} FCS" if contract.layer is Layer.L2 else "L3 packets"
    )  # fmt: skip
    rate = contract.port_bps if port or contract.rate_bps is None else contract.rate_bps
    what = "A port" if port else "A contract"
    extras = f"IPv{contract.ip_version}"
    if name == "TCP":
        extras += ", timestamps" if contract.timestamps else ", no timestamps"
    if contract.vlan_tags:
        extras += f", {units.plural(contract.vlan_tags, 'VLAN tag')}"
    if contract.encap_bytes:
        extras += f", {contract.encap_bytes} bytes of encapsulation"
    return (
        f"{what} of {units.rate(rate)} counted in {layer} carries at most {_four(best)} of {name} at MTU "
        f"{contract.mtu} ({extras}): {payload} of every {counted} bytes are payload."
    )


def of_both(protocol: Protocol, four: float, six: float, best: float, share: float) -> str:
    """`share`: of IPv6 in what is carried."""
    name = "UDP" if protocol is Protocol.UDP else "TCP"
    return (
        f"Some paths use IPv4, which carries at most {_four(four)} of {name}, and others IPv6, which carries at most "
        f"{_four(six)}: at most {_four(best)} where {units.share(share)} of it is IPv6."
    )


def _four(bps: float) -> str:
    """A rate with four digits, since ceilings may differ only in the fourth."""
    for unit, factor in units.RATE_UNITS:
        if bps >= factor:
            return f"{bps / factor:.3f} {unit}" if bps / factor < 10 else f"{bps / factor:.1f} {unit}"
    return f"{bps:.0f} b/s"
