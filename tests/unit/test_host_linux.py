"""Linux: this very machine, and a network namespace made for the purpose."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkladder import host
from linkladder.host import linux_carrier, linux_text
from linkladder.model import NicCounters

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads this machine's /proc")

SS = (
    "ESTAB 0 262088 10.7.0.1:41234 10.7.0.2:5201 skmem:(r0,rb131072,t0,tb2626560,f0,w0,o0,bl0,d0) ts sack cubic "
    "wscale:7,7 rto:204 rtt:3.2/0.4 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:120 ssthresh:90 bytes_sent:99 "
    "busy:900ms rwnd_limited:120ms(13.3%) bytes_retrans:4344 bytes_acked:90 bytes_received:7 segs_out:9 "
    "retrans:0/3 rcv_ooopack:5 minrtt:3\n"
    "ESTAB 0 0 [::ffff:10.7.0.1]:5201 [::ffff:10.7.0.2]:41234 skmem:(r0,rb87380) bbr cwnd:10 mss:1448 busy:8ms\n"
    "LISTEN 0 128 *:5201 *:* skmem:(r0,rb131072,t0,tb16384) cubic cwnd:10\n"
    "rubbish\n"
)


def test_ss_lines() -> None:
    first, second, third = linux_text.sockets(SS)
    assert (first.local, first.local_port, first.remote, first.remote_port) == ("10.7.0.1", 41234, "10.7.0.2", 5201)
    assert (first.state, first.retransmits, first.out_of_order, first.rtt_ms) == ("ESTABLISHED", 3, 5, 3.2)
    assert (first.cwnd_bytes, first.send_buffer, first.receive_buffer) == (120 * 1448, 2626560, 131072)
    assert first.congestion == "cubic"
    assert (second.local, second.retransmits, second.out_of_order) == ("10.7.0.1", 0, 0)
    assert (third.state, third.retransmits) == ("LISTEN", None)
    assert [x.receiver_limited_ms for x in (first, second, third)] == [120.0, 0.0, None]


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_datagrams_for_a_full_socket_are_counted(family: socket.AddressFamily, address: str) -> None:
    before = host.udp_dropped()
    with socket.socket(family, socket.SOCK_DGRAM) as full, socket.socket(family, socket.SOCK_DGRAM) as sender:
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        full.bind((address, 0))
        for _ in range(200):
            sender.sendto(bytes(1000), full.getsockname()[:2])
    after = host.udp_dropped()
    assert before is not None and after is not None and 150 <= after - before <= 250


def test_systems_without_these_counters_do_not_tell_none() -> None:
    assert linux_text.udp_dropped("", "") is None
    assert linux_text.udp_dropped("Udp: InDatagrams RcvbufErrors\nUdp: 7 3\n", "") == 3
    six = "Udp6RcvbufErrors    \t4\nUdpLite6RcvbufErrors 9\n"
    assert linux_text.udp_dropped("Udp: RcvbufErrors\nUdp: 3\n", six) == 7


def test_quotas_are_found_in_either_version() -> None:
    assert linux_text.throttled("nr_periods 5\nnr_throttled 2\nthrottled_usec 1500000\n") == 1.5
    assert linux_text.throttled("nr_periods 5\nnr_throttled 2\nthrottled_time 2500000000\n") == 2.5
    assert linux_text.throttled("") == 0.0
    assert linux_text.cgroups("0::/a/b\n") == [("/a/b", 2)]
    assert linux_text.cgroups("9:memory:/m\n3:cpu,cpuacct:/lab\n1:cpuset:/\n0::/\n") == [("/lab", 1), ("/", 2)]


def test_stolen_time_is_no_load() -> None:
    (times, stolen), *_ = linux_text.core_times("cpu 1 1\ncpu0 100 10 50 600 40 5 15 300 0 0\n", 100)
    assert (times.user, times.system, times.interrupt, times.idle, stolen) == (1.1, 0.5, 0.2, 6.4, 3.0)


def test_drivers_names_for_crc_and_pause() -> None:
    own = {"rx_crc_errors": 2, "rx_flow_control_xon": 3, "rx_flow_control_xoff": 4, "tx_pause": 1, "rx_bytes": 9}
    found = linux_text.with_driver(NicCounters("ixgbe0"), own)
    assert (found.crc_errors, found.rx_pause, found.tx_pause) == (2, 7, 1)
    assert linux_text.with_driver(NicCounters("veth0"), {"peer_ifindex": 4}).crc_errors is None


def test_this_kernel_tells_of_every_card_how_often_it_lost_its_link() -> None:
    told = linux_carrier.carriers_lost()
    assert set(told) == {name for _, name in socket.if_nameindex()} and told["lo"] == 0


def test_facts_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    found = host.facts()
    assert (found.os, found.name, found.kernel) == ("Linux", socket.gethostname(), os.uname().release)
    assert found.cores == os.cpu_count()
    assert found.memory > 1 << 28
    loopback = next(nic for nic in found.nics if nic.loopback)
    assert (loopback.name, loopback.mtu) == ("lo", 65536)
    assert "127.0.0.1" in loopback.addresses
    assert found.window_limit and found.window_limit >= 4096
    assert "net.ipv4.tcp_congestion_control" in found.sysctls
    monkeypatch.setenv("LINKLADDER_CORES", "0")
    assert host.facts().cores == len(host.core_times()) == 1


def test_the_window_limit_is_what_a_socket_gets() -> None:
    limit = host.facts().window_limit
    assert limit
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limit)
        assert probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * limit


def test_a_sample_sees_work() -> None:
    sampler = host.Sampler(("lo",))
    sampler.start()
    began, spent = time.monotonic(), time.process_time()
    while time.process_time() - spent < 0.3:
        pass
    seen = sampler.sample()
    worked = (time.process_time() - spent) / (time.monotonic() - began)  # a machine with others on it gives less of one
    assert sum(core.busy for core in seen.cores) > 0.7 * 100 * worked
    assert 0 < seen.memory_used < host.memory()[0]
    assert [nic.name for nic in seen.nics] == ["lo"]


def test_a_sample_reads_four_files_and_starts_nothing() -> None:
    """However many cores and interfaces there are; what it takes of a core is printed by tests/bench."""
    code = (
        "import sys\nfrom linkladder import host\n"
        "sampler = host.Sampler(('lo',))\nsampler.start()\nsampler.sample()\nseen = []\n"
        "sys.addaudithook(lambda name, given: seen.append((name, str(given[0]))) if name in WATCHED else None)\n"
        "sampler.sample()\nprint(*(f'{name} {what}' for name, what in seen), sep='\\n')\n"
    )
    watched = "WATCHED = ('open', 'subprocess.Popen', 'socket.__new__', 'os.listdir', 'os.scandir')\n"
    done = subprocess.run([sys.executable, "-c", watched + code], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == [
        "open /proc/meminfo", "open /proc/net/dev", "open /proc/net/snmp", "open /proc/stat",
    ]  # fmt: skip


def test_listening_is_seen_at_once_and_at_the_address_only() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.2", 0))
        port = server.getsockname()[1]
        assert not host.listening(port)
        server.listen()
        assert host.listening(port)
        assert host.listening(port, address="127.0.0.2")
        assert not host.listening(port, address="127.0.0.3")
        assert not host.listening(port, udp=True)
    assert not host.listening(port)
    with socket.socket(socket.AF_INET6) as server:
        server.bind(("::", 0))
        server.listen()
        assert host.listening(server.getsockname()[1], address="127.0.0.1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        assert host.listening(server.getsockname()[1], udp=True, address="127.0.0.1")


def test_addresses_and_routes_of_loopback() -> None:
    assert host.interface_of("127.0.0.1") == "lo"
    assert host.interface_of("192.0.2.213") == ""
    assert host.interface_of("no address") == ""
    assert host.same_subnet("127.0.0.1", "127.9.9.9")
    assert not host.same_subnet("127.0.0.1", "192.0.2.1")
    assert not host.same_subnet("192.0.2.213", "192.0.2.1")
    assert host.route_interface("127.0.0.1") == "lo"
    assert host.route_interface("; reboot") == ""
    assert host.route_interface("-V") == ""


def test_a_child_dies_with_its_parent() -> None:
    script = (
        "import subprocess, sys, time\nfrom linkladder import host\n"
        "child = subprocess.Popen(['sleep', '3600'], preexec_fn=host.die_with_parent)\n"
        "print(child.pid, flush=True)\ntime.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(parent.stdout.readline())
    assert Path(f"/proc/{child}").exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    while _runs(child):
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# --- in a namespace of our own

NEAR, FAR = f"llh{os.getpid()}a", f"llh{os.getpid()}b"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def namespaces() -> Iterator[None]:
    """Two namespaces joined by a veth pair, 10.77.0.1 and 10.77.0.2."""
    if os.geteuid() != 0:
        pytest.skip("making network namespaces needs root")
    try:
        for name in (NEAR, FAR):
            ip("netns", "add", name)
        ip("link", "add", "v0", "netns", NEAR, "type", "veth", "peer", "name", "v1", "netns", FAR)
        for name, device, address in ((NEAR, "v0", "10.77.0.1/24"), (FAR, "v1", "10.77.0.2/24")):
            ip("-n", name, "addr", "add", address, "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", NEAR, "route", "add", "192.0.2.0/24", "via", "10.77.0.2")
        yield
    finally:
        for name in (NEAR, FAR):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def inside(code: str) -> str:
    """What a few lines of Python print in the near namespace."""
    lines = "from linkladder import host\nimport asyncio, socket, subprocess, sys, time\n" + code
    argv = ["ip", "netns", "exec", NEAR, sys.executable, "-c", lines]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.lab
def test_a_namespaces_own_interfaces_and_counters(namespaces: None) -> None:
    out = inside("""
