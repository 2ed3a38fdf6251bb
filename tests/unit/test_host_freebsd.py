"""FreeBSD's own words, read: captures of a 15.1 machine, and lines that other machines print."""

from __future__ import annotations

import json
import re
import struct
import types
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from linkladder import phrases
from linkladder.host import freebsd
from linkladder.host import freebsd_text as text
from linkladder.host.freebsd import SYSCTLS, _nic
from linkladder.host.freebsd_calls import LINK_DATA, MESSAGE, Link, links
from linkladder.model import NicCounters, SocketStat


@pytest.fixture
def read(captures: Path) -> Any:
    return lambda name: (captures / "freebsd-15.1" / f"{name}.txt").read_text()


def documents(capture: str) -> list[Any]:
    return [json.loads(line) for line in capture.splitlines() if line.startswith("{")]


UNPLUGGED = """ix0: flags=1008843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST,LOWER_UP> metric 0 mtu 1500
\tether 00:1b:21:00:00:01
\tinet 10.0.0.1 netmask 0xffffff00 broadcast 10.0.0.255
\tmedia: Ethernet autoselect
\tstatus: no carrier
"""


def test_a_card_without_a_partner_has_no_speed_whatever_it_could_do() -> None:
    """The kernel tells the rate that the card was built for."""
    found = text.ifconfig(UNPLUGGED)["ix0"]
    counts = Link("ix0", 1, 1500, 10**10, *[0] * 8)
    nic = _nic(found, counts, {})
    assert (nic.up, nic.carrier, nic.speed_bps) == (True, False, None)
    assert (phrases.card_state(nic), phrases.card_speed(nic)) == ("no carrier", "")
    plugged = _nic(text.ifconfig(UNPLUGGED.replace("no carrier", "active"))["ix0"], counts, {})
    assert (plugged.carrier, plugged.speed_bps) == (True, 1e10)
    silent = _nic(text.ifconfig(UNPLUGGED.replace("\tstatus: no carrier\n", ""))["ix0"], counts, {})
    assert (silent.carrier, silent.speed_bps) == (None, 1e10)


def test_ifconfig(read: Any) -> None:
    found = text.ifconfig(read("ifconfig-a"))
    assert list(found) == ["vmx0", "vmx1", "lo0"]
    vmx1 = found["vmx1"]
    assert (vmx1.mtu, vmx1.mac, vmx1.addresses) == (1500, "52:54:00:00:01:01", ("10.99.1.1",))
    assert found["lo0"].addresses == ("127.0.0.1", "::1", "fe80::1")
    assert "LOOPBACK" in found["lo0"].flags
    assert vmx1.speed_bps is None  # vmx prints no speed


def test_offloads_are_those_that_the_adapter_can(read: Any) -> None:
    capable = text.ifconfig(read("ifconfig-vmx0-m"))["vmx0"]
    assert capable.offloads == {
        "tso": False,
        "tso6": False,
        "lro": False,
        "rxcsum": True,
        "txcsum": True,
        "rxcsum6": True,
        "txcsum6": True,
    }
    on = re.split(r"(?=^vmx0:)", read("toggle-lro"), flags=re.MULTILINE)[1]
    assert text.ifconfig(on)["vmx0"].offloads["lro"] is True
    assert text.ifconfig(read("mtu9000"))["vmx0"].mtu == 9000


@pytest.mark.parametrize(
    ("media", "speed"),
    [
        ("Ethernet autoselect (10Gbase-Twinax <full-duplex,rxpause,txpause>)", 10e9),
        ("Ethernet autoselect (1000baseT <full-duplex>)", 1e9),
        ("Ethernet autoselect (2500Base-T <full-duplex>)", 2.5e9),
        ("Ethernet autoselect (100GBase-CR4 <full-duplex>)", 100e9),
        ("Ethernet autoselect", None),
        ("Ethernet autoselect (none)", None),
    ],
)
def test_negotiated_speed(media: str, speed: float | None) -> None:
    shown = f"ix0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tmedia: {media}\n"
    assert text.ifconfig(shown)["ix0"].speed_bps == speed


PAUSES = "10Gbase-Twinax <full-duplex,rxpause,txpause>"


