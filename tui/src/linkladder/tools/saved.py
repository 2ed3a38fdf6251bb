"""A tool's saved output, of either end, to a result or the reason why it is none.

Nothing is known but the text (and what the caller says was asked): there is no warm-up to cut, and where a sender's
output is all there is, the sender's figures are given and marked as such.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import Direction, Experiment, Fault, Flow, Tool, Transactions
from linkladder.tools import iperf_csv, iperf_lines, iperf_result, iperf_sums, netperf, ping, words
from linkladder.tools.face import Outcome
from linkladder.tools.iperf_lines import Channel, Output, Series, Stream

ALIKE = 0.98  # without a time to compare with, all flows must have run as long as the longest


def parse_saved(
    tool: Tool, text: str, flows: int | None, seconds: float | None, local: str | None, window: int | None
) -> Outcome:
    if not text.strip():
        return _no("the file is empty")
    if tool == Tool.PING:
        return _ping(text)
    if tool == Tool.NETPERF:
        return _netperf(text, flows, seconds)
    return _iperf(text, flows, seconds, local, window)


def _no(reason: str, fault: Fault = Fault.TOOL) -> Outcome:
    return Outcome(False, fault, reason)


def _iperf(text: str, flows: int | None, seconds: float | None, local: str | None, window: int | None) -> Outcome:
    output = iperf_csv.parse(text) if iperf_csv.looks_like(text) else iperf_lines.parse(text)
    said = words.listen(words.known(output.foreign))
    if said.lines:
        return _no(f"{'the connection was cut' if said.reset else said.plain}: {said.quoted}", said.fault or Fault.TOOL)
    streams = output.streams
    if not streams:
        return _no("it holds no flow of iperf's")
    if flows is not None and len(streams) != flows:
        return _no(f"it holds {len(streams)} flows, {flows} were asked")
    for stream in streams:
        used = stream.connection.local
        if local and not iperf_result.same_address(used, local):
            return _no(f"{used or 'an unknown address'} was used and not {local}")
    if window is not None and (reason := _window(window, output, text)):
        return _no(f"the socket buffer is not the one asked for: {reason}")
    chosen = _channels(output)
    if isinstance(chosen, Outcome):
        return chosen
    outcome = Outcome(True, window_read_back={"local": output.window} if output.window else {})
    for way, channel in chosen:
        outcome = _way(outcome, way, channel, streams, seconds)
        if not outcome.ok:
            return outcome
    if output.role == "client" and output.protocol != "udp" and any(c == "tx" for _, c in chosen):
        note = "these are the sender's figures: what it wrote, not what arrived"
        outcome = replace(outcome, warnings=(*outcome.warnings, note))
    return outcome


def _channels(output: Output) -> list[tuple[Direction, Channel]] | Outcome:
    """Which figures stand for which direction; the client counts as near."""
    client = output.role != "server"
    seen = {name for s in output.streams for name in ("rx", "tx", "report") if s.series(name).seen}
    if "report" in seen:
        return [(Direction.FORWARD, "report")]
    told = any(r.kind == "udp" for s in output.streams for r in s.tx.rows)
    if output.protocol == "udp" and client and not told and seen == {"tx"}:
        return _no("the receiver never reported, so that nobody knows what arrived", Fault.PATH)
    found: list[tuple[Direction, Channel]] = []
    if "tx" in seen:
        found.append((Direction.FORWARD if client else Direction.REVERSE, "tx"))
    if "rx" in seen:
        found.append((Direction.REVERSE if client else Direction.FORWARD, "rx"))
    return found or _no("connected, and then not a line of figures", Fault.PATH)


def _way(outcome: Outcome, way: Direction, channel: Channel, streams: list[Stream], seconds: float | None) -> Outcome:
    """One direction added to the outcome."""
    series = [s.series(channel) for s in streams]
    longest = max(s.end for s in series)
    for stream, one in zip(streams, series, strict=True):
        if reason := _reason(one, seconds, longest):
            return _no(f"flow {stream.connection.flow}: {reason}")
    if longest <= 0:
        return _no("the flows have no length in time")
    exp = Experiment("saved", warmup=0.0, duration=longest, direction=way)
    made = [_flow(exp, way, s, one) for s, one in zip(streams, series, strict=True)]
    if any(not f.total_bytes for f in made):
        return _no("connected, and then nothing was carried", Fault.PATH)
    summed = iperf_sums.together([f.intervals for f in made], way)
    if reason := _stalled(made, seconds, longest):
        return _no(reason, Fault.PATH)
    bps = sum(f.total_bytes for f in made) * 8 / longest
    lost, datagrams, jitter = iperf_sums.losses(made)
    return replace(
        outcome,
        goodput_bps=outcome.goodput_bps + bps,
        by_direction={**outcome.by_direction, way.value: bps},
        flows=(*outcome.flows, *made),
        intervals=(*outcome.intervals, *summed),
        lost=lost if lost is not None else outcome.lost,
        datagrams=datagrams if datagrams is not None else outcome.datagrams,
        jitter_ms=jitter if jitter is not None else outcome.jitter_ms,
    )


def _reason(one: Series, seconds: float | None, longest: float) -> str:
    if one.conflict or (conflict := iperf_sums.contradiction(one)):
        return one.conflict or conflict
    total = one.total
    if not one.seen or total is None:
        return "it has no final line, so that it did not run to its end"
    if seconds is not None and total.end < seconds * iperf_result.COMPLETE:
        return f"it ran {total.end:g} s of {seconds:g} s"
    if seconds is None and total.end < longest * ALIKE:
        return f"it ran {total.end:g} s while another ran {longest:g} s"
    return ""


def _flow(exp: Experiment, way: Direction, stream: Stream, one: Series) -> Flow:
    flow = iperf_sums.flow(exp, way, stream.connection, one, one, True)
    total = one.total
    assert total is not None
    return replace(
        flow,
        bytes=total.bytes,
        bps=total.bytes * 8 / total.end if total.end else 0.0,
        lost=total.lost,
        datagrams=total.datagrams,
        jitter_ms=total.jitter_ms,
        retransmits=total.retransmits,
    )


def _stalled(flows: list[Flow], seconds: float | None, longest: float) -> str:
    """Empty seconds: most of them, or any in a run that lasted far longer than it should."""
    whole = iperf_sums.together([f.intervals for f in flows], flows[0].direction)
    empty = [i for i in whole if i.bytes == 0 and i.end - i.start > 0.5]
    if len(empty) > len(whole) * iperf_result.STALL_SHARE:
        return f"the transfer stalled: nothing moved in {len(empty)} of {len(whole)} seconds"
    if empty and seconds is not None and longest > seconds * 1.25 + 1:
        return f"the transfer stalled: it took {longest:g} s for {seconds:g} s, {len(empty)} of them empty"
    return ""


def _window(asked: int, output: Output, text: str) -> str:
    """The system is not known: TCP statistics betray Linux, where the double must be read back."""
    linux = "icwnd/mss/irtt" in text or "Cwnd/RTT" in text
    double = iperf_result.window_reason(asked, output.window, "Linux")
    return double if linux or not double else iperf_result.window_reason(asked, output.window, "FreeBSD")


def _netperf(text: str, sessions: int | None, seconds: float | None) -> Outcome:
    session = netperf.parse(text)
    rate, elapsed = session.number("THROUGHPUT"), session.number("ELAPSED_TIME")
    said = words.listen(session.foreign)
    if session.conflict:
        return _no(session.conflict)
    if rate is None:
        lines = words.shorten("; ".join(session.foreign))
        return _no(f"it has no THROUGHPUT (netperf's -k selectors are needed){': ' + lines if lines else ''}")
    if said.lines and words.known(said.lines):
        return _no(f"{said.plain}: {said.quoted}")
    if sessions not in (None, 1):
        return _no(f"it holds one session, {sessions} were asked")
    if seconds is not None and (elapsed is None or elapsed < seconds * iperf_result.COMPLETE):
        return _no(f"it ran {elapsed if elapsed is not None else 'an unknown number of'} s of {seconds:g} s")
    units = session.values.get("THROUGHPUT_UNITS", "")
    if units not in netperf.SCALES:
        return _no(f"its rate is in {units or 'no unit'}, which is not known here")
    if rate <= 0:
        return _no("it moved nothing", Fault.PATH)
    if units == "Trans/s":
        mean, p50, p90, p99, low, high = (
            session.number(f"{n}_LATENCY") for n in ("MEAN", "P50", "P90", "P99", "MIN", "MAX")
        )
        return Outcome(True, transactions=Transactions(rate, 1, mean, p50, p90, p99, low, high))
    bps = rate * netperf.SCALES[units] * 8
    return Outcome(True, goodput_bps=bps, by_direction={Direction.FORWARD.value: bps})


def _ping(text: str) -> Outcome:
    headers = sum(1 for line in text.splitlines() if ping.HEADER.match(line.strip()))
    if headers > 1:
        return _no(f"it holds {headers} pings: one at a time can be read")
    series = ping.parse(text)
    if series.replies:
        figures = ping.rtt(series)
        if series.sent is None:
            return _no("it has no summary line, so that nobody knows how many pings were sent")
        if series.received is not None and series.received != figures.received:
            return _no(f"its summary counts {series.received} answers, {figures.received} are there")
        lost = figures.sent - figures.received
        return Outcome(True, rtt=figures, warnings=(f"{lost} pings were not answered",) if lost else ())
    if series.too_long:
        told = f" (the MTU is {series.told_mtu})" if series.told_mtu else ""
        return _no(f"the packets are too long for the path{told}", Fault.PATH)
    said = words.listen(words.known(series.foreign))
    if said.lines:
        return _no(f"{said.plain}: {said.quoted}", said.fault or Fault.TOOL)
    if series.sent is None:
        return _no("it holds no ping")
    return _no(f"none of {series.sent} pings was answered", Fault.PATH)
