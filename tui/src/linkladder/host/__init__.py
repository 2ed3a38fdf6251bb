"""What this machine is and what it does: the one part that knows which operating system runs below.

Everything here is read only and needs no privilege; changes go through `linkladder.settings`.
All counters and times are cumulative since boot, so two calls and a subtraction make a rate.
Every function may be called from a thread; those used while a trial runs (`Sampler.sample`,
`core_times`, `memory`, `nic_counters`, `tcp_counters`, `starvation`) start no process on Linux, and on
FreeBSD only `tcp_counters`, `sockets`, `windows` and the detail of `nic_counters` do.  What the system does
not tell is None, never a guess.

Disks, sticks and the appliance's switches are for the System screen and its commands alone: `host.disks`,
`host.switches`, which an agent does not wait for.

Two ends in one lab share /proc/stat: with LINKLADDER_CORES="0" or "0,1" in the environment only those
cores are counted and reported.
"""

from __future__ import annotations

from linkladder.host import addresses
from linkladder.host.backends import backend, confined, hops_from_ttl, own_cores, pinned
from linkladder.host.parent import die_with_parent
from linkladder.host.sampler import Sampler, difference, summarise
from linkladder.model import Bundle, CoreTimes, HostFacts, NicCounters, SocketStat, TcpCounters

__all__ = [
    "Sampler",
    "SocketStat",
    "addresses_of",
    "arp_direct",
    "boot_id",
    "bundle",
    "confined",
    "core_times",
    "die_with_parent",
    "difference",
    "facts",
    "hops_from_ttl",
    "interface_of",
    "listening",
    "memory",
    "nic_counters",
    "own_cores",
    "pinned",
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
    "windows",
]


def system() -> str:
    """'Linux' or 'FreeBSD'."""
    return backend().name


def facts() -> HostFacts:
    """What this host is; `tools` is left empty for the caller to fill."""
    return backend().facts()


def core_times() -> tuple[CoreTimes, ...]:
    """Cumulative seconds of each core that is ours."""
    return backend().core_times()


def starvation() -> float | None:
    """Cumulative seconds in which a CPU quota or the hypervisor withheld a core; None where nothing tells."""
    return backend().starvation()


def memory() -> tuple[int, int]:
    """Total and used bytes, used being what is not available to a new process."""
    return backend().memory()


def nic_counters(detail: bool = True) -> dict[str, NicCounters]:
    """Every interface's counters; `detail` adds CRC and pause where the driver has them."""
    return backend().nic_counters(detail)


def tcp_counters() -> TcpCounters:
    """This host's (network namespace's) TCP counters."""
    return backend().tcp_counters()


def udp_dropped() -> int | None:
    """Datagrams that reached this host and found their socket full; None where it does not tell."""
    return backend().udp_dropped()


def sockets(first: int, last: int = 0) -> tuple[SocketStat, ...]:
    """The TCP connections with a port from `first` to `last` at either end, with what the system counts for each."""
    return backend().sockets(first, last or first)


def windows(first: int, last: int = 0) -> tuple[SocketStat, ...]:
    """The congestion windows of the same connections now; none on systems whose iperf prints them itself."""
    return backend().windows(first, last or first)


def sockets_source() -> str:
    """The program that tells of sockets."""
    return backend().sockets_source


def listening(port: int, udp: bool = False, address: str = "") -> bool:
    """Is something bound to this port, at `address` (or every address) if one is given?"""
    return backend().listening(port, udp, address)


def interface_of(address: str) -> str:
    """The interface that owns the address, '' if none does."""
    return backend().interface_of(address)


def addresses_of(interface: str) -> tuple[str, ...]:
    """The addresses that the interface owns, none if there is no such interface."""
    return addresses.by_interface().get(interface, ())


def route(remote: str, local: str = "") -> tuple[str, str]:
    """The interface by which packets to `remote` (from `local`) leave, and the gateway that they go to if any."""
    return backend().route(remote, local)


def route_interface(remote: str, local: str = "") -> str:
    """The interface by which packets to `remote` (from `local`) leave, '' where there is no route."""
    return backend().route(remote, local)[0]


def bundle(interface: str) -> Bundle | None:
    """The bundle that the interface is, None where it is one card."""
    return backend().bundle(interface)


def same_subnet(local: str, remote: str) -> bool:
    """Does the prefix of our address `local` hold `remote`?  False if `local` is not ours."""
    return backend().same_subnet(local, remote)


def arp_direct(remote: str) -> bool | None:
    """Did `remote` itself answer ARP or neighbour discovery?  False behind a router, None while unknown."""
    return backend().arp_direct(remote)


def setting(kind: str, target: str) -> str | None:
    """A setting's present value, None if there is none.

    Kind and target: 'mtu' of vmx0, 'flag' of vmx0:tso (on or off), 'sysctl' of a name, 'kenv' what the loader gave,
    'module' of one that brings a congestion control or TCP stack (on where the kernel has it, off where it could),
    'member' of vmx2 (up or down, whatever its link is),
    'lagg' of vmx1,vmx2 (the protocol, where just these are a bundle, else each with its MAC, MTU, offloads, addresses).
    """
    return backend().setting(kind, target)


def boot_id() -> str:
    """A word that differs after every boot."""
    return backend().boot_id()
