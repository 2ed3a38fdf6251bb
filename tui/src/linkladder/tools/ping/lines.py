"""Reads the output of ping on Linux and FreeBSD, IPv4 and IPv6: round trips, and what DF probes show of the MTU."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from linkladder.model import PathMtu, Rtt

REPLY = re.compile(  # matches whole lines only, so two lines that were printed into each other count as none
    r"^(?:\[\d{1,12}\.\d{6}\] )?\d{1,6} bytes from (\S{1,80}?(?: \(\S{1,80}\))?)[:,] icmp_seq=(\d{1,9}) "
    r"(?:ident=\d{1,6} )?(?:(?:ttl|hlim)=\d{1,3} )?time[=<](\d{1,9}(?:\.\d{1,6})?) ms( ?\(DUP!\))?$"
)
SUMMARY = re.compile(
    r"^(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received"
    r"(?:,? .*?(\d{1,3}(?:\.\d{1,6})?)% packet loss)?"
)
TIMES = re.compile(r"^(?:rtt|round-trip) min/avg/max(?:/\S+)? = (\d+\.\d+)/(\d+\.\d+)/(\d+\.\d+)(?:/\d+\.\d+)? ms")
NUMBERS = 65536  # after so many answers their numbers begin anew
ROUNDED = 0.0011  # ms that rounding may change; from 1 ms on, answers are printed with three digits
HEADER = re.compile(r"^PING6?\b")
TTL = re.compile(r"\b(?:ttl|hlim)=(\d{1,3})\b")
TOO_LONG = re.compile(r"message too long|frag(?:mentation)? needed|packet too big", re.I)
NOISE = re.compile(r"^(?:---|rtt |round-trip|\$ |rc=|ping: (?:sendto|sendmsg): No buffer space)")  # a full queue: loss
REPORTED_MTU = re.compile(r"mtu\s*=?\s*(\d{2,6})", re.I)


@dataclass
class Series:
    """What one ping printed."""

    replies: dict[int, float] = field(default_factory=dict)  # sequence number -> ms, without duplicates
    sent: int | None = None
    received: int | None = None
    too_long: bool = False
    lost_percent: float | None = None
    times: tuple[float, ...] = ()  # minimum, mean and maximum in ms, from ping's last line
    twice: bool = False  # an answer came more than once
    again: bool = False  # a line of an answer is there more than once
    summaries: int = 0
    reported_mtu: int | None = None
    header: bool = False
    foreign: list[str] = field(default_factory=list)


def reply(line: str) -> float | None:
    """The round trip in ms of an answer's line; None for duplicates and other lines."""
    match = REPLY.match(line)
    return float(match[3]) if match and not match[4] else None


def number(line: str) -> int | None:
    """The sequence number of an answer's line; None for other lines."""
    match = REPLY.match(line)
    return int(match[2]) if match else None


def ttl(out: str) -> int | None:
    """The TTL (hop limit) left in the first answer."""
    answers = (line for line in out.splitlines() if reply(line.strip()) is not None)
    found = TTL.search(next(answers, ""))
    return int(found[1]) if found else None


def parse(out: str, err: str = "") -> Series:
    series = Series()
    for line in (*out.splitlines(), *err.splitlines()):
        line = line.strip()
        if match := REPLY.match(line):
            series.twice = series.twice or bool(match[4])
            series.again = series.again or (not match[4] and int(match[2]) in series.replies)
            if not match[4]:
                series.replies.setdefault(int(match[2]), float(match[3]))
        elif match := SUMMARY.match(line):
            series.summaries += 1
            series.sent, series.received = int(match[1]), int(match[2])
            series.lost_percent = float(match[3]) if match[3] else None
        elif match := TIMES.match(line):
            series.times = tuple(map(float, match.groups()))
        elif TOO_LONG.search(line):
            series.too_long = True
            if reported := REPORTED_MTU.search(line):
                series.reported_mtu = int(reported[1])
        elif HEADER.match(line):
            series.header = True
        elif line and not NOISE.match(line):
            series.foreign.append(line)
    return series


def contradiction(series: Series) -> str:
    """How ping's summary contradicts its answers; '' if it does not."""
    figures = rtt(series)
    if series.summaries > 1:
        return f"it holds {series.summaries} summaries: one ping at a time can be read"
    if series.again and (series.sent or 0) <= NUMBERS:
        return "lines of its answers are there more than once"
    if series.sent is not None and series.replies and not series.times:
        return "its last line, of the shortest, mean and longest time, is missing"
    if series.received is not None and series.received != figures.received:
        return f"its summary counts {series.received} answers, {figures.received} are there"
    if series.sent and series.sent <= NUMBERS and series.replies and max(series.replies) > series.sent:
        return f"its answers are numbered up to {max(series.replies)}, and {series.sent} pings were sent"
    if series.sent and series.received is not None and series.lost_percent is not None:
        share = 100 * (series.sent - series.received) / series.sent
        if abs(share - series.lost_percent) > (1 if series.lost_percent == int(series.lost_percent) else 0.06):
            return f"its summary tells of {series.lost_percent:g} % lost, and its counts of {share:.3g} %"
    if series.times and not series.twice:  # ping counts duplicates in its times
        made = (figures.min_ms or 0.0, figures.avg_ms or 0.0, figures.max_ms or 0.0)
        if any(abs(a - b) > (ROUNDED if b < 1 else 0.005 * b) for a, b in zip(made, series.times, strict=True)):
            return f"its answers took {made[1]:.3f} ms in the mean, its summary says {series.times[1]:.3f}"
    return ""


def holes(series: Series) -> list[int]:
    """The numbers of the pings that were not answered, the first ping's being 0."""
    if not series.sent or series.sent > NUMBERS or not series.replies:
        return []
    first = 0 if 0 in series.replies else 1  # FreeBSD's begins at 0, Linux's at 1
    return [n - first for n in range(first, first + series.sent) if n not in series.replies]


def rtt(series: Series) -> Rtt:
    """The statistics of the answers themselves, not of the summary line."""
    return rtt_of(tuple(ms for _, ms in sorted(series.replies.items())), series.sent or 0)


def rtt_of(samples: tuple[float, ...], sent: int) -> Rtt:
    """The statistics of round trips in ms, given in the order in which they came."""
    times = sorted(samples)
    sent = max(sent, len(times))
    if not times:
        return Rtt(sent, 0)
    mean = sum(times) / len(times)
    spread = math.sqrt(sum((t - mean) ** 2 for t in times) / (len(times) - 1)) if len(times) > 1 else 0.0
    return Rtt(
        sent, len(times), times[0], mean, times[-1], _quantile(times, 0.5), _quantile(times, 0.95), spread, samples
    )


def _quantile(ordered: list[float], share: float) -> float:
    """The quantile `share` of the ordered values, interpolated between its two neighbours."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def path_mtu(probes: tuple[tuple[int, str, str], ...]) -> PathMtu:
    """The path MTU. One answer is enough for a probe; a silent failure while a smaller one passes is a black hole."""
    passed: list[int] = []
    failed: list[int] = []
    silent: list[int] = []
    reported: list[int] = []
    for mtu, out, err in probes:
        series = parse(out, err)
        if series.replies:
            passed.append(mtu)
            continue
        failed.append(mtu)
        if series.reported_mtu:
            reported.append(series.reported_mtu)
        if not series.too_long:
            silent.append(mtu)
    largest = max(passed) if passed else None
    black_hole = largest is not None and any(m > largest for m in silent)
    return PathMtu(
        tuple(sorted(passed)), tuple(sorted(failed)), largest, black_hole, min(reported) if reported else None
    )