@pytest.mark.parametrize(
    ("driver", "media", "told"),
    [
        ("dev.ix.0.fc=3", PAUSES, "set to both, link has both"),
        ("dev.ixl.1.fc=0", "40Gbase-CR4 <full-duplex>", "set to off"),
        ("dev.ice.0.fc=1<Rx>", "100GBase-CR4 <full-duplex,rxpause>", "set to receive, link has receive"),
        ("dev.mce.0.rx_pauseframe_control=1\ndev.mce.0.tx_pauseframe_control=1", "25GBase-SR", "set to both"),
        ("dev.mce.0.rx_pauseframe_control=0\ndev.mce.0.tx_pauseframe_control=0", "25GBase-SR", "set to off"),
        ("dev.bnxt.0.fc.autoneg=1\ndev.bnxt.0.fc.rx=0\ndev.bnxt.0.fc.tx=1", "25GBase-SR", "set to send"),
        ("dev.em.0.rx_budget=0", PAUSES, "link has both"),
        ("dev.vmx.0.iflib.tx_abdicate=0", "autoselect", ""),
    ],
)
def test_flow_control_is_what_the_driver_and_the_link_tell(driver: str, media: str, told: str) -> None:
    shown = f"ix0: flags=8843<UP,RUNNING> metric 0 mtu 1500\n\tmedia: Ethernet autoselect ({media})\n"
    assert text.flow_control(text.sysctls(driver), text.ifconfig(shown)["ix0"].media) == told


