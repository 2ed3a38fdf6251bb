"""Turns a tool's saved output, of either end, into a result or the reason why it is not one.

Only the text is known, and what the caller says was asked for. No warm-up is cut off, and if only a sender's output is
there, the sender's figures are returned with a warning.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

from linkladder.model import Direction, Experiment, Fault, Flow, Outcome, SocketBuffers
from linkladder.tools import acceptance, complaints, flow_sums, seconds
from linkladder.tools.address_family import same_address
from linkladder.tools.contract import UDP_PAYLOAD
from linkladder.tools.records import Demands
from linkladder.tools.seconds import known_sum
from linkladder.tools.socket_buffer import window_reason
from linkladder.tools.streams import Channel, Output, Row, Series, Stream

ALIKE = 0.98  # if the planned time is not known, each flow must have run for this share of the longest flow's time
DRAINED = 0.25  # seconds of a short run that a flow may lack, as queues empty, if rates over both times are alike
COARSE = 0.01  # share of the bytes that rounding may take or add
WAITED = 0.2  # seconds after a flow's last datagram, which ends its total, that show its sender to be gone


def no_result(reason: str, fault: Fault = Fault.TOOL) -> Outcome:
    return Outcome(False, fault, reason)


def read(output: Output, demands: Demands, system: str = "") -> Outcome:
    """The result of what one end printed; `system` is that end's operating system if the text shows it."""
    said = complaints.listen(complaints.known(output.foreign))
    if said.lines:
        return no_result(
            f"{'the connection was cut' if said.reset else said.plain}: {said.quoted}", said.fault or Fault.TOOL
        )
    streams = output.streams
    if output.mixed:
        return no_result(output.mixed)
    if not streams:
        sums = ": it has sums alone, which tell nothing of each flow" if output.sum else ""
        return no_result(f"it holds no flow that could be read{sums}")
    if output.flows is not None and len(streams) != output.flows:
        return no_result(f"it holds {len(streams)} flows, its header says {output.flows}")
    if not output.role:
        return no_result("its header is missing: nothing tells whether the server or the client wrote it")
    if demands.flows is not None and len(streams) != demands.flows:
        return no_result(f"it holds {len(streams)} flows, {demands.flows} were asked")
    for stream in streams:
        used = stream.connection.local
        if not used:
            return no_result(f"flow {stream.connection.flow}: the line that tells of its connection is missing")
        if demands.local and not same_address(used, demands.local):
            return no_result(f"{used} was used and not {demands.local}")
    if demands.window is not None and (reason := _window(demands.window, output, system)):
        return no_result(f"the socket buffer is not the one asked for: {reason}")
    chosen = _channels(output)
    if isinstance(chosen, Outcome):
        return chosen
    outcome = Outcome(True, window_read_back=SocketBuffers(near=output.window or 0))
    for way, channel in chosen:
        outcome = _way(outcome, way, channel, streams, demands.seconds, output.protocol == "udp")
        if not outcome.ok:
            return outcome
    if reason := _short_reads(output, [(s, s.series(c)) for _, c in chosen for s in streams]):
        return no_result(reason)
    added = sum(f.total_bytes for f in outcome.flows)
    if chosen[0][1] == "report":  # the sum is of what was sent
        added = sum(flow_sums.total_bytes(s.tx) for s in streams)
    if len(chosen) == 1 and output.sum and added < output.sum * 0.98:
        return no_result(f"its flows add up to {added} bytes, its own sum is {output.sum:.0f}: flows are missing")
    if len(chosen) == 1 and 0 < output.sum * 1.02 < added:
        return no_result(f"its flows add up to {added} bytes, its own sum is {output.sum:.0f}")
    if output.protocol != "udp" and any(s.arrived is None for s in streams if s.tx.seen and not s.report.seen):
        note = "these are the sender's figures: what it wrote, not what arrived"
        outcome = replace(outcome, warnings=(*outcome.warnings, note))
    notes = (output.note, _read_whole(output, [s.rx for s in streams]))
    return replace(outcome, warnings=(*outcome.warnings, *filter(None, notes)))


def _channels(output: Output) -> list[tuple[Direction, Channel]] | Outcome:
    """Which figures to use for which direction; the client counts as the near end."""
    client = output.role != "server"
    seen = {name for s in output.streams for name in ("rx", "tx", "report") if s.series(name).seen}
    if "report" in seen:
        return [(Direction.FORWARD, "report")]
    reported = any(r.jitter_ms is not None for s in output.streams for r in s.tx.rows)
    silent = any(s.tx.seen and s.arrived is None for s in output.streams)
    if output.protocol == "udp" and not reported and silent:
        if client and seen == {"tx"}:
            return no_result("the receiver never reported, so that nobody knows what arrived", Fault.PATH)
        return no_result("of what it sent itself it tells how much, and nobody knows what arrived")
    if output.duplex and not {"rx", "tx"} <= seen:
        return no_result("it ran both ways at once, and the figures of only one way are there")
    found: list[tuple[Direction, Channel]] = []
    if "tx" in seen:
        found.append((Direction.FORWARD if client else Direction.REVERSE, "tx"))
    if "rx" in seen:
        found.append((Direction.REVERSE if client else Direction.FORWARD, "rx"))
    return found or no_result("connected, and then not a line of figures", Fault.PATH)


