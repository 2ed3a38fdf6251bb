"""Reads the lines of iperf 2.0.13 to 2.2.x, plain and enhanced: rows of figures, connections and headers.

A row counts only if it is whole and its bytes agree with its rate. Any other line is kept as foreign, so that two lines
which iperf's threads printed into each other never become a number.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from linkladder.model import LEFT_OUT
from linkladder.tools.streams import Channel, Connection, Output, Row, Stream

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # bytes, in powers of 1024
RATE_UNITS = {"": 1e0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}  # bits, in powers of 1000
LONGEST = 1e7  # seconds; a longer row comes from a broken clock of iperf
INEXACT = 0.005  # of a row's figures: iperf reads its clock for the time and for the rate one after the other
MOST = 1 << 60  # the most bytes that a row may have
AFTERWARDS = "a connection was made after others had ended: it holds more than one run"


ROW = re.compile(
    r"^\[ *(\*?)(\d{1,6})(?:\([^)\]]{0,40}\))?\] +(\d{1,9}\.\d{1,6})- *(\d{1,9}\.\d{1,6}) sec +"
    r"(\d{1,19}(?:\.\d{1,3})?) ([KMGT]?)Bytes +(\d{1,19}(?:\.\d{1,3})?) ([KMGT]?)(bits|Bytes)/sec(?: (.*))?$"
)
UDP_TAIL = re.compile(r"^\s*(\d{1,12}\.\d+) ms +(-?\d{1,12})/ *(\d{1,12}) +\((-?nan|\d[\d.e+-]{0,12})%\)(.*)$")
TRUNCATED = re.compile(r" \d+/\d+/([1-9]\d*) ")  # Read/Timeo/Trunc of 2.2: datagrams longer than what was read
READ_TAIL = re.compile(r"^\s*\d+(?:=| +)\d+(?::\d+){3,}\s*$")
WRITE_TAIL = re.compile(r"^\s*\d+/-?\d+(?:/-?\d+)?(?:\s+(.*))?$")
TCP_STATS = re.compile(
    r"^(-?\d+) +(?:\d+K?\(\d+\)/)?(-?\d+)(K?)(?:\(\d+\))?/(\d+)(?:\(\d+\))? us\b"  # retries, [in flight/]cwnd/rtt(var)
)
CONNECTED = re.compile(
    r"^\[ *\*?(\d{1,6})(?:\([^)\]]{0,40}\))?\] local (\S{1,80}) port (\d{1,5}) connected with (\S{1,80}) port (\d{1,5})"
    r"(?: (.*))?$"
)
CLIENT = re.compile(r"^Client connecting to (\S+), (TCP|UDP) port (\d+)(?:.*\((\d{1,4})(?:/\d{1,4})? flows?\b)?")
SERVER = re.compile(r"^Server listening on (TCP|UDP)(?: \(v6\))? port (\d+)")
BOUNCES = re.compile(r"^Bounce-back test|^\[ *\d{1,6}\] local .* \(bb ")
WINDOW = re.compile(
    r"^(?:TCP window|UDP buffer) size: +(\d+(?:\.\d+)?) ([KMG]?)Bytes?"
    r"(?: \((?:default|WARNING: requested +\d+(?:\.\d+)? [KMG]?Bytes?)\))?"
)
TOS = re.compile(r"^TOS (?:set|defaults) to 0x([0-9a-f]{1,2})\b")
READS = re.compile(r"^(?:Receiving (\d{1,6}) byte datagrams|Read buffer size: +(\d+(?:\.\d+)?) ([KM]?)Bytes?\b)")
SENDING = re.compile(r"^Sending (\d{1,6}) byte datagrams")
SENT = re.compile(r"^\[ *(\d{1,6})\] Sent (\d{1,15}) datagrams")
SUM = re.compile(r"^\[SUM(?:-\d{1,6})?\] +0\.0+- *(\d{1,9}\.\d{1,6}) sec +(\d{1,19}(?:\.\d{1,3})?) ([KMGT]?)Bytes ")
IGNORED = re.compile(
    r"^(?:\s*$|-{5,}|\$ |rc=|\[ *(?:ID|SUM|FD|CT)|\[SUM-|\[ *\*?\d+\].*(?:out-of-order|Server Report:)|Binding to local"
    r"|(?:Read|Write) buffer size|TOS |Sending \d+ byte|Receiving \d+ byte|TCP congestion|Server listening)"
)
SECOND = re.compile(
    r"^\[(?:SUM(?:-\d{1,6})?|FD\d{1,6}| *\*?\d{1,6}(?:\([^)\]]{0,40}\))?)\] +(\d{1,9}\.\d+)- *(\d{1,9}\.\d+) sec "
)


def second(line: str) -> float | None:
    """The start in seconds of the second that a row reports; None for a total and for other lines."""
    match = SECOND.match(line)
    return float(match[1]) if match and float(match[2]) - float(match[1]) <= 1.5 else None


def parse(text: str, role: Literal["client", "server", ""] = "") -> Output:
    """Read everything that a process printed; without a `role` its header tells it."""
    out = Output(role)
    reading = _Reading(out)
    for place, line in enumerate(map(str.rstrip, text.splitlines())):
        if BOUNCES.match(line):
            out.mixed = out.mixed or "it is a bounce-back test, which times questions and answers and measures no rate"
        known = reading.of_flow(line, place) if line.startswith("[") else reading.header(line)
        if not known and not IGNORED.match(line):
            out.foreign.append(line)
    for stream in out.streams:
        stream.fill()
    if reading.connected_late():
        out.mixed = out.mixed or AFTERWARDS
    if reading.headers > 1:
        out.mixed = "it begins more than once: it holds more than one run, or both ends of one"
    elif reading.header_late and not role:
        out.mixed = "its header comes after its figures: its lines are out of order"
    return out


class _Reading:
    """Takes lines in their order into an output; each method returns False for a line that tells it nothing."""

    def __init__(self, out: Output) -> None:
        self.headers = 0
        self.header_late = False  # one came after figures
        self._out = out
        self._current: dict[str, Stream] = {}  # by id, which stands for the connection that was announced last
        self._places: dict[int, list[int]] = {}  # by stream: the lines of its connection and of its last row

    def connected_late(self) -> bool:
        """Whether a connection was made after the last row of another."""
        begun = max((first for first, _ in self._places.values()), default=0)
        return any(0 <= last < begun for _, last in self._places.values())

    def of_flow(self, line: str, place: int) -> bool:
        """Take a line that begins with a flow's id in brackets."""
        out = self._out
        if row := parse_row(line):
            self._row(row, place)
        elif connection := parse_connection(line):
            self._connection(connection, place)
            out.duplex = out.duplex or "(full-duplex)" in line
        elif total := SUM.match(line):
            out.sum = max(out.sum, float(total[2]) * UNITS[total[3]])
        elif LEFT_OUT in line:
            out.left_out()
        elif (sent := SENT.match(line)) and sent[1] in self._current:
            self._current[sent[1]].sent = int(sent[2])
        else:
            return False
        return True

    def header(self, line: str) -> bool:
        out = self._out
        if match := CLIENT.match(line):
            self._begins("client", match[2], match[3])
            out.flows = int(match[4]) if match[4] else None
        elif match := SERVER.match(line):
            self._begins("server", match[1], match[2])
        elif match := TOS.match(line):
            out.tos = int(match[1], 16)
        elif match := SENDING.match(line):
            out.datagram = int(match[1])
        elif match := READS.match(line):
            out.buffer = int(match[1]) if match[1] else round(float(match[2]) * UNITS[match[3]])
        elif match := WINDOW.match(line):
            out.window = round(float(match[1]) * UNITS[match[2]])
        else:
            return False
        return True

    def _begins(self, role: Literal["client", "server"], protocol: str, port: str) -> None:
        out = self._out
        self.header_late = self.header_late or any(s.seen for s in out.streams)
        self.headers += 1
        out.role, out.protocol, out.port = out.role or role, "udp" if protocol == "UDP" else "tcp", int(port)

    def _row(self, row: Row, place: int) -> None:
        out, stream = self._out, self._current.get(row.flow)
        if stream is None:
            stream = self._current[row.flow] = Stream(Connection(row.flow, "", 0, "", 0))
            out.streams.append(stream)
        where = channel(row, out.role, stream.connection.reverse)
        stream.series(where).add(row)
        if not _belongs(row, where, stream.connection, out):
            out.mixed = out.mixed or "its lines are not of the run that its header tells of"
        self._places.setdefault(id(stream), [0, place])[1] = place

    def _connection(self, connection: Connection, place: int) -> None:
        out, old = self._out, self._current.get(connection.flow)
        if any(s.finished for s in out.streams) or (old and old.seen):
            out.mixed = AFTERWARDS
        stream = self._current[connection.flow] = Stream(connection)
        out.streams.append(stream)
        self._places[id(stream)] = [place, -1]


