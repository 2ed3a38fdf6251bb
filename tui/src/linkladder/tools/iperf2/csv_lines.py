"""Reads the CSV output of iperf 2 (-y C), whose columns differ between versions and with -e."""

from __future__ import annotations

import re

from linkladder.tools.iperf2.lines import LONGEST, MOST
from linkladder.tools.streams import Connection, Output, Row, Stream

LINE = re.compile(
    r"^(?:[+-]\d{4}:)?(\d{8})(\d\d)(\d\d)(\d\d(?:\.\d{1,6})?),([^,]{2,60}),(\d{1,5}),([^,]{2,60}),(\d{1,5}),(-?\d{1,6}),"
    r"(\d{1,9}\.\d{1,6})[-,](\d{1,9}\.\d{1,6}),(\d{1,19}),(\d{1,19})((?:,[^,]{0,30}){0,20})$"
)
DAY = 86400
APART = 2.5  # seconds by which the flows' starts may differ; some versions print times in whole seconds
FLOWS = re.compile(r" (?:-P|--parallel)[ =]?(\d{1,4})\b")  # of the command, if it is there
UDP = re.compile(r"^,(\d{1,12}\.\d+),(\d{1,12}),(\d{1,12}),-?\d+\.\d+,\d{1,12}$")


def looks_like(text: str) -> bool:
    return any(LINE.match(line.strip()) for line in text.splitlines())


def parse(text: str) -> Output:
    """The rows of each connection; CSV does not tell sent from received, so all rows count as sent."""
    out = Output("client")
    streams: dict[tuple[str, str, int, int], Stream] = {}
    starts: list[float] = []
    for line in text.splitlines():
        line = line.strip()
        match = LINE.match(line)
        if not match:
            if line.startswith("$ ") and (flows := FLOWS.search(line)):
                out.flows = int(flows[1])
            if line and not line.startswith(("$ ", "rc=", "time,")):
                out.foreign.append(line)
                if line.count(",") > 5:
                    out.mixed = out.mixed or "one of its rows is not whole"
            continue
        *moment, local, local_port, remote, remote_port, number, start, end, amount, rate, rest = match.groups()
        if int(number) < 0 or int(local_port) == 0:
            if float(start) == 0.0:
                out.sum = max(out.sum, float(amount))
            continue
        row = _row(number, float(start), float(end), int(amount), int(rate), rest)
        if row is None:
            out.foreign.append(line)
            continue
        key = (number, local, int(local_port), int(remote_port))
        begun = int(moment[1]) * 3600 + int(moment[2]) * 60 + float(moment[3]) - row.end
        if key not in streams:
            if any(s.finished for s in out.streams) or any(
                APART < abs(begun - other) < DAY - APART for other in starts
            ):
                out.mixed = "its flows do not begin together: it holds more than one run"
            starts.append(begun)
            streams[key] = Stream(Connection(number, local, int(local_port), remote, int(remote_port)))
            out.streams.append(streams[key])
        out.protocol = "udp" if row.kind == "udp" else out.protocol
        reported = row.kind == "udp" and any(r.kind == "plain" for r in streams[key].tx.rows)  # the peer's report
        streams[key].series("report" if reported else "tx").add(row)
    return out


def _row(number: str, start: float, end: float, amount: int, rate: int, rest: str) -> Row | None:
    span = end - start
    if not 0 <= span <= LONGEST or amount > MOST:
        return None
    if span >= 0.5 and abs(amount * 8 - rate * span) > max(amount * 8, rate * span) * (0.02 + 0.11 / span) + 8:
        return None
    if udp := UDP.match(rest):
        lost, datagrams = int(udp[2]), int(udp[3])
        if lost > datagrams:
            return None
        return Row(
            number, False, start, end, amount, True, "udp", jitter_ms=float(udp[1]), lost=lost, datagrams=datagrams
        )
    return Row(number, False, start, end, amount, True, "plain")
