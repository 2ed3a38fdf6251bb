"""Says in words what a changed setting did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder import units
from linkladder.model import Direction, Path
from linkladder.phrases.judgements import single
from linkladder.phrases.ways import several_ends, way
from linkladder.verdicts import (
    LEAST_PAIRS,
    MOST_MORE,
    Answer,
    Change,
    ChangedFigure,
    ComparedFigure,
    Measured,
    Uncompared,
)

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
    Measured.RESENT: "segments sent again",
}
PER_CORE_SMALL = "transactions of one core"
ROUND_TRIPS = (Measured.LOADED_RTT, Measured.IDLE_RTT)
CORES = (Measured.SENDER_CORES, Measured.RECEIVER_CORES)
COUNTED = {Measured.TRANSACTIONS: "transactions a second"} | {m: NAMES[m] for m in CORES}  # fewer, never less
BESIDES = (*CORES, Measured.LOADED_RTT, Measured.SCATTER)  # told briefly beside what is carried
LESS_IS_BETTER = (*CORES, *ROUND_TRIPS, Measured.SCATTER, Measured.RESENT)


AGAIN = "the same again"
WIDE = 10.0  # an interval whose high end is that many times its low end is not shown, as it tells nothing
CARRIED = (Measured.GOODPUT, Measured.TRANSACTIONS, Measured.IDLE_RTT)


def change(said: str, beside: str, one: Change, paths: Sequence[Path] = ()) -> str:
    """As 'MTU 9000 (1 stream), near to far, 6 pairs: throughput 941 Mb/s to 989 Mb/s, +5.1 % (+3.9 to +6.3 %); ...'."""
    void = f" ({one.void} more failed or not borne out)" if one.void else ""
    missed = one.planned - one.pairs - one.void
    void += f" ({missed} more not measured)" if missed > 0 else ""
    lacking = "".join(f" {_uncompared(u, one)}." for u in one.uncompared)
    arms = f"{said} ({beside})" if beside else said
    which = _way(one.direction, paths)
    if not one.figures:
        return f"{arms}, {which}: no pair of trials could be compared{void}.{lacking}"
    figures = "; ".join((_noise if said == AGAIN else figure)(f, one.figures) for f in one.figures)
    noise = "Noise floor: " if said == AGAIN else ""
    price = "" if noise else _price((named(f, one.figures), f) for f in one.figures)
    return f"{noise}{arms}, {which}, {units.plural(one.pairs, 'pair')}{void}: {figures}.{lacking}{price}"


def pairs_once_more(rung: str, pairs: int) -> str:
    void, each = ("1 pair is void", "it") if pairs == 1 else (f"{pairs} pairs are void", "each")
    return f"{rung}: {void}, as a trial failed or is not borne out; another is measured for {each}"


def _uncompared(u: Uncompared, one: Change) -> str:
    """As 'Not compared: round trip under load, not known in 1 of 6 pairs'."""
    why = [f"not known in {u.unknown}"] * bool(u.unknown) + [f"none of it in {u.zero}"] * bool(u.zero)
    small = u.measured == Measured.PER_CORE and any(f.measured == Measured.TRANSACTIONS for f in one.figures)
    name = PER_CORE_SMALL if small else NAMES[u.measured]
    return f"Not compared: {name}, {' and '.join(why)} of {units.plural(one.pairs, 'pair')}"


def briefly(changes: Iterable[tuple[str, str, Change]], paths: Sequence[Path] = ()) -> tuple[str, ...]:
    """A sentence for each change, as 'TSO off: 45 % less throughput with 30 % more cores at the sender (1 stream)'.

    What one load or direction gains and another one loses is said to be paid for.
    """
    by_answer: dict[str, dict[str, list[Change]]] = {}
    for said, beside, one in changes:
        if said != AGAIN and (one.figures or one.void):
            by_answer.setdefault(said, {}).setdefault(beside, []).append(one)
    return tuple(
        f"{said}: {'; '.join(_beside(b, of, paths) for b, of in loads.items())}.{_price_elsewhere(loads, paths)}"
        for said, loads in by_answer.items()
    )


def _beside(beside: str, changes: list[Change], paths: Sequence[Path]) -> str:
    """What the change did with one load; the directions are named only if they differ."""
    each = [_brief(one) for one in changes]
    load = f" ({beside})" if beside else ""
    if len(changes) == 1:
        return each[0] + load
    if len(set(each)) == 1:
        return f"{each[0]}, either way{load}"
    return ", ".join(f"{said} {_way(one.direction, paths)}" for said, one in zip(each, changes, strict=True)) + load


def _way(direction: str, paths: Sequence[Path]) -> str:
    """The direction beside words that name the pair, if there are more than two ends."""
    if not several_ends(paths):
        return way(direction)
    return "back" if direction == Direction.REVERSE else "there"


def _brief(one: Change) -> str:
    carried, besides = _in_short(one)
    said = _difference(carried) if carried else "nothing to compare"
    said = f"{said} with {units.joined([*map(_difference, besides)])}" if besides else said
    return f"{said}, in {one.pairs} of {max(one.planned, one.pairs + one.void)} pairs" if one.short else said


def _in_short(one: Change) -> tuple[ChangedFigure | None, list[ChangedFigure]]:
    """Of what is told briefly: the figure that the load is for, and the others that differ."""
    by = {f.measured: f for f in one.figures}
    carried = next((by[m] for m in CARRIED if m in by), None)
    return carried, [by[m] for m in BESIDES if m in by and by[m].answer == Answer.DIFFERS]


def _price_elsewhere(loads: dict[str, list[Change]], paths: Sequence[Path]) -> str:
    """A sentence on what is gained with one load or direction at the cost of another; '' if nothing is.

    What a load is for decides whether it gains; where that does not differ, what else does.
    """
    deciding = list[tuple[str, ChangedFigure]]()
    for beside, changes in loads.items():
        load = f" ({beside})" if beside else ""
        for one in changes:
            carried, besides = _in_short(one)
            at = f" {_way(one.direction, paths)}" if len(changes) > 1 else ""
            decides = [carried] if carried and carried.answer == Answer.DIFFERS else besides
            deciding += [(f"{NAMES[f.measured]}{at}{load}", f) for f in decides]
    return _price(deciding)


def _difference(f: ChangedFigure) -> str:
    if f.answer != Answer.DIFFERS or f.ratio is None:
        same = "no difference that matters in" if f.answer == Answer.SAME else "no clear difference in"
        return f"{same} {NAMES[f.measured]}"
    more, less = ("longer", "shorter") if f.measured in ROUND_TRIPS else ("more", "less")
    less, name = ("fewer" if f.measured in COUNTED else less), COUNTED.get(f.measured, NAMES[f.measured])
    return f"{abs(100 * (f.ratio - 1)):.0f} % {more if f.ratio > 1 else less} {name}"


def named(f: ChangedFigure, figures: Iterable[ChangedFigure]) -> str:
    """The name of one of a change's figures: what one core carries are transactions where those were measured."""
    return PER_CORE_SMALL if _unit(f, figures) != f.measured else NAMES[f.measured]


