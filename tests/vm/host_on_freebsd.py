"""host, settings and the privileged helper on a real FreeBSD: run as root inside an appliance, on a spare adapter.

    python3 host_on_freebsd.py vmx1 [PEER_ADDRESS [CHECK]...]

Prints a line for every check and a last line `ok` or `FAILED n`; exit status 0 or 1.  It needs no pytest, so
that it runs on the image as shipped; the adapter is left as it was found.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

os.environ["LINKLADDER_STATE"] = tempfile.mkdtemp()
os.environ["LINKLADDER_AUDIT"] = os.environ["LINKLADDER_STATE"] + "/audit"

from linkladder import doctor, host, privilege, settings
from linkladder.host.freebsd import FreeBSD

NIC = sys.argv[1]
PEER = sys.argv[2] if len(sys.argv) > 2 else ""
ONLY = sys.argv[3:]
AUDIT = Path(os.environ["LINKLADDER_AUDIT"])
failed = 0
privilege.ENVIRONMENT["LINKLADDER_AUDIT"] = str(AUDIT)


def check(name: str, test: Callable[[], object]) -> None:
    """Run one check; what it returns is printed."""
    global failed
    try:
        print(f"ok      {name}: {test()}", flush=True)
    except Exception as error:
        failed += 1
        print(f"FAILED  {name}: {error!r}", flush=True)
        traceback.print_exc()


def sysctl(name: str) -> str:
    return subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=True).stdout.strip()


def facts() -> object:
    found = host.facts()
    assert found.os == "FreeBSD"
    assert found.cores == int(sysctl("hw.ncpu"))
    assert found.window_limit == int(sysctl("kern.ipc.maxsockbuf")) * 2048 // 2304
    nic = next(n for n in found.nics if n.name == NIC)
    assert {"tso", "lro", "rxcsum", "txcsum"} <= set(nic.offloads), nic
    assert nic.mtu >= 1500 and nic.mac and nic.rx_queues, nic
    loopback = next(n for n in found.nics if n.loopback)
    assert "127.0.0.1" in loopback.addresses
    assert found.sysctls["net.inet.tcp.cc.algorithm"]
    return (found.release, found.kernel, found.virtual, found.cpu, nic)


def the_window_limit_is_granted() -> object:
    limit = host.facts().window_limit
    assert limit
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limit)
        got = probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limit + 4096)
            raise AssertionError("more than the limit was granted")
        except OSError:
            return limit, got


def core_times() -> object:
    before, began = host.core_times(), time.monotonic()
    while time.monotonic() - began < 1.0:
        pass
    after, wall = host.core_times(), time.monotonic() - began
    for old, new in zip(before, after, strict=True):
        total = sum(getattr(new, k) - getattr(old, k) for k in ("user", "system", "interrupt", "idle"))
        assert 0.7 * wall < total < 1.3 * wall, (total, wall)
    assert sum(n.user - o.user for o, n in zip(before, after, strict=True)) > 0.4
    return len(after), "cores"


def sampler() -> object:
    one = host.Sampler((NIC,))
    one.start()
    time.sleep(1)
    seen = one.sample()
    assert all(0 <= core.busy <= 100 for core in seen.cores)
    assert 0 < seen.memory_used < host.memory()[0]
    assert [n.name for n in seen.nics] == [NIC]
    began = time.process_time()
    for _ in range(20):
        one.sample()
    return f"{(time.process_time() - began) / 20 * 1e3:.2f} ms of CPU a sample"


def counters() -> object:
    before = host.nic_counters()["lo0"]
    subprocess.run(
        ["ping", "-c", "3", "-i", "0.1", "127.0.0.1"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = host.nic_counters()["lo0"]
    assert after.tx_packets >= before.tx_packets + 6 and after.tx_bytes >= before.tx_bytes + 6 * 84, (before, after)
    netstat = subprocess.run(["netstat", "-ibn", "-I", NIC], capture_output=True, text=True, check=True).stdout
    words = next(line.split() for line in netstat.splitlines() if "<Link" in line)
    mine = host.nic_counters()[NIC]
    assert str(mine.tx_packets) in words or mine.tx_packets > 0, (words, mine)
    tcp = host.tcp_counters()
    assert tcp.retransmits is not None and tcp.segments_sent is not None
    return mine, tcp


def datagrams_for_a_full_socket() -> object:
    told = []
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        before = host.udp_dropped()
        with socket.socket(family, socket.SOCK_DGRAM) as full, socket.socket(family, socket.SOCK_DGRAM) as sender:
            full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            full.bind((address, 0))
            for _ in range(200):
                sender.sendto(bytes(1000), full.getsockname()[:2])
        after = host.udp_dropped()
        assert before is not None and after is not None and 150 <= after - before <= 250, (before, after)
        told.append(after - before)
    return told


def listeners_and_sockets() -> object:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert host.listening(port) and host.listening(port, address="127.0.0.1")
        assert not host.listening(port, address="127.0.0.2") and not host.listening(port, udp=True)
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"x" * 10000)  # fits into the receiver's buffer, so that nothing changes while others look
            time.sleep(1)
            found = host.sockets(port)
            assert any(s.local_port == port for s in found) and any(s.remote_port == port for s in found), found
            assert all(s.retransmits is not None for s in found)
            listed = host.connections((port,))
            assert listed is not None, "the kernel's list has another form than the one that is read"
            windows = [s for s in listed if s.remote_port == port]
            assert windows and all(s.cwnd_bytes and s.ssthresh_bytes and s.mss for s in windows), windows
            assert windows[0].stack == "freebsd" and windows[0].congestion == "cubic", windows
            netstat = [s for s in FreeBSD()._by_netstat(range(port, port + 1)) if s.remote_port]
            assert len(netstat) == 2 and sorted(netstat, key=str) == sorted(found, key=str), (netstat, found)
    assert not host.listening(port)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        assert host.listening(udp.getsockname()[1], udp=True)
    with socket.socket(socket.AF_INET6) as six:
        six.bind(("::1", 0))
        six.listen()
        assert host.listening(six.getsockname()[1], address="::1")
    return found[0]


def addresses() -> object:
    assert host.interface_of("127.0.0.1") == "lo0"
    assert host.route_interface("127.0.0.1") == "lo0"
    assert host.same_subnet("127.0.0.1", "127.9.9.9")
    assert host.interface_of("192.0.2.213") == ""
    if not PEER:
        return "no peer given"
    subprocess.run(["ping", "-c", "1", "-t", "2", PEER], check=False, stdout=subprocess.DEVNULL)
    out = host.route_interface(PEER), host.arp_direct(PEER)
    assert out[1] is True, out
    return out


def a_child_dies_with_its_parent() -> object:
    script = (
        "import subprocess, time\nfrom linkladder import host\n"
        "c = subprocess.Popen(['sleep', '60'], preexec_fn=host.die_with_parent)\nprint(c.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    child = int(parent.stdout.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    time.sleep(0.3)
    try:
        os.kill(child, 0)
    except ProcessLookupError:
        return "gone"
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the child lives on")


CHANGES = [
    settings.mtu(NIC, 9000),
    settings.flag(NIC, "txcsum", False),
    settings.flag(NIC, "lro", True),
    settings.sysctl("net.inet.tcp.delayed_ack", 0),
    settings.sysctl(
        f"dev.{NIC.rstrip('0123456789')}.{NIC.lstrip('abcdefghijklmnopqrstuvwxyz')}.iflib.tx_abdicate",
        1,
    ),
]


def now() -> list[str | None]:
    flags = [host.setting("flag", f"{NIC}:{name}") for name in settings.FLAGS]
    return [host.setting(c.kind, c.target) for c in CHANGES] + flags


def leases() -> object:
    async def use() -> list[str | None]:
        async with settings.Lease(CHANGES):
            return now()

    before = now()
    inside = asyncio.run(use())
    assert inside[: len(CHANGES)] == [c.value for c in CHANGES], inside
    assert now() == before, (before, now())
    return before, inside


HELD = """
import asyncio, time
from linkladder import settings
async def main():
    changes = [settings.mtu({nic!r}, 4000), settings.flag({nic!r}, "rxcsum", False)]
    async with settings.Lease(changes, {undo}):
        print("held", flush=True)
        time.sleep(60)
