"""Puts a staircase into words: where it begins, which changes were kept and what they achieve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.arms import arm
from linkladder.phrases.ways import way
from linkladder.verdicts import Answer, Landing

HEADS = ("Step", "Tried beside the best so far", "Rate", "Against it", "Ceiling at its MTU", "Kept")
WORDS = {Answer.SAME: "the same", Answer.UNDECIDED: "not sure"}


def direction_of(one: Landing) -> str:
    """As 'near to far', or 'near to far while both are loaded'."""
    return which_way(one.direction, one.both_ways)


def which_way(direction: str, both_ways: bool, paths: Sequence[Path] = ()) -> str:
    """The same of any direction."""
    return way(direction, paths) + (" while both ways are loaded" if both_ways else "")


@dataclass(frozen=True)
class InVain:
    """What was tried without a single trial that counts, in one direction."""

    words: str
    reasons: tuple[str, ...]  # of each trial why it does not
    rates: tuple[float, ...]  # what arrived all the same, in bit/s, in those in which something did


def in_vain(one: InVain) -> str:
    """As 'With MTU 9000 none of 4 trials counts: 3 as nothing arrived, 1 as ...; in 1 of them 120 Mb/s arrived.'"""
    count, by = len(one.reasons), Counter(reason.rstrip(".") for reason in one.reasons if reason)
    said = f"With {one.words} " + ("the only trial does not count" if count == 1 else f"none of {count} trials counts")
    if by.total() == count and len(by) == 1:
        said += f": {next(iter(by))}"
    elif by:
        said += ": " + ", ".join(f"{times} as {reason}" for reason, times in by.most_common())
    if one.rates:
        least, most = (units.rate(rate) for rate in (min(one.rates), max(one.rates)))
        of_them = "in each of them" if len(one.rates) == count else f"in {len(one.rates)} of them"
        rates = least if least == most else f"{least} to {most}"
        said += f"; {'in it' if count == 1 else of_them} {rates} arrived all the same"
    return f"{said}."


def staircase(landings: Sequence[Landing], silent: Sequence[InVain] = ()) -> str:
    """As 'Staircase, near to far: 3.45 Gb/s as it is; MTU 9000 kept, 6.64 Gb/s (+92 %); ...'."""
    parts: list[str] = []
    first = last = 0.0
    for _, step in groupby(landings, key=lambda one: one.step):
        arms = list(step)
        base, tried = next((one for one in arms if one.base), None), [one for one in arms if not one.base]
        if base is None:  # not one trial of it counts
            parts.append(f"nothing to compare {' or '.join(one.words for one in tried)} with")
            continue
        if not first:
            first = base.bps
            parts.append(f"{units.rate(first)} as it is")
        won = next((one for one in tried if one.kept), None)
        if won and won.ratio:
            parts.append(f"{won.words} kept, {units.rate(won.bps)} ({_percent(won, 0)})")
        elif tried:
            parts.append(f"nothing sure gained by {' or '.join(one.words for one in tried)}")
        last = won.bps if won else base.bps
    gained = first > 0 and any(one.kept and one.ratio for one in landings)
    times = f" From {units.rate(first)} to {units.rate(last)}, {last / first:.2f} times." if gained else ""
    failed = "".join(f" {in_vain(one)}" for one in silent)
    return f"Staircase, {direction_of(landings[0])}: {'; '.join(parts)}.{times}{failed}"


def begins_at(rung: str, p: Experiment, bps: float, run: str) -> str:
    """As 'dc-link: begins at TCP, 4 streams, 8M window, near to far: 9.4 Gb/s, the best of run 20261125-...'."""
    return f"{rung}: begins at {arm(p)}: {units.rate(bps)}, the best of run {run}"


def row(one: Landing) -> tuple[str, ...]:
    """A line of a staircase's table, under HEADS."""
    against = "" if one.base else "not compared" if one.answer is None else _against(one)
    between = f" ({units.rate(one.low)} to {units.rate(one.high)})" if one.low < one.high else ""  # none of one repeat
    spread = units.rate(one.bps) + between
    allowed = units.rate(one.ceiling_bps) if one.ceiling_bps else ""
    kept = "yes" if one.kept else "" if one.base else "no"
    return str(one.step), one.words, spread, against, allowed, kept


def _against(one: Landing) -> str:
    return WORDS.get(one.answer or Answer.UNDECIDED, _percent(one, 1))


def _percent(one: Landing, digits: int) -> str:
    """By how much it differs, and in which pairs where the rates are not of the same repeats."""
    pairs = f" in {units.plural(one.in_pairs, 'pair')}" if one.in_pairs else ""
    return f"{100 * ((one.ratio or 1) - 1):+.{digits}f} %{pairs}"