before, tcp = host.nic_counters()['v0'], host.tcp_counters()
subprocess.run(['ping', '-c', '3', '-i', '0.1', '-s', '972', '10.77.0.2'], check=True, stdout=subprocess.DEVNULL)
after = host.nic_counters()['v0']
sent = after.tx_bytes - before.tx_bytes
print(after.tx_packets - before.tx_packets >= 3, 3 * 1014 <= sent <= 3 * 1014 + 500, tcp.retransmits)
nic = next(n for n in host.facts().nics if n.name == 'v0')
print(nic.driver, nic.mtu, nic.speed_bps, nic.addresses[0], nic.offloads['tso'], nic.up)
print(host.route_interface('10.77.0.9'), host.route_interface('192.0.2.5'), host.interface_of('10.77.0.1'))
print(*(host.arp_direct(a) for a in ('10.77.0.2', '10.77.0.9', '192.0.2.5', '8.8.8.8')))
print(*(host.same_subnet('10.77.0.1', a) for a in ('10.77.0.2', '10.78.0.2')), host.interface_of('10.77.0.2'))
""")
    assert out.splitlines() == [
        "True True 0",
        "veth 1500 10000000000.0 10.77.0.1 True True",
        "v0 v0 v0",
        "True None False None",
        "True False ",
    ]


@pytest.fixture
def tight() -> Iterator[Path]:
    """A control group that grants a fiftieth of a core: less than any machine gives, however busy it is."""
    old = Path("/sys/fs/cgroup/cpu")
    group = (old if old.is_dir() else Path("/sys/fs/cgroup")) / f"llh-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        if old.is_dir():
            (group / "cpu.cfs_period_us").write_text("50000")
            (group / "cpu.cfs_quota_us").write_text("1000")
        else:
            try:
                (group / "cpu.max").write_text("1000 50000")
            except OSError as error:
                pytest.skip(f"the cpu controller is not at hand: {error}")
        yield group
    finally:
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.02)


@pytest.mark.lab
@pytest.mark.parametrize("where", ["here", "in a namespace"])
def test_a_quota_shows_as_starvation(namespaces: None, tight: Path, where: str) -> None:
    code = (
        "import os, time\nfrom linkladder import host\n"
        "host.starvation()\n"  # the first time takes more of the CPU than all that follows
        f"open('{tight}/cgroup.procs', 'w').write(str(os.getpid()))\n"
        "began, before = time.monotonic(), host.starvation()\n"
        "spent = time.process_time()\n"
        "while time.process_time() < spent + 0.03 and time.monotonic() < began + 30: pass\n"
        "print(host.starvation() - before, time.monotonic() - began)\n"
    )
    enter = [] if where == "here" else ["nsenter", f"--net=/run/netns/{NEAR}"]
    done = subprocess.run([*enter, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    withheld, took = map(float, done.stdout.split())
    # Of CPU time, not of the clock: a machine that stands still for a second has withheld nothing by quota.
    assert 0.05 < withheld < 1.5 * took, f"{withheld:.2f} of {took:.2f} s"


@pytest.mark.lab
def test_a_quota_out_of_sight_is_unknown_rather_than_none(namespaces: None, tight: Path) -> None:
    code = f"echo $$ >{tight}/cgroup.procs; exec ip netns exec {NEAR} {sys.executable} -c '%s'"
    code %= "from linkladder import host; print(host.starvation())"
    done = subprocess.run(["sh", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "None\n", done.stderr


@pytest.mark.lab
def test_sockets_of_a_connection(namespaces: None) -> None:
    out = inside("""
