"""Within which bounds the numbers of an experiment lie: a plan is checked by them, and each end trusts no peer's."""

from __future__ import annotations

from collections.abc import Iterator

from linkladder import units
from linkladder.model.asked import Experiment

BOUNDS: dict[str, tuple[float, float]] = {
    "streams": (1, 128),
    "duration": (1, 7 * 86400),
    "warmup": (0, 60),
    "repeats": (1, 100_000),  # an end runs one at a time, and of a week's load a plan makes hundreds
    "at_most": (0, 100_000),
    "request": (1, 65536),
    "response": (1, 65536),
    "sessions": (1, 128),
    "count": (1, 10_000_000),
    "interval": (0.01, 10),
    "dscp": (0, 63),
    "window": (1024, 1 << 30),
    "step": (0, 100),
    "cores": (1, units.MOST_CORES),
    "on_cores": (0, units.MOST_CORES - 1),
    "client_port": (10_000, 65_000),
    "write_size": (1, 1 << 26),
    "udp_rate_bps": (1e3, 1e12),
    "sizes": (68, 65535),
}
MOST = {"on_cores": units.MOST_CORES, "sizes": 32, "settings": 16}  # how many there may be


def beyond(exp: Experiment) -> tuple[str, str] | None:
    """The first key of an experiment that is not within its bounds, and what was expected; None if all are."""
    for key, most in MOST.items():
        if (many := len(getattr(exp, key))) > most:
            return key, f"expected at most {most}, got {many}"
    for key, value in _numbers(exp):
        low, high = BOUNDS[key]
        if not low <= value <= high:
            return key, f"expected from {low:g} to {high:g}, got {str(value)[:40]}"
    return None


def _numbers(exp: Experiment) -> Iterator[tuple[str, float]]:
    for key in BOUNDS:
        value = getattr(exp, key)
        if isinstance(value, tuple):
            yield from ((key, one) for one in value)
        elif value is not None:
            yield key, value
