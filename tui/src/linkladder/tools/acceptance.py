"""Turns what both ends printed about the streams of one trial into a result, or into a fault with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkladder import phrases, units
from linkladder.model import Direction, End, Experiment, Fault, Flow, Interval, Outcome, Protocol, SocketBuffers
from linkladder.tools import complaints, flow_sums, seconds
from linkladder.tools.address_family import family, same_address
from linkladder.tools.contract import UDP_PAYLOAD
from linkladder.tools.records import Expectation, Layout
from linkladder.tools.senders import to_server, ways_of
from linkladder.tools.socket_buffer import window_reason
from linkladder.tools.streams import Output, Row, Series, Stream

COMPLETE = 0.98  # share of the planned time that a flow must run
STALL_SHARE = 0.5  # if more than this share of the counted seconds is empty, the transfer stalled
PATIENCE = 5.0  # seconds that bytes which the client has written may still take to arrive
TRAILING = 2  # empty seconds at the end that make a stall


class Broken(Exception):
    """The trial failed; carries its fault and the reason."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault, self.reason = fault, reason


@dataclass(frozen=True)
class Pair:
    """One connection in one direction, as its receiver and its sender saw it."""

    stream: Stream  # the receiver's
    rx: Series
    tx: Series | None
    sent: int | None
    sender: Row | None = None  # the sender's total, kept even if its single seconds cannot be used


def finish(
    exp: Experiment, where: Layout, server: Output, client: Output, said: complaints.Said, expect: Expectation
) -> Outcome:
    """The verdict on a trial; a failed trial keeps the figures that were read, so that a person can look at them."""
    partial = Outcome(False)
    try:
        _before(server, client, said, expect)
        for output, end in ((server, "server"), (client, "client")):
            if output.mixed:
                raise Broken(Fault.TOOL, f"the {end}'s output: {output.mixed}")
        partial = replace(partial, window_read_back=_read_back(where, server, client))
        ways: dict[Direction, list[Pair]] = {}
        for way in ways_of(exp):
            ways[way] = _pairs(exp, where, way, server, client, expect)
        _addresses(where, server, client, expect)
        _ports(exp, client)
        _class(exp, client)
        _window(exp, where, server, client, expect)
        partial = _figures(exp, where, ways, partial)
        for way, pairs in ways.items():
            partial = _judge(exp, way, pairs, partial, expect)
        if expect.watchdog:
            raise Broken(Fault.TOOL, "the client did not end by itself and had to be ended")
        if said.lines:
            raise _complaint(said, expect)
    except Broken as broken:
        if broken.fault == Fault.TOOL:  # flows and seconds stay for a person to look at, but no rate is used
            partial = replace(partial, goodput_bps=0.0, by_direction={})
        return replace(partial, ok=False, fault=broken.fault, reason=broken.reason)
    return replace(partial, ok=True)


def _before(server: Output, client: Output, said: complaints.Said, expect: Expectation) -> None:
    """Raise Broken for failures that are known before any figures are looked at."""
    if expect.server_exit is not None:
        raise Broken(Fault.TOOL, f"the server ended by itself ({_status(expect.server_exit)}){_quote(said)}")
    if said.lines and said.fault == Fault.TOOL:
        raise _complaint(said, expect)
    code = next((c for c in expect.exit_codes if c), None)
    if code is not None and not expect.watchdog:
        raise Broken(Fault.TOOL, f"the client ended with {_status(code)}{_quote(said)}")
    if said.lines and not said.reset:
        raise _complaint(said, expect)
    if not client.streams and not server.streams:
        if client.role == "client" and client.protocol:  # it got as far as its header
            raise Broken(Fault.PATH, "the connection was never made: nothing came back from the other end")
        raise Broken(Fault.TOOL, "the client printed nothing that iperf prints" + _foreign(client))


def _complaint(said: complaints.Said, expect: Expectation) -> Broken:
    if said.reset:
        cut = f"the connection was cut{'' if expect.still else ' while both ends still ran'}: {said.quoted}"
        return Broken(*expect.broke_off(cut, bool(expect.still)))
    return Broken(said.fault or Fault.TOOL, f"{said.plain}: {said.quoted}")


