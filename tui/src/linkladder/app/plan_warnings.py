"""Warns before a run about what the plan cannot prove on this machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from linkladder import phrases, units
from linkladder.app.link_form import carrier, rated_speed
from linkladder.app.unpaired_ends import NEW_NAME, named_by_plan
from linkladder.judge import ceiling, rate_sold
from linkladder.judge.remedies import VCPU_SIZING
from linkladder.model import Contract, HostFacts, Path, Plan, Protocol, Rung, RungName
from linkladder.phrases import cards
from linkladder.plan import Link


def warnings(
    link: Link,
    plan: Plan,
    host: HostFacts,
    far: Mapping[str, HostFacts] | None = None,
    known: Mapping[str, Sequence[str]] | None = None,
    ways: Mapping[tuple[str, str], str] | None = None,
) -> list[str]:
    """Short sentences, the gravest first; `far` has the facts and `known` the addresses of peers by name, `ways` the
    card by which packets between two addresses leave.
    """
    contract = link.contract or Contract()
    of_link = {name for _, path in link.every_path() for name in path.peers}
    old = [name for name in plan.peers if known is not None and name not in known and name not in of_link]
    link = replace(link, paths=_own_paths(link, plan))
    return [
        *([f"{named_by_plan(plan.name, old)}: {NEW_NAME}."] if old else []),
        *_paths(link, host, None if known is None else {*known, *old}),
        *_by_another_card(link, host, ways or {}),
        *_unlike(link, host, far or {}),
        *_cards(link, contract, host),
        *_contract(contract),
        *_cores(link, contract, host, far or {}),
        *_window(contract, plan, host),
        *_plan(plan),
        *_moves(link),
        *_control(link, known or {}),
    ]


def capacity(cores: int) -> float:
    """How many bit/s so many vCPUs may send, by the one known measurement; above its largest number in proportion."""
    most, bps = VCPU_SIZING[-1]
    if cores > most:
        return bps * cores / most
    return max(rate for cpus, rate in VCPU_SIZING if cpus <= max(1, cores))


def _own_paths(link: Link, plan: Plan) -> dict[RungName, tuple[Path, ...]]:
    """The paths that begin or end here: those of the link, or in a mesh the pairs of this machine in their place."""
    if not any(path.origin for rung in plan.rungs for path in rung.paths) and not plan.mesh:
        return link.paths
    own = {rung.name: tuple(path for path in rung.paths if path.peer and not path.origin) for rung in plan.rungs}
    return {name: paths for name, paths in own.items() if paths}


def _paths(link: Link, host: HostFacts, known: Collection[str] | None) -> list[str]:
    if not link.paths:
        return ["No rung has an address there: only this machine itself will be measured."]
    found = []
    if RungName.DC_LINK not in link.paths:
        found.append("dc-link has no address there: the link itself will not be measured.")
    own = {address for nic in host.nics for address in nic.addresses}
    for rung, path in link.every_path():
        if path.local and path.local not in own:
            found.append(f"{rung}: {path.local} is no address of this machine.")
        if path.remote in own:
            found.append(f"{rung}: {path.remote} is this machine itself.")
        if not path.peer:
            found.append(f"{rung}: no peer is named; pair one first.")
        elif known is not None and path.peer not in known:
            found.append(f"{rung}: {path.peer} is not paired; choose another peer there, or pair with it.")
    return found


def _by_another_card(link: Link, host: HostFacts, ways: Mapping[tuple[str, str], str]) -> list[str]:
    """Warn of paths over a card by which nothing would leave, as where two cards are in one network."""
    found = []
    for rung, path in link.every_path():
        nic, leaves = carrier(host, path.local), ways.get((path.local, path.remote), "")
        wanted = path.local_interface or (nic.name if nic else "")
        if leaves and wanted and leaves != wanted and path.remote != path.local:
            said = cards.leaves_by_another("near", path.local, path.remote, leaves, "", wanted)
            found.append(f"{rung}: {said}.")
    return found


def _unlike(link: Link, host: HostFacts, far: Mapping[str, HostFacts]) -> list[str]:
    """Warn of paths beside each other, and of two ends of one, whose cards have not the same MTU."""
    found: list[str] = []
    beside: dict[RungName, dict[str, int]] = {}
    for rung, path in link.every_path():
        near = carrier(host, path.local)
        if near is None or not near.mtu:
            continue
        beside.setdefault(rung, {})[near.name] = near.mtu
        there = carrier(far[path.peer], path.remote) if path.peer in far else None
        if there and there.mtu and there.mtu != near.mtu:
            found.append(f"{rung}: {cards.unlike_ends(near.name, near.mtu, there.name, path.peer, there.mtu)}")
    for rung, mtus in beside.items():
        if len(set(mtus.values())) > 1:
            found.append(f"{rung}: {cards.unlike_mtus(list(mtus.items()))}")
    return found


def _cards(link: Link, contract: Contract, host: HostFacts) -> list[str]:
    found = []
    for nic in host.nics:
        rungs = [rung for rung, path in link.every_path() if path.local and path.local in nic.addresses]
        if not rungs or nic.loopback:
            continue
        if nic.mtu and nic.mtu < contract.mtu:
            found.append(f"{nic.name} has MTU {nic.mtu}, less than the {contract.mtu} of the contract.")
        if (speed := rated_speed(nic)) and speed < rate_sold(contract):
            found.append(f"{nic.name} runs at {units.rate(speed)}, less than was bought.")
    return found


def _contract(contract: Contract) -> list[str]:
    most = ceiling(contract)
    if contract.rate_bps is None or most.contract_bps is None or most.contract_bps <= most.port_bps * 1.0001:
        return []
    larger = f"; MTU 9000 would allow {units.rate(ceiling(_jumbo(contract)).bps)}" if contract.mtu < 9000 else ""
    return [
        f"At MTU {contract.mtu} the port carries at most {units.rate(most.port_bps)} of TCP: the whole "
        f"{units.rate(contract.rate_bps)} cannot be proven{larger}."
    ]


def _jumbo(contract: Contract) -> Contract:
    return replace(contract, mtu=9000)


def _cores(link: Link, contract: Contract, host: HostFacts, far: Mapping[str, HostFacts]) -> list[str]:
    """Warn of ends with too few cores; the far ends' cores are known from their last run."""
    wanted = rate_sold(contract)
    peers = sorted({path.peer for _, path in link.every_path()} & set(far))
    ends = [("here", host.cores), *((f"at {name}", far[name].cores) for name in peers)]
    weak = [(where, cores) for where, cores in ends if capacity(cores) < wanted]
    if not weak:
        return []
    few = ", ".join(f"{cores} {'vCPU' if cores == 1 else 'vCPUs'} {where}" for where, cores in weak)
    most = min(capacity(cores) for _, cores in weak)
    return [
        f"{few}: as a hint, so many sent {units.rate(most)} under ESXi, less than the "
        f"{units.rate(wanted)} bought. Too weak a machine ends in CANNOT JUDGE."
    ]


