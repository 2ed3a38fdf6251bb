"""Converts the description of a link to and from the form's fields, and proposes what is in them at first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linkladder import units
from linkladder.app.backend import HomeView
from linkladder.errors import UsageError
from linkladder.model import Contract, HostFacts, Layer, Nic, Path
from linkladder.plan import fields

MTUS = (576, 65535)
UNSAVED = "put it right; nothing was saved yet"
LAYERS = [
    (Layer.L1.value, "wire (L1)"),
    (Layer.L2.value, "frames (L2)"),
    (Layer.L3.value, "IP packets (L3)"),
]
LAYER_WORDS = {Layer.L1: "bits on the wire", Layer.L2: "frames", Layer.L3: "IP packets"}


def near_address(host: HostFacts, remote: str, way: str = "") -> str:
    """This machine's likely address for a path to `remote`: on the interface `way`, else the most similar one."""
    own = [(n.name == way, a) for n in host.nics if not n.loopback and n.up for a in n.addresses]
    alike = [(there, a) for there, a in own if (":" in a) == (":" in remote) and not a.startswith("fe80")]
    return max(alike, key=lambda one: (one[0], _common(one[1], remote)), default=(False, ""))[1]


def far_address(addresses: Sequence[str]) -> str:
    """The first address that is not link-local, as pairing's address may be; '' if there is none."""
    return next(iter(usable(addresses)), "")


def usable(addresses: Sequence[str]) -> tuple[str, ...]:
    """The addresses that are not link-local."""
    return tuple(a for a in addresses if not a.lower().startswith("fe80"))


def proposed(view: HomeView, ways: dict[str, str], peer: str, used: Sequence[str]) -> Path:
    """A further path, to an unused address and if possible through an unused card; those of `peer` come first."""
    taken = {nic.name for nic in view.host.nics if set(nic.addresses) & set(used)}
    order = sorted(view.peers, key=lambda one: one.name != peer)
    free = [(one.name, a) for one in order for a in usable(one.addresses) if a not in used]
    found = [(name, a) for name, a in free if ways.get(a) and ways[a] not in taken] or free
    if not found:
        return Path(peer=peer)
    name, remote = found[0]
    return Path(near_address(view.host, remote, ways.get(remote, "")), remote, name)


def carrier(host: HostFacts, local: str) -> Nic | None:
    """The interface that has this address; None if there is none."""
    return next((n for n in host.nics if local and local in n.addresses and not n.loopback), None)


def rated_speed(nic: Nic | None) -> float | None:
    """The speed in bit/s that limits the interface; None for a veth or epair, whose speed is made up."""
    return nic.speed_bps if nic and nic.driver not in ("veth", "epair") else None


def first_contract(nic: Nic | None) -> Contract:
    """The contract to show until a person enters what was bought: as much as this interface could carry."""
    usual = Contract()
    mtu = nic.mtu if nic and MTUS[0] <= nic.mtu <= MTUS[1] else usual.mtu
    return replace(usual, port_bps=rated_speed(nic) or usual.port_bps, mtu=mtu)


def first_contract_source(nic: Nic | None, lost: bool = False) -> str:
    """A sentence on where the first contract comes from; `lost`: an earlier one was damaged."""
    if lost:
        return "! What was described here before was damaged (Home, then d); what stands here now is a guess."
    if nic is None:
        return "Port rate and MTU are a guess; put in what was bought."
    if rated_speed(nic) is None:
        return f"{nic.name} does not tell its speed, so the port rate is a guess; put in what was bought."
    return f"Port rate and MTU are those of {nic.name}; put in what was bought."


def _common(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def contract_of(values: dict[str, str], known: Contract) -> Contract:
    """The known contract with the typed values; raises UsageError with the field and what is expected."""

    def checked(key: str, label: str, check: fields.Check, value: object) -> Any:
        try:
            return check(value)
        except ValueError as error:
            raise UsageError(f"{label}: {error}", f"typed: {values[key][:40] or 'nothing'}", UNSAVED) from None

    def number(key: str, label: str, check: fields.Check, kind: type[int] | type[float]) -> Any:
        try:
            found: object = kind(values[key])
        except ValueError:
            found = None
        return checked(key, label, check, found)

    port = checked("port", "Port rate", fields.rate, values["port"])
    sold = checked("rate", "Contracted rate", fields.rate, values["rate"]) if values["rate"].strip() else None
    if sold and sold > port:
        raise UsageError("Contracted rate: expected at most the port's rate", hint=UNSAVED)

    def perhaps(key: str, label: str) -> Any:
        return number(key, label, fields.number(0.001, 10_000), float) if values[key].strip() else None

    return replace(
        known,
        port_bps=port,
        rate_bps=sold,
        layer=Layer(values["layer"]),
        mtu=number("mtu", "MTU", fields.whole(*MTUS), int),
        vlan_tags=number("vlan", "VLAN tags", fields.whole(0, 2), int),
        ip_version=int(values["ip"]),
        circuit=checked("circuit", "Circuit", fields.text, values["circuit"].strip()),
        expected_rtt_ms=perhaps("rtt", "Round trip, ms"),
        loss_percent=number("loss", "Loss, %", fields.number(0, 100), float),
        delay_ms=perhaps("delay", "Delay, ms"),
        jitter_ms=perhaps("jitter", "Jitter, ms"),
        availability_percent=number("up", "Availability, %", fields.number(0, 100), float),
    )


def short_rate(bps: float | None) -> str:
    """A rate as '10G' or '952.4M': short, and read back as exactly the same rate."""
    if bps is None:
        return ""
    unit, factor = next(((u, f) for u, f in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)) if bps >= f), ("", 1.0))
    return f"{bps / factor:.15g}{unit}"


def ceiling_sentence(contract: Contract) -> str:
    """A sentence such as 'At most 9.41 Gb/s of TCP fits into the port's 10.0 Gb/s at MTU 1500.'"""
    from linkladder.judge import ceiling, rate_sold

    best = ceiling(contract)
    layer = f" of {LAYER_WORDS[contract.layer]}" if best.which == "contract" else ""
    return (
        f"At most {units.rate(best.bps)} of TCP fits into the {best.which}'s {units.rate(rate_sold(contract))}{layer} "
        f"at MTU {contract.mtu}."
    )


def path_typed(local: str, remote: str, old: Path, peer: str, before: Sequence[Path] = ()) -> Path:
    """A rung's path with the typed addresses; raises ValueError with what is expected, also if it is one `before`."""
    try:
        here, there = fields.address(local) if local else "", fields.address(remote)
    except ValueError as error:
        raise ValueError(f"{error}, such as 10.0.0.1") from None
    fields.two_ends(here, there)
    made = replace(old, local=here, remote=there, peer=peer)
    fields.once_each((*before, made))
    return made
