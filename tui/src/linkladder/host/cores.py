"""Which CPU cores of this machine are counted, and the prefix for a command that is to run on some of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from linkladder.errors import EnvironmentFault
from linkladder.model import Affinity

CORES = "LINKLADDER_CORES"


def own_cores(total: int) -> tuple[int, ...]:
    """The cores to count: those named in LINKLADDER_CORES that the machine has, or all without it."""
    text = os.environ.get(CORES, "").strip()
    if not text:
        return tuple(range(total))
    try:
        named = sorted({int(word) for word in text.split(",")})
    except ValueError:
        raise EnvironmentFault(f"{CORES}={text[:40]!r} names no cores", "", "write it as 0 or 0,1") from None
    kept = tuple(core for core in named if 0 <= core < total)
    if not kept:
        raise EnvironmentFault(f"{CORES}={text[:40]!r} names no core of this machine", f"it has cores 0 to {total - 1}")
    return kept


def confined(cores: int | None, named: tuple[int, ...] = ()) -> tuple[str, ...]:
    """The prefix for a command that may use only so many cores, or only those named; () if neither is asked.

    Raises ValueError if this end does not have them.
    """
    mine = own_cores(os.cpu_count() or 1)
    if lacking := [core for core in named if core not in mine]:
        raise ValueError(f"core {lacking[0]} was asked for, and this end has {', '.join(map(str, mine))}")
    if not cores:
        return _on(named) if named else ()
    if cores > len(mine):
        raise ValueError(f"{cores} cores were asked for, and this end has {len(mine)}")
    return _on(mine[:cores])


def ours(cores: tuple[int, ...]) -> tuple[int, ...]:
    """Those of these cores that are counted, as LINKLADDER_CORES may name only some."""
    return tuple(core for core in own_cores(os.cpu_count() or 1) if core in cores)


def place_of(core: int) -> int | None:
    """Its place among the cores that are counted; None if it is none of them."""
    mine = own_cores(os.cpu_count() or 1)
    return mine.index(core) if core in mine else None


def by_core(siblings: Iterable[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Those of the sibling threads that are counted, once for each physical core."""
    return tuple(sorted({mine for threads in siblings if (mine := ours(threads))}))


def pinned(
    affinity: Affinity, queue_cores: tuple[int, ...], threads: tuple[tuple[int, ...], ...] = ()
) -> tuple[str, ...]:
    """The prefix for a command that must run on the queues' cores, on other cores, or on one thread of each core.

    Raises ValueError if no such core is left or known.
    """
    if affinity is Affinity.FREE:
        return ()
    return _on(place(affinity, own_cores(os.cpu_count() or 1), queue_cores, threads))


def place(
    affinity: Affinity, mine: tuple[int, ...], queue_cores: tuple[int, ...], threads: tuple[tuple[int, ...], ...]
) -> tuple[int, ...]:
    """The cores, of an end that has these, on which a command must run; raises ValueError if there are none."""
    if affinity is Affinity.SIBLINGS_IDLE:
        if not threads:
            raise ValueError("this end does not tell which of its cores are hyperthreads")
        return tuple(sorted(siblings[0] for siblings in threads))
    which = tuple(sorted(core for core in mine if (core in queue_cores) == (affinity is Affinity.BESIDE)))
    if not queue_cores or not which:
        raise ValueError(f"no core of this end lies {affinity} the adapter's queues")
    return which


def on_cores(cores: Iterable[int], freebsd: bool) -> tuple[str, ...]:
    """The prefix for a command that may use these cores, on this system or another."""
    which = ",".join(map(str, cores))
    return ("cpuset", "-l", which) if freebsd else ("taskset", "-c", which)


def _on(cores: tuple[int, ...]) -> tuple[str, ...]:
    return on_cores(cores, sys.platform.startswith("freebsd"))