def _unit(f: ChangedFigure, figures: Iterable[ChangedFigure]) -> Measured:
    small = f.measured == Measured.PER_CORE and any(one.measured == Measured.TRANSACTIONS for one in figures)
    return Measured.TRANSACTIONS if small else f.measured


def figure(f: ChangedFigure, figures: Iterable[ChangedFigure] = ()) -> str:
    """As 'throughput 941 Mb/s to 989 Mb/s, +5.1 % (+3.9 to +6.3 %)', or that it is the same, or cannot be told."""
    name, unit, resent = named(f, figures), _unit(f, figures), f.measured == Measured.RESENT
    values = f"{name} {_value(unit, f.before)} to {_value(unit, f.after)}"
    ranks = "" if f.rank_p is None else f"; signed ranks p {f.rank_p:.2g}"
    if f.answer == Answer.SAME:
        same = "as many" if resent else "the same within 2 %"
        return f"{name} {same} ({_value(unit, f.before)}{ranks})"
    if f.answer == Answer.UNDECIDED:
        narrow = f.low and f.high and f.high < WIDE * f.low and not resent
        between = f", between {_percent(f.low)} and {_percent(f.high)}" if narrow else ""
        return f"{values}: undecided{between}{ranks}{_why_undecided(f)}"
    stray = f"; not sure without pair {f.outlier}" if f.outlier else ""
    if resent:
        return f"{values}, {'more' if _more(f) else 'fewer'}{ranks}{stray}"
    return f"{values}, {_percent(f.ratio)} ({_percent(f.low)} to {_percent(f.high)}{ranks}){stray}"


