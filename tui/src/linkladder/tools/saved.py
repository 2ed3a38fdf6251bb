"""Turns a tool's saved output, of either end, into a result or the reason why it is not one.

Only the text is known, and what the caller says was asked for. No warm-up is cut off, and if only a sender's output is
there, the sender's figures are returned with a warning.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import Direction, Experiment, Fault, Flow, Outcome, SocketBuffers
from linkladder.tools import acceptance, complaints, flow_sums, seconds
from linkladder.tools.address_family import same_address
from linkladder.tools.records import Demands
from linkladder.tools.socket_buffer import window_reason
from linkladder.tools.streams import Channel, Output, Series, Stream

ALIKE = 0.98  # if the planned time is not known, each flow must have run for this share of the longest flow's time


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
        return no_result("it holds no flow that could be read")
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
        outcome = _way(outcome, way, channel, streams, demands.seconds)
        if not outcome.ok:
            return outcome
    if reason := _short_reads(output, [(s, s.series(c)) for _, c in chosen for s in streams]):
        return no_result(reason)
    added = sum(f.total_bytes for f in outcome.flows)
    if len(chosen) == 1 and output.sum and added < output.sum * 0.98:
        return no_result(f"its flows add up to {added} bytes, its own sum is {output.sum:.0f}: flows are missing")
    if output.protocol != "udp" and any(c == "tx" for _, c in chosen):
        note = "these are the sender's figures: what it wrote, not what arrived"
        outcome = replace(outcome, warnings=(*outcome.warnings, note))
    return outcome


def _channels(output: Output) -> list[tuple[Direction, Channel]] | Outcome:
    """Which figures to use for which direction; the client counts as the near end."""
    client = output.role != "server"
    seen = {name for s in output.streams for name in ("rx", "tx", "report") if s.series(name).seen}
    if "report" in seen:
        return [(Direction.FORWARD, "report")]
    reported = any(r.kind == "udp" for s in output.streams for r in s.tx.rows)
    if output.protocol == "udp" and client and not reported and seen == {"tx"}:
        return no_result("the receiver never reported, so that nobody knows what arrived", Fault.PATH)
    if output.duplex and not {"rx", "tx"} <= seen:
        return no_result("it ran both ways at once, and the figures of only one way are there")
    found: list[tuple[Direction, Channel]] = []
    if "tx" in seen:
        found.append((Direction.FORWARD if client else Direction.REVERSE, "tx"))
    if "rx" in seen:
        found.append((Direction.REVERSE if client else Direction.FORWARD, "rx"))
    return found or no_result("connected, and then not a line of figures", Fault.PATH)


def _way(outcome: Outcome, way: Direction, channel: Channel, streams: list[Stream], asked: float | None) -> Outcome:
    """The outcome with one direction added, or the failure found in it."""
    streams = [s for s in streams if s.only in ("", channel)]
    series = [s.series(channel) for s in streams]
    rows = [r for one in series for r in (*one.rows, *([one.final] if one.final else [])) if not r.filled]
    if channel != "tx" and len({r.kind == "udp" for r in rows}) > 1:
        return no_result("some of its lines of UDP do not tell what was lost: they are not whole")
    longest = max(s.end for s in series)
    for stream, one in zip(streams, series, strict=True):
        if reason := _reason(one, asked, longest):
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
    bps = sum(f.total_bytes for f in made) * 8 / longest
    lost, datagrams, jitter = seconds.losses(made)
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


def _reason(one: Series, asked: float | None, longest: float) -> str:
    if one.conflict or (conflict := flow_sums.contradiction(one)):
        return one.conflict or conflict
    total = one.total
    if not one.seen or total is None:
        return "it has no final line, so that it did not run to its end"
    if asked is None and one.final is None and total.end == 1.0:
        return "it ends with its first second, and nothing tells whether that was all"
    if asked is not None and total.end < asked * acceptance.COMPLETE:
        return f"it ran {total.end:g} s of {asked:g} s"
    if asked is None and total.end < longest * ALIKE:
        return f"it ran {total.end:g} s while another ran {longest:g} s"
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


def _died(flows: list[Flow], asked: float) -> str:
    """Says which flow stopped for good while another went on; '' if none did."""
    for flow in flows:
        last = max((i.end for i in flow.intervals if i.bytes), default=0.0)
        if flow.seconds - last >= max(acceptance.TRAILING, 0.2 * asked) - 0.05:
            return f"flow {flow.id} stopped after {last:.0f} s of {asked:g} s while others went on"
    return ""


def _stalled(flows: list[Flow], asked: float | None, longest: float) -> str:
    """Why the transfer counts as stalled: most seconds are empty, or some in a run that took far too long; else ''."""
    whole = seconds.together([f.intervals for f in flows], flows[0].direction)
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