def parse_row(line: str) -> Row | None:
    """Read a row of one flow; None for any other line, also for SUM lines."""
    match = ROW.match(line)
    if not match:
        return None
    star, flow, first, last, amount, unit, rate, rate_unit, rate_kind, tail = match.groups()
    if _step(first) != _step(last):  # both are printed with as many digits
        return None
    start, end, count = float(first), float(last), float(amount) * UNITS[unit]
    bps = float(rate) * RATE_UNITS[rate_unit] if rate_kind == "bits" else float(rate) * UNITS[rate_unit] * 8
    taken = 0.5 * _step(amount) * UNITS[unit] * (unit != "" or "." in amount)  # bytes that rounding may have taken
    said = 0.5 * _step(rate) * (RATE_UNITS[rate_unit] if rate_kind == "bits" else UNITS[rate_unit] * 8)
    if not _plausible(start, end, count, bps, _step(last), taken, said):
        return None
    exact = unit == "" and rate_unit == ""
    number = int(amount) if exact and amount.isdecimal() else round(count)
    row = _with_tail(flow, bool(star), start, end, number, exact, tail or "")
    return replace(row, rounded=taken / count) if row and taken and count else row


def _belongs(row: Row, where: Channel, at: Connection, out: Output) -> bool:
    """Whether a row may be of a connection that the header and the connection's line tell of."""
    if row.kind == "udp" and out.protocol == "tcp":
        return False
    if not at.local or out.duplex or not out.role:
        return True
    receives = (out.role == "server") is not at.reverse
    return (where == "rx") is receives