def _status(code: int) -> str:
    if code < 0 or code > 128:
        return f"killed by signal {-code if code < 0 else code - 128}"
    return f"exit status {code}"


def _quote(said: complaints.Said) -> str:
    return f": {said.quoted}" if said.lines else ""


def _foreign(output: Output) -> str:
    text = complaints.shorten("; ".join(output.foreign[:5]), 200)
    return f": {text}" if text else ""


def _pairs(
    exp: Experiment, where: Layout, way: Direction, server: Output, client: Output, expect: Expectation
) -> list[Pair]:
    """The flows of one direction, matched between both outputs by the client's port; their number must be right."""
    forth = to_server(where, way)
    receiver, sender = (server, client) if forth else (client, server)

    def port(stream: Stream, at_client: bool) -> int:
        return stream.connection.local_port if at_client else stream.connection.remote_port

    sending = {port(s, forth): s for s in sender.streams}
    pairs = []
    for stream in receiver.streams:
        if stream.only == "tx":  # it carries the payload of the other direction
            continue
        other = sending.get(port(stream, not forth))
        total, count = (other.tx.total, flow_sums.sent(other, sender.datagram)) if other else (None, None)
        if other and (other.tx.conflict or flow_sums.contradiction(other.tx)):
            other = None  # the sender's figures contradict each other, so they are not used
        pairs.append(Pair(stream, stream.rx, other.tx if other else None, count, total))
    if len(pairs) > exp.streams:
        reason = f"{len(pairs)} flows were seen where {exp.streams} were asked: another test ran into this one"
        raise Broken(Fault.TOOL, reason)
    if len(pairs) < exp.streams:
        if exp.protocol == Protocol.UDP and sum(1 for s in sender.streams if s.only != "rx") == exp.streams:
            lost = exp.streams - len(pairs)
            raise Broken(Fault.PATH, f"nothing of {lost} of the {exp.streams} UDP streams arrived")
        if expect.watchdog:
            reason = f"only {len(pairs)} of {exp.streams} connections were made before time ran out"
            raise Broken(Fault.PATH, reason)
        raise Broken(Fault.TOOL, f"{len(pairs)} of {exp.streams} flows ran{_foreign(receiver)}")
    return pairs


def _addresses(where: Layout, server: Output, client: Output, expect: Expectation) -> None:
    """Check the addresses that the streams used, as iperf goes on from another address when -B fails."""
    asked = {End.NEAR: expect.local, End.FAR: expect.remote}
    if where.server is None:
        return
    for output, end in ((client, where.client), (server, where.server)):
        for stream in output.streams:
            used = stream.connection.local
            if not used:
                raise Broken(
                    Fault.TOOL, f"the {output.role} does not say which addresses flow {stream.connection.flow} used"
                )
            if asked[end] and not same_address(used, asked[end]):
                raise Broken(Fault.TOOL, f"the {output.role} used {used} and not {asked[end]} as it was told")


def _ports(exp: Experiment, client: Output) -> None:
    """Check the client's ports if the experiment names them, as the ports decide which way a flow takes."""
    if exp.client_port is None:
        return
    used = sorted(s.connection.local_port for s in client.streams)
    if used != list(range(exp.client_port, exp.client_port + len(used))):
        said = ", ".join(map(str, used))
        raise Broken(Fault.TOOL, f"the client used the ports {said} and not those from {exp.client_port} on")


def _class(exp: Experiment, client: Output) -> None:
    """Check the class with which the client says it marked its packets, as a path may treat classes differently."""
    if client.tos is not None and client.tos >> 2 != exp.dscp:
        raise Broken(Fault.TOOL, f"the client sent in class DSCP {client.tos >> 2} and not {exp.dscp} as it was told")


def _read_back(where: Layout, server: Output, client: Output) -> SocketBuffers:
    found = SocketBuffers()
    for output, end in ((client, where.client), (server, where.server)):
        if end is not None and output.window:
            found = found.granted(end, output.window)
    return found