port = 9077  # below all that a client may be given
server = socket.create_server(('10.77.0.1', port))
client = socket.create_connection(('10.77.0.1', port))
client.sendall(b'x' * 1000)
time.sleep(0.1)
assert not host.sockets(1, port - 1) and len(host.sockets(port - 1, port + 1)) == 3
for s in sorted(host.sockets(port), key=lambda s: (s.state, s.local_port == port)):
    print(s.state, s.local, s.local_port == port, s.retransmits, s.sent_bytes, s.mss is not None)
""")
    assert "LISTEN 10.77.0.1 True None None" in out
    assert "ESTABLISHED 10.77.0.1 False 0 1000 True" in out


@pytest.mark.lab
def test_leases_on_a_real_interface_are_put_back(namespaces: None, own_state: Path) -> None:
    out = inside("""
from linkladder import settings
def now():
    return [host.setting('mtu', 'v0'), host.setting('flag', 'v0:tso'), host.setting('flag', 'v0:txcsum'),
            host.setting('sysctl', 'net.ipv4.tcp_sack')]
changes = [settings.mtu('v0', 9000), settings.flag('v0', 'txcsum', False), settings.sysctl('net.ipv4.tcp_sack', 0)]
async def main():
    print(*now())
    async with settings.Lease(changes):
        print(*now())
    print(*now())
    try:
        async with settings.Lease([settings.mtu('v0', 1400), settings.sysctl('net.ipv4.tcp_rmem', '1 2 3')]):
            print('never')
    except Exception as error:
        print(error.title)
    print(*now())