def _way(
    outcome: Outcome, way: Direction, channel: Channel, streams: list[Stream], asked: float | None, udp: bool
) -> Outcome:
    """The outcome with one direction added, or the failure found in it."""
    streams = [s for s in streams if s.only in ("", channel)]
    series = [s.series(channel) for s in streams]
    rows = [r for one in series for r in (*one.rows, *([one.final] if one.final else [])) if not r.filled]
    kinds = {r.kind == "udp" for r in rows}
    if channel != "tx" and (len(kinds) > 1 or (udp and False in kinds)):
        return no_result("some of its lines of UDP do not tell what was lost: they are not whole")
    longest = max(s.end for s in series)
    shortest = min(ALIKE * longest, longest - DRAINED) if _same_rate(series, longest) else ALIKE * longest
    for stream, one in zip(streams, series, strict=True):
        if reason := _reason(stream, one, asked, longest, shortest):
            return no_result(f"flow {stream.connection.flow}: {reason}")
    if longest <= 0:
        return no_result("the flows have no length in time")
    exp = Experiment("saved", warmup=0.0, duration=longest, direction=way)
    made = [_flow(exp, way, s, one) for s, one in zip(streams, series, strict=True)]
    if any(not f.total_bytes for f in made):
        return no_result("connected, and then nothing was carried", Fault.PATH)
    summed = seconds.together([f.intervals for f in made], way)
    if reason := _stalled(made, asked, longest) or _died(made, longest):
        return no_result(reason, Fault.PATH)
    reports = [s.arrived for s in streams if s.arrived] if channel == "tx" else []
    if len(reports) == len(made):  # what arrived counts, and not what was written
        if more := next((f for f, one in zip(made, reports, strict=True) if one.bytes > f.total_bytes * 1.02), None):
            return no_result(f"flow {more.id}: more arrived than its {more.total_bytes} bytes that were sent")
        made = [_as_arrived(f, one) for f, one in zip(made, reports, strict=True)]
        longest = max(one.end for one in reports)
    bps = sum(f.total_bytes for f in made) * 8 / longest
    lost, datagrams, jitter = seconds.losses(made)
    return replace(
        outcome,
        goodput_bps=outcome.goodput_bps + bps,
        by_direction={**outcome.by_direction, way.value: bps},
        flows=(*outcome.flows, *made),
        intervals=(*outcome.intervals, *summed),
        lost=known_sum((outcome.lost, lost)),
        datagrams=known_sum((outcome.datagrams, datagrams)),
        jitter_ms=jitter if jitter is not None else outcome.jitter_ms,
    )


def _same_rate(series: list[Series], longest: float) -> bool:
    """Whether the flows come to the same rate over their own times and over the longest one's."""
    totals = [t for one in series if (t := one.total) and t.end > 0]
    own = sum(t.bytes / t.end for t in totals)
    return longest > 0 and own * ALIKE <= sum(t.bytes for t in totals) / longest


def _other_run(tx: Row, report: Row, sent: int | None) -> str:
    """How the receiver's report contradicts what was sent, as if it were of another run; '' if it does not."""
    if report.bytes > tx.bytes * 1.02 + 65536:
        return f"{report.bytes} bytes are said to have arrived of {tx.bytes} that were sent"
    if sent is not None and report.datagrams is not None and abs(sent - report.datagrams) > 12 + 0.02 * sent:
        return f"its report is of {report.datagrams} datagrams, and {sent} were sent"
    return ""


def _reason(stream: Stream, one: Series, asked: float | None, longest: float, shortest: float) -> str:
    if one.conflict or (conflict := flow_sums.contradiction(one)):
        return one.conflict or conflict
    total = one.total
    if not one.seen or total is None:
        return "it has no final line, so that it did not run to its end"
    if asked is None and one.final is None and total.end <= 1.0 and abs(total.end * 10 - round(total.end * 10)) < 1e-6:
        return "it ends with its first second, and nothing tells whether that was all"
    if asked is not None and total.end < asked * acceptance.COMPLETE:
        return f"it ran {total.end:g} s of {asked:g} s"
    if asked is None and total.end < shortest:
        return f"it ran {total.end:g} s while another ran {longest:g} s"
    if one is stream.report and stream.tx.total and (reason := _other_run(stream.tx.total, total, stream.sent)):
        return reason
    counted = known_sum(r.lost for r in one.rows)
    if (
        one.summary
        and counted is not None
        and total.datagrams
        and (total.lost or 0) > counted + 2 + total.datagrams / 1000
    ):
        return f"its total tells of {total.lost} lost datagrams, its seconds of {counted}"
    last = one.rows[-1]
    waited = total.kind == "udp" and total is not last and total.end - last.end > WAITED
    if waited and known_sum(r.datagrams for r in one.rows) == total.datagrams:
        return f"nothing arrived after {last.end:.2f} s, and its receiver waited until {total.end:.2f} s for more"
    if total.rounded > COARSE:
        return "its amount is printed too coarsely to be known to a hundredth: ask for other units (-f m)"
    return ""


