"""A path made in user space, where the kernel has no netem: two TUN devices and a process that carries packets between.

    python relay.py NETNS_A ADDRESS_A NETNS_B ADDRESS_B [--delay MS] [--rate BPS] [--queue BYTES] [--loss SHARE]
                    [--mtu N]

Each end sees a point-to-point interface `relay0`.  Delay is one way and both ways get it; rate (of IP bytes) and its
queue, loss and the MTU (larger packets vanish) hold for each way on its own.  It carries about 200 Mb/s of 1500-byte
packets.  It says "ready" when the interfaces are up, and ends with its standard input.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field

TUNSETIFF = 0x400454CA
TUN_NO_PI = 0x0001 | 0x1000
CLONE_NEWNET = 0x40000000
NAME = "relay0"


@dataclass
class Way:
    """One direction: when a packet may leave, and which never do."""

    out: int
    delay: float
    rate: float | None
    queue: int
    loss: float
    mtu: int
    free_at: float = 0.0  # when the bottleneck has sent what it holds
    waiting: list[tuple[float, int, bytes]] = field(default_factory=list)
    count: int = 0
    dropped: int = 0

    def take(self, packet: bytes, now: float) -> None:
        if len(packet) > self.mtu or (self.loss and random.random() < self.loss):
            self.dropped += 1
            return
        leaves = now
        if self.rate:
            start = max(now, self.free_at)
            if (start - now) * self.rate / 8 > self.queue:
                self.dropped += 1
                return
            leaves = self.free_at = start + len(packet) * 8 / self.rate
        self.count += 1
        heapq.heappush(self.waiting, (leaves + self.delay, self.count, packet))

    def give(self, now: float) -> None:
        while self.waiting and self.waiting[0][0] <= now:
            packet = heapq.heappop(self.waiting)[2]
            try:
                os.write(self.out, packet)
            except OSError:
                self.dropped += 1


def open_tun(netns: str, address: str, peer: str, mtu: int) -> int:
    """A TUN device inside the namespace, its file kept here."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{netns}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {netns}")
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", NAME.encode(), TUN_NO_PI))
        for argv in (
            ["ip", "addr", "add", address, "peer", peer, "dev", NAME],
            ["ip", "link", "set", NAME, "up", "mtu", str(mtu), "txqueuelen", "4000"],
        ):
            subprocess.run(argv, check=True)
    finally:
        libc.setns(home, CLONE_NEWNET)
        os.close(home)
        os.close(there)
    return device


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("netns_a", "address_a", "netns_b", "address_b"):
        parser.add_argument(name)
    parser.add_argument("--delay", type=float, default=0.0, help="ms, one way")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--queue", type=int, default=100_000)
    parser.add_argument("--loss", type=float, default=0.0)
    parser.add_argument("--mtu", type=int, default=1500, help="of the path; the interfaces say 1500")
    args = parser.parse_args()
    a = open_tun(args.netns_a, args.address_a, args.address_b, 1500)
    b = open_tun(args.netns_b, args.address_b, args.address_a, 1500)
    ways = {
        source: Way(out, args.delay / 1000, args.rate, args.queue, args.loss, args.mtu)
        for source, out in ((a, b), (b, a))
    }
    print("ready", flush=True)
    carry(ways)
    return 0


def carry(ways: dict[int, Way]) -> None:
    poll = select.poll()
    for device in ways:
        poll.register(device, select.POLLIN)
    poll.register(0, select.POLLHUP | select.POLLIN)
    while True:
        due = min((w.waiting[0][0] for w in ways.values() if w.waiting), default=None)
        wait = None if due is None else max(0.0, (due - time.monotonic()) * 1000)
        for device, _ in poll.poll(wait):
            if device == 0:
                if not os.read(0, 1):
                    return
                continue
            way = ways[device]
            for _ in range(64):
                try:
                    packet = os.read(device, 65535)
                except BlockingIOError:
                    break
                way.take(packet, time.monotonic())
        now = time.monotonic()
        for way in ways.values():
            way.give(now)


if __name__ == "__main__":
    sys.exit(main())