asyncio.run(main())
""")
    first, changed, restored, error, last = out.splitlines()
    assert first == restored == last == "1500 on on 1"
    assert changed == "9000 off off 0"
    assert error == "sysctl net.ipv4.tcp_rmem could not be set to 1 2 3"


@pytest.mark.lab
def test_a_killed_lease_on_a_real_interface_is_put_back_by_the_next_start(namespaces: None, own_state: Path) -> None:
    code = """
from linkladder import settings
async def main():
    async with settings.Lease([settings.mtu('v0', 8000), settings.flag('v0', 'gro', False)]):
        print('held', flush=True)
        time.sleep(60)
asyncio.run(main())
"""
    lines = "from linkladder import host\nimport asyncio, time\n" + code
    argv = ["ip", "netns", "exec", NEAR, sys.executable, "-c", lines]
    look = "print(host.setting('mtu', 'v0'), host.setting('flag', 'v0:gro'))\n"
    inside("from linkladder import privilege\nasyncio.run(privilege.run('iface-flags', 'v0', 'gro'))\n")
    assert inside(look) == "1500 on\n"
    holder = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    holder.kill()
    holder.wait()
    assert inside(look) == "8000 off\n"
    out = inside(f"from linkladder import settings\nprint(sorted(asyncio.run(settings.recover())))\n{look}")
    assert out.splitlines() == ["['flag v0:gro: off -> on', 'mtu v0: 8000 -> 1500']", "1500 on"]
    assert inside("from linkladder import settings\nprint(asyncio.run(settings.recover()))\n") == "()\n"


SNMP = "Tcp: OutSegs RetransSegs\nTcp: 40000 6000\n"


@pytest.mark.parametrize(
    ("counted", "segments"),
    [
        ("TCPDSACKRecv TCPDSACKRecvSegs\nTcpExt: 900 5500", 5500),
        ("TCPDSACKRecv\nTcpExt: 900", 900),
        ("TCPLoss\nTcpExt: 1", None),
    ],
)
def test_segments_that_came_twice_are_counted_and_not_the_reports_of_them(counted: str, segments: int | None) -> None:
    """One acknowledgement may report many of them; a kernel that counts reports alone tells fewer."""
    assert linux_text.tcp_counters(SNMP, f"TcpExt: {counted}\n").dsacks == segments
