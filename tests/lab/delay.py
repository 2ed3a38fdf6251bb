"""The DC link's delay: by netem, or, where the kernel has none, by a process between two TUN devices.

The process (`ip netns exec NETNS python delay.py MS`) makes `delay0` and `delay1` in the router's namespace; what is
routed into one comes out of the other MS later.  Packets pass as large as the stack hands them over (up to 64 KB,
unsegmented), so that it carries gigabits; the router's ports join datagrams for that where the rate needs it.  It says
"ready", and whether it takes joined datagrams, and runs until it or its namespace is ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
TUN, NO_PI, VNET_HDR = 0x0001, 0x1000, 0x4000
OFFLOADS = 0x01 | 0x02 | 0x04  # checksums, TCP over IPv4 and IPv6
JOINED = 0x20 | 0x40  # UDP over IPv4 and IPv6, since Linux 6.2
ONE_BY_ONE = 3e8  # b/s up to which the process keeps up with single datagrams
JOIN_FOR = 100_000  # ns in which a router's port waits for more datagrams to join
LARGEST = 65536 + 10
NAMES = ("delay0", "delay1")
TABLES = {"alpha": ("delay0", "100"), "beta": ("delay1", "101")}  # where the router sends what comes from a site


class Delay:
    """`run(site, *argv, check=...)` runs a command in a lab's namespace; `space` is the name of the router's."""

    def __init__(self, run: Callable[..., Any], space: str) -> None:
        self._run, self._space = run, space
        self._process: subprocess.Popen[bytes] | None = None

    def put(self, round_trip_ms: float, rate: float = 0.0) -> str:
        """Half of it on each way of a link of so many b/s; what is left out, or done in another way, in words."""
        self._end()
        if not round_trip_ms:
            return ""
        half = f"{round_trip_ms / 2:g}"
        netem = ["root", "netem", "delay", f"{half}ms", "limit", "100000"]
        if all(
            self._run(site, "tc", "qdisc", "add", "dev", "dc0", *netem, check=False).returncode == 0 for site in TABLES
        ):
            return ""
        argv = ["ip", "netns", "exec", self._space, sys.executable, str(Path(__file__)), half]
        nothing = subprocess.DEVNULL  # it may outlive who started it, and must not hold the far end of a pipe open
        process = subprocess.Popen(argv, stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, start_new_session=True)
        assert process.stdout
        said = process.stdout.readline().split()
        if said[:1] != [b"ready"]:
            process.communicate()
            return "the delay: this kernel has neither netem nor TUN devices"
        self._process = process
        for site, (device, table) in TABLES.items():
            for family in ("-4", "-6"):
                self._run("net", "ip", family, "route", "replace", "default", "dev", device, "table", table)
                self._run("net", "ip", family, "rule", "add", "iif", f"d{site}", "table", table)
        way = "netem: this kernel has none, so a process of the lab delays the packets"
        if rate <= ONE_BY_ONE:
            return way
        if b"joined" in said and self._join("on"):
            return f"{way}, and loses some of a fast stream while the machine keeps it waiting"
        return f"{way}, and loses UDP of more than some {ONE_BY_ONE / 2e6:.0f} Mb/s: a FAIL for that is the lab's own"

    def _join(self, switch: str) -> bool:
        """Have the router's ports join datagrams of a flow, or no longer; did all of them?"""
        wait, apart = (JOIN_FOR, "off") if switch == "on" else (0, "on")  # for a site's card to count each by itself
        done = True
        for port in (f"d{site}" for site in TABLES):
            flags = ["gro", switch, "rx-udp-gro-forwarding", switch, "tx-udp-segmentation", apart]
            done &= self._run("net", "ethtool", "-K", port, *flags, check=False).returncode == 0
            for name, value in (("gro_flush_timeout", wait), ("napi_defer_hard_irqs", wait and 50)):
                told = f"echo {value} > /sys/class/net/{port}/{name}"
                done &= self._run("net", "sh", "-c", told, check=False).returncode == 0
        return done

    def stop(self) -> bool:
        """End the process; was there one?"""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()
        return process is not None

    def _end(self) -> None:
        for site in TABLES:
            self._run(site, "tc", "qdisc", "del", "dev", "dc0", "root", check=False)
        if self.stop():
            self._join("off")
            for site, (_, table) in TABLES.items():
                for family in ("-4", "-6"):
                    self._run("net", "ip", family, "rule", "del", "iif", f"d{site}", "table", table, check=False)


def open_tun(name: str) -> tuple[int, bool]:
    """The device, and whether it takes joined datagrams."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), TUN | NO_PI | VNET_HDR))
    joined = True
    try:
        fcntl.ioctl(device, TUNSETOFFLOAD, OFFLOADS | JOINED)
    except OSError:  # an older kernel
        fcntl.ioctl(device, TUNSETOFFLOAD, OFFLOADS)
        joined = False
    subprocess.run(["ip", "link", "set", name, "up", "mtu", "9216", "txqueuelen", "10000"], check=True)
    return device, joined


def carry(devices: tuple[int, int], delay: float) -> None:
    first, second = devices
    other = {first: second, second: first}
    waiting: deque[tuple[float, int, bytes]] = deque()  # every packet waits alike, so they leave in order
    poll = select.poll()
    for device in devices:
        poll.register(device, select.POLLIN)
    while True:
        wait = max(0.0, (waiting[0][0] - time.monotonic()) * 1000) if waiting else None
        for device, _ in poll.poll(wait):
            for _ in range(64):
                try:
                    packet = os.read(device, LARGEST)
                except BlockingIOError:
                    break
                waiting.append((time.monotonic() + delay, other[device], packet))
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, out, packet = waiting.popleft()
            try:
                os.write(out, packet)
            except OSError:
                continue  # the stack refused it: a lost packet


def main() -> None:
    with contextlib.suppress(OSError):
        os.nice(-20)  # a link does not wait for a core behind the tools that load it
    (first, joins), (second, _) = (open_tun(name) for name in NAMES)
    print("ready joined" if joins else "ready", flush=True)
    carry((first, second), float(sys.argv[1]) / 1000)


if __name__ == "__main__":
    main()