def test_facts_carry_the_flow_control_of_each_adapter(monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
    shown = read("ifconfig-a") + f"ix0: flags=8843<UP> metric 0 mtu 1500\n\tmedia: Ethernet autoselect ({PAUSES})\n"
    said = {"ifconfig": shown, "dev.ix.0": "dev.ix.0.fc=3\n", "dev.vmx.0": "dev.vmx.0.iflib.simple_tx=0\n"}
    monkeypatch.setattr(freebsd, "output", lambda argv: said.get(argv[-1] if argv[0] == "sysctl" else argv[0], ""))
    system = freebsd.FreeBSD.__new__(freebsd.FreeBSD)
    system._calls = types.SimpleNamespace(links=lambda: iter(()))  # type: ignore[assignment]
    told = {nic.name: nic.flow_control for nic in system._nics()}
    assert told == {"vmx0": "", "vmx1": "", "lo0": "", "ix0": "set to both, link has both"}


def test_facts_and_settings_tell_whether_a_card_adapts_its_moderation(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = "em0: flags=8843<UP> metric 0 mtu 1500\n\toptions=400<LRO>\n"
    said = {"ifconfig": shown, "dev.em.0.enable_aim": "dev.em.0.enable_aim=1\n"}

    def output(argv: list[str]) -> str:
        assert "dev.em.0" not in argv, "which has dumps of registers in it, and to read some of these changes them"
        return "".join(said.get(word, "") for word in argv)

    monkeypatch.setattr(freebsd, "output", output)
    system = freebsd.FreeBSD.__new__(freebsd.FreeBSD)
    system._calls = types.SimpleNamespace(links=lambda: iter(()))  # type: ignore[assignment]
    (nic,) = system._nics()
    assert nic.offloads == {"lro": True, "adaptive-moderation": True}
    assert [system.setting("flag", f"em0:{name}") for name in ("adaptive-moderation", "lro", "gso")] == [
        "on",
        "on",
        None,
    ]


def test_tcp_counters(read: Any) -> None:
    found = text.tcp_counters(documents(read("netstat-s-tcp-json"))[0])
    assert (found.segments_sent, found.retransmits, found.out_of_order, found.zero_window_probes) == (0, 0, 0, 0)
    assert found.zero_window_sent is None
    counted = documents(read("netstat-s-tcp-json"))[0]
    counted["statistics"]["tcp"] |= {"sent-retransmitted-bytes": 86_880, "received-with-dsack-bytes": 72_400}
    found = text.tcp_counters(counted)
    assert (found.retransmitted_bytes, found.needless_bytes) == (86_880, 72_400)
    counted["statistics"]["tcp"] |= {"received-duplicate-acks": 9, "received-completely-duplicate-packets": 4}
    found = text.tcp_counters(counted)
    assert (found.duplicate_acks, found.came_twice, found.reorderings) == (9, 4, None)
    assert text.tcp_counters({}).retransmits is None


def test_sockets_are_matched_by_both_ends(read: Any) -> None:
    counts, buffers = documents(read("netstat-T-during"))
    found = {s.local_port: s for s in text.sockets(counts, buffers, {}, range(5001, 5002))}
    assert found[31210] == SocketStat(
        "10.99.0.1",
        31210,
        "10.99.0.2",
        5001,
        retransmits=876,
        out_of_order=0,
        zero_window=0,
        send_buffer=2106156,
        receive_buffer=65700,
    )
    assert found[20118].out_of_order == 199
    assert found[20118].zero_window == 28
    assert all(5001 in (s.local_port, s.remote_port) for s in found.values())
    assert text.sockets(counts, {}, {}, range(31210, 31211))[0].send_buffer is None


def test_windows_of_connections(read: Any) -> None:
    (found,) = documents(read("netstat-ncCW-during"))
    one, two = text.sockets(found, {}, found, range(5301, 5401))
    assert (one.local_port, one.remote, one.remote_port) == (10220, "10.77.0.2", 5328)
    assert (one.cwnd_bytes, one.ssthresh_bytes, one.mss) == (92728, 1073725440, 1460)
    assert (two.local_port, two.cwnd_bytes) == (14119, 364064)
    assert (one.stack, one.congestion, one.state) == ("freebsd", "cubic", "ESTABLISHED")
    assert one.retransmits is None and one.send_buffer is None


LISTENERS = {
    "statistics": {
        "socket": [
            {
                "protocol": protocol,
                "local": {"address": local, "port": port},
                "remote": {"address": "*", "port": "*"},
                "tcp-state": state,
            }
            for protocol, local, port, state in (
                ("tcp4", "10.99.0.1", "5201", "LISTEN     "),
                ("tcp4", "*", "5202", "LISTEN"),
                ("tcp46", "*", "5203", "LISTEN"),
                ("tcp6", "*", "5204", "LISTEN"),
                ("tcp4", "10.99.0.1", "5205", "ESTABLISHED"),
                ("tcp6", "fe80::1%lo0", "5206", "LISTEN"),
            )
        ]
    }
}


@pytest.mark.parametrize(
    ("port", "address", "bound"),
    [
        (5201, "10.99.0.1", True),
        (5201, "10.99.0.2", False),
        (5201, "", True),
        (5202, "10.99.0.1", True),
        (5202, "fd00::1", False),
        (5203, "10.99.0.1", True),
        (5203, "fd00::1", True),
        (5204, "10.99.0.1", False),
        (5205, "", False),
        (5206, "fe80::1", True),
        (5207, "", False),
    ],
)
def test_listening(port: int, address: str, bound: bool) -> None:
    assert text.bound(LISTENERS, port, False, address) is bound


def test_route_and_neighbours(read: Any) -> None:
    assert text.route(read("route-get")) == ("vmx0", "")
    routed = "   route to: 192.0.2.9\n    gateway: 10.99.0.254\n  interface: vmx1\n"
    assert text.route(routed) == ("vmx1", "10.99.0.254")
    table = documents(read("arp-json"))[0]
    assert text.answered(table, "10.99.0.1") is None  # our own
    assert text.answered(table, "10.99.0.9") is None
    other = {"ip-address": "10.99.0.2", "mac-address": "52:54:00:00:00:02", "interface": "vmx0", "expires": 1199}
    assert text.answered({"arp": {"arp-cache": [other]}}, "10.99.0.2") is True
    assert text.answered({"arp": {"arp-cache": [{**other, "incomplete": True}]}}, "10.99.0.2") is None
    shown = "Neighbor   Linklayer Address  Netif Expire    1s 5s\nfe80::2%vmx0  52:54:00:00:00:02  vmx0 23h S R\n"
    assert text.answered6(shown, "fe80::2") is True


def test_a_drivers_sysctls(read: Any) -> None:
    values = text.sysctls(read("vmstat-i-after").replace(": ", "="))
    assert (text.queues(values, "rxq"), text.queues(values, "txq")) == (2, 2)
    counted = text.with_driver(NicCounters("vmx0", rx_drops=5), values)
    assert counted.rx_drops == 1786  # hstats.nobuffer: packets that met a full ring
    assert (counted.crc_errors, counted.rx_pause) == (None, None)
    intel = {
        "dev.ix.0.mac_stats.crc_errs": "3",
        "dev.ix.0.mac_stats.xon_recvd": "2",
        "dev.ix.0.mac_stats.xoff_recvd": "4",
    }
    assert text.with_driver(NicCounters("ix0"), intel).crc_errors == 3
    assert text.with_driver(NicCounters("ix0"), intel).rx_pause == 6


def test_device_names() -> None:
    assert text.device("vmx0") == ("vmx", "0")
    assert text.device("ix12") == ("ix", "12")
    assert text.device("mgmt") == ("", "")


def message(kind: int, body: bytes) -> bytes:
    """One of the kernel's messages of interfaces: kind 14 tells of one, 12 of an address."""
    return MESSAGE.pack(24 + len(body), 5, kind, 0x10, 0x8843, 1, 0, 24 + 152, 24) + bytes(4) + body


def test_interface_data_as_the_kernel_lays_it_out() -> None:
    data = struct.pack("=6BHII15Q", 6, 0, 6, 14, 2, 0, 152, 9000, 0, 10**10, *range(1, 15))
    assert len(data) == LINK_DATA.size
    (found,) = links(message(14, data + bytes(16) + bytes((54, 18, 1, 0, 6, 4, 6, 0)) + b"vmx0" + bytes(42)))
    assert (found.name, found.flags) == ("vmx0", 0x8843)
    assert (found.mtu, found.baudrate) == (9000, 10**10)
    assert (found.rx_packets, found.rx_errors, found.tx_packets, found.tx_errors) == (1, 2, 3, 4)
    assert (found.rx_bytes, found.tx_bytes, found.rx_drops, found.tx_drops) == (6, 7, 10, 11)


INTERFACES = bytes.fromhex((Path(__file__).parents[1] / "captures/freebsd-15.1/interfaces.txt").read_text())


def test_the_kernels_list_of_interfaces_says_what_netstat_says_at_the_same_moment(captures: Path) -> None:
    told = json.loads((captures / "freebsd-15.1/netstat-ibdnW-beside-interfaces.txt").read_text())
    shown = [one for one in told["statistics"]["interface"] if one["network"].startswith("<Link")]
    keys = ("received-packets", "received-errors", "sent-packets", "send-errors", "received-bytes", "sent-bytes")
    assert [
        (one.name, one.mtu, one.rx_packets, one.rx_errors, one.tx_packets, one.tx_errors, one.rx_bytes, one.tx_bytes)
        for one in links(INTERFACES)
    ] == [(one["name"], one["mtu"], *(one[key] for key in keys)) for one in shown]
    assert [one.name for one in links(INTERFACES)] == ["vmx0", "vmx1", "lo0"]


def test_messages_of_other_things_are_passed_over() -> None:
    assert links(message(12, bytes(200)) + INTERFACES + message(12, bytes(9))) == links(INTERFACES)


@settings(deadline=None)
@given(st.binary(max_size=900), st.integers(0, len(INTERFACES)))
def test_no_list_of_interfaces_stops_the_reading(noise: bytes, at: int) -> None:
    for raw in (noise, INTERFACES[:at] + noise, INTERFACES[:at] + noise + INTERFACES[at + len(noise) :]):
        assert len(links(raw)) <= 1 + len(raw) // MESSAGE.size
    assert links(INTERFACES[:at]) == links(INTERFACES)[: len(links(INTERFACES[:at]))]


def test_no_tunable_is_asked_for_that_freebsd_has_not(captures: Path) -> None:
    there = {
        line.partition(":")[0].strip()
        for path in (captures / "freebsd-15.1").glob("sysctl-*.txt")
        for line in path.read_text().splitlines()
    }
    assert {name for name in SYSCTLS if name not in there} <= {"net.inet.rss.bits", "net.inet.rss.buckets"}


FOLDER = Path(__file__).parents[1] / "captures/freebsd-15.1"
SAID = [(FOLDER / f"{name}.txt").read_text() for name in ("ifconfig-a", "mtu9000", "sysctl-net", "route-get")]
TOLD = [
    document
    for name in ("netstat-s-tcp-json", "netstat-T-during", "netstat-ncCW-during", "arp-json")
    for document in documents((FOLDER / f"{name}.txt").read_text())
]


def spoilt(document: Any, value: Any, chance: Random) -> Any:
    """One part of it in twenty, large or small, is another value."""
    if chance.random() < 0.05:
        return value
    if isinstance(document, dict):
        return {key: spoilt(part, value, chance) for key, part in document.items()}
    return [spoilt(part, value, chance) for part in document] if isinstance(document, list) else document


VALUES = st.none() | st.integers() | st.text()


@settings(max_examples=300)
@given(
    st.sampled_from(TOLD),
    st.recursive(VALUES, lambda c: st.lists(c) | st.dictionaries(st.text(), c)),
    st.randoms(use_true_random=False),
)
@example({}, {"statistics": {"socket": [{"local": {"port": "\u00b2"}}]}}, Random(1))  # a digit that is no number
def test_any_json_is_read_without_an_error(told: Any, value: Any, chance: Random) -> None:
    for document in (value, spoilt(told, value, chance)):
        text.tcp_counters(document)
        text.sockets(document, document, document, range(1, 65536))
        text.bound(document, 5001, False, "10.0.0.1")
        text.answered(document, "10.0.0.1")


@settings(max_examples=300)
@given(st.sampled_from(SAID), st.text(max_size=9) | st.characters(categories=["Nd", "No"]), st.data())
def test_any_text_is_read_without_an_error(said: str, noise: str, data: st.DataObject) -> None:
    at, length = data.draw(st.integers(0, len(said))), data.draw(st.integers(0, 20))
    for one in (noise, said[:at] + noise + said[at + length :]):
        text.ifconfig(one)
        text.with_driver(NicCounters("ix0"), text.sysctls(one))
        text.route(one)
        text.answered6(one, "fe80::1")


def test_lost_links_are_counted_in_the_kernels_messages(read: Any) -> None:
    down, up = (f"[612] vmx1: link state changed to {word}\n" for word in ("DOWN", "UP"))
    messages = read("dmesg-vmx")
    assert not text.carriers_lost(messages)
    assert text.carriers_lost(messages + down + up + down) == {"vmx1": 2}
