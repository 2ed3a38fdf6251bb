"""Turns the interim results and selectors of several netperf sessions into one result.

Each session prints its interim results with the wall-clock time of their ends, and all sessions run on one machine.
So they are put on one time line and cut into seconds, and the warm-up of the last session to start is cut off all.
"""

from __future__ import annotations

from dataclasses import replace

from linkladder.model import End, Experiment, Fault, Flow, Interval, Outcome, Protocol, SocketBuffers, Transactions
from linkladder.tools import complaints
from linkladder.tools.acceptance import COMPLETE
from linkladder.tools.netperf.argv import data_port, waits
from linkladder.tools.netperf.lines import SCALES, Piece, Session, parse
from linkladder.tools.records import Expectation, Layout
from linkladder.tools.seconds import all_within
from linkladder.tools.socket_buffer import window_reason

LAST = 1.5  # seconds at the end that may lack an interim result
NO_DEMO = "Demo Mode not configured"  # as a netperf says that cannot give interim results
AGREE = 0.02  # by what share interim results and total may differ


def finish(
    exp: Experiment, where: Layout, outs: tuple[str, ...], said: complaints.Said, expect: Expectation
) -> Outcome:
    """The verdict on all sessions together."""
    sessions = [_filled(parse(o)) for o in outs]
    done = [s for s in sessions if s.number("THROUGHPUT") is not None and s.number("ELAPSED_TIME") is not None]
    if len(sessions) != where.clients or len(done) != len(sessions) or any(expect.exit_codes) or expect.watchdog:
        return _failed(exp, where, sessions, len(done), said, expect)
    if expect.server_exit is not None:
        return _tool(f"netserver ended by itself (exit status {expect.server_exit})")
    for number, session in enumerate(sessions):
        if reason := session.conflict or _reason(exp, session):
            return _tool(f"session {number + 1}: {reason}")
    read_back, reason = _windows(exp, where, sessions, expect)
    if reason:
        return replace(_tool(reason), window_read_back=read_back)
    if said.lines:
        return _tool(f"{said.plain}: {said.quoted}")
    base = max(s.pieces[0].start for s in sessions)
    seconds = [_seconds(s, base) for s in sessions]
    shared = min(len(s) for s in seconds)
    first, last = _window(exp)
    if shared < last or last <= first:
        return _tool(f"the sessions have {max(0, shared - first)} of {exp.duration:g} counted seconds in common")
    amounts = [s[:last] for s in seconds]
    if exp.protocol == Protocol.RR:
        outcome = _transactions(exp, sessions, amounts, first, last)
    else:
        outcome = _stream(exp, where, sessions, amounts, first, last, expect)
    return replace(outcome, window_read_back=read_back)


def _filled(session: Session) -> Session:
    """Give interim results that were left out what the total has beyond the others, in proportion to their time."""
    gaps = sum(p.end - p.start for p in session.pieces if p.filled)
    if gaps:
        rest = max(0.0, (_total(session) or 0.0) - sum(p.amount for p in session.pieces))
        session.pieces = [replace(p, amount=rest * (p.end - p.start) / gaps) if p.filled else p for p in session.pieces]
    return session


def _tool(reason: str) -> Outcome:
    return Outcome(False, Fault.TOOL, reason)


def _failed(
    exp: Experiment, where: Layout, sessions: list[Session], done: int, said: complaints.Said, expect: Expectation
) -> Outcome:
    """The verdict if a session has no result: the path's fault if it had started and then got no more answers."""
    everything = complaints.listen(said.lines, *(complaints.known(s.foreign) for s in sessions))
    quoted = f": {everything.quoted}" if everything.lines else ""
    if expect.server_exit is not None:
        return _tool(f"netserver ended by itself (exit status {expect.server_exit}){quoted}")
    if expect.watchdog and done < where.clients and any(s.pieces for s in sessions):
        ended = max(p[-1].end - p[0].start for s in sessions if (p := s.pieces))
        asked = exp.warmup + exp.duration
        begun = all(s.pieces for s in sessions)
        if ended < asked * COMPLETE or (begun and not done):  # else answers came, but some sessions began too late
            stalled = f"the transfer stalled: no answer after {ended:.0f} s of {asked:g} s"
            first = waits(exp)  # when they begin to send
            itself = all_within(expect.still, first + ended, first + asked)
            return Outcome(False, *expect.broke_off(stalled, itself))
        return _tool(f"{where.clients - done} of {where.clients} netperf sessions began too late to end in time")
    if everything.fault == Fault.PATH and not everything.reset:
        return Outcome(False, Fault.PATH, f"{everything.plain}{quoted}")
    lines = [line for s in sessions for line in s.foreign] or everything.lines
    complaint = f": {complaints.shorten('; '.join(dict.fromkeys(lines)))}" if lines else ""
    codes = sorted({c for c in expect.exit_codes if c})
    status = f" (exit status {', '.join(map(str, codes))})" if codes else ""
    if expect.watchdog:
        return _tool(f"netperf did not end by itself and had to be ended{complaint}")
    return _tool(f"{where.clients - done} of {where.clients} netperf sessions gave no result{status}{complaint}")