def _why_undecided(f: ChangedFigure) -> str:
    """Why it cannot be told, and how many more pairs would most likely tell."""
    if f.pairs < LEAST_PAIRS:
        return f", at least {units.plural(f.more_pairs, 'more pair')} needed" if f.more_pairs else ""
    sure = f.low is not None and f.high is not None and not f.low <= 1 <= f.high
    if sure and f.floor and f.ratio and 1 / f.floor <= f.ratio <= f.floor:
        return f", as the same setting differs from itself by up to {100 * (f.floor - 1):.1f} %"
    if f.outlier:
        return f", as pair {f.outlier} decides"
    if f.more_pairs is None or f.more_pairs > MOST_MORE:
        return f", and {MOST_MORE} more pairs might not tell either"
    return f", {units.plural(f.more_pairs, 'more pair')} ({f.pairs + f.more_pairs} in all) would tell in 4 of 5 cases"


def _noise(f: ChangedFigure, figures: Iterable[ChangedFigure] = ()) -> str:
    """What a figure of the same setting came to the second time; no claim is made."""
    if f.measured == Measured.RESENT or f.ratio is None:
        unit = _unit(f, figures)
        return f"{named(f, figures)} {_value(unit, f.before)} to {_value(unit, f.after)}"
    return f"{named(f, figures)} {_percent(f.ratio)} ({_percent(f.low)} to {_percent(f.high)})"


def _more(f: ChangedFigure) -> bool:
    return f.ratio is not None and f.ratio > 1


def _price(figures: Iterable[tuple[str, ChangedFigure]]) -> str:
    """A sentence on figures that are better at the cost of others; '' if there are no such two."""
    differing = [(name, f) for name, f in figures if f.answer == Answer.DIFFERS and f.ratio]
    gain, price = (" and ".join(name for name, f in differing if _better(f) is wanted) for wanted in (True, False))
    return f" What is gained in {gain} is paid for in {price}." if gain and price else ""


def _better(f: ChangedFigure) -> bool:
    return _more(f) != (f.measured in LESS_IS_BETTER)


ANSWERS = {Answer.DIFFERS: "differs", Answer.SAME: "the same for all purposes", Answer.UNDECIDED: "cannot tell"}


def compared(f: ComparedFigure) -> str:
    """One figure of two runs: 'dc-link, TCP, near to far: round trip under load 2.1 ms to 9.4 ms, differs.'"""
    noise = single(*f.repeats) if f.noise is None else f"noise ±{_value(f.measured, f.noise)}"
    figures = f"{NAMES[f.measured]} {_value(f.measured, f.a)} to {_value(f.measured, f.b)}"
    answer = f"{ANSWERS[f.answer]}{', as an end was kept from its CPU' if f.withheld else ''}"
    return f"{f.rung}, {f.experiment}, {f.pair or way(f.direction)}: {figures}, {answer} ({noise})."


def _value(measured: Measured, value: float) -> str:
    if measured in (Measured.GOODPUT, Measured.PER_CORE):
        return units.rate(value)
    if measured == Measured.TRANSACTIONS:
        return f"{units.three(value)}/s"
    if measured == Measured.SCATTER:
        return f"{100 * value:.1f} %"
    if measured == Measured.RESENT:
        return f"{100 * value:.2g} %"
    if measured == Measured.LOSS:
        return f"{value:.3g} %"
    if measured in ROUND_TRIPS:
        return units.milliseconds(value)
    return f"{value:.2f}"


def _percent(ratio: float | None) -> str:
    return f"{100 * (ratio - 1):+.1f} %" if ratio is not None else "?"
