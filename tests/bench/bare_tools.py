"""Load programs by themselves, with the options that make them strong: the appliance's own setting is held against the
best of them, in the lab and between machines.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WARMUP, SECONDS, PORT = 1, 3, 5299
BEST, ROUNDS = 3, 4  # how many go on after the first look, and how often each is then measured
OPTIONS: dict[str, tuple[list[str], ...]] = {
    "iperf": (
        [],
        ["-l", "1M"],
        ["-w", "4M", "-l", "1M"],
        ["-P", "2"],
        ["-P", "2", "-l", "1M"],
        ["-P", "4", "-l", "4M"],
    ),
    "iperf3": ([], ["-l", "1M"], ["-Z"], ["-Z", "-l", "1M"], ["-P", "2", "-l", "1M"], ["-Z", "-w", "4M", "-l", "1M"]),
    "xfr": ([], ["-w", "4M"], ["--no-zerocopy"], ["-P", "2"], ["-P", "2", "-w", "4M"]),
}


def as_found_plan(rung: str) -> str:
    """A trial as long, by the setting that the appliance finds."""
    return f"""
name = "strongest"
[[experiment]]
rungs = ["{rung}"]
streams = "auto"
duration = {SECONDS}
warmup = {WARMUP}
"""


def serving(tool: str, address: str, options: list[str], port: int = PORT) -> list[str]:
    """The receiver's command; iperf 2 takes its own buffers from the options."""
    at = ["-p", str(port)]
    if tool == "xfr":
        return ["xfr", "serve", *at, "--bind", address, "--one-off", "--no-mdns"]
    if tool == "iperf3":
        return ["iperf3", "-s", "-B", address, *at, "-1"]
    own = options[2:] if options[:1] == ["-P"] else options
    return ["iperf", "-s", "-B", address, *at, "-e", "-i", "1", "-f", "b", *own]


def sending(tool: str, address: str, options: list[str], port: int = PORT) -> list[str]:
    if tool == "xfr":
        return [
            "xfr",
            address,
            "-p",
            str(port),
            "-t",
            f"{SECONDS + WARMUP}s",
            "--json",
            "--no-tui",
            "--no-update-check",
            *options,
        ]
    client = [tool, "-c", address, "-p", str(port), "-t", str(SECONDS + WARMUP), *options]
    return [*client, "-O", str(WARMUP), "-J"] if tool == "iperf3" else client


def received(tool: str, sender: str, receiver: str) -> float:
    """What the receiver got in bits a second, by what both printed; 0 where the tool does not run with its options."""
    if tool == "iperf":
        counted = re.findall(r"^\[ *\d+\] (\d+)\.\d+-\d+\.\d+ sec +(\d+) Bytes", receiver, re.M)
        return sum(int(size) for begin, size in counted if WARMUP <= int(begin) < WARMUP + SECONDS) * 8 / SECONDS
    said = json.loads(sender or "{}")
    if tool == "xfr":
        return float(said.get("throughput_mbps", 0.0)) * 1e6
    return float(said.get("end", {}).get("sum_received", {}).get("bits_per_second", 0.0))


@dataclass(frozen=True)
class Beside:
    """What our setting carried and what the best others did, measured in turn."""

    ours: tuple[float, ...]
    others: dict[str, tuple[float, ...]]
    first: dict[str, float]  # the one look at each by which the best were chosen; it counts for nothing else

    @property
    def best(self) -> str:
        return max(self.others, key=lambda name: statistics.median(self.others[name]))

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.others[self.best])

    def __str__(self) -> str:
        lines = [f"{name:<24} first look {bps / 1e9:6.2f} Gb/s" for name, bps in self.first.items()]
        for name, values in (("ours", self.ours), *self.others.items()):
            lines.append(f"{name:<24} {' '.join(f'{value / 1e9:6.2f}' for value in values)} Gb/s")
        return "\n".join([*lines, f"{self.ratio:.3f} of the best alone: {self.best}"])


def side_by_side(tools: Sequence[str], ours: Callable[[], float], alone: Callable[[str, list[str]], float]) -> Beside:
    """One look at every tool with all its options, then the best of them and ours in turn, there and back.

    Only the later figures are compared: the largest of many single looks is large by chance, too.
    """
    settings = {" ".join([tool, *options]): (tool, options) for tool in tools for options in OPTIONS[tool]}
    first = {name: alone(*setting) for name, setting in settings.items()}
    best = sorted(first, key=lambda name: -first[name])[:BEST]
    mine: list[float] = []
    others: dict[str, list[float]] = {name: [] for name in best}
    for number in range(ROUNDS):
        turn = ["", *best]
        for name in turn if number % 2 == 0 else reversed(turn):
            if name:
                others[name].append(alone(*settings[name]))
            else:
                mine.append(ours())
    return Beside(tuple(mine), {name: tuple(values) for name, values in others.items()}, first)
