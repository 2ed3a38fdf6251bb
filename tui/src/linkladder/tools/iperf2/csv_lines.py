"""Reads the CSV output of iperf 2 (-y C), whose columns differ between versions and with -e.

Older versions print this end first, 2.1 and newer the end that sends; neither says which end wrote the rows.
"""

from __future__ import annotations

import re

from linkladder.tools.iperf2.lines import LONGEST, MOST
from linkladder.tools.streams import Connection, Output, Row, Series, Stream

LINE = re.compile(
    r"^(?:[+-]\d{4}:)?(\d{8})(\d\d)(\d\d)(\d\d(?:\.\d{1,6})?),([^,]{2,60}),(\d{1,5}),([^,]{2,60}),(\d{1,5}),(-?\d{1,6}),"
    r"(\d{1,9}\.\d{1,6})[-,](\d{1,9}\.\d{1,6}),(\d{1,19}),(\d{1,19})((?:,[^,]{0,30}){0,20})$"
)
DAY = 86400
APART = 2.5  # seconds by which the flows' starts may differ; some versions print times in whole seconds
APART_ROWS = 0.06  # seconds: times have one decimal
FLOWS = re.compile(r" (?:-P|--parallel)[ =]?(\d{1,4})\b")  # of the command, if it is there
UDP = re.compile(r"^,(\d{1,12}\.\d+),(\d{1,12}),(\d{1,12}),-?\d+\.\d+,\d{1,12}(?:,[^,]*)*$")
UDP_SENT = re.compile(r"^,-?(?:nan|\d{1,12}\.\d+),\d{1,12},-1,-?\d+\.\d+,\d{1,12}(?:,[^,]*)*$")  # a sender's total
PART = re.compile(r"^(?:[+-]\d{4}:)?\d{4,14}\b|^[\d.,:-]{3,}$")
SENT = "these are the sender's rows of UDP: nobody knows what arrived"
NOT_WHOLE = "one of its rows is not whole"
BOTH_WAYS = "its flows ran both ways, which rows without words do not tell apart"
NO_TIME = "19700101"  # the day of a row whose moment some versions do not print
ONE_WAY = "its rows tell neither which end wrote them, nor which way it went, nor how many flows there were"


def looks_like(text: str) -> bool:
    return any(LINE.match(line.strip()) for line in text.splitlines())


def parse(text: str) -> Output:
    """The rows of each connection; CSV does not tell sent from received, so all rows count as sent."""
    out = Output("client")
    streams: dict[tuple[str, str, int, int], Stream] = {}
    starts: list[float] = []
    days: set[str] = set()
    sent = False
    out.note = ONE_WAY
    for line in text.splitlines():
        line = line.strip()
        match = LINE.match(line)
        if not match:
            if line.startswith("$ ") and (flows := FLOWS.search(line)):
                out.flows = int(flows[1])
            if line and not line.startswith(("$ ", "rc=", "time,")):
                out.foreign.append(line)
                if line.count(",") > 5 or PART.match(line):
                    out.mixed = out.mixed or NOT_WHOLE
            continue
        *moment, local, local_port, remote, remote_port, number, start, end, amount, rate, rest = match.groups()
        if int(remote_port) == 0 and int(number) >= 0:
            out.mixed = out.mixed or BOTH_WAYS
        if int(number) < 0 or int(local_port) == 0:
            if float(start) == 0.0:
                out.sum = max(out.sum, float(amount))
            continue
        row = _row(number, float(start), float(end), int(amount), int(rate), rest)
        if row is None:
            out.mixed = out.mixed or NOT_WHOLE
            continue
        days.add(moment[0])
        if UDP_SENT.match(rest):
            out.protocol, sent = "udp", True
        key = (number, local, int(local_port), int(remote_port))
        begun = int(moment[1]) * 3600 + int(moment[2]) * 60 + float(moment[3]) - float(end)
        if key not in streams:
            if any(s.finished for s in out.streams) or any(
                APART < abs(begun - other) < DAY - APART for other in starts
            ):
                out.mixed = "its flows do not begin together: it holds more than one run"
            starts.append(begun)
            each = Series(apart=APART_ROWS), Series(apart=APART_ROWS), Series(apart=APART_ROWS)
            streams[key] = Stream(Connection(number, local, int(local_port), remote, int(remote_port)), *each)
            out.streams.append(streams[key])
        out.protocol = "udp" if row.kind == "udp" else out.protocol
        reported = row.kind == "udp" and any(r.kind == "plain" for r in streams[key].tx.rows)  # the peer's report
        streams[key].series("report" if reported else "tx").add(row)
    for stream in out.streams:
        if len({r.kind for r in (*stream.tx.rows, stream.tx.final) if r}) > 1:
            out.mixed = out.mixed or (SENT if sent else NOT_WHOLE)
    numbers = sorted(int(s.connection.flow) for s in out.streams)
    if numbers and not out.sum and numbers != list(range(numbers[0], numbers[-1] + 1)):
        out.mixed = out.mixed or "the rows of some of its flows are missing"
    made = [s.connection for s in streams.values()]
    ends = {c.local for c in made if c.local != c.remote} & {c.remote for c in made if c.local != c.remote}
    if ends or (len({c.local_port for c in made}) > 1 and len({c.remote_port for c in made}) > 1):
        out.mixed = out.mixed or BOTH_WAYS
    if len(made) > 1 and days == {NO_TIME} and not out.sum:
        out.mixed = out.mixed or "its rows have no time of day: nothing tells whether its flows ran at once"
    if sent:
        out.mixed = out.mixed or SENT
    return out


def _row(number: str, start: float, end: float, amount: int, rate: int, rest: str) -> Row | None:
    span = end - start
    if not 0 <= span <= LONGEST or amount > MOST:
        return None
    made = amount * 8 / rate if rate else span  # seconds; those that are printed have one digit
    if span >= 0.5 and abs(made - span) > (0.051 if start == 0 else 0.102) + 8 / max(1, rate):
        return None
    if start == 0.0 and span >= 0.5:
        end = made
    if udp := UDP.match(rest):
        lost, datagrams = int(udp[2]), int(udp[3])
        if lost > datagrams:
            return None
        return Row(
            number, False, start, end, amount, True, "udp", jitter_ms=float(udp[1]), lost=lost, datagrams=datagrams
        )
    return Row(number, False, start, end, amount, True, "plain")
