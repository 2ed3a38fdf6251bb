"""Says in words how many transactions a path carries, and how long they take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.ways import end_name, loaded, several_ends

__all__ = ["Sessions", "carried", "end_name"]

SCATTER = 0.05  # of the least; what differs by less between repeats needs no word


@dataclass(frozen=True)
class Sessions:
    """What so many sessions at once did: transactions a second in each repeat, times, and the ends with a full core."""

    count: int
    rates: tuple[float, ...]
    half_us: float | None
    most_us: float | None
    busy: tuple[str, ...] = ()


def carried(p: Experiment, rung: str, paths: Sequence[Path], by: Sequence[Sessions]) -> str:
    size = f"{p.request} bytes each way" if p.request == p.response else f"{p.request} bytes and {p.response} back"
    where = [f"Transactions on {rung}", *([loaded(p, paths)] if several_ends(paths) else []), size]
    rates = units.joined([units.three(statistics.median(one.rates)) for one in by])
    times = [
        f"{share} within {units.joined([_time(us) for us in known if us is not None])}"
        for share, known in (("half", [one.half_us for one in by]), ("99 of 100", [one.most_us for one in by]))
        if None not in known
    ]
    figures = "; ".join([f"{rates} a second", *times])
    return f"{', '.join(where)}, by {_sessions(by)}: {figures}.{_apart(by)}{_full(by)}"


def _sessions(by: Sequence[Sessions]) -> str:
    return f"{units.joined([str(one.count) for one in by])} session{'s' if by[-1].count != 1 else ''}"


def _apart(by: Sequence[Sessions]) -> str:
    """How far repeats of one setting are apart, where they are."""
    least = [(min(one.rates), max(one.rates)) for one in by]
    most = max(high / low - 1 if low else 0.0 for low, high in least)
    return f" Repeats differ by up to {units.share(most)}." if most > SCATTER else ""


def _full(by: Sequence[Sessions]) -> str:
    full = [one for one in by if one.busy]
    ends = units.joined(list(dict.fromkeys(end for one in full for end in one.busy)))
    return f" A core was full with {_sessions(full)} ({ends} end): the machine may be what bounds them." if full else ""


def _time(us: float) -> str:
    return f"{us:.0f} µs" if us < 1000 else f"{units.three(us / 1000)} ms"
