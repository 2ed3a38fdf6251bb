"""What a changed setting did, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable

from linkladder import units
from linkladder.phrases.ways import way
from linkladder.verdicts import Answer, Change, ChangedFigure, Measured

NAMES = {
    Measured.GOODPUT: "throughput",
    Measured.TRANSACTIONS: "transactions",
    Measured.SENDER_CORES: "cores at the sender",
    Measured.RECEIVER_CORES: "cores at the receiver",
    Measured.PER_CORE: "throughput of one core",
    Measured.LOADED_RTT: "round trip under load",
}
LESS_IS_BETTER = (Measured.SENDER_CORES, Measured.RECEIVER_CORES, Measured.LOADED_RTT)


def change(said: str, one: Change) -> str:
    """'MTU 9000, near to far: throughput 941 Mb/s to 989 Mb/s, +5.1 % (+3.9 to +6.3 %); cores ...'."""
    void = f" ({one.void} more failed)" if one.void else ""
    if not one.figures:
        return f"{said}, {way(one.direction)}: no pair of trials could be compared{void}."
    told = "; ".join(figure(f) for f in one.figures)
    return f"{said}, {way(one.direction)}, {one.pairs} pairs{void}: {told}.{_price(one.figures)}"


def figure(f: ChangedFigure) -> str:
    """'throughput 941 Mb/s to 989 Mb/s, +5.1 % (+3.9 to +6.3 %)', or that it is the same, or cannot be told."""
    name = NAMES[f.measured]
    values = f"{name} {_value(f.measured, f.before)} to {_value(f.measured, f.after)}"
    if f.answer == Answer.SAME:
        return f"{name} the same within 2 % ({_value(f.measured, f.before)})"
    if f.answer == Answer.UNDECIDED:
        more = f", about {f.more_pairs} more pairs would tell" if f.more_pairs else ""
        between = f", between {_percent(f.low)} and {_percent(f.high)}" if f.low and f.high else ""
        return f"{values}: undecided{between}{more}"
    stray = f"; pair {f.outlier} alone decides" if f.outlier else ""
    return f"{values}, {_percent(f.ratio)} ({_percent(f.low)} to {_percent(f.high)}){stray}"


def _price(figures: Iterable[ChangedFigure]) -> str:
    """A gain in one that is paid for by another."""
    better = [f for f in figures if f.answer == Answer.DIFFERS and f.ratio and _better(f)]
    worse = [f for f in figures if f.answer == Answer.DIFFERS and f.ratio and not _better(f)]
    if not better or not worse:
        return ""
    gain, price = (" and ".join(NAMES[f.measured] for f in side) for side in (better, worse))
    return f" What is gained in {gain} is paid for in {price}."


def _better(f: ChangedFigure) -> bool:
    assert f.ratio is not None
    return (f.ratio < 1) == (f.measured in LESS_IS_BETTER)


def _value(measured: Measured, value: float) -> str:
    if measured in (Measured.GOODPUT, Measured.PER_CORE):
        return units.rate(value)
    if measured == Measured.TRANSACTIONS:
        return f"{units.three(value)}/s"
    if measured == Measured.LOADED_RTT:
        return units.milliseconds(value)
    return f"{value:.2f}"


def _percent(ratio: float | None) -> str:
    return f"{100 * (ratio - 1):+.1f} %" if ratio is not None else "?"