def _flow(exp: Experiment, way: Direction, stream: Stream, one: Series) -> Flow:
    flow = flow_sums.flow(exp, way, stream.connection, one, one, True)
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


def _short_reads(output: Output, reports: list[tuple[Stream, Series]]) -> str:
    """Why the bytes cannot be used: the receiver read only a part of each datagram; '' if it read all."""
    for stream, series in reports:
        if any(row.truncated for row in (*series.rows, *([series.final] if series.final else []))):
            return f"flow {stream.connection.flow}: the receiver read less than there was in the datagrams"
        total = series.total
        if output.datagram and total and total.kind == "udp" and total.datagrams is not None:
            arrived = (total.datagrams - (total.lost or 0)) * output.datagram
            if abs(total.bytes - arrived) > 0.02 * arrived + 2 * output.datagram:
                return (
                    f"flow {stream.connection.flow}: {total.bytes} bytes were read of datagrams that held {arrived}: "
                    "the receiver read less than there was in each"
                )
    return ""


def _as_arrived(flow: Flow, one: Row) -> Flow:
    """The flow with what its receiver told of it."""
    return replace(
        flow,
        bytes=one.bytes,
        total_bytes=one.bytes,
        seconds=one.end,
        bps=one.bytes * 8 / one.end if one.end else 0.0,
        lost=one.lost,
        datagrams=one.datagrams,
        jitter_ms=one.jitter_ms,
    )


def _read_whole(output: Output, received: list[Series]) -> str:
    """A warning if every datagram filled what the server reads of one, so that longer ones would look the same."""
    if output.protocol != "udp" or output.role != "server" or any(s.summary for s in received):
        return ""
    totals = [t for one in received if (t := one.total) and t.kind == "udp" and t.datagrams]
    made = {round(t.bytes / n) for t in totals if (n := (t.datagrams or 0) - (t.lost or 0)) > 0}
    most = (output.buffer,) if output.buffer else UDP_PAYLOAD.values()
    if not any(abs(size - one) <= 0.01 * one for size in made for one in most):
        return ""
    return f"of each datagram {max(made)} bytes were read: if the client sent longer ones, more arrived than this"


def _died(flows: list[Flow], asked: float) -> str:
    """Says which flow stopped for good while another went on; '' if none did."""
    for flow in flows:
        last = max((i.end for i in flow.intervals if i.bytes), default=0.0)
        if flow.seconds - last >= max(acceptance.TRAILING, 0.2 * asked) - 0.05:
            return f"flow {flow.id} stopped after {last:.0f} s of {asked:g} s while others went on"
    return ""


def _stalled(flows: list[Flow], asked: float | None, longest: float) -> str:
    """Why the transfer counts as stalled; '' if it does not.

    Most seconds are empty, or the last ones, or some in a run that took far too long.
    """
    whole = seconds.together([f.intervals for f in flows], flows[0].direction)
    usual = statistics.median(i.end - i.start for i in whole) if whole else 0.0
    moved = [i for i in whole if i.bytes and i.datagrams != 0 and i.end - i.start >= usual / 2]  # not a rounded rest
    last = max((i.end for i in moved), default=0.0)
    if longest - last >= acceptance.TRAILING - 0.05:
        return f"the transfer stalled: nothing moved after {last:.0f} s of {longest:.3g} s"
    empty = [i for i in whole if i.bytes == 0 and i.end - i.start > 0.5]
    if len(empty) > len(whole) * acceptance.STALL_SHARE:
        return f"the transfer stalled: nothing moved in {len(empty)} of {len(whole)} seconds"
    if empty and asked is not None and longest > asked * 1.25 + 1:
        return f"the transfer stalled: it took {longest:g} s for {asked:g} s, {len(empty)} of them empty"
    return ""


def _window(asked: int, output: Output, system: str) -> str:
    """Why the socket buffer is not the one asked for, or ''; if the system is unknown, the form of either will do."""
    double = window_reason(asked, output.window, "Linux")
    return double if system == "Linux" or not double else window_reason(asked, output.window, "FreeBSD")