def _window(contract: Contract, plan: Plan, host: HostFacts) -> list[str]:
    """Warn if the link needs more bytes in flight than the socket buffers of all flows together hold."""
    link = _rung(plan, RungName.DC_LINK)
    flows = [e.streams for e in link.experiments if e.protocol is Protocol.TCP] if link else []
    if not flows or not contract.expected_rtt_ms or not host.window_limit:
        return []
    wanted = ceiling(contract).bps * contract.expected_rtt_ms / 8000
    if wanted <= host.window_limit * max(flows):
        return []
    each = "flow" if max(flows) == 1 else "flows"
    return [
        f"{units.size(wanted)} must be in flight at {units.milliseconds(contract.expected_rtt_ms)}, and {max(flows)} "
        f"{each} of this plan can hold {units.size(host.window_limit * max(flows))}."
    ]


def _plan(plan: Plan) -> list[str]:
    link = _rung(plan, RungName.DC_LINK)
    if link is None:
        return []
    found = []
    if not any(_rung(plan, name) for name in (RungName.LOCALHOST, RungName.SAME_HOST)):
        found.append(f"{plan.name} measures nothing inside one host: that this machine is strong enough is not shown.")
    repeats = [max(e.repeats, e.at_most) for e in link.experiments if e.protocol is Protocol.TCP]
    if repeats and max(repeats) == 1:
        found.append(f"{plan.name} measures every setting once, so its verdict is provisional; circuit repeats.")
    return found


def _moves(link: Link) -> list[str]:
    """Tell which rungs need a machine to be moved, as they share an address."""
    shared: dict[tuple[str, str], list[str]] = {}
    for rung, path in link.every_path():
        shared.setdefault((path.peer, path.remote), []).append(str(rung))
    return [
        f"{peer or 'The peer'} has one address for {', '.join(rungs)}: you are asked to move it before each."
        for (peer, _), rungs in shared.items()
        if len(rungs) > 1
    ]


def _control(link: Link, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Warn of peers all of whose addresses are under test, so that control shares a card with the test."""
    tested = {(path.peer, path.remote) for _, path in link.every_path()}
    return [
        phrases.one_address(peer, addresses[0])
        for peer, addresses in known.items()
        if addresses and all((peer, address) in tested for address in addresses)
    ]


def _rung(plan: Plan, name: RungName) -> Rung | None:
    return next((r for r in plan.rungs if r.name == name and (r.path.remote or name == RungName.LOCALHOST)), None)