asyncio.run(main())
"""


def killed(undo: str) -> None:
    """A process that holds a lease, killed."""
    script = HELD.format(nic=NIC, undo=undo)
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    assert asyncio.run(settings.recover()) == ()
    holder.kill()
    holder.wait()


def a_killed_lease_is_put_back() -> object:
    before = now()
    killed("None")
    assert now() != before and (left := settings.overview.on_loan()) and left.left_behind
    done = asyncio.run(settings.recover())
    assert now() == before, (before, now())
    assert asyncio.run(settings.recover()) == ()
    return done


def the_undo_puts_a_killed_lease_back() -> object:
    before, began = now(), time.monotonic()
    killed("settings.Undo(60)")
    while now() != before or settings.overview.on_loan():
        assert time.monotonic() - began < 50, now()
        time.sleep(0.2)
    return f"{time.monotonic() - began:.1f} s"


def a_setting_that_cannot_be_is_named() -> object:
    async def use() -> None:  # the stack named rack is a module that nothing has loaded
        async with settings.Lease([settings.mtu(NIC, 4000), settings.sysctl("net.inet.tcp.functions_default", "rack")]):
            raise AssertionError("a stack that is not there was taken")

    before = now()
    try:
        asyncio.run(use())
    except settings.SettingsError as error:
        assert "net.inet.tcp.functions_default" in str(error), error
        assert now() == before, (before, now())
        return str(error).replace("\n", " | ")
    raise AssertionError("no error")


def helper() -> object:
    async def use() -> list[privilege.Completed]:
        return [
            await privilege.run("ping", "-n", "-D", "-c", "2", "-i", "0.05", "-s", "1400", "127.0.0.1"),
            await privilege.run("mtu", NIC, "1;reboot"),
            await privilege.run("usb-mount", "da0"),
            await privilege.run("install", "da99"),
            await privilege.run("kernel-next", "no-such"),
            await privilege.run("sysctl", "kern.securelevel", "3"),
        ]

    ping, *refused = asyncio.run(use())
    assert ping.ok and "2 packets received" in ping.output, ping
    assert all(r.code == 2 for r in refused), refused
    began = time.monotonic()
    process = subprocess.Popen(
        privilege.command("ping", "-c", "1000", "-i", "0.05", "127.0.0.1"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout and process.stdin
    process.stdout.readline()
    process.stdin.close()
    assert b"packets transmitted" in process.stdout.read()
    process.wait(5)
    assert len(AUDIT.read_text().splitlines()) >= 8
    return [r.reason for r in refused], f"{time.monotonic() - began:.2f} s from start to end"


def examined() -> object:
    found = doctor.examine()
    assert {"cores", "storage", "socket buffers"} <= {f.title for f in found}
    return "\n          ".join(f"{f.state} {f.title}: {f.detail}" for f in found)


for test in (
    facts,
    the_window_limit_is_granted,
    core_times,
    sampler,
    counters,
    datagrams_for_a_full_socket,
    listeners_and_sockets,
    addresses,
    a_child_dies_with_its_parent,
    leases,
    a_killed_lease_is_put_back,
    the_undo_puts_a_killed_lease_back,
    a_setting_that_cannot_be_is_named,
    helper,
    examined,
):
    if not ONLY or test.__name__ in ONLY:
        check(test.__name__, test)
print(f"FAILED {failed}" if failed else "ok")
sys.exit(1 if failed else 0)
