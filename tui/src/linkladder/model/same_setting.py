"""Tells whether two experiments measure the same setting: one rule for comparisons, matrices and reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

from linkladder.model.asked import Experiment, Path
from linkladder.model.words import Direction

Identity = tuple[object, ...]

# A name, how often, and what is cut off before counting begins do not change what is measured.
_OF_PLANS = {
    "id",
    "repeats",
    "at_most",
    "contends",
    "warmup",
    "baseline",
    "begins",
    "step",
    "strongest",
    "discard_first",
}
_KEYS = tuple(f.name for f in fields(Experiment) if f.name not in _OF_PLANS)
_KEYS_OF_BOTH_WAYS = tuple(k for k in _KEYS if k != "direction")
_KEYS_BUT_LABEL = tuple(k for k in _KEYS if k != "label")
_KEYS_OF_A_LOAD = tuple(
    k for k in _KEYS_BUT_LABEL if k not in ("duration", "ping_under_load", "count", "interval", "sizes")
)
_KEYS_OF_A_LOAD_BUT_STREAMS = tuple(k for k in _KEYS_OF_A_LOAD if k != "streams")
_KEYS_OUTSIDE_A_MATRIX = tuple(k for k in _KEYS_OF_BOTH_WAYS if k not in ("streams", "window", "udp_rate_bps"))


def identity(p: Experiment) -> Identity:
    """A key that is equal for experiments with the same setting, whatever their plans call them."""
    return _values(p, _KEYS)


def between(p: Experiment, paths: Sequence[Path], way: Direction) -> Identity:
    """The same for one of its directions; of several pairs by who sends to whom, since a path's number is its run's."""
    if len({path.peers for path in paths}) < 2:
        return (*identity(p), way)
    loaded = [n for n in p.paths or range(len(paths)) if n < len(paths)]
    before = [Counter(frozenset(path.ends(way)) for path in paths[:n]) for n in loaded]  # of the same two ends
    ends = [(*paths[n].ends(way), seen[frozenset(paths[n].ends(way))]) for n, seen in zip(loaded, before, strict=True)]
    both = p.direction in (Direction.DUPLEX, Direction.BOTH)
    return (*identity(replace(p, paths=(), direction=p.direction if both else Direction.FORWARD)), *sorted(ends))


def once_more(a: Experiment, b: Experiment) -> bool:
    """Whether one repeats the other, so that their results differ by noise alone."""
    return _equal(a, b, _KEYS_BUT_LABEL)


def same_load(a: Experiment, b: Experiment) -> bool:
    """Whether the loads are the same, whatever their duration, their pings and what is measured beside them."""
    return _equal(a, b, _KEYS_OF_A_LOAD)


def same_load_but_streams(a: Experiment, b: Experiment) -> bool:
    return _equal(a, b, _KEYS_OF_A_LOAD_BUT_STREAMS)


def setting(p: Experiment) -> Identity:
    """A key that is equal for both directions of a setting, which make a row of a matrix."""
    return _values(p, _KEYS_OF_BOTH_WAYS)


def family(p: Experiment) -> Identity:
    """A key that is equal for settings that differ in streams, window or rate alone, which make one matrix."""
    return _values(p, _KEYS_OUTSIDE_A_MATRIX)


def _equal(a: Experiment, b: Experiment, keys: tuple[str, ...]) -> bool:
    return all(getattr(a, k) == getattr(b, k) for k in keys)


def _values(p: Experiment, keys: tuple[str, ...]) -> Identity:
    return tuple(getattr(p, k) for k in keys)
