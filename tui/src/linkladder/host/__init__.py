"""Tells what this machine is and does; the only package that knows which operating system it runs on.

Everything here only reads and needs no privilege; changes go through `linkladder.settings`. All counters and times are
cumulative since boot, so the difference of two calls gives a rate. Every function may be called from a thread. Those
used while a trial runs (`Sampler.sample`, `core_times`, `memory`, `nic_counters`, `queues`, `tcp_counters`,
`starvation`) start no process on Linux; on FreeBSD only `queues`, `tcp_counters` and the detail of `nic_counters` do. A
value that the system does not tell is None, never a guess.

`host.disks` and `host.switches` (disks, USB sticks, the appliance's switches) are only for the System screen and its
commands, and are imported separately so that an agent starts faster.

Two ends in one lab share /proc/stat: with LINKLADDER_CORES="0" or "0,1" in the environment only those cores are counted
and reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from linkladder.host import addresses
from linkladder.host.backends import backend, hops_from_ttl
from linkladder.host.cores import confined, on_cores, own_cores, pinned, place
from linkladder.host.sampler import Sampler, summarise
from linkladder.model import Bundle, CoreTimes, HostFacts, NicCounters, QueueCounters, SocketStat, TcpCounters
from linkladder.parent import bounded, die_with_parent

__all__ = [
    "Sampler",
    "SocketStat",
    "addresses_of",
    "arp_direct",
    "below",
    "boot_id",
    "bounded",
    "bundle",
    "confined",
    "connections",
    "core_times",
    "die_with_parent",
    "facts",
    "hops_from_ttl",
    "interface_of",
    "listening",
    "memory",
    "nic_counters",
    "on_cores",
    "own_cores",
    "pinned",
    "place",
    "queues",
    "route",
    "route_interface",
    "same_subnet",
    "setting",
    "sockets",
    "sockets_source",
    "starvation",
    "summarise",
    "system",
    "tcp_counters",
    "udp_dropped",
]

MOST_QUEUES = 64  # of one card that are told


def system() -> str:
    """'Linux' or 'FreeBSD'."""
    return backend().name


def facts() -> HostFacts:
    """What this host is; `tools` is left empty for the caller to fill."""
    return backend().facts()


def core_times() -> tuple[CoreTimes, ...]:
    """Cumulative times in seconds of each core that is counted."""
    return backend().core_times()


def starvation() -> float | None:
    """Cumulative seconds in which a CPU quota or the hypervisor withheld a core; None if the system does not tell."""
    return backend().starvation()


def memory() -> tuple[int, int]:
    """Total and used bytes of memory; what a new process cannot get counts as used."""
    return backend().memory()


def nic_counters(detail: bool = True) -> dict[str, NicCounters]:
    """Every interface's counters; `detail` adds link losses, and CRC errors and pause frames if the driver has them."""
    return backend().nic_counters(detail)


def queues(cards: Sequence[str]) -> tuple[tuple[QueueCounters, ...], tuple[QueueCounters, ...]]:
    """What passed by each receive and each transmit queue of the cards; () if the system does not tell."""
    received, sent = zip(*(backend().queues(card) for card in cards), strict=True)
    return _few(received), _few(sent)


def _few(by_card: Iterable[tuple[QueueCounters, ...]]) -> tuple[QueueCounters, ...]:
    return tuple(queue for of_one in by_card for queue in of_one[:MOST_QUEUES])


def tcp_counters() -> TcpCounters:
    """The TCP counters of this host, or of its network namespace."""
    return backend().tcp_counters()


def udp_dropped() -> int | None:
    """Datagrams that were dropped because their socket was full; None if the system does not tell."""
    return backend().udp_dropped()


def sockets(first: int, last: int = 0) -> tuple[SocketStat, ...]:
    """The TCP connections with a port from `first` to `last` at either end, with what the system counts for each."""
    return backend().sockets(first, last or first)


def connections(ports: Collection[int]) -> tuple[SocketStat, ...] | None:
    """The TCP connections over these ports, cheap enough for every second; None where a program must tell them."""
    return backend().connections(ports)


def sockets_source() -> str:
    """The program that `sockets` reads."""
    return backend().sockets_source


def listening(port: int, udp: bool = False, address: str = "") -> bool:
    """Whether something listens on this port; if `address` is given, at that address or at all addresses."""
    return backend().listening(port, udp, address)


def interface_of(address: str) -> str:
    """The interface that owns the address, '' if none does."""
    return backend().interface_of(address)


def addresses_of(interface: str) -> tuple[str, ...]:
    """The addresses that the interface owns, none if there is no such interface."""
    return addresses.by_interface().get(interface, ())


def route(remote: str, local: str = "") -> tuple[str, str]:
    """The interface by which packets to `remote` (from `local`) leave, and their gateway or ''."""
    return backend().route(remote, local)


def route_interface(remote: str, local: str = "") -> str:
    """The interface by which packets to `remote` (from `local`) leave; '' without a route."""
    return backend().route(remote, local)[0]


def bundle(interface: str) -> Bundle | None:
    """The bundle that the interface stands for; None if it is a single card."""
    return backend().bundle(interface)


def below(interface: str) -> frozenset[str]:
    """The interfaces upon which this one stands, down to the cards: a VLAN, a bundle, a bridge or one upon another."""
    return backend().below(interface)


def same_subnet(local: str, remote: str) -> bool:
    """Whether `remote` is in the subnet of this host's address `local`; False if this host lacks that address."""
    return backend().same_subnet(local, remote)


def arp_direct(remote: str) -> bool | None:
    """Whether `remote` itself answered ARP or neighbour discovery; False behind a router, None while unknown."""
    return backend().arp_direct(remote)


def setting(kind: str, target: str) -> str | None:
    """A setting's present value; None if there is none.

    Kind and target: 'mtu' of vmx0; 'moderation' of ixl0 (microseconds);
    'queues' and 'ring' of eth0 ('4', or '4/2' for receiving and sending; 'default' on FreeBSD where nothing else was
    asked for) and its 'queue-core' ('2', or 'any' on Linux), on FreeBSD of the cards that may be attached anew;
    'flag' of vmx0:tso (on or off); 'sysctl' of a name; 'kenv' of a loader's variable;
    'module' of a congestion control or TCP stack (on if the kernel has it, off if it could be loaded);
    'member' of vmx2 (up or down, whatever its link is); 'lagg' of vmx1,vmx2 (the protocol if exactly these form a
    bundle, else each card with its MAC, MTU, offloads and addresses).
    """
    return backend().setting(kind, target)


def boot_id() -> str:
    """A random word that is another one after every boot, whatever the clock is set to; '' if there is none."""
    return backend().boot_id()
