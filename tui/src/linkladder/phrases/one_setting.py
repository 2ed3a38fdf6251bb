"""Puts the verdict on one setting in one direction into words, a function for each rule of the judge."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.verdicts import Spread

NOT_RUN = "it was not run"  # this and the next two say why there is no figure, if no other reason is known
TOOL_FAILED = "the tool failed"
NOTHING_ARRIVED = "nothing arrived"


def carried(seen: Spread) -> str:
    """As '3 repeats carried 941 Mb/s (median; ...)', with which most sentences here begin."""
    if seen.basis == "repeats":
        text = f"{seen.count} repeats carried {units.rate(seen.median)} (median; {units.rate(seen.minimum)} to "
        sure = f", 95 % sure of at least {units.rate(seen.low)}" if seen.low > 0 else ""
        return f"{text}{units.rate(seen.maximum)}{sure})"
    if seen.basis == "intervals":
        sure = f"make at least {units.rate(seen.low)} likely" if seen.low > 0 else "are too uneven for a bound"
        return f"One repeat carried {units.rate(seen.median)} (its seconds {sure})"
    return f"One repeat carried {units.rate(seen.median)}"


def not_measured(why: str) -> str:
    return f"Nothing was measured: {why}."


def left_out(failed: int, trials: int, why: str) -> str:
    return f"{failed} of {units.plural(trials, 'trial')} failed and {'is' if failed == 1 else 'are'} left out: {why}"


def few_measured(said: str, measured: int, trials: int) -> str:
    return f"{said} But only {measured} of {trials} trials {'was' if measured == 1 else 'were'} measured."


def stalled(silent: int, trials: int, why: str) -> str:
    return f"{silent} of {trials} trials carried nothing or stalled: {why}"


def partly_stalled(silent: int, count: int, why: str) -> str:
    return f"in {silent} of {units.plural(count, 'trial')} one of the paths carried nothing or stalled: {why}"


def did_not_last(first: float, lasting: float, repeat: int) -> str:
    return (
        f"The rate did not last: up to {units.rate(first)} at first, {units.rate(lasting)} from then on (repeat "
        f"{repeat + 1}); the lasting one is judged."
    )


def scattered(seen: Spread) -> str:
    what = "seconds" if seen.basis == "intervals" else "repeats"
    return f"Scattered: the {what} vary by {units.share(seen.cv or 0.0)} of their mean."


def above_ceiling(seen: Spread, ceiling: float, error: float) -> str:
    """`error`: the measurement error as a share of the result."""
    which = f"with {units.rate(seen.maximum)} " if seen.count > 1 else ""
    return (
        f"{carried(seen)}, {which}above the ceiling of {units.rate(ceiling)} by more than the measurement error, "
        f"{units.share(error, 2)} of the result: the link, its rate or its MTU is not what was entered."
    )


def needed(seen: Spread, rate: float, ratio: float, ceiling: float) -> str:
    return f"{carried(seen)}, and {_asked(rate, ratio, ceiling)} is needed."


def worst_below(seen: Spread, rate: float, ratio: float, ceiling: float) -> str:
    asked = _asked(rate, ratio, ceiling)
    return f"{carried(seen)}, and {asked} is needed: the worst of the repeats does not reach it."


def too_scattered(seen: Spread, rate: float, ratio: float, ceiling: float) -> str:
    return f"{carried(seen)}: too scattered to say that it does or does not reach {_asked(rate, ratio, ceiling)}."


def interfered(seen: Spread, bar: tuple[float, float, float], kept: Sequence[tuple[int, float, str, float]]) -> str:
    """`bar`: rate, ratio and ceiling as in `worst_below`; `kept`: repeat, rate in bit/s, end and share of CPU withheld
    for each repeat that does not reach it.
    """
    short = "; ".join(
        f"repeat {repeat + 1} carried {units.rate(bps)} while {units.share(share)} of the {end} end's CPU time was "
        "withheld"
        for repeat, bps, end, share in kept
    )
    others = "the others reach it" if seen.count > len(kept) else "no other is there"
    return (
        f"{carried(seen)}, and {_asked(*bar)} is needed. A quota or the hypervisor kept an end from it: {short}, which "
        f"may be all that is missing; {others}."
    )


def _asked(rate: float, ratio: float, ceiling: float) -> str:
    return f"{units.rate(rate)} ({100 * ratio:.4g} % of {units.rate(ceiling)})"


def held_back(short: str, withheld: str) -> str:
    return f"{short} But {withheld}, so the link may carry more than this generator showed."


def may_be_the_end(busy: str) -> str:
    return f"{busy[:1].upper()}{busy[1:]}: not enough to excuse the shortfall, but that end may have a part in it."


def limited(short: str, limits: str) -> str:
    """A sentence on a shortfall, followed by one on what limits the rate; '' if that is not known."""
    return f"{short} {limits}" if limits else short


def but(short: str, limits: str) -> str:
    """A sentence on a shortfall, followed by one that excuses it."""
    first = limits[0] if limits[1:2].isupper() else limits[0].lower()  # TCP stays as it is
    return f"{short} But {first}{limits[1:]}"
