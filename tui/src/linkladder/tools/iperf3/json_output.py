"""Reads iperf3's JSON, one text or a stream of events, into what each end printed about its streams.

Figures count only if bytes, time and rate of an entry agree; an entry that contradicts itself spoils its stream.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from linkladder.model import LEFT_OUT, Direction, Experiment, Protocol
from linkladder.tools.streams import Connection, Output, Row, Stream

LONGEST = 1e7  # seconds
MOST = 1 << 60  # the most bytes that one entry may have
MOST_BROKEN = 200  # parts that are not whole, after which no more is read
AFTERWARDS = 0.019  # share of the datagrams that may come after the last second was closed
LATENESS = 0.25  # seconds by which a busy end may close a second too late, as its timer and its sending share a thread
UNPRINTED = 0.1  # seconds; a shorter span without bytes is not printed (interval_ok in iperf_api.c)
Record = dict[str, Any]


@dataclass
class Report:
    """Everything that one process printed."""

    output: Output
    errors: list[str] = field(default_factory=list)
    runs: int = 0
    start: Record = field(default_factory=dict)  # `test_start` of the run
    system: str = ""  # "Linux" | "FreeBSD" | ""
    streams: dict[int, Stream] = field(default_factory=dict)  # by socket
    rows: dict[int, list[Row]] = field(default_factory=dict)
    totals: dict[int, Row] = field(default_factory=dict)
    left_out: bool = False  # the lines of some seconds were not kept
    broken: bool = False  # a part of its JSON is not whole
    running: bool = False  # the run has begun, and its end is not told yet
    cut: str = ""  # what ended the run before its time


SECOND = re.compile(r'^\{"event":\s*"interval",.*?"start":\s*(\d{1,9}(?:\.\d+)?)')


def second(line: str) -> float | None:
    """The start in seconds of the second that an event reports; None for the older form, which is one text."""
    match = SECOND.match(line)
    return float(match[1]) if match else None


def start_in_short(line: str) -> str:
    """Of the event that starts a run, what each of its seconds is read with; the whole is long, and is read once."""
    try:
        data = json.loads(line)["data"]
        kept = {"connected": data["connected"][:1], "test_start": {"protocol": data["test_start"]["protocol"]}}
    except (ValueError, KeyError, TypeError, RecursionError):
        return line
    return json.dumps({"event": "start", "data": kept})


def parse(text: str, role: Literal["client", "server", ""] = "") -> Report:
    report = Report(Output(role), left_out=LEFT_OUT in text)
    for kind, data in _events(text, report):
        if kind in ("interval", "end") and data and not report.running:
            report.broken = report.broken or bool(report.runs)
        if kind == "start" and isinstance(data, dict):
            _start(report, data)
        elif kind == "interval" and isinstance(data, dict):
            for entry in _list(data.get("streams")):
                _interval(report, entry)
        elif kind == "end" and isinstance(data, dict):
            report.running = False
            _end(report, data)
        elif kind == "error" and isinstance(data, str):
            report.errors.append(" ".join(data.split())[:500])
            report.cut = report.cut or (report.errors[-1] if report.running else "")
    for number, stream in report.streams.items():
        _settle(stream, report.rows.get(number, []), report.totals.get(number), report.left_out)
    return report


def _settle(stream: Stream, rows: list[Row], total: Row | None, left_out: bool) -> None:
    """Add the rows in order. iperf3 omits spans in which nothing moved: those of less than a tenth of a second, which
    follow one that it closed late, and longer ones; these are added if the total shows that nothing is missing."""
    series = stream.tx if stream.only == "tx" else stream.rx
    whole = total is not None and sum(row.bytes for row in rows) == total.bytes
    before: Row | None = None
    for row in rows:
        gap = row.start - before.end if before else 0.0
        if before and series.apart < gap and (gap < UNPRINTED or whole):
            series.add(replace(row, start=before.end, end=row.start, bytes=0, lost=None, datagrams=None))
        series.left_out = left_out and not whole
        series.add(row)
        before = row
    series.final = total if rows else None
    series.fill()


def _single(pairs: list[tuple[str, Any]]) -> Record:
    """An object as its keys and values; ValueError if a key is there twice with two values."""
    made: Record = {}
    for key, value in pairs:
        if made.get(key, value) != value:
            raise ValueError(f"{key} is there twice")
        made[key] = value
    return made


_DECODER = json.JSONDecoder(parse_constant=lambda _: None, object_pairs_hook=_single)


def _events(text: str, report: Report) -> Iterator[tuple[str, Any]]:
    """The (kind, data) pairs of both forms; text that is not JSON is added to `foreign`."""
    at = failed = 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            line_end = text.find("\n", at)
            line_end = len(text) if line_end < 0 else line_end
            report.output.foreign.append(text[at : min(line_end, at + 200)])
            report.broken, failed = True, failed + 1
            if failed > MOST_BROKEN:
                return
            at = line_end
            continue
        if not isinstance(value, dict):
            continue
        if isinstance(value.get("event"), str):
            yield value["event"], value.get("data")
            continue
        if not any(isinstance(value.get(key), (dict, str)) for key in ("start", "end", "error")):
            report.broken = True
        yield "start", value.get("start")
        for interval in _list(value.get("intervals")):
            yield "interval", interval
        if "error" in value:
            yield "error", value["error"]
        yield "end", value.get("end")


def _start(report: Report, data: Record) -> None:
    output = report.output
    connected = [c for c in _list(data.get("connected")) if isinstance(c, dict)]
    if not connected:
        return
    report.runs, report.running = report.runs + 1, True
    report.start = data["test_start"] if isinstance(data.get("test_start"), dict) else {}
    report.system = next((s for s in ("Linux", "FreeBSD") if str(data.get("system_info", "")).startswith(s)), "")
    if not output.role and "accepted_connection" in data:
        output.role = "server"
    elif not output.role and "connecting_to" in data:
        output.role = "client"
    output.protocol = "udp" if report.start.get("protocol") == "UDP" else "tcp"
    for one in connected:
        number = _whole(one.get("socket"))
        ports = _whole(one.get("local_port")), _whole(one.get("remote_port"))
        if number is None or ports[0] is None or ports[1] is None:
            continue
        local, remote = (str(one.get(key, ""))[:80] for key in ("local_host", "remote_host"))
        _stream(report, number, Connection(str(number), _bare(local), ports[0], _bare(remote), ports[1]))
    asked = _whole(data.get("sock_bufsize"))
    granted = [_whole(data.get(key)) for key in ("sndbuf_actual", "rcvbuf_actual")]
    if asked and granted[0] is not None and granted[1] is not None:
        output.window = min(granted[0], granted[1])


def _stream(report: Report, number: int, connection: Connection) -> Stream:
    stream = report.streams[number] = Stream(connection)
    for series in (stream.rx, stream.tx):
        series.lateness, series.summary = LATENESS, True
    report.output.streams.append(stream)
    return stream


def _bare(address: str) -> str:
    """The address without its zone; an IPv4 address that is written as an IPv6 one becomes plain IPv4."""
    address = address.split("%")[0]
    return address.removeprefix("::ffff:") if address.lower().startswith("::ffff:") and "." in address else address


def _interval(report: Report, entry: Any) -> None:
    if not isinstance(entry, dict) or entry.get("omitted"):
        return
    number = _whole(entry.get("socket"))
    row = _row(entry, report.output.protocol == "udp")
    if number is None:
        report.output.foreign.append(json.dumps(entry)[:200])
        return
    stream = report.streams.get(number) or _stream(report, number, Connection(str(number), "", 0, "", 0))
    stream.only = "tx" if entry.get("sender") is True else "rx"
    if "packets" in entry and report.output.protocol != "udp":
        stream.series(stream.only).conflict = "it counts datagrams, and nothing says that it is UDP"
        return
    if row is None:
        stream.series(stream.only).conflict = "its figures contradict each other"
        return
    rows = report.rows.setdefault(number, [])
    if not rows or row != rows[-1]:  # after an error iperf3 repeats the last one
        rows.append(row)


def _row(entry: Record, udp: bool) -> Row | None:
    """The figures of one stream in one span, or None if they contradict each other."""
    start, end, rate = (_number(entry.get(key)) for key in ("start", "end", "bits_per_second"))
    count = _whole(entry.get("bytes"))
    if start is None or end is None or rate is None or count is None or not 0 <= end - start <= LONGEST or count > MOST:
        return None
    span = end - start
    if span >= 0.01 and not _makes(count, rate, span):
        return None
    lost, packets = _whole(entry.get("lost_packets")), _whole(entry.get("packets"))
    if udp and "lost_packets" in entry and not _agrees(lost, packets, entry.get("lost_percent")):
        return None
    jitter = _number(entry.get("jitter_ms"))
    rtt, cwnd, again = (_whole(entry.get(key)) for key in ("rtt", "snd_cwnd", "retransmits"))
    return Row(
        str(entry.get("socket")),
        False,
        start,
        end,
        count,
        True,
        "udp" if udp else "plain",
        again,
        rtt / 1000 if rtt else None,
        cwnd,
        jitter,
        lost,
        packets,
    )


def _makes(count: int, rate: float | None, span: float) -> bool:
    """Whether `count` bytes in `span` seconds make the rate in bits per second."""
    if rate is None or span <= 0:
        return False
    return abs(count * 8 - rate * span) <= max(count * 8, rate * span) * (0.002 + 1e-4 / span) + 8


def _agrees(lost: int | None, packets: int | None, percent: Any) -> bool:
    """Whether a loss agrees with its percentage."""
    if lost is None or packets is None or lost > packets:
        return False
    stated = _number(percent)
    real = 100 * lost / packets if packets else 0.0  # from this end's count; the percentage is from the other end's
    return stated is None or packets == 0 or abs(stated - real) <= 0.01 + AFTERWARDS * real


def _end(report: Report, data: Record) -> None:
    """Read the totals. TCP has one for the sender and one for the receiver, as far as either end told the other."""
    for entry in _list(data.get("streams")):
        if not isinstance(entry, dict):
            continue
        for side in ("sender", "receiver", "udp"):
            if isinstance(total := entry.get(side), dict):
                _total(report, side, total)


def _total(report: Report, side: str, total: Record) -> None:
    number, end, count = _whole(total.get("socket")), _number(total.get("end")), _whole(total.get("bytes"))
    rows = report.rows.get(number) if number is not None else None
    if number is None or end is None or count is None or not rows:
        return
    stream = report.streams[number]
    mine = stream.series(stream.only or "rx")
    if abs(end - rows[-1].end) > LATENESS:
        mine.conflict = mine.conflict or f"its seconds end at {rows[-1].end:.2f} s, its total at {end:.2f} s"
    if side == "udp":
        _udp_total(report, number, total, end)
    elif (side == "sender") == (stream.only == "tx"):
        if not _makes(count, _number(total.get("bits_per_second")), end):
            mine.conflict = mine.conflict or "its total contradicts itself"
        again = _whole(total.get("retransmits"))
        report.totals[number] = Row(rows[0].flow, False, 0.0, end, count, True, "plain", again)
    elif stream.only == "tx" and count:  # 0 also stands for unknown
        if not _makes(count, _number(total.get("bits_per_second")), end):
            mine.conflict = mine.conflict or "what its receiver counted contradicts itself"
        stream.arrived = Row(rows[0].flow, False, 0.0, end, count, True, "plain")


def _udp_total(report: Report, number: int, total: Record, end: float) -> None:
    """Read a UDP flow's total; its bytes are the sum of its seconds, as iperf3 prints them only for all flows."""
    stream, rows = report.streams[number], report.rows[number]
    sent = stream.only == "tx"
    lost, packets = (_whole(total.get(key)) for key in ("lost_packets", "packets"))
    if sent:
        stream.sent = packets
        stream.arrived = _udp_arrived(rows[0].flow, total, end)
    elif not _agrees(lost, packets, total.get("lost_percent") or None):  # 0 also stands for unknown
        stated = f"{lost} lost of {packets} and {total.get('lost_percent')} %"
        stream.rx.conflict = f"its loss and the percentage of it do not agree: {stated}"[:160]
    counted = sum(row.datagrams or 0 for row in rows)
    # Datagrams that a busy receiver finds in its socket after its last second count in the total only.
    waiting = 0.0 if sent or packets is None or end <= 0 else packets * min(AFTERWARDS, 0.1 / end)
    moved = sum(row.bytes for row in rows)
    if report.left_out and packets is not None:
        moved = (packets - (lost or 0)) * (_whole(report.start.get("blksize")) or 0)
    elif packets is None or not counted - 2 - packets * 0.001 <= packets <= counted + 2 + max(waiting, packets * 0.001):
        series = stream.tx if sent else stream.rx
        series.conflict = series.conflict or f"its seconds have {counted} datagrams, its own total is {packets}"
    report.totals[number] = Row(
        rows[0].flow, False, 0.0, end, moved, True, "udp",
        jitter_ms=_number(total.get("jitter_ms")), lost=None if sent else lost, datagrams=packets,
    )  # fmt: skip