def _step(printed: str) -> float:
    """What the last digit of a printed figure is worth."""
    return float(10.0 ** -len(printed.partition(".")[2]))


def _agrees(lost: int, datagrams: int, percent: str) -> bool:
    """Whether a loss agrees with its percentage, which is printed with two digits."""
    if "nan" in percent or lost < 0:
        return True
    stated, real = float(percent), 100 * lost / datagrams if datagrams else 0.0
    return abs(stated - real) <= max(stated, real) * 0.051 + 1e-4


def _plausible(
    start: float, end: float, count: float, bps: float, step: float, count_off: float, bps_off: float
) -> bool:
    """Whether time runs forwards and the bytes agree with the rate, as far as both are rounded; shows a wrong digit."""
    span = end - start
    if not 0 <= span <= LONGEST or count > MOST:
        return False
    if span < max(5 * step, 0.01):  # too short for the printed decimals to say anything
        return True
    rounding = 8 * count_off + bps_off * span + 1.1 * step * bps
    return abs(count * 8 - bps * span) <= max(count * 8, bps * span) * INEXACT + rounding + 8


def _with_tail(flow: str, star: bool, start: float, end: float, number: int, exact: bool, tail: str) -> Row | None:
    if match := UDP_TAIL.match(tail):
        try:
            if not _agrees(int(match[2]), int(match[3]), match[4]):
                return None
        except ValueError:  # the percentage is not a number
            return None
        lost, datagrams = max(0, int(match[2])), int(match[3])  # packets out of order can make it negative for a while
        if lost > datagrams:  # counters of a merged or broken report
            return Row(flow, star, start, end, number, exact, "udp")
        jitter = float(match[1])
        return Row(flow, star, start, end, number, exact, "udp", jitter_ms=jitter, lost=lost, datagrams=datagrams,
                   truncated=bool(TRUNCATED.search(match[5] + " ")))  # fmt: skip
    if READ_TAIL.match(tail):
        return Row(flow, star, start, end, number, exact, "read")
    if match := WRITE_TAIL.match(tail):
        stats = TCP_STATS.match(match[1] or "")
        if not stats:
            return Row(flow, star, start, end, number, exact, "write")
        retries, window = int(stats[1]), int(stats[2])
        cwnd = window * (1024 if stats[3] else 1) if window >= 0 else None
        rtt = int(stats[4]) / 1000
        return Row(flow, star, start, end, number, exact, "write", retries if retries >= 0 else None, rtt, cwnd)
    return Row(flow, star, start, end, number, exact, "plain")


def channel(row: Row, role: str, reverse: bool) -> Channel:
    """Whether the process that printed a row sent or received it, by the row's columns, else by its marks and role."""
    if row.kind == "read":
        return "rx"
    if row.kind == "write":
        return "tx"
    backwards = row.star or reverse  # payload from the server to the client
    if row.kind == "udp":
        return "report" if role == "client" and not backwards else "rx"
    if role == "server":
        return "tx" if backwards else "rx"
    return "rx" if backwards else "tx"


def parse_connection(line: str) -> Connection | None:
    """Read 'local A port P connected with B port Q'; a zone such as %lo is cut off."""
    match = CONNECTED.match(line)
    if not match:
        return None
    flow, local, local_port, remote, remote_port, rest = match.groups()
    if rest and rest.count("(") != rest.count(")"):  # it was cut off, and may have told the direction
        return None
    reverse = "(reverse)" in (rest or "")
    return Connection(flow, local.split("%")[0], int(local_port), remote.split("%")[0], int(remote_port), reverse)
