"""Says in words how many transactions a path carries, and how long they take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.arms import special
from linkladder.phrases.ways import loaded, several_ends

SCATTER = 0.05  # of the slowest repeat; repeats that differ by less need no word


@dataclass(frozen=True)
class Sessions:
    """What so many sessions at once did: transactions a second in each repeat, times, and the ends with a full core."""

    count: int
    rates: tuple[float, ...]
    half_us: float | None
    most_us: float | None
    busy: tuple[str, ...] = ()


def kind(p: Experiment, rung: str, paths: Sequence[Path]) -> str:
    """As 'Transactions on dc-link, 700 bytes each way, on 2 cores': all that is told of a load but its sessions."""
    asked = units.plural(p.request, "byte")
    size = f"{asked} each way" if p.request == p.response else f"{asked} and {p.response} back"
    where = loaded(p, paths) if several_ends(paths) else ""
    return ", ".join(filter(None, [f"Transactions on {rung}", where, size, special(p, paths)]))


def carried(kind: str, by: Sequence[Sessions]) -> str:
    """A sentence with rates and times, by how many sessions there were."""
    rates = units.joined([units.three(statistics.median(one.rates)) for one in by])
    times = [
        f"{share} within {units.joined([_time(us) for us in known if us is not None])}"
        for share, known in (("half", [one.half_us for one in by]), ("99 of 100", [one.most_us for one in by]))
        if None not in known
    ]
    figures = "; ".join([f"{rates} a second", *times])
    return f"{kind}, by {_sessions(by)}: {figures}.{_apart(by)}{_full(by)}"


def _sessions(by: Sequence[Sessions]) -> str:
    return f"{units.joined([str(one.count) for one in by])} session{'' if [one.count for one in by] == [1] else 's'}"


def _apart(by: Sequence[Sessions]) -> str:
    """How far repeats with as many sessions are apart, where they are."""
    slowest_and_quickest = [(min(one.rates), max(one.rates)) for one in by]
    most = max(quickest / slowest - 1 if slowest else 0.0 for slowest, quickest in slowest_and_quickest)
    return f" Repeats differ by up to {units.share(most)}." if most > SCATTER else ""


def _full(by: Sequence[Sessions]) -> str:
    full = [one for one in by if one.busy]
    ends = units.joined(list(dict.fromkeys(end for one in full for end in one.busy)))
    return f" A core was full with {_sessions(full)} ({ends} end): the machine may be what bounds them." if full else ""


def _time(us: float) -> str:
    return f"{us:.0f} µs" if us < 1000 else f"{units.three(us / 1000)} ms"
