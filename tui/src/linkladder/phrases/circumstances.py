"""Puts other findings about a rung into words: path MTU, round trip, where the traffic went, doubtful other rungs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.arms import one_way
from linkladder.phrases.outcomes import CONTRADICTED
from linkladder.phrases.ways import way


def other_rung_doubted() -> str:
    return "Another rung of this run has figures that are not borne out: see its findings."


def left_out(trials: int, lines: int) -> str:
    return (
        f"Of {units.plural(trials, 'long trial')} {lines} lines of the tools' output are not kept: the rate of every "
        "second is, and is held against the output's totals, its first and last seconds and those that stand out."
    )


def black_hole(which: str, mtu: int | None) -> str:
    return f"Path MTU black hole, {which}: packets larger than {mtu} bytes vanish without a word."


def small_path(which: str, mtu: int, entered: int) -> str:
    return f"The path carries packets of {mtu}, not the {entered} that was entered ({which})."


def contradicted(findings: Iterable[str]) -> str:
    return f"{CONTRADICTED}: {'; '.join(findings)}."


def no_round_trip(wanted: float) -> str:
    return (
        f"No round trip was measured: whether it is {units.milliseconds(wanted)}, as is expected of this link, and "
        "whether the traffic crossed it, is not known."
    )


def too_near(idle_ms: float, expected_ms: float) -> str:
    return f"{_round_trip(idle_ms, expected_ms)}: the traffic may not have crossed the link."


def too_far(idle_ms: float, expected_ms: float) -> str:
    return f"{_round_trip(idle_ms, expected_ms)}: this may not be the way that was sold."


def _round_trip(idle_ms: float, expected_ms: float) -> str:
    return f"The round trip is {units.milliseconds(idle_ms)} where {units.milliseconds(expected_ms)} was expected"


def large_segments(size: int, mtu: int) -> str:
    return (
        f"TCP sent segments of {size} bytes, which no MTU of {mtu} carries: the ceiling was counted for a smaller MTU "
        "than the path's."
    )


def unprobed(directions: Iterable[str], paths: Sequence[Path]) -> str:
    return _hole_possible("The path MTU was not probed", directions, paths)


def unanswered(directions: Iterable[str], paths: Sequence[Path]) -> str:
    return _hole_possible("No probe of the path MTU was answered", directions, paths)


def probed_smaller(directions: Iterable[str], mtu: int, paths: Sequence[Path]) -> str:
    return _hole_possible(f"No probe of the path MTU was as large as the {mtu} bytes entered", directions, paths)


def _hole_possible(what: str, directions: Iterable[str], paths: Sequence[Path]) -> str:
    ways = " and ".join(way(direction, paths) for direction in sorted(directions))
    return f"{what} ({ways}): a black hole is not excluded."


def once_again(p: Experiment, direction: str, least: float, needed: float, paths: Sequence[Path]) -> str:
    return (
        f"{one_way(p, direction, paths=paths)}: the same once more carried as little as {units.rate(least)} where "
        f"{units.rate(needed)} is needed."
    )


def unchecked() -> str:
    return "Of where the machines stood nothing is told: a run looks at addresses, hops and round trips, and keeps it."


def smaller_lost(which: str, lost: int, passed: int) -> str:
    return f"A probe of {lost} bytes was not answered though one of {passed} passed ({which}): probes were lost."


def quicker_loaded(idle: float, loaded: float) -> str:
    return (
        f"The quickest idle ping took {units.milliseconds(idle)}, half of those beside a load at most"
        f" {units.milliseconds(loaded)}: they did not go the same way, or not at the same time."
    )