def _reason(exp: Experiment, session: Session) -> str:
    """Why the figures of a finished session cannot be trusted; '' if they can."""
    asked, elapsed = max(1.0, round(exp.warmup + exp.duration)), session.number("ELAPSED_TIME") or 0.0
    if elapsed < asked * COMPLETE:
        return f"it ran {elapsed:g} s of {asked:g} s"
    if not session.pieces:
        built = " (it was built without --enable-demo)" if any(NO_DEMO in line for line in session.foreign) else ""
        return f"it gave no interim results{built}, so that the warm-up cannot be cut off"
    total = _total(session)
    if total is None:
        return f"its rate is in {session.values.get('THROUGHPUT_UNITS', 'no unit')}, which is not known here"
    if total <= 0:
        return "it moved nothing"
    pieces = session.pieces
    seen = sum(p.amount for p in pieces)
    span = pieces[-1].end - pieces[0].start
    if elapsed - span > LAST:
        return f"its interim results cover {span:.1f} s of {elapsed:g} s"
    expected = total * min(1.0, span / elapsed)
    if seen > total * (1 + AGREE) or (span > elapsed * 0.95 and seen < expected * (1 - 3 * AGREE)):
        return f"its interim results add up to {seen:.0f}, its own total is {total:.0f}"
    return ""


def _total(session: Session) -> float | None:
    """Bytes or transactions of the whole run, including the warm-up."""
    received = session.number("LOCAL_BYTES_RECVD")
    if received is not None:
        return received
    rate, elapsed = session.number("THROUGHPUT"), session.number("ELAPSED_TIME")
    scale = SCALES.get(session.values.get("THROUGHPUT_UNITS", ""))
    return None if rate is None or elapsed is None or scale is None else rate * scale * elapsed


