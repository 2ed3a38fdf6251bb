"""Puts verdicts and what they rest on into words."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.model import Path, RungName
from linkladder.phrases.ways import way
from linkladder.verdicts import ExperimentJudgement, Latency, Spread


def verdict_word(verdict: str, provisional: bool) -> str:
    """The verdict's word, such as 'PASS (provisional)'."""
    return f"{verdict}{' (provisional)' if provisional else ''}"


def headed(verdict: str, provisional: bool, text: str) -> str:
    """A judgement's sentence with the verdict's word before it."""
    return f"{verdict_word(verdict, provisional)}: {text}"


def opening(text: str) -> str:
    """The text with a capital first letter, unless it begins with the name of a rung."""
    return text if text.partition(" ")[0].rstrip(":") in list(RungName) else text[:1].upper() + text[1:]


def rests_on(j: ExperimentJudgement, paths: Sequence[Path]) -> str:
    """Which interval, from how many repeats, the verdict on one direction compares with the required rate."""
    name, needed = way(j.direction, paths), j.judgement.figures.get("needed_bps")
    return rests_on_repeats(name, j.spread, needed) if j.spread else ""


def rests_on_repeats(name: str, seen: Spread, needed: float | None) -> str:
    """The same of whatever was measured; `name`: what it is."""
    head = f"{name[:1].upper()}{name[1:]}"
    bar = f"; {units.rate(needed)} is needed of its lower end, and of the worst repeat" if needed else ""
    if seen.basis == "repeats":
        what = f"the t interval, 95 % sure, of the mean of {seen.count} repeats"
    elif seen.basis == "intervals":
        what = "one repeat, with the t interval, 95 % sure, of its counted seconds by as many as are independent"
    else:
        return f"{head}: one repeat, {units.rate(seen.median)}, without an interval{bar}."
    bounds = (
        f"{units.rate(seen.low)} to {units.rate(seen.high)}"
        if seen.low > 0 or not seen.high
        else "too wide to say anything"
    )
    return f"{head}: {what}, {bounds}{bar}."


def sure_of(seen: Spread, needed: float) -> str:
    """What repeats that do not all make sure of the required rate carried, and what they make sure of."""
    several = f"{seen.count} repeats carried {units.rate(seen.minimum)} to {units.rate(seen.maximum)}"
    what = several if seen.basis == "repeats" else f"the seconds of one repeat, {units.rate(seen.median)},"
    if seen.low >= needed:
        return f"{what}: the worst of them does not reach the {units.rate(needed)} needed"
    sure = (
        f"make sure of {units.rate(seen.low)}"
        if seen.low > 0 or not seen.high
        else "are too uneven to make sure of anything"
    )
    return f"{what} and {sure}, where {units.rate(needed)} is needed"


def latency(found: Latency, paths: Sequence[Path]) -> str:
    """The round trips of a loaded direction in a line."""
    idle = f"{units.milliseconds(found.idle_ms)} idle, " if found.idle_ms is not None else ""
    tcp = f"; TCP itself saw {units.milliseconds(found.tcp_ms)} at the {found.tcp_end} end" if found.tcp_ms else ""
    by = "" if found.pinged_by == "near" else f" of the {found.pinged_by} end"
    which = way(found.direction, paths)
    graded = f": grade {found.grade}" if found.grade else ""
    return (
        f"{which[:1].upper()}{which[1:]} filled{graded}: {idle}{units.milliseconds(found.median_ms)} median, "
        f"{units.milliseconds(found.p95_ms)} 95th and {units.milliseconds(found.p99_ms)} 99th percentile, jitter "
        f"{units.milliseconds(found.jitter_ms)}, of {found.samples} pings{by}{tcp}"
    )


def short_list(texts: list[str], most: int, what: str) -> list[str]:
    """The first `most` texts, and a sentence on how many more there are."""
    rest = len(texts) - most
    return texts if rest <= 0 else [*texts[:most], f"{rest} more {what}."]


def single(first: int, second: int) -> str:
    """Which of two runs has a single repeat of a setting, by how many each has; at least one of them has."""
    if first == second:
        return "one repeat each"
    return f"one repeat in the {'first' if first < second else 'second'} run"
