"""Reads FreeBSD: by its C library for what is needed every second, and by its programs for the rest."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import psutil

from linkladder.host import addresses, freebsd_queues
from linkladder.host import freebsd_text as text
from linkladder.host.cores import by_core, ours, own_cores, place_of
from linkladder.host.freebsd_calls import IFF_LOOPBACK, IFF_UP, Calls, Link
from linkladder.host.freebsd_lagg import lagg
from linkladder.host.programs import document, output
from linkladder.model import Bundle, CoreTimes, HostFacts, Nic, NicCounters, QueueCounters, SocketStat, TcpCounters
from linkladder.model.settings import FREEBSD, kernel_names
from linkladder.priv.attaching import RECORD, VARIABLES, at_rest

SYSCTLS = (
    *kernel_names(FREEBSD),
    "kern.ipc.maxsockbuf",
    "kern.ipc.nmbclusters",
    "kern.ipc.nmbjumbop",
    "net.inet.tcp.sendspace",
    "net.inet.tcp.recvspace",
    "net.inet.tcp.sendbuf_inc",
    "net.inet.tcp.sendbuf_auto",
    "net.inet.tcp.recvbuf_auto",
    "net.inet.tcp.rfc1323",
    "net.inet.tcp.abc_l_var",
    "net.inet.tcp.hostcache.enable",
    "net.inet.tcp.soreceive_stream",
    "net.inet.udp.maxdgram",
    "net.inet.udp.recvspace",
    "net.isr.dispatch",
    "net.isr.maxthreads",
    "net.isr.bindthreads",
    "net.inet.rss.bits",
    "net.inet.rss.buckets",
    "net.link.ifqmaxlen",
    "machdep.hyperthreading_allowed",
    "kern.timecounter.hardware",
)
# maxsockbuf counts memory with overhead; a program may ask for this share of it (uipc_sockbuf.c, BUF_MAX_ADJ).
ASKABLE, OF = 2048, 2304
# The sysctl that lists the congestion controls or TCP stacks of the kernel, by the prefix of their modules' names.
REGISTERED = {"cc_": "net.inet.tcp.cc.available", "tcp_": "net.inet.tcp.functions_available"}
# Of these not their dumps of registers: to read the interrupts' causes (ICR) is to say that they were dealt with.
PARTS = dict.fromkeys(("em", "igb", "igc"), ("iflib", "mac_stats", "fc", "enable_aim"))
NO_DRIVER = frozenset({"", "lo", "lagg", "bridge", "vlan", "tap", "tun", "epair", "gif", "pflog", "enc"})


class FreeBSD:
    name = "FreeBSD"
    sockets_source = "netstat"

    def __init__(self) -> None:
        self._calls = Calls()

    def facts(self) -> HostFacts:
        uname = os.uname()
        total, _ = self.memory()
        ceiling = self._calls.number("kern.ipc.maxsockbuf")
        return HostFacts(
            name=socket.gethostname(),
            os=self.name,
            release=f"FreeBSD {uname.release}",
            kernel=self._calls.text("kern.ident") or uname.release,
            machine=uname.machine,
            cpu=self._calls.text("hw.model").strip(),
            cores=len(self.core_times()),
            threads=by_core(text.threads(self._calls.text("kern.sched.topology_spec"))),
            memory=total,
            virtual=self._hypervisor(),
            nics=self._nics(),
            sysctls=text.sysctls(output(["sysctl", "-ie", *SYSCTLS])),
            congestion_controls=self._to_be_had("cc_"),
            tcp_stacks=self._to_be_had("tcp_"),
            window_limit=ceiling * ASKABLE // OF if ceiling else None,
        )

    def bundle(self, name: str) -> Bundle | None:
        return lagg(_ifconfig("-v", name)) if name.startswith("lagg") else None

    def below(self, name: str) -> frozenset[str]:
        from linkladder.priv.appliance import below  # imported late, as only an end that lends asks

        return frozenset(below(name))

    def core_times(self) -> tuple[CoreTimes, ...]:
        ticks, hertz = self._calls.core_ticks()
        times = [CoreTimes((t[0] + t[1]) / hertz, t[2] / hertz, t[3] / hertz, t[4] / hertz) for t in ticks]
        return tuple(times[core] for core in own_cores(len(times)))

    def starvation(self) -> float | None:
        return None  # FreeBSD's kernel does not count stolen time

    def memory(self) -> tuple[int, int]:
        now = psutil.virtual_memory()
        return int(now.total), int(now.total - now.available)

    def nic_counters(self, detail: bool, names: Collection[str] | None = None) -> dict[str, NicCounters]:
        plain = {link.name: _counters(link) for link in self._calls.links(names)}
        if not detail:
            return plain
        lost = text.carriers_lost(self._calls.text("kern.msgbuf"))
        counted = {name: text.with_driver(counters, _driver(name)) for name, counters in plain.items()}
        return {name: replace(counters, carrier_lost=lost[name]) for name, counters in counted.items()}

    def queues(self, name: str) -> tuple[tuple[QueueCounters, ...], tuple[QueueCounters, ...]]:
        if not (values := _driver(name)):
            return (), ()
        packets, sent = freebsd_queues.packets(values), freebsd_queues.sent(values)
        interrupts = {} if packets else freebsd_queues.interrupts(output(["vmstat", "-i"]), name)
        cores, of_sending = freebsd_queues.cores(values, "rxq"), freebsd_queues.cores(values, "txq")
        received = tuple(
            QueueCounters(name, n, packets.get(n), interrupts.get(n), place_of(cores[n]) if n in cores else None)
            for n in sorted({*packets, *interrupts})
        )
        return received, tuple(
            QueueCounters(name, n, count, core=place_of(of_sending[n]) if n in of_sending else None)
            for n, count in sorted(sent.items())
        )

    def tcp_counters(self) -> TcpCounters:
        return text.tcp_counters(document(output(["netstat", "--libxo", "json", "-s", "-p", "tcp"])))

    def udp_dropped(self) -> int | None:
        return self._calls.udp_dropped()

    def retransmits(self) -> int | None:
        return self._calls.retransmits()

    def sockets(self, first: int, last: int) -> tuple[SocketStat, ...]:
        ports = range(first, last + 1)
        listed = self._calls.connections(ports)  # by no process, as a trial runs
        return self._by_netstat(ports) if listed is None else listed

    def connections(self, ports: Collection[int]) -> tuple[SocketStat, ...] | None:
        return self._calls.connections(ports)

    def _by_netstat(self, ports: range) -> tuple[SocketStat, ...]:
        """Counts (-T), buffers (-x) and windows (-C), with -W, as addresses are cut to a column's width without it."""
        counts, buffers, windows = (
            document(output(["netstat", "--libxo", "json", words, "-p", "tcp"])) for words in ("-nTW", "-nxW", "-ncCW")
        )
        return text.sockets(counts, buffers, windows, ports)

    def listening(self, port: int, udp: bool, address: str) -> bool:
        found = document(output(["netstat", "--libxo", "json", "-anW", "-p", "udp" if udp else "tcp"]))
        return text.bound(found, port, udp, address)

    def interface_of(self, address: str) -> str:
        return addresses.interface_of(address)

    def route(self, remote: str, local: str) -> tuple[str, str]:
        wanted = addresses.parse(remote)
        if wanted is None:
            return "", ""
        family = ["-6"] if wanted.version == 6 else ["-4"]
        return text.route(output(["route", "-n", "get", *family, remote]))

    def same_subnet(self, local: str, remote: str) -> bool:
        return addresses.same_subnet(local, remote)

    def arp_direct(self, remote: str) -> bool | None:
        wanted = addresses.parse(remote)
        interface, gateway = self.route(remote, "")
        if gateway:
            return False
        if wanted is None or not interface:
            return None
        if wanted.version == 6:
            return text.answered6(output(["ndp", "-an"]), remote)
        return text.answered(document(output(["arp", "--libxo", "json", "-an"])), remote)

    def _to_be_had(self, prefix: str) -> tuple[str, ...]:
        """The congestion controls or TCP stacks that the kernel has, the default first, then those it could load."""
        there = text.registered(self._calls.text(REGISTERED[prefix]))
        folders = self._calls.text("kern.module_path").split(";")
        found = {file.name for folder in folders if folder for file in Path(folder).glob(f"{prefix}*.ko")}
        loadable = sorted(name.removeprefix(prefix).removesuffix(".ko") for name in found)
        return tuple(dict.fromkeys((*there, *loadable)))

    def setting(self, kind: str, target: str) -> str | None:
        if kind == "sysctl":
            return output(["sysctl", "-n", target]).strip() or None
        if kind == "kenv":
            return output(["kenv", "-q", target]).strip() or None
        if kind == "module":
            prefix, name = target[: target.find("_") + 1], target[target.find("_") + 1 :]
            if prefix not in REGISTERED or name not in self._to_be_had(prefix):
                return None
            return "on" if name in text.registered(self._calls.text(REGISTERED[prefix])) else "off"
        if kind == "lagg":
            return self._bundled(target.split(","))
        if kind in VARIABLES:
            return freebsd_queues.chosen(kind, target, _driver(target)) or None
        name, _, flag = target.partition(":")
        found = text.ifconfig(_ifconfig("-m", name)).get(name)
        if found is None:
            return None
        if kind == "member":
            return "up" if "UP" in found.flags else "down"
        if kind == "mtu":
            return str(found.mtu)
        if kind == "moderation":
            usecs = text.rx_usecs(name, _driver(name))
            return None if usecs is None else str(usecs)
        switches = found.offloads if flag in found.offloads else text.adaptive(name, _driver(name))
        state = switches.get(flag)
        return None if state is None else ("on" if state else "off")

    def _bundled(self, names: list[str]) -> str | None:
        """The protocol of the bundle that exactly these cards form, else a description of each card."""
        from linkladder.priv.card_state import SHOWN, card  # imported late, as few ends ever make a bundle

        for made in _ifconfig("-g", "lagg").split():
            found = self.bundle(made)
            if found and {member.name for member in found.members} == set(names):
                return found.protocol
        cards = [card(name, _ifconfig(*SHOWN, name)) for name in names]
        return None if None in cards else "; ".join(map(str, cards))

    def boot_id(self) -> str:
        return (self._calls.raw("kern.boot_id") or b"").hex()  # not kern.boottime, which moves when a clock is set

    def _nics(self) -> tuple[Nic, ...]:
        shown = text.ifconfig(_ifconfig("-am"))
        links = {link.name: link for link in self._calls.links()}
        plain = (_nic(found, links.get(name), _driver(name)) for name, found in shown.items())
        return tuple(replace(nic, bundle=self.bundle(nic.name)) for nic in plain)

    def _hypervisor(self) -> str:
        guest = self._calls.text("kern.vm_guest")
        if guest in ("", "none"):
            return ""
        maker, product = (output(["kenv", "-q", f"smbios.system.{key}"]).strip() for key in ("maker", "product"))
        machine = f"{maker} {product}".strip()
        return f"{guest} ({machine})" if machine else guest


