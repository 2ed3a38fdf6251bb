"""netperf's saved output."""

from __future__ import annotations

from linkladder.model import Direction, Fault, Transactions
from linkladder.tools import complaints
from linkladder.tools.acceptance import COMPLETE
from linkladder.tools.netperf.lines import SCALES, parse
from linkladder.tools.records import Demands, Outcome
from linkladder.tools.saved import no_result


def read(text: str, demands: Demands) -> Outcome:
    """One session's output."""
    session = parse(text)
    sessions, seconds = demands.flows, demands.seconds
    rate, elapsed = session.number("THROUGHPUT"), session.number("ELAPSED_TIME")
    said = complaints.listen(session.foreign)
    if session.conflict:
        return no_result(session.conflict)
    if rate is None:
        lines = complaints.shorten("; ".join(session.foreign))
        return no_result(f"it has no THROUGHPUT (netperf's -k selectors are needed){': ' + lines if lines else ''}")
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
    if units == "Trans/s":
        mean, p50, p90, p99, low, high = (
            session.number(f"{n}_LATENCY") for n in ("MEAN", "P50", "P90", "P99", "MIN", "MAX")
        )
        return Outcome(True, transactions=Transactions(rate, 1, mean, p50, p90, p99, low, high))
    bps = rate * SCALES[units] * 8
    return Outcome(True, goodput_bps=bps, by_direction={Direction.FORWARD.value: bps})
