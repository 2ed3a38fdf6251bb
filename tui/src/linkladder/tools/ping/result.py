"""Judges the output of pings."""

from __future__ import annotations

from linkladder.model import Experiment, Fault, Outcome, Protocol, Rtt
from linkladder.tools import complaints
from linkladder.tools.ping.lines import Series, parse, path_mtu, rtt
from linkladder.tools.records import Expectation, Texts


def finish(exp: Experiment, clients: tuple[Texts, ...], expect: Expectation) -> Outcome:
    """The verdict on one series, or on the probes of all MTUs together."""
    series = [parse(out, errors) for out, errors in clients]
    for one in series:
        if expect.watchdog and one.sent is None and not one.replies:
            return _silent(one, expect)
        said = complaints.listen(one.foreign)
        said.lines = complaints.known(said.lines)
        if said.lines and said.fault == Fault.TOOL and not one.replies:
            return Outcome(False, Fault.TOOL, f"ping: {said.plain}: {said.quoted}")
        if one.sent is None and not one.replies:
            return _silent(one, expect)
    if exp.protocol == Protocol.DF:
        return _df(exp.sizes, clients)
    figures = rtt(series[0]) if series else Rtt(0, 0)
    if figures.received == 0:
        said = complaints.listen(series[0].foreign if series else ())
        text = f": {said.quoted}" if said.lines else ""
        return Outcome(False, Fault.PATH, f"none of {figures.sent} pings was answered{text}", rtt=figures)
    lost = figures.sent - figures.received
    warnings = (f"{lost} of {figures.sent} pings were not answered",) if lost > 0 else ()
    return Outcome(True, rtt=figures, warnings=warnings)


def _silent(series: Series, expect: Expectation) -> Outcome:
    """The outcome of a ping that printed neither answers nor a summary."""
    if expect.watchdog and series.header and not series.foreign:
        return Outcome(False, Fault.PATH, "no ping was answered before time ran out")
    if expect.watchdog:
        return Outcome(False, Fault.TOOL, "ping was not done within its time, and was ended")
    text = complaints.shorten("; ".join(series.foreign))
    if text:
        return Outcome(False, Fault.TOOL, f"ping: {text}")
    return Outcome(False, Fault.TOOL, "ping printed no result")


def _df(sizes: tuple[int, ...], clients: tuple[Texts, ...]) -> Outcome:
    if len(clients) != len(sizes):
        return Outcome(False, Fault.TOOL, f"{len(clients)} of {len(sizes)} MTU probes ran")
    found = path_mtu(tuple((size, *texts) for size, texts in zip(sizes, clients, strict=True)))
    if found.mtu is None:
        asked = f"the probe of {sizes[0]} bytes was not" if len(sizes) == 1 else "no probe of any size was"
        return Outcome(False, Fault.PATH, f"{asked} answered", path_mtu=found)
    warnings = []
    if found.black_hole:
        gone = min(m for m in found.failed if m > found.mtu)
        warnings.append(f"packets of {gone} bytes vanish without a word while {found.mtu} pass: a black hole")
    odd = [m for m in found.failed if m < found.mtu]
    if odd:
        warnings.append(f"a probe of {odd[0]} bytes went unanswered though a larger one passed: there is loss")
    return Outcome(True, path_mtu=found, warnings=tuple(warnings))
