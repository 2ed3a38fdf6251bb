"""Every command at both ends, and who runs what."""

from __future__ import annotations

import pytest

from linkladder import tools
from linkladder.model import Direction, End, Experiment, Protocol
from linkladder.tools import Layout, ToolVersions, Unavailable


def have(os: str = "Linux", **found: str) -> ToolVersions:
    return ToolVersions(found, os)


DEBIAN = have(iperf="2.1.8", netperf="2.7.0", ping="20221126")
APPLIANCE = have("FreeBSD", iperf="2.2.1", netperf="2.7.1", ping="present")
OLD = have(iperf="2.0.13", netperf="2.7.0", ping="present")


def commands(exp: Experiment, near: ToolVersions = DEBIAN, far: ToolVersions = DEBIAN) -> tuple[str, str]:
    where = tools.layout(exp, near, far)
    address = {End.NEAR: "10.0.0.1", End.FAR: "10.0.0.2"}
    versions = {End.NEAR: near, End.FAR: far}
    other = End.FAR if where.client == End.NEAR else End.NEAR
    server = tools.server_argv(exp, versions[other], address[other], 7000) if where.server else ()
    client = tools.client_argv(exp, versions[where.client], where, address[where.client], address[other], 7000)
    return " ".join(server), " ".join(client)


def test_tcp_forward() -> None:
    server, client = commands(Experiment("x", streams=4, duration=10, warmup=3))
    assert server == "iperf -s -B 10.0.0.2 -p 7000 -e -i 1 -f b"
    assert client == "iperf -c 10.0.0.2 -B 10.0.0.1 -p 7000 -e -i 1 -f b -t 13 -P 4"


def test_window_and_write_size_go_to_both_ends() -> None:
    server, client = commands(Experiment("x", window=800000, write_size=65536))
    assert "-l 65536 -w 800000" in server
    assert "-l 65536 -w 800000" in client


def test_reverse_uses_the_flag_only_where_the_buffer_is_the_systems() -> None:
    exp = Experiment("x", direction=Direction.REVERSE)
    server, client = commands(exp)
    assert client.endswith(" -R")
    assert server.startswith("iperf -s -B 10.0.0.2")
    server, client = commands(Experiment("x", direction=Direction.REVERSE, window=800000))
    assert "-R" not in client.split()
    assert client.startswith("iperf -c 10.0.0.1 -B 10.0.0.2"), "the roles are swapped: the far end sends"
    assert server.startswith("iperf -s -B 10.0.0.1")


@pytest.mark.parametrize(("near", "far"), [(DEBIAN, OLD), (OLD, DEBIAN)])
def test_old_versions_swap_roles(near: ToolVersions, far: ToolVersions) -> None:
    where = tools.layout(Experiment("x", direction=Direction.REVERSE), near, far)
    assert (where.server, where.client, where.reverse_flag) == (
        End.NEAR,
        End.FAR,
        False,
    )
    with pytest.raises(Unavailable, match=r"2\.1"):
        tools.layout(Experiment("x", direction=Direction.DUPLEX), near, far)


def test_udp_rate_is_shared_by_the_streams() -> None:
    exp = Experiment(
        "x",
        protocol=Protocol.UDP,
        streams=4,
        udp_rate_bps=1e9,
        direction=Direction.REVERSE,
    )
    server, client = commands(exp)
    assert "-u -l 1470" in server
    assert "-u -l 1470 -b 250000000" in client
    assert client.startswith("iperf -c 10.0.0.1 -B 10.0.0.2"), "UDP never uses -R"


def test_udp_of_ipv6_is_smaller() -> None:
    exp = Experiment("x", protocol=Protocol.UDP, udp_rate_bps=1e6)
    where = tools.layout(exp, DEBIAN, DEBIAN)
    argv = tools.client_argv(exp, DEBIAN, where, "fd00::1", "fd00::2", 7000)
    assert "-V" in argv
    assert argv[argv.index("-l") + 1] == "1450"


@pytest.mark.parametrize(
    ("exp", "near", "far", "words"),
    [
        (
            Experiment("x"),
            DEBIAN,
            have(),
            "not installed at the far end",
        ),
        (Experiment("x"), have(iperf="2.0.5"), DEBIAN, "too old"),
        (Experiment("x"), have(iperf="3.12"), DEBIAN, "iperf 2 is needed"),
        (Experiment("x", protocol=Protocol.UDP), DEBIAN, DEBIAN, "rate"),
        (
            Experiment("x", direction=Direction.DUPLEX, window=800000),
            DEBIAN,
            DEBIAN,
            "socket buffer",
        ),
        (
            Experiment("x", tool="netperf"),
            DEBIAN,
            have(iperf="2.1.8"),
            "netperf is not installed",
        ),
        (
            Experiment("x", tool="netperf", direction=Direction.DUPLEX),
            DEBIAN,
            DEBIAN,
            "one way",
        ),
        (
            Experiment("x", tool="ping", protocol=Protocol.ECHO),
            have(iperf="2.1.8"),
            DEBIAN,
            "ping",
        ),
        (Experiment("x", tool="ping", protocol=Protocol.DF), DEBIAN, DEBIAN, "MTU"),
        (Experiment("x", direction=Direction.BOTH), DEBIAN, DEBIAN, "plans"),
        (Experiment("x", protocol=Protocol.RR), DEBIAN, DEBIAN, "tcp and udp"),
    ],
)
def test_what_cannot_be_done_says_why(exp: Experiment, near: ToolVersions, far: ToolVersions, words: str) -> None:
    with pytest.raises(Unavailable, match=words):
        tools.layout(exp, near, far)