def _window(exp: Experiment, where: Layout, server: Output, client: Output, expect: Expectation) -> None:
    if exp.window is None:
        return
    for output, end in ((client, where.client), (server, where.server)):
        if end is None:
            continue
        near = end == End.NEAR
        os = expect.os_near if near else expect.os_far
        limit = expect.window_limit_near if near else expect.window_limit_far
        if reason := window_reason(exp.window, output.window, os):
            most = f"; this system grants at most {limit} bytes" if limit and limit < exp.window else ""
            raise Broken(Fault.TOOL, f"the socket buffer at the {end} end is not the one asked for: {reason}{most}")


def _figures(exp: Experiment, where: Layout, ways: dict[Direction, list[Pair]], partial: Outcome) -> Outcome:
    """Add all figures that can be read to the outcome; they are judged afterwards."""
    flows: list[Flow] = []
    intervals: list[Interval] = []
    by_direction: dict[str, float] = {}
    for way, pairs in ways.items():
        at_server = to_server(where, way)
        receiver_near = (where.server if at_server else where.client) == End.NEAR
        mine = [
            flow_sums.flow(exp, way, p.stream.connection, p.rx, p.tx, receiver_near)
            for p in sorted(pairs, key=lambda p: p.stream.connection.remote_port)
        ]
        summed = seconds.together([f.intervals for f in mine], way)
        flows += [seconds.of_the_same_time(f, summed) for f in mine]
        intervals += summed
        by_direction[way.value] = seconds.rate(summed)
    lost, datagrams, jitter = seconds.losses(flows)
    offered = None
    if exp.protocol == Protocol.UDP:
        sent = [s for p in pairs_of(ways) if p.tx for s in [flow_sums.offered(exp, p.tx)] if s is not None]
        offered = sum(sent) if sent else None
    return replace(
        partial,
        goodput_bps=sum(by_direction.values()),
        by_direction=by_direction,
        flows=tuple(flows),
        intervals=tuple(intervals),
        lost=lost,
        datagrams=datagrams,
        jitter_ms=jitter,
        offered_bps=offered,
    )


def pairs_of(ways: dict[Direction, list[Pair]]) -> list[Pair]:
    return [p for pairs in ways.values() for p in pairs]


def _judge(exp: Experiment, way: Direction, pairs: list[Pair], outcome: Outcome, expect: Expectation) -> Outcome:
    """Check that every flow ran to the end, that its lines are consistent, and that data arrived all the time."""
    asked = exp.warmup + exp.duration
    warnings = list(outcome.warnings)
    summed = [i for i in outcome.intervals if i.direction == way]
    for pair in pairs:
        if pair.rx.conflict:
            raise Broken(Fault.TOOL, f"flow {pair.stream.connection.flow}: {pair.rx.conflict}")
    if not any(p.rx.seen and flow_sums.total_bytes(p.rx) for p in pairs):
        flows = units.plural(len(pairs), f"{exp.protocol} flow")
        nothing = f"the connection was made and then nothing arrived ({flows}, {phrases.way(way)})"
        itself = seconds.all_within(expect.still, 0.0, asked)
        raise Broken(*expect.broke_off(nothing, itself))
    sparse = exp.protocol == Protocol.UDP and (exp.udp_rate_bps or 0) / 8 / (exp.write_size or UDP_PAYLOAD[4]) < 20
    seen = _unplanted(summed, exp)
    if (stall := _stall(seen, asked, expect.watchdog)) and not sparse:
        itself = bool(expect.still) and not _stall(seen, asked, expect.watchdog, expect.still)
        raise Broken(*expect.broke_off(stall, itself))
    if expect.watchdog and (slow := _trickled(exp, pairs, summed)):
        raise Broken(Fault.PATH, slow)
    for pair in pairs:
        _ran_to_end(exp, pair, asked, expect)
    whole = {pair.stream.connection.flow for pair in pairs if _all_arrived(pair)}
    for flow in outcome.flows:
        if flow.direction == way and not sparse and (died := _died(flow, exp)):
            if not expect.still or _died(flow, exp, expect.still):
                raise Broken(Fault.PATH, died)
            if flow.id not in whole or not flow.bytes:
                raise Broken(Fault.TOOL, f"{died}{expect.meanwhile}")
            warnings.append(f"{died}{expect.meanwhile}; afterwards all of it arrived")
    counted = [i for i in summed if i.counted]
    if not counted:
        cause = "the lines do not reach so far"
        if late := seconds.closed_late(exp, summed):
            cause = f"the only line there was closed {late:.1f} s late"
            cause += f", as {expect.stood_still}" if expect.still else ""
        raise Broken(Fault.TOOL, f"no whole second lies after the warm-up: {cause} ({phrases.way(way)})")
    for flow in outcome.flows:
        if flow.direction == way and flow.bytes == 0:
            raise Broken(
                Fault.PATH, f"flow {flow.id} carried nothing after the warm-up while others did ({phrases.way(way)})"
            )
    empty = sum(1 for i in counted if i.bytes == 0)
    if empty and not sparse:
        warnings.append(f"nothing arrived in {empty} of {len(counted)} counted seconds ({phrases.way(way)})")
    if late := seconds.closed_late(exp, summed):
        warnings.append(f"a busy end closed the last second {late:.1f} s late: it is left out ({phrases.way(way)})")
    outcome = replace(outcome, warnings=tuple(warnings))
    return _udp(exp, pairs, outcome) if exp.protocol == Protocol.UDP else outcome


