"""Reads netperf's saved output."""

from __future__ import annotations

from linkladder.model import Direction, Fault, Outcome, Transactions
from linkladder.tools import complaints
from linkladder.tools.acceptance import COMPLETE
from linkladder.tools.netperf.lines import SCALES, Session, parse
from linkladder.tools.records import Demands
from linkladder.tools.saved import no_result

ROUNDED = 0.005  # share of a rate that rounding may change
COARSE = 0.01  # share of a rate that its last printed digit may be worth
SENT = 0.02  # share by which the bytes sent may differ from those that the rate makes
MOVED = {"LOCAL_BYTES_SENT": "sent", "REMOTE_BYTES_SENT": "sent", "LOCAL_BYTES_XFERD": "moved",
         "REMOTE_BYTES_XFERD": "moved"}  # fmt: skip
SCATTERED = "netperf says itself that its repeats scattered more than was asked for"
ALONE = "the rate stands alone: nothing beside it in the text would show a changed digit"


def read(text: str, demands: Demands) -> Outcome:
    """The result of one session's output."""
    session = parse(text)
    sessions, seconds = demands.flows, demands.seconds
    rate, elapsed = session.number("THROUGHPUT"), session.number("ELAPSED_TIME")
    said = complaints.listen(session.foreign)
    if session.conflict:
        return no_result(session.conflict)
    if rate is None:
        lines = complaints.shorten("; ".join(session.foreign))
        return no_result(f"it has neither a whole table nor a THROUGHPUT{': ' + lines if lines else ''}")
    if said.lines and complaints.known(said.lines):
        return no_result(f"{said.plain}: {said.quoted}")
    if sessions not in (None, 1):
        return no_result(f"it holds one session, {sessions} were asked")
    if seconds is not None and (elapsed is None or elapsed < seconds * COMPLETE):
        return no_result(f"it ran {elapsed if elapsed is not None else 'an unknown number of'} s of {seconds:g} s")
    units = session.values.get("THROUGHPUT_UNITS", "")
    if units not in SCALES:
        return no_result(f"its rate is in {units or 'no unit'}, which is not known here")
    if rate <= 0:
        return no_result("it moved nothing", Fault.PATH)
    if _step(session.values["THROUGHPUT"]) > COARSE * rate:
        return no_result(f"its rate of {session.values['THROUGHPUT']} {units} is printed too coarsely: ask for -f m")
    beside = _beside(session, rate * SCALES[units], elapsed)
    if reason := next(filter(None, beside), ""):
        return no_result(reason)
    warnings: tuple[str, ...] = () if beside else (ALONE,)
    if any("Desired confidence was not achieved" in line for line in session.foreign):
        warnings = (*warnings, SCATTERED)
    if units == "Trans/s":
        mean, p50, p90, p99, low, high = (
            session.number(f"{n}_LATENCY") for n in ("MEAN", "P50", "P90", "P99", "MIN", "MAX")
        )
        if reason := _latencies(rate, mean, [low, p50, p90, p99, high]):
            return no_result(reason)
        if mean:  # it confirms the rate, as transactions come one at a time
            warnings = tuple(w for w in warnings if w != ALONE)
        return Outcome(True, transactions=Transactions(rate, 1, mean, p50, p90, p99, low, high), warnings=warnings)
    bps = rate * SCALES[units] * 8
    if _both(session):
        return no_result("its bytes went both ways, and its rate is of one")
    way = _way(session)
    if way is None:
        return Outcome(True, goodput_bps=bps, warnings=("nothing tells which way it went", *warnings))
    sent, received = session.number("MESSAGES_SENT"), session.number("MESSAGES_RECEIVED")
    if sent is None or received is None:
        return Outcome(True, goodput_bps=bps, by_direction={way.value: bps}, warnings=warnings)
    lost = max(0, int(sent - received))
    ways = {way.value: bps}
    return Outcome(True, goodput_bps=bps, by_direction=ways, lost=lost, datagrams=int(sent), warnings=warnings)