def _window(exp: Experiment) -> tuple[int, int]:
    """The counted whole seconds: the first, and the one after the last."""
    first = int(-(-exp.warmup // 1))
    return first, int(max(1.0, round(exp.warmup + exp.duration)))


def _seconds(session: Session, base: float) -> list[float]:
    """The amount in each second after `base`, up to the first second of which less than half is covered."""
    pieces = list(session.pieces)
    elapsed, total = session.number("ELAPSED_TIME") or 0.0, _total(session) or 0.0
    begun, end = pieces[0].start, pieces[-1].end
    if begun + elapsed - end > 0.02:  # the last part has no interim result
        pieces.append(Piece(end, begun + elapsed, max(0.0, total - sum(p.amount for p in pieces))))
    seconds = []
    for second in range(int(max(0.0, pieces[-1].end - base)) + 1):
        start = base + second
        amount = covered = 0.0
        for piece in pieces:
            overlap = min(piece.end, start + 1) - max(piece.start, start)
            if overlap > 0:
                amount += piece.amount * overlap / (piece.end - piece.start)
                covered += overlap
        if covered < 0.5:
            break
        seconds.append(amount)
    return seconds


def _windows(exp: Experiment, where: Layout, sessions: list[Session], expect: Expectation) -> tuple[SocketBuffers, str]:
    """The socket buffers at the end of the run, and why they are not the ones asked for, or ''."""
    mine, other = where.client, End.FAR if where.client == End.NEAR else End.NEAR
    found = SocketBuffers()
    reason = ""
    for name, end in (("LSR_SIZE_END", mine), ("RSS_SIZE_END", other), ("LSS_SIZE_END", mine), ("RSR_SIZE_END", other)):
        os = expect.os_near if end == End.NEAR else expect.os_far
        for session in sessions:
            size = session.number(name)
            if size is None:
                continue
            if not (found.near if end is End.NEAR else found.far):
                found = found.granted(end, int(size))
            if exp.window is not None and not reason and (why := window_reason(exp.window, int(size), os)):
                reason = f"the socket buffer at the {end} end is not the one asked for: {why}"
    if exp.window is not None and not (found.near and found.far) and not reason:
        reason = "netperf does not say which socket buffers it was granted"
    return found, reason


def _stream(
    exp: Experiment,
    where: Layout,
    sessions: list[Session],
    amounts: list[list[float]],
    first: int,
    last: int,
    expect: Expectation,
) -> Outcome:
    way = exp.direction
    span = last - first
    flows = []
    for number, (session, mine) in enumerate(zip(sessions, amounts, strict=True)):
        intervals = tuple(
            Interval(float(k), float(k + 1), round(a), way, first <= k < last) for k, a in enumerate(mine)
        )
        got = sum(i.bytes for i in intervals if i.counted)
        port = data_port(expect.port, number) if expect.port else 0
        near_port, far_port = (0, port) if where.server == End.FAR else (port, 0)
        retransmits = session.number("REMOTE_TRANSPORT_RETRANS")
        flows.append(
            Flow(
                str(number + 1),
                way,
                expect.local,
                near_port,
                expect.remote,
                far_port,
                got,
                got * 8 / span,
                round(_total(session) or 0),
                session.number("ELAPSED_TIME") or 0.0,
                None if retransmits is None else int(retransmits),
                intervals=intervals,
            )
        )
    if any(f.bytes == 0 for f in flows):
        return Outcome(False, Fault.PATH, "nothing arrived after the warm-up", flows=tuple(flows))
    summed = tuple(
        Interval(float(k), float(k + 1), sum(f.intervals[k].bytes for f in flows), way, first <= k < last)
        for k in range(last)
    )
    goodput = sum(i.bytes for i in summed if i.counted) * 8 / span
    return Outcome(True, goodput_bps=goodput, by_direction={way.value: goodput}, flows=tuple(flows), intervals=summed)


def _transactions(
    exp: Experiment, sessions: list[Session], amounts: list[list[float]], first: int, last: int
) -> Outcome:
    per_second = [sum(a[k] for a in amounts) for k in range(last)]
    rate = sum(per_second[first:last]) / (last - first)
    if rate <= 0:
        return Outcome(False, Fault.PATH, "no transaction was answered after the warm-up")
    weights = [_total(s) or 0.0 for s in sessions]
    warnings = ["latencies are of the whole run, the warm-up included: netperf keeps one histogram"]
    if len(sessions) > 1:
        warnings.append("percentiles are the largest of the sessions': the true ones of all transactions are no larger")
    each = exp.request + exp.response
    return Outcome(
        True,
        transactions=Transactions(
            rate,
            len(sessions),
            _mean(sessions, weights),
            _extreme(sessions, "P50_LATENCY"),
            _extreme(sessions, "P90_LATENCY"),
            _extreme(sessions, "P99_LATENCY"),
            _extreme(sessions, "MIN_LATENCY", smallest=True),
            _extreme(sessions, "MAX_LATENCY"),
            request=exp.request,
            response=exp.response,
        ),
        intervals=tuple(
            Interval(float(k), float(k + 1), round(a * each), exp.direction, first <= k < last, datagrams=round(a))
            for k, a in enumerate(per_second)
        ),
        warnings=tuple(warnings),
    )


def _mean(sessions: list[Session], weights: list[float]) -> float | None:
    """The mean latency of all transactions: the sessions' means, weighted by their transactions."""
    means = [s.number("MEAN_LATENCY") for s in sessions]
    known = [m for m in means if m is not None]
    if len(known) < len(means) or not sum(weights):
        return None
    return sum(m * w for m, w in zip(known, weights, strict=True)) / sum(weights)


def _extreme(sessions: list[Session], name: str, smallest: bool = False) -> float | None:
    """The largest or smallest figure of all sessions; None if one of them does not print it."""
    values = [s.number(name) for s in sessions]
    known = [v for v in values if v is not None]
    if not known or len(known) < len(values):
        return None
    return min(known) if smallest else max(known)
