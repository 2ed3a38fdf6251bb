"""Reads Linux: by /proc and ioctls, and by `ip` and `ss` for what only netlink tells."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from dataclasses import replace

from linkladder.host import addresses, linux_text
from linkladder.host.cores import by_core, ours, own_cores
from linkladder.host.ioctls import FLAGS, IFF_LOOPBACK, IFF_RUNNING, IFF_UP, Interfaces
from linkladder.host.linux_bond import below, bond
from linkladder.host.linux_carrier import carriers_lost
from linkladder.host.linux_queues import queue_cores, queues, sending_queues, served_by
from linkladder.host.programs import document, output, read
from linkladder.model import Bundle, CoreTimes, HostFacts, Nic, NicCounters, QueueCounters, SocketStat, TcpCounters
from linkladder.model.settings import LINUX, both_ways, kernel_names

CGROUP2 = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
CGROUP1 = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct")
SYSCTLS = (
    *kernel_names(LINUX),
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.core.netdev_max_backlog",
    "net.core.default_qdisc",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_slow_start_after_idle",
)
CPUS = "/sys/devices/system/cpu"
CEILING_PROBE = 1 << 30
OF_QUEUES = ("queues", "ring", "queue-core")
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Linux:
    name = "Linux"
    sockets_source = "ss"

    def facts(self) -> HostFacts:
        uname = os.uname()
        total, _ = self.memory()
        return HostFacts(
            name=socket.gethostname(),
            os=self.name,
            release=linux_text.release(read("/etc/os-release")),
            kernel=uname.release,
            machine=uname.machine,
            cpu=linux_text.cpu_model(read("/proc/cpuinfo")),
            cores=len(self.core_times()),
            threads=by_core(map(_siblings, own_cores(os.cpu_count() or 1))),
            memory=total,
            virtual=_hypervisor(),
            nics=self._nics(),
            sysctls={n: v for n in SYSCTLS if (v := self.setting("sysctl", n)) is not None},
            congestion_controls=linux_text.in_force_first(
                read("/proc/sys/net/ipv4/tcp_congestion_control"),
                read("/proc/sys/net/ipv4/tcp_available_congestion_control"),
            ),
            window_limit=_window_limit(),
        )

    def bundle(self, name: str) -> Bundle | None:
        from linkladder.host.linux_multipath import multipath  # imported late, as it is seldom needed

        return bond(name) or multipath(name)

    def below(self, name: str) -> frozenset[str]:
        return below(name)

    def core_times(self) -> tuple[CoreTimes, ...]:
        times = [t for t, _ in linux_text.core_times(read("/proc/stat"), TICKS)]
        return tuple(times[core] for core in own_cores(len(times)))

    def starvation(self) -> float | None:
        pairs = linux_text.core_times(read("/proc/stat"), TICKS)
        withheld = sum(pairs[core][1] for core in own_cores(len(pairs)))
        for path, version in linux_text.cgroups(read("/proc/self/cgroup")):
            groups = [root + above for root in (CGROUP2 if version == 2 else CGROUP1) for above in _upwards(path)]
            cpu_stats = [text for group in groups if (text := read(f"{group}/cpu.stat"))]
            if not cpu_stats and path != "/":
                return None  # the quota is unknown, as `ip netns exec` mounts a /sys without control groups
            withheld += sum(linux_text.throttled(text) for text in cpu_stats)
        return withheld

    def memory(self) -> tuple[int, int]:
        return linux_text.memory(read("/proc/meminfo"))

    def nic_counters(self, detail: bool, names: Collection[str] | None = None) -> dict[str, NicCounters]:
        plain = linux_text.nic_counters(read("/proc/net/dev"), names)
        if not detail:
            return plain
        lost = carriers_lost()
        with Interfaces() as interfaces:
            counted = {n: linux_text.with_driver(c, interfaces.statistics(n)) for n, c in plain.items()}
        return {n: replace(c, carrier_lost=lost.get(n)) for n, c in counted.items()}

    def queues(self, name: str) -> tuple[tuple[QueueCounters, ...], tuple[QueueCounters, ...]]:
        with Interfaces() as interfaces:
            statistics = interfaces.statistics(name)
        return queues(name, statistics), sending_queues(name, statistics)

    def tcp_counters(self) -> TcpCounters:
        return linux_text.tcp_counters(read("/proc/net/snmp"), read("/proc/net/netstat"))

    def udp_dropped(self) -> int | None:
        return linux_text.udp_dropped(read("/proc/net/snmp"), read("/proc/net/snmp6"))

    def retransmits(self) -> int | None:
        return linux_text.tcp_counters(read("/proc/net/snmp"), "").retransmits

    def sockets(self, first: int, last: int) -> tuple[SocketStat, ...]:
        near, far = (f"( {end} >= :{first} and {end} <= :{last} )".split() for end in ("sport", "dport"))
        wanted = ["(", *near, "or", *far, ")"]
        return linux_text.sockets(output(["ss", "-tainmOH", *wanted]))

    def connections(self, ports: Collection[int]) -> tuple[SocketStat, ...] | None:
        return None

    def listening(self, port: int, udp: bool, address: str) -> bool:
        name = "udp" if udp else "tcp"
        tables = (read(f"/proc/net/{name}"), read(f"/proc/net/{name}6"))
        return any(linux_text.bound(table, port, udp, addresses.parse(address)) for table in tables)

    def interface_of(self, address: str) -> str:
        return addresses.interface_of(address)

    def route(self, remote: str, local: str) -> tuple[str, str]:
        if addresses.parse(remote) is None or (local and addresses.parse(local) is None):
            return "", ""
        source = ["from", local] if local else []
        found = document(output(["ip", "-j", "route", "get", remote, *source]))
        first = found[0] if isinstance(found, list) and found else {}
        return str(first.get("dev", "")), str(first.get("gateway", ""))

    def same_subnet(self, local: str, remote: str) -> bool:
        return addresses.same_subnet(local, remote)

    def arp_direct(self, remote: str) -> bool | None:
        device, gateway = self.route(remote, "")
        if gateway:
            return False
        if not device:
            return None
        found = document(output(["ip", "-j", "neigh", "show", "to", remote, "dev", device]))
        return linux_text.answered(found)

    def setting(self, kind: str, target: str) -> str | None:
        if kind in ("kenv", "lagg"):
            return None
        if kind == "sysctl":
            value = read("/proc/sys/" + target.replace(".", "/"))
            return " ".join(value.split()) if value else None
        name, _, flag = target.partition(":")
        with Interfaces() as interfaces:
            if kind == "member":
                flags = interfaces.flags(name)
                return None if flags is None else "up" if flags & IFF_UP else "down"
            if kind == "mtu":
                mtu = interfaces.mtu(name)
                return None if mtu is None else str(mtu)
            if kind == "moderation":
                usecs = interfaces.rx_usecs(name)
                return None if usecs is None else str(usecs)
            if kind in OF_QUEUES:
                return _of_queues(interfaces, kind, name) or None
            state = interfaces.flag(name, flag) if flag in FLAGS else None
            return None if state is None else ("on" if state else "off")

    def boot_id(self) -> str:
        return read("/proc/sys/kernel/random/boot_id")

    def _nics(self) -> tuple[Nic, ...]:
        from linkladder.host.linux_multipath import bundles

        owned, spread = addresses.by_interface(), bundles()
        with Interfaces() as interfaces:
            plain = [_nic(interfaces, name, owned.get(name, ())) for name in self.nic_counters(False)]
        return tuple(replace(nic, bundle=bond(nic.name) or spread.get(nic.name)) for nic in plain)


def _of_queues(interfaces: Interfaces, kind: str, name: str) -> str:
    if kind == "queue-core":
        return served_by(name)
    return both_ways(*(interfaces.queues(name) if kind == "queues" else interfaces.rings(name)))


def _nic(interfaces: Interfaces, name: str, owned: tuple[str, ...]) -> Nic:
    flags = interfaces.flags(name) or 0
    states = {flag: interfaces.flag(name, flag) for flag in FLAGS}
    if not states["lro"] and not interfaces.can_change(name, "rx-lro"):
        states["lro"] = None  # a card that cannot do it says "off", too
    rx, tx = interfaces.queues(name)
    return Nic(
        name=name,
        driver=interfaces.driver(name),
        mac=interfaces.mac(name),
        mtu=interfaces.mtu(name) or 0,
        up=bool(flags & IFF_UP),
        speed_bps=interfaces.speed(name),
        half_duplex=interfaces.half_duplex(name),
        addresses=owned,
        offloads={flag: state for flag, state in states.items() if state is not None},
        rx_usecs=interfaces.rx_usecs(name),
        rx_queues=rx,
        tx_queues=tx,
        ring=both_ways(*interfaces.rings(name)),
        queue_core=served_by(name),
        queue_cores=ours(queue_cores(name)),
        loopback=bool(flags & IFF_LOOPBACK),
        carrier=bool(flags & IFF_RUNNING) if flags & IFF_UP else None,
    )


def _upwards(path: str) -> list[str]:
    """The paths of a control group and of all groups above it, as any of them may have a quota."""
    parts = path.strip("/").split("/") if path.strip("/") else []
    return ["".join(f"/{part}" for part in parts[:n]) for n in range(len(parts), -1, -1)]


def _siblings(core: int) -> tuple[int, ...]:
    """The hardware threads of the physical core that this one is of; () if the system does not tell."""
    return linux_text.cores_of_list(read(f"{CPUS}/cpu{core}/topology/thread_siblings_list"))


def _hypervisor() -> str:
    if not linux_text.virtual(read("/proc/cpuinfo")):
        return ""
    maker, product = read("/sys/class/dmi/id/sys_vendor"), read("/sys/class/dmi/id/product_name")
    return f"{maker} {product}".strip() or "unknown hypervisor"


def _window_limit() -> int | None:
    """The largest socket buffer, found by asking for too much, as a namespace may hide the sysctls."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            granted = []
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                probe.setsockopt(socket.SOL_SOCKET, option, CEILING_PROBE)
                granted.append(probe.getsockopt(socket.SOL_SOCKET, option) // 2)  # Linux reports twice what it grants
            return min(granted)
    except OSError:
        return None
