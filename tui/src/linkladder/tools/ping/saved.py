"""Reads ping's saved output."""

from __future__ import annotations

from linkladder.model import Fault, Outcome
from linkladder.tools import complaints
from linkladder.tools.ping.lines import HEADER, contradiction, parse, rtt
from linkladder.tools.saved import no_result


def read(text: str) -> Outcome:
    """The result of one ping's output."""
    headers = sum(1 for line in text.splitlines() if HEADER.match(line.strip()))
    if headers > 1:
        return no_result(f"it holds {headers} pings: one at a time can be read")
    series = parse(text)
    if series.replies:
        figures = rtt(series)
        if series.sent is None:
            return no_result("it has no summary line, so that nobody knows how many pings were sent")
        if reason := contradiction(series):
            return no_result(reason)
        lost = figures.sent - figures.received
        return Outcome(True, rtt=figures, warnings=(f"{lost} pings were not answered",) if lost else ())
    if series.too_long:
        hint = f" (the MTU is {series.reported_mtu})" if series.reported_mtu else ""
        return no_result(f"the packets are too long for the path{hint}", Fault.PATH)
    said = complaints.listen(complaints.known(series.foreign))
    if said.lines:
        return no_result(f"{said.plain}: {said.quoted}", said.fault or Fault.TOOL)
    if series.sent is None:
        return no_result("it holds no ping")
    if series.received:
        return no_result(
            f"its summary counts {series.received} answers, and no line tells how long one took: ping without -q and "
            "-f, and with packets of 16 bytes or more"
        )
    return no_result(f"none of {series.sent} pings was answered", Fault.PATH)
