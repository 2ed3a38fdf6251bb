"""The best goodput a link can carry, counted from the bytes that every packet costs on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from linkladder.model import Contract, Direction, Experiment, Layer, Protocol, Setting, SettingKind, TrialResult
from linkladder.phrases import ceilings as say
from linkladder.tools import default_datagram
from linkladder.verdicts import Ceiling

ETHERNET_HEADER = 14
FCS = 4
SMALLEST_FRAME = 60  # without the FCS
PREAMBLE_AND_GAP = 20  # 8 bytes of preamble and start delimiter, 12 of inter-frame gap
VLAN_TAG = 4
IP_HEADER = {4: 20, 6: 40}
TCP_HEADER = 20
UDP_HEADER = 8
FRAGMENT_HEADER = {4: 0, 6: 8}
TIMESTAMPS = 12  # the option's 10 bytes, padded
CLOCK_TOLERANCE = 200e-6  # two free-running clocks, the measuring one and the line's, 100 ppm each
READ_BYTES = 128 * 1024  # iperf's read and write size; each stream may have as much on the wrong side of a boundary


@dataclass(frozen=True)
class OverBoth(Contract):
    """A contract over which some paths use IPv4 and others IPv6, whose headers are longer."""

    six: float = 0.5  # the share of IPv6 in what all of these paths carry

    def of(self, version: int) -> Contract:
        """The same contract where one of the two is used alone."""
        same = {f.name: getattr(self, f.name) for f in fields(Contract)}
        return Contract(**same | {"ip_version": version})


def versions(contract: Contract) -> tuple[int, ...]:
    """The IP versions that the paths use which the contract is held against."""
    return (4, 6) if isinstance(contract, OverBoth) else (contract.ip_version,)


@lru_cache(256)  # every rule asks for the ceilings of the run's few contracts
def ceiling(contract: Contract, protocol: Protocol = Protocol.TCP, write_size: int | None = None) -> Ceiling:
    """The goodput that the port's line rate and the contracted rate allow; write_size: the bytes of a UDP datagram."""
    if isinstance(contract, OverBoth):
        return _of_both(contract, protocol, write_size)
    payload, packets = _packets(contract, protocol, write_size)
    packet, count = sum(packets), len(packets)
    frame = packet + count * (contract.encap_bytes + ETHERNET_HEADER + VLAN_TAG * contract.vlan_tags)
    wire = frame + count * (FCS + PREAMBLE_AND_GAP)
    frame += count * FCS if contract.fcs else 0
    port = contract.port_bps * payload / wire
    counted = {Layer.L1: wire, Layer.L2: frame, Layer.L3: packet}[contract.layer]
    sold = None if contract.rate_bps is None else contract.rate_bps * payload / counted
    which = "contract" if sold is not None and sold < port else "port"
    best = port if sold is None else min(port, sold)
    return Ceiling(
        bps=best,
        port_bps=port,
        contract_bps=sold,
        which=which,
        sentence=say.ceiling(contract, protocol, best, which == "port", payload, wire if which == "port" else counted),
        protocol=str(protocol),
        mtu=contract.mtu,
        payload_bytes=payload,
        wire_bytes=wire,
    )


def _of_both(contract: OverBoth, protocol: Protocol, write_size: int | None) -> Ceiling:
    four, six = (ceiling(contract.of(version), protocol, write_size) for version in (4, 6))
    share = contract.six

    def shared(one: float, other: float) -> float:
        return 1 / ((1 - share) / one + share / other)

    sold = (four.contract_bps, six.contract_bps)
    best = shared(four.bps, six.bps)
    return replace(
        four,
        bps=best,
        port_bps=shared(four.port_bps, six.port_bps),
        contract_bps=None if sold[0] is None or sold[1] is None else shared(sold[0], sold[1]),
        sentence=say.of_both(protocol, four.bps, six.bps, best, share),
    )


def largest_datagram(contract: Contract) -> int:
    """The most bytes that one UDP packet carries without being fragmented."""
    return max(1, contract.mtu - IP_HEADER[contract.ip_version] - UDP_HEADER)


def datagram(experiment: Experiment, contract: Contract) -> int:
    """The bytes of the UDP datagrams that an experiment sent: as many as it asked for, or else the tools' default."""
    return experiment.write_size or default_datagram(contract.ip_version)