def _ifconfig(*words: str) -> str:
    at_rest()  # a card that goes while ifconfig asks makes the kernel panic
    return output(["ifconfig", *words])


def _counters(link: Link) -> NicCounters:
    return NicCounters(
        name=link.name,
        rx_bytes=link.rx_bytes,
        tx_bytes=link.tx_bytes,
        rx_packets=link.rx_packets,
        tx_packets=link.tx_packets,
        rx_errors=link.rx_errors,
        tx_errors=link.tx_errors,
        rx_drops=link.rx_drops,
        tx_drops=link.tx_drops,
    )


def _driver(name: str) -> dict[str, str]:
    """The driver's sysctls of an interface, none while it is attached anew: they lead to what it has not got then, and
    FreeBSD 15.1 panics.
    """
    driver, unit = text.device(name)
    if driver in NO_DRIVER or os.path.lexists(RECORD.format(name)):
        return {}
    device = f"dev.{driver}.{unit}"
    names = [f"{device}.{part}" for part in PARTS.get(driver, ())] or [device]
    return text.sysctls(output(["sysctl", "-ie", *names]))


def _nic(found: text.Interface, link: Link | None, values: dict[str, str]) -> Nic:
    flags = link.flags if link else 0
    rate = float(link.baudrate) if link and link.baudrate else None
    return Nic(
        name=found.name,
        driver=text.device(found.name)[0],
        mac=found.mac,
        mtu=found.mtu,
        up=bool(flags & IFF_UP) or "UP" in found.flags,
        speed_bps=None if found.carrier is False else found.speed_bps or rate,  # without a link it means nothing
        half_duplex="half-duplex" in found.media,
        addresses=found.addresses,
        offloads=found.offloads | text.adaptive(found.name, values),
        rx_usecs=text.rx_usecs(found.name, values),
        rx_queues=text.queues(values, "rxq"),
        tx_queues=text.queues(values, "txq"),
        ring=freebsd_queues.chosen("ring", found.name, values),
        queue_core=freebsd_queues.chosen("queue-core", found.name, values),
        queue_cores=ours(text.queue_cores(values)),
        loopback=bool(flags & IFF_LOOPBACK) or "LOOPBACK" in found.flags,
        flow_control=text.flow_control(values, found.media),
        carrier=found.carrier,
    )
