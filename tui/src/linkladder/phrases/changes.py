"""Says in words what a changed setting did."""

from __future__ import annotations

from collections.abc import Iterable

from linkladder import units
from linkladder.phrases.judgements import single
from linkladder.phrases.ways import way
from linkladder.verdicts import Answer, Change, ChangedFigure, ComparedFigure, Measured

NAMES = {
    Measured.GOODPUT: "throughput",
    Measured.TRANSACTIONS: "transactions",
    Measured.SENDER_CORES: "cores at the sender",
    Measured.RECEIVER_CORES: "cores at the receiver",
    Measured.PER_CORE: "throughput of one core",
    Measured.LOADED_RTT: "round trip under load",
    Measured.SCATTER: "scatter between seconds",
    Measured.IDLE_RTT: "idle round trip",
    Measured.LOSS: "loss",
}
LESS_IS_BETTER = (Measured.SENDER_CORES, Measured.RECEIVER_CORES, Measured.LOADED_RTT, Measured.SCATTER)


AGAIN = "the same again"
FEASIBLE = 60  # more pairs than this are not proposed, as nobody would wait for them
WIDE = 10.0  # an interval whose high end is that many times its low end is not shown, as it tells nothing
CARRIED = (Measured.GOODPUT, Measured.TRANSACTIONS)
CORES = (Measured.SENDER_CORES, Measured.RECEIVER_CORES)


def change(said: str, beside: str, one: Change) -> str:
    """As 'MTU 9000 (1 stream), near to far, 6 pairs: throughput 941 Mb/s to 989 Mb/s, +5.1 % (+3.9 to +6.3 %); ...'."""
    void = f" ({one.void} more failed or not borne out)" if one.void else ""
    arms = f"{said} ({beside})" if beside else said
    if not one.figures:
        return f"{arms}, {way(one.direction)}: no pair of trials could be compared{void}."
    figures = "; ".join(figure(f) for f in one.figures)
    noise = "Noise floor: " if said == AGAIN else ""
    price = "" if noise else _price(one.figures)
    return f"{noise}{arms}, {way(one.direction)}, {one.pairs} pairs{void}: {figures}.{price}"


def briefly(changes: Iterable[tuple[str, str, Change]]) -> tuple[str, ...]:
    """A sentence for each change, as 'TSO off: 45 % less throughput with 30 % more cores at the sender (1 stream)'."""
    by_answer: dict[str, dict[str, list[Change]]] = {}
    for said, beside, one in changes:
        if said != AGAIN and one.figures:
            by_answer.setdefault(said, {}).setdefault(beside, []).append(one)
    return tuple(
        f"{said}: {'; '.join(_beside(b, of) for b, of in loads.items())}." for said, loads in by_answer.items()
    )


def _beside(beside: str, changes: list[Change]) -> str:
    """What the change did with one load; the directions are named only if they differ."""
    each = [_brief(one) for one in changes]
    load = f" ({beside})" if beside else ""
    if len(changes) == 1:
        return each[0] + load
    if len(set(each)) == 1:
        return f"{each[0]}, either way{load}"
    return ", ".join(f"{said} {way(one.direction)}" for said, one in zip(each, changes, strict=True)) + load


def _brief(one: Change) -> str:
    by = {f.measured: f for f in one.figures}
    carried = next((by[m] for m in CARRIED if m in by), None)
    cores = [by[m] for m in (*CORES, Measured.SCATTER) if m in by and by[m].answer == Answer.DIFFERS]
    said = _difference(carried) if carried else "nothing to compare"
    return f"{said} with {' and '.join(map(_difference, cores))}" if cores else said


def _difference(f: ChangedFigure) -> str:
    if f.answer != Answer.DIFFERS or f.ratio is None:
        same = "no difference that matters in" if f.answer == Answer.SAME else "no clear difference in"
        return f"{same} {NAMES[f.measured]}"
    return f"{abs(100 * (f.ratio - 1)):.0f} % {'more' if f.ratio > 1 else 'less'} {NAMES[f.measured]}"


def figure(f: ChangedFigure) -> str:
    """As 'throughput 941 Mb/s to 989 Mb/s, +5.1 % (+3.9 to +6.3 %)', or that it is the same, or cannot be told."""
    name = NAMES[f.measured]
    values = f"{name} {_value(f.measured, f.before)} to {_value(f.measured, f.after)}"
    if f.answer == Answer.SAME:
        return f"{name} the same within 2 % ({_value(f.measured, f.before)})"
    if f.answer == Answer.UNDECIDED:
        more = f", about {f.more_pairs} more pairs would tell" if f.more_pairs else ""
        more = more if (f.more_pairs or 0) <= FEASIBLE else ", too scattered for pairs to tell"
        narrow = f.low and f.high and f.high < WIDE * f.low
        between = f", between {_percent(f.low)} and {_percent(f.high)}" if narrow else ""
        return f"{values}: undecided{between}{more}"
    stray = f"; not sure without pair {f.outlier}" if f.outlier else ""
    return f"{values}, {_percent(f.ratio)} ({_percent(f.low)} to {_percent(f.high)}){stray}"


def _price(figures: Iterable[ChangedFigure]) -> str:
    """A sentence on figures that are better at the cost of others; '' if there are no such two."""
    better = [f for f in figures if f.answer == Answer.DIFFERS and f.ratio and _better(f)]
    worse = [f for f in figures if f.answer == Answer.DIFFERS and f.ratio and not _better(f)]
    if not better or not worse:
        return ""
    gain, price = (" and ".join(NAMES[f.measured] for f in side) for side in (better, worse))
    return f" What is gained in {gain} is paid for in {price}."


def _better(f: ChangedFigure) -> bool:
    assert f.ratio is not None
    return (f.ratio < 1) == (f.measured in LESS_IS_BETTER)


ANSWERS = {Answer.DIFFERS: "differs", Answer.SAME: "the same for all purposes", Answer.UNDECIDED: "cannot tell"}


def compared(f: ComparedFigure) -> str:
    """One figure of two runs: 'dc-link, TCP, near to far: round trip under load 2.1 ms to 9.4 ms, differs.'"""
    noise = single(*f.repeats) if f.noise is None else f"noise ±{_value(f.measured, f.noise)}"
    figures = f"{NAMES[f.measured]} {_value(f.measured, f.a)} to {_value(f.measured, f.b)}"
    answer = f"{ANSWERS[f.answer]}{', as an end was kept from its CPU' if f.withheld else ''}"
    return f"{f.rung}, {f.experiment}, {way(f.direction)}: {figures}, {answer} ({noise})."


def _value(measured: Measured, value: float) -> str:
    if measured in (Measured.GOODPUT, Measured.PER_CORE):
        return units.rate(value)
    if measured == Measured.TRANSACTIONS:
        return f"{units.three(value)}/s"
    if measured == Measured.SCATTER:
        return f"{100 * value:.1f} %"
    if measured == Measured.LOSS:
        return f"{value:.3g} %"
    if measured in (Measured.LOADED_RTT, Measured.IDLE_RTT):
        return units.milliseconds(value)
    return f"{value:.2f}"


def _percent(ratio: float | None) -> str:
    return f"{100 * (ratio - 1):+.1f} %" if ratio is not None else "?"
