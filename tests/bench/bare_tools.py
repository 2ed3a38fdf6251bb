"""Load programs by themselves, with the options that make them strong: the appliance's own setting is held against the
best of them, in the lab and between machines.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from linkladder.judge.stats import half_width

WARMUP, SECONDS, PORT = 1, 3, 5299
BEST, LOOKS = 3, 2  # how many go on after the first look, and how often each is then looked at to choose one
TURNS = 12  # in which that one and ours are compared
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
    """What our setting carried and what the strongest of the others did, measured in turn."""

    ours: tuple[float, ...]
    best: str
    alone: tuple[float, ...]  # of the best one, each beside ours of the same turn
    first: dict[str, tuple[float, ...]]  # the looks at each by which the best was chosen; they count for nothing else

    @property
    def ratio(self) -> float:
        """The geometric mean of the turns' ratios."""
        return math.exp(statistics.fmean(self._logarithms))

    @property
    def interval(self) -> tuple[float, float]:
        """Where the ratio is with 95 % confidence, by Student's t of the turns."""
        reach = half_width(self._logarithms) or math.inf
        return self.ratio * math.exp(-reach), self.ratio * math.exp(reach)

    @property
    def _logarithms(self) -> list[float]:
        return [math.log(mine / other) for mine, other in zip(self.ours, self.alone, strict=True)]

    def __str__(self) -> str:
        low, high = self.interval
        return "\n".join(
            [
                *(f"{name:<24} looks {_rates(looks)}" for name, looks in self.first.items()),
                f"{'ours':<24} {_rates(self.ours)}",
                f"{self.best:<24} {_rates(self.alone)}",
                f"{self.ratio:.3f} ({low:.3f} to {high:.3f}) of the best alone: {self.best}",
            ]
        )


def _rates(values: Sequence[float]) -> str:
    return " ".join(f"{value / 1e9:6.2f}" for value in values) + " Gb/s"


def side_by_side(tools: Sequence[str], ours: Callable[[], float], alone: Callable[[str, list[str]], float]) -> Beside:
    """One look at every tool with all its options, more at the best of them, then the strongest and ours in turn.

    Only the turns are compared: what was chosen as the largest of several figures is large by chance, too.
    """
    settings = {" ".join([tool, *options]): (tool, options) for tool in tools for options in OPTIONS[tool]}
    first = {name: [alone(*setting)] for name, setting in settings.items()}
    better = sorted(first, key=lambda name: -first[name][0])[:BEST]
    for name in [*better, *reversed(better)] * (LOOKS // 2):
        first[name].append(alone(*settings[name]))
    best = max(better, key=lambda name: statistics.fmean(first[name][1:]))
    mine: list[float] = []
    others: list[float] = []
    for number in range(TURNS):
        for is_ours in (number % 2 == 0, number % 2 == 1):
            if is_ours:
                mine.append(ours())
            else:
                others.append(alone(*settings[best]))
    return Beside(tuple(mine), best, tuple(others), {name: tuple(looks) for name, looks in first.items()})
