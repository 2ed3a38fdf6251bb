"""Captured trials of two ends, as the engine would hand them over."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from linkladder import tools
from linkladder.model import Direction, Experiment, Outcome, Protocol
from linkladder.tools import Expectation, ToolVersions

MODERN = ToolVersions({"iperf": "2.1.8", "netperf": "2.7.0", "ping": "present"})
TWO_ENDS = Expectation("10.91.0.1", "10.91.0.2", 9400)
SHORT = Experiment("x", duration=1, warmup=1)
EXPERIMENTS = {
    "tcp-p2": replace(SHORT, streams=2, duration=2),
    "reverse-p2": replace(SHORT, streams=2, duration=2, direction=Direction.REVERSE),
    "duplex-p2": replace(SHORT, streams=2, duration=2, direction=Direction.DUPLEX),
    "window": replace(SHORT, window=800000),
    "windowbig": replace(SHORT, window=64 << 20),
    "badbind": SHORT,
    "badbindserver": SHORT,
    "badopt": SHORT,
    "serverkilled": replace(SHORT, streams=2, duration=3),
    "clientkilled": replace(SHORT, streams=2, duration=3),
    "clientterm": replace(SHORT, streams=2, duration=3),
    "linkdown": replace(SHORT, streams=2, duration=3),
    "flap": replace(SHORT, streams=2, duration=4),
    "udp-p2": replace(
        SHORT,
        protocol=Protocol.UDP,
        streams=2,
        duration=2,
        udp_rate_bps=40e6,
        write_size=1400,
    ),
    "udpdown": replace(
        SHORT,
        protocol=Protocol.UDP,
        streams=2,
        duration=3,
        udp_rate_bps=40e6,
        write_size=1400,
    ),
    "synlost": SHORT,
}


def read(folder: Path, name: str) -> str:
    path = folder / name
    return path.read_text() if path.exists() else ""


def trial(
    folder: Path,
    name: str,
    exp: Experiment | None = None,
    expect: Expectation = TWO_ENDS,
) -> Outcome:
    """The verdict on a captured trial."""
    exp = exp or EXPERIMENTS[name]
    out = read(folder, f"{name}.client.txt")
    code = re.search(r"^rc=(\d+)$", out, re.M)
    expect = replace(expect, exit_codes=(int(code[1]) if code else 0,))
    return tools.finish(
        exp,
        tools.layout(exp, MODERN, MODERN),
        (read(folder, f"{name}.server.txt"), read(folder, f"{name}.server.err")),
        ((out, read(folder, f"{name}.client.err")),),
        expect,
    )