def _unplanted(intervals: Sequence[Interval], exp: Experiment) -> list[Interval]:
    """Only the intervals before a member of the bundle is taken down on purpose, as that may stop the traffic."""
    down = exp.member_down
    return [i for i in intervals if down is None or i.end <= down[0]]


def _stall(summed: list[Interval], asked: float, hung: bool, still: Sequence[tuple[float, float]] = ()) -> str:
    """Why the traffic as a whole counts as stalled, or ''; spans in which an end stood still itself are left out."""
    whole = [i for i in summed if i.end - i.start > 0.5]
    if not hung:  # after the planned time the tool only winds up
        whole = [i for i in whole if i.start < asked - 0.5]
    counted = [i for i in whole if i.counted]
    if not counted:
        return ""
    empty = [i for i in counted if i.bytes == 0 and seconds.within(still, i.start, i.end) < 0.5]
    last = max((i.end for i in whole if i.bytes), default=0.0)
    trailing = whole[-1].end - last - seconds.within(still, last, whole[-1].end)
    if len(empty) == len(counted):
        return f"the connection was made and then nothing arrived: no byte after {last:.0f} s"
    if trailing >= (1.0 if still else TRAILING - 0.05):
        return f"the transfer stalled: no byte after {last:.0f} s of {asked:g} s"
    if len(empty) > len(counted) * STALL_SHARE:
        return f"the transfer stalled: nothing arrived in {len(empty)} of {len(counted)} counted seconds"
    return ""


def _died(flow: Flow, exp: Experiment, still: Sequence[tuple[float, float]] = ()) -> str:
    """Why a flow counts as stopped for good while others went on, which is as bad as if all had stopped; else ''.

    `still`: spans in which an end itself stood still; if there are any, one empty second besides them is too long.
    """
    asked = exp.warmup + exp.duration
    whole = [i for i in _unplanted(flow.intervals, exp) if i.start < asked - 0.5]
    last = max((i.end for i in whole if i.bytes), default=0.0)
    most = 1.0 if still else max(TRAILING, 0.2 * asked) - 0.05
    if last and whole[-1].end - last - seconds.within(still, last, whole[-1].end) >= most:
        return f"flow {flow.id} stopped arriving after {last:.0f} s of {asked:g} s while others went on"
    return ""


def _trickled(exp: Experiment, pairs: list[Pair], summed: list[Interval]) -> str:
    """Why a client could not end in time: what it had written arrives too slowly; '' if that is not the reason."""
    if exp.protocol != Protocol.TCP or not all(p.tx for p in pairs):
        return ""
    waiting = sum(flow_sums.total_bytes(p.tx) - flow_sums.total_bytes(p.rx) for p in pairs if p.tx)
    rate = seconds.rate(summed)
    if waiting <= 0 or waiting * 8 < rate * PATIENCE:
        return ""
    return (
        f"the transfer trickled: {units.rate(rate)} arrived, and {waiting} bytes were still on their way when the time "
        "was up and more"
    )