def _udp_arrived(flow: str, total: Record, end: float) -> Row | None:
    """What the receiver of a UDP flow told its sender; None if it told nothing: a jitter of 0 stands for that."""
    lost, packets = _whole(total.get("lost_packets")), _whole(total.get("packets"))
    jitter, sent = _number(total.get("jitter_ms")), _whole(total.get("bytes"))
    if not jitter or not sent or not packets or lost is None:
        return None
    if not _makes(sent, _number(total.get("bits_per_second")), end):
        return None
    if not _agrees(lost, packets, total.get("lost_percent")):
        return None
    count = sent * (packets - lost) // packets
    return Row(flow, False, 0.0, end, count, True, "udp", jitter_ms=jitter, lost=lost, datagrams=packets)


def disagreement(exp: Experiment, report: Report) -> str:
    """How what the tool says it did differs from what it was asked to do; '' if it does not."""
    start = report.start
    if not start:
        return ""
    wanted = {
        "protocol": "UDP" if exp.protocol == Protocol.UDP else "TCP",
        "num_streams": exp.streams,
        "omit": 0,
        "reverse": int(exp.direction == Direction.REVERSE),
        "tos": exp.dscp << 2,
    }
    if exp.protocol == Protocol.UDP and exp.write_size:
        wanted["blksize"] = exp.write_size
    wrong = [(key, start[key], value) for key, value in wanted.items() if start.get(key, value) != value]
    return "; ".join(f"{key} is {found} and not {value}" for key, found, value in wrong)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST else None


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return float(value) if 0 <= value <= 1e30 else None
