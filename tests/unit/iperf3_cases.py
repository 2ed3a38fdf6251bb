"""iperf3's captured trials: what was asked of each, and what it comes to."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from linkladder import tools
from linkladder.model import Direction, Experiment, Outcome, Protocol
from linkladder.tools import Expectation, ToolVersions

CAPTURES = Path(__file__).parents[1] / "captures"
VERSIONS = ("3.12", "3.17.1", "3.21")
EACH = pytest.mark.parametrize("version", VERSIONS)
ENDS = ("3.12", "3.21")
BOTH = pytest.mark.parametrize("version", ENDS)
HAVE = ToolVersions({"iperf3": "3.21"})
TCP = Experiment("x", "iperf3", warmup=1, duration=1)
UDP = replace(TCP, protocol=Protocol.UDP, streams=2, udp_rate_bps=40e6, write_size=1400)
LONG = replace(TCP, streams=2, duration=2)
R, D = Direction.REVERSE, Direction.DUPLEX
ASKED = {
    "tcp-p2": replace(TCP, streams=2),
    "reverse-p2": replace(TCP, streams=2, direction=R),
    "bidir-p2": replace(TCP, streams=2, direction=D, client_port=40000),
    "window": replace(TCP, window=300000),
    "windowbig": replace(TCP, window=64 << 20),
    "cport": replace(TCP, streams=3, client_port=40001),
    "udp-p2": UDP,
    "udp-reverse": replace(UDP, direction=R),
    "linkdown": LONG,
    "linkdown-reverse": replace(LONG, direction=R),
    "udpdown": replace(UDP, duration=2),
    "flap": replace(LONG, duration=3),
}
GOOD = ("tcp-p2", "reverse-p2", "bidir-p2", "window", "cport", "udp-p2", "udp-reverse")
ADDRESSES = Expectation("10.91.0.1", "10.91.0.2", 5301)


def read(version: str, name: str, end: str) -> str:
    path = CAPTURES / f"iperf3-{version}" / f"{name}.{end}"
    return path.read_text() if path.exists() else ""


def verdict(exp: Experiment, server: str, client: str, errors: str = "", **known: Any) -> Outcome:
    expect = replace(ADDRESSES, **known)
    return tools.finish(exp, tools.layout(exp, HAVE, HAVE), (server, ""), ((client, errors),), expect)


def trial(version: str, name: str, **known: Any) -> Outcome:
    exp = ASKED.get(name, TCP if name in ("badbind", "badbindserver", "badopt", "synlost") else LONG)
    client = read(version, name, "client.txt")
    known.setdefault("exit_codes", (1 if '"error"' in client else 0,))
    where = tools.layout(exp, HAVE, HAVE)
    server = read(version, name, "server.txt"), read(version, name, "server.err")
    return tools.finish(exp, where, server, ((client, read(version, name, "client.err")),), replace(ADDRESSES, **known))


def summed(version: str, name: str, end: str, sender: bool) -> list[int]:
    """Bytes of each stream over the second second, read independently: by socket, from the entries' own words."""
    found = re.findall(
        r'"socket":\s*(\d+),\s*"start":\s*(1\.0\d*),\s*"end":\s*(?:1\.9\d*|2\.\d*),\s*"seconds":\s*[\d.]+,'
        r'\s*"bytes":\s*(\d+),[^{}]*?"sender":\s*(true|false)',
        read(version, name, end),
    )
    return sorted({int(socket): int(count) for socket, _, count, who in found if who == str(sender).lower()}.values())