def test_netperf_sessions_have_data_ports_of_their_own() -> None:
    exp = Experiment(
        "x",
        tool="netperf",
        protocol=Protocol.RR,
        sessions=10,
        request=700,
        response=700,
    )
    where = tools.layout(exp, DEBIAN, DEBIAN)
    assert where.clients == 10
    argv = [tools.client_argv(exp, DEBIAN, where, "10.0.0.1", "10.0.0.2", 7000, i) for i in range(10)]
    assert {a[a.index("--") + 2] for a in argv} == {f"0,{7001 + i}" for i in range(10)}
    assert argv[0][argv[0].index("-r") : argv[0].index("-r") + 2] == ("-r", "700,700")


def test_netperf_streams_run_at_the_receiver() -> None:
    where = tools.layout(Experiment("x", tool="netperf", streams=2), DEBIAN, DEBIAN)
    assert (where.server, where.client, where.clients) == (End.NEAR, End.FAR, 2)


def test_ping_of_both_systems() -> None:
    exp = Experiment("x", tool="ping", protocol=Protocol.DF, sizes=(1500, 9000))
    where = tools.layout(exp, DEBIAN, APPLIANCE)
    assert where == Layout(None, End.NEAR, clients=2, together=False)
    linux = tools.client_argv(exp, DEBIAN, where, "10.0.0.1", "10.0.0.2", 0, 1)
    assert " ".join(linux) == "ping -4 -n -c 3 -i 0.2 -W 1 -I 10.0.0.1 -M do -s 8972 10.0.0.2"
    back = tools.layout(
        Experiment("x", "ping", Protocol.DF, Direction.REVERSE, sizes=(1500,)),
        DEBIAN,
        APPLIANCE,
    )
    assert (back.client, back.privileged) == (End.FAR, True)
    freebsd = tools.ping_argv("FreeBSD", "fd00::1", "fd00::2", 10, 1, 1500)
    assert " ".join(freebsd) == "ping -6 -n -c 3 -i 0.2 -W 1000 -S fd00::1 -D -s 1452 fd00::2"


def test_slow_pings_need_no_privilege_on_freebsd() -> None:
    def privileged(interval: float) -> bool:
        exp = Experiment("x", "ping", Protocol.ECHO, interval=interval)
        return tools.layout(exp, APPLIANCE, DEBIAN).privileged

    assert privileged(0.05)
    assert not privileged(1.0)


def test_dscp_is_set_where_the_payload_is_sent() -> None:
    _, client = commands(Experiment("x", dscp=46, direction=Direction.REVERSE))
    assert "-S 184" in client
    assert client.startswith("iperf -c 10.0.0.1"), "-R leaves the sender's marking alone"


def test_versions() -> None:
    iperf, netperf, ping = (tools.named(name) for name in ("iperf", "netperf", "ping"))
    assert iperf.version("iperf version 2.1.8 (12 August 2022) pthreads\n") == "2.1.8"
    assert iperf.version("iperf version 2.0.14a (2 October 2020) pthreads\n") == "2.0.14"
    assert netperf.version("Netperf version 2.7.0\n") == "2.7.0"
    assert ping.version("ping from iputils 20221126\n") == "20221126"
    assert ping.version("ping: illegal option -- V\n") == "present"
    assert iperf.version("iperf 3.12 (cJSON 1.7.15)") == ""
    assert have(iperf="2.1.8").of("iperf") == (2, 1, 8)
    assert (have(ping="present").of("ping"), have().of("ping")) == ((), None)


def test_default_mtus_include_the_contracts_and_none_above() -> None:
    found = tools.default_mtus(9000)
    assert found[-1] == 9000
    assert {1500, 8950} <= set(found)
    assert tools.default_mtus(1400)[-1] == 1400


def test_expected_seconds() -> None:
    assert tools.expected_seconds(Experiment("x", duration=20, warmup=3)) == 23
    echo = Experiment("x", "ping", Protocol.ECHO, count=101, interval=0.05)
    assert tools.expected_seconds(echo) == pytest.approx(5.0)


def test_a_dry_run_may_not_know_the_addresses_yet() -> None:
    for exp in (Experiment("x"), Experiment("x", "netperf"), Experiment("x", "ping", Protocol.ECHO)):
        where = tools.layout(exp, DEBIAN, DEBIAN)
        assert "?" in " ".join(tools.client_argv(exp, DEBIAN, where, "?", "?", 7000))


def test_netperf_data_ports_stay_in_the_documented_range() -> None:
    from linkladder.tools import TEST_PORTS
    from linkladder.tools.netperf.argv import data_port
    from linkladder.wire import PORTS

    assert TEST_PORTS == PORTS
    for control in (5301, 5390, 5400):
        ports = [data_port(control, index) for index in range(50)]
        assert len(set(ports)) == 50
        assert control not in ports
        assert set(ports) <= set(PORTS)