def _ran_to_end(exp: Experiment, pair: Pair, asked: float, expect: Expectation) -> None:
    ended = pair.rx.end
    if ended >= asked * COMPLETE and (pair.rx.total is not None or pair.rx.rows[-1].end >= asked - 0.02):
        return
    sender_done = pair.tx is not None and pair.tx.total is not None and pair.tx.end >= asked * COMPLETE
    flow = pair.stream.connection.flow
    accounted = pair.rx.total is not None and pair.sent is not None and flow_sums.missing(pair.rx, pair.sent) == 0
    if exp.protocol == Protocol.UDP and accounted and ended >= asked * STALL_SHARE:
        return  # every datagram is known to be received or lost, so the last one did come that early
    if exp.protocol == Protocol.TCP and sender_done and _all_arrived(pair):  # a busy receiver began to count late
        if ended >= asked * STALL_SHARE:
            return
        raise Broken(Fault.TOOL, f"flow {flow} was taken up late: {ended:.1f} s of {asked:g} s were counted")
    itself = seconds.all_within(expect.still, ended, asked)
    fault, more = (Fault.TOOL, expect.meanwhile) if itself else (Fault.PATH, "")
    if sender_done and not ended >= asked * COMPLETE:
        raise Broken(
            fault, f"flow {flow} stopped arriving after {ended:.1f} s while its sender went on to the end{more}"
        )
    if ended >= asked * COMPLETE:
        return  # every second is there; only the summary is missing, and it is not used
    if expect.watchdog:
        raise Broken(fault, f"flow {flow} hung: its last figures are of {ended:.1f} s of {asked:g} s{more}")
    raise Broken(Fault.TOOL, f"flow {flow} ran {ended:.1f} s of the {asked:g} s asked")


def _all_arrived(pair: Pair) -> bool:
    """Whether both ends print the same total to the byte; if the path had stopped, some bytes would be missing."""
    received, sent = pair.rx.total, pair.sender
    return bool(received and sent and received.exact and sent.exact and received.bytes == sent.bytes > 0)


def _udp(exp: Experiment, pairs: list[Pair], outcome: Outcome) -> Outcome:
    """Add the loss that the receiver cannot see (the end of a flow), and warn if the sender could not keep its rate."""
    lost, datagrams, warnings = outcome.lost, outcome.datagrams, list(outcome.warnings)
    if lost is None or datagrams is None:
        raise Broken(Fault.TOOL, "the receiver's lines tell nothing of lost datagrams")
    if any(p.sent is None and flow_sums.ends_silent(p.rx, exp.warmup + exp.duration) for p in pairs):
        raise Broken(Fault.TOOL, "nothing arrived at its end, and the sender does not tell how many datagrams it sent")
    unseen = sum(flow_sums.missing(p.rx, p.sent) for p in pairs)
    if unseen:
        lost, datagrams = lost + unseen, datagrams + unseen
        warnings.append(f"{unseen} datagrams were sent after the last one that arrived: they count as lost")
    size = exp.write_size or UDP_PAYLOAD[family(pairs[0].stream.connection.local)]
    if reason := next(filter(None, (flow_sums.of_size(p.rx, size) for p in pairs)), ""):
        raise Broken(Fault.TOOL, reason)
    if exp.udp_rate_bps and outcome.offered_bps is not None and outcome.offered_bps < exp.udp_rate_bps * COMPLETE:
        share = outcome.offered_bps / exp.udp_rate_bps * 100
        warnings.append(f"the sender put out {share:.0f} % of the rate asked: it could not do more")
    if exp.warmup < 1:
        warnings.append("the first second counts too, in which iperf shows a few datagrams lost that were not")
    return replace(outcome, lost=lost, datagrams=datagrams, warnings=tuple(warnings))
