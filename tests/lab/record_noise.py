"""Records trials of one and the same setting, over and over: the noise that tests/unit/recorded_noise.py draws from.

    sudo python tests/lab/record_noise.py 100 > tests/captures/noise/two-namespaces.csv
    sudo python tests/lab/record_noise.py 20 --path plain --seconds 5 60 5 > tests/captures/noise/longer-trials.csv

Between two network namespaces of its own are three paths: `plain`, as fast as the machine is; `shaped`, a token bucket
of 1 Gb/s; and `lossy`, one of 500 Mb/s where one packet in 2500 is dropped. In each round they take turns, and on each
path the lengths do.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from typing import IO

HERE, THERE = (f"sn{os.getpid()}{end}" for end in "ab")
NETS = {"plain": "10.91.1", "shaped": "10.91.2", "lossy": "10.91.3"}
RATES = {"shaped": "1gbit", "lossy": "500mbit"}
DROPS = (
    "add table inet noise",
    "add chain inet noise input { type filter hook input priority 0; }",
    'add rule inet noise input iifname "lossy1" numgen random mod 2500 < 1 drop',
)


def run(*words: str) -> None:
    subprocess.run(words, check=True)


def start(space: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(["ip", "netns", "exec", space, *words], stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    out: IO[str] | None = process.stdout
    return out.read() if out else ""


def used(process: subprocess.Popen[str]) -> float:
    """Seconds of CPU of a process, once it has ended."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def segments() -> tuple[int, int]:
    """Segments sent so far, and those sent again."""
    counters = start(HERE, "cat", "/proc/net/snmp")
    names, values = (line.split() for line in said(counters).splitlines() if line.startswith("Tcp:"))
    counters.wait()
    both = dict(zip(names, values, strict=True))
    return int(both["OutSegs"]), int(both["RetransSegs"])


def pings(address: str, interval: float) -> subprocess.Popen[str]:
    return start(HERE, "ping", "-n", "-c", "10", "-i", str(interval), address)


def median_ms(ping: subprocess.Popen[str]) -> float:
    times = re.findall(r"time=([\d.]+)", ping.communicate()[0])
    return statistics.median(float(one) for one in times)


def trial(path: str, seconds: int) -> dict[str, str]:
    address = f"{NETS[path]}.2"
    idle = median_ms(pings(address, 0.02))
    server = start(THERE, "iperf", "-s", "-f", "k", "-B", address)
    time.sleep(0.25)
    before, beside, began = segments(), pings(address, seconds / 10), time.monotonic()
    sent = used(start(HERE, "iperf", "-c", address, "-t", str(seconds), "-l", "128K"))
    took, after = time.monotonic() - began, segments()
    server.send_signal(signal.SIGINT)
    kbps = float(re.findall(r"([\d.]+) Kbits/sec", said(server))[-1])
    made, again = (later - earlier for earlier, later in zip(before, after, strict=True))
    return {
        "path": path,
        "seconds": str(seconds),
        "bps": f"{1000 * kbps:.0f}",
        "sender_cores": f"{sent / took:.4g}",
        "receiver_cores": f"{used(server) / took:.4g}",
        "segments": str(made),
        "retransmits": str(again),
        "idle_ms": f"{idle:.4g}",
        "loaded_ms": f"{median_ms(beside):.4g}",
    }


def build() -> None:
    for path, net in NETS.items():
        run("ip", "link", "add", f"{path}0", "netns", HERE, "type", "veth", "peer", "name", f"{path}1", "netns", THERE)
        for end, space in enumerate((HERE, THERE)):
            run("ip", "-n", space, "address", "add", f"{net}.{end + 1}/24", "dev", f"{path}{end}")
            run("ip", "-n", space, "link", "set", f"{path}{end}", "up")
    for path, rate in RATES.items():
        bucket = ("tbf", "rate", rate, "burst", "256k", "latency", "5ms")
        run("tc", "-n", HERE, "qdisc", "add", "dev", f"{path}0", "root", *bucket)
    for rule in DROPS:
        run("ip", "netns", "exec", THERE, "nft", rule)


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("rounds", type=int)
    asked.add_argument("--path", choices=NETS, nargs="+", default=list(NETS))
    asked.add_argument("--seconds", type=int, nargs="+", default=[2])
    args = asked.parse_args()
    for space in (HERE, THERE):
        run("ip", "netns", "add", space)
        run("ip", "-n", space, "link", "set", "lo", "up")
    try:
        build()
        rows = csv.DictWriter(sys.stdout, trial("plain", 2), lineterminator="\n")
        rows.writeheader()
        for _ in range(args.rounds):
            for path in args.path:
                for seconds in args.seconds:
                    rows.writerow(trial(path, seconds))
                    sys.stdout.flush()
    finally:
        for space in (HERE, THERE):
            run("ip", "netns", "delete", space)


if __name__ == "__main__":
    main()