def of_shared(deal: Contract) -> Contract | None:
    """The contract of what several paths share; None where none is said to be shared."""
    if deal.shared_bps is None:
        return None
    return replace(deal, rate_bps=deal.shared_bps, port_bps=max(deal.port_bps, deal.shared_bps))


def at_lent_mtu(contract: Contract, settings: Iterable[Setting], cards: int = 1) -> Contract:
    """The contract with the MTU that settings on loan give both ends' adapters, and with all of a bundle's cards."""
    settings = tuple(settings)
    if any(s.of_bundle and s.value != "failover" for s in settings):
        contract = replace(contract, port_bps=contract.port_bps * max(1, cards))
    lent = (int(s.value) for s in settings if s.kind is SettingKind.MTU and len(s.ends) == 2)
    return replace(contract, mtu=next(lent, contract.mtu))


def duplex_share(contract: Contract) -> float:
    """The share of the ceiling that each direction can reach if both carry data, with an acknowledgement for every two
    segments.
    """
    payload, (packet,) = _packets(contract, Protocol.TCP, None)
    ack = packet - payload
    segment, small = _on_the_wire(contract, packet), _on_the_wire(contract, ack)
    return segment / (segment + small / 2)


def _on_the_wire(contract: Contract, packet: int) -> int:
    """The bytes of a packet at the layer that the contract counts, which is the wire if it states no rate."""
    frame = packet + contract.encap_bytes + ETHERNET_HEADER + VLAN_TAG * contract.vlan_tags
    if contract.rate_bps is None or contract.layer is Layer.L1:
        return max(frame, SMALLEST_FRAME) + FCS + PREAMBLE_AND_GAP
    return packet if contract.layer is Layer.L3 else max(frame, SMALLEST_FRAME) + (FCS if contract.fcs else 0)


def rate_sold(contract: Contract) -> float:
    """The rate that was bought in bit/s: the contracted rate if it is lower than the port's, else the port's."""
    return contract.port_bps if contract.rate_bps is None else min(contract.rate_bps, contract.port_bps)


def measurement_error(trial: TrialResult, experiment: Experiment) -> float:
    """The relative error of a trial's goodput that comes from measuring: clocks and the edges of the counted window."""
    seconds = max(min(counted_seconds(trial, experiment), 2 * experiment.duration), 0.1)  # a clock may have jumped
    best = max([trial.goodput_bps, *trial.by_direction.values()])
    # Each edge of the window may count one read more or less of every stream, and iperf may print times to 10 ms.
    edges = 2 * READ_BYTES * 8 * max(1, experiment.streams) / (best * seconds) if best > 0 else 0.0
    return CLOCK_TOLERANCE + min(edges, 0.01) + 0.01 / seconds


def whole_datagram(contract: Contract) -> int | None:
    """The largest payload that is not split into fragments, where the tools' usual one would be; None where not."""
    largest = largest_datagram(contract)
    return largest if largest < default_datagram(contract.ip_version) else None


def counted_seconds(trial: TrialResult, experiment: Experiment, way: Direction | None = None) -> float:
    """How many seconds the counted part lasted, by its intervals, or by those of one way: a busy end closes the last
    second of one way later than that of the other. As asked for if it has none.
    """
    counted = [i for i in trial.intervals if i.counted and way in (None, i.direction)]
    if counted:
        return max(i.end for i in counted) - min(i.start for i in counted)
    return experiment.duration


def _packets(contract: Contract, protocol: Protocol, write_size: int | None) -> tuple[int, tuple[int, ...]]:
    """The user bytes, and the IP bytes of each packet that carries them; a datagram above the MTU has fragments."""
    header = IP_HEADER[contract.ip_version]
    if protocol is not Protocol.UDP:
        options = TIMESTAMPS if contract.timestamps else 0
        return max(1, contract.mtu - header - TCP_HEADER - options), (contract.mtu,)
    payload = write_size or min(default_datagram(contract.ip_version), largest_datagram(contract))
    left = payload + UDP_HEADER
    if left + header <= contract.mtu:
        return payload, (left + header,)
    header += FRAGMENT_HEADER[contract.ip_version]
    room = max(8, (contract.mtu - header) // 8 * 8)  # all fragments but the last carry a multiple of eight bytes
    whole, rest = divmod(left, room)
    return payload, (*((room + header,) * whole), *((rest + header,) if rest else ()))