def _step(printed: str) -> float:
    """By how much a printed figure may be rounded."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def _both(session: Session) -> bool:
    """Whether it tells of bytes both ways, which one run of netperf does not have."""
    back = session.number("LOCAL_BYTES_RECVD") or session.number("REMOTE_BYTES_SENT")
    forth = session.number("LOCAL_BYTES_SENT") or session.number("REMOTE_BYTES_RECVD")
    return bool((back and (forth or session.test == "STREAM")) or (forth and session.test == "MAERTS"))


def _way(session: Session) -> Direction | None:
    """The direction of the data; the end where netperf ran counts as the near one."""
    if session.test == "MAERTS" or session.number("LOCAL_BYTES_RECVD") or session.number("REMOTE_BYTES_SENT"):
        return Direction.REVERSE
    if (
        session.test == "STREAM"
        or session.number("MESSAGES_SENT")
        or session.number("LOCAL_BYTES_SENT")
        or session.number("REMOTE_BYTES_RECVD")
    ):
        return Direction.FORWARD
    return None


def _beside(session: Session, per_second: float, elapsed: float | None) -> list[str]:
    """For each figure from which the rate can be computed: how it contradicts the rate, or ''."""
    if not elapsed:
        return []
    said = []
    in_bytes = session.values.get("THROUGHPUT_UNITS") != "Trans/s"
    counted = session.number("LOCAL_BYTES_RECVD") or session.number("REMOTE_BYTES_RECVD")
    if counted and in_bytes:
        apart = abs(counted - per_second * elapsed) > 0.01 * counted + 0.01 * per_second
        said.append(f"its rate makes {per_second * elapsed:.0f} bytes, it received {counted:.0f}" if apart else "")
    for name, verb in MOVED.items() if in_bytes else ():
        if moved := session.number(name):
            more = per_second * elapsed - moved
            apart = (more if session.protocol == "UDP" else abs(more)) > SENT * moved  # of UDP some may be lost
            said.append(f"its rate makes {per_second * elapsed:.0f} bytes, it {verb} {moved:.0f}" if apart else "")
    messages, size = session.number("MESSAGES_RECEIVED"), session.number("LOCAL_SEND_SIZE")
    if messages and size:  # the table prints its time in hundredths of a second
        made = messages * size / elapsed
        apart = abs(made - per_second) > (ROUNDED + 0.005 / elapsed) * max(made, per_second)
        said.append(f"its datagrams make {made:.0f} bytes a second, its rate is {per_second:.0f}" if apart else "")
        said.append(_sent(session, messages, size))
    covered = sum(p.end - p.start for p in session.pieces)
    if covered > 0.9 * elapsed:
        seen = sum(p.amount for p in session.pieces) / covered
        apart = abs(seen - per_second) > 0.02 * per_second
        said.append(f"its interim results make {seen:.0f} a second, its total {per_second:.0f}" if apart else "")
    return said


def _sent(session: Session, received: float, size: float) -> str:
    """How the datagrams sent contradict the rate of the sender or what arrived; '' if they do not, or are not there."""
    sent, elapsed, rate = (session.number(name) for name in ("MESSAGES_SENT", "SENT_TIME", "SENT_THROUGHPUT"))
    if sent is not None and sent < received:
        return f"{received:.0f} datagrams arrived, and {sent:.0f} were sent"
    if sent is None or not elapsed or rate is None:
        return ""
    made, printed = sent * size / elapsed, rate * SCALES[session.values["THROUGHPUT_UNITS"]]
    apart = abs(made - printed) > (ROUNDED + 0.005 / elapsed) * max(made, printed)
    return f"the datagrams sent make {made:.0f} bytes a second, the sender's rate is {printed:.0f}" if apart else ""


def _latencies(rate: float, mean: float | None, ordered: list[float | None]) -> str:
    """How the latencies contradict the rate (one transaction at a time) or each other; '' if they do not."""
    if mean and abs(rate * mean / 1e6 - 1) > 0.02:
        return f"its rate makes {1e6 / rate:.2f} us for each transaction, its mean is {mean:.2f}"
    known = [value for value in (*ordered[:1], mean, *ordered[-1:]) if value is not None]
    shares = [value for value in ordered if value is not None]
    if sorted(known) != known or sorted(shares) != shares:
        return "its latencies are out of order"
    return ""
