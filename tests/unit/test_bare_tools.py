"""Our setting is compared fairly with the best of many others: by figures that took no part in choosing it."""

from __future__ import annotations

import random
import statistics

import pytest
from bare_tools import OPTIONS, TURNS, Beside, side_by_side

SCATTER = 0.15  # of the logarithm of a single figure, as between emulated machines


def beside(seed: int, ours: float, better: float = 1.0) -> Beside:
    """Of tools that carry the same but for one setting, which carries `better`."""
    chance = random.Random(seed)

    def figure(true: float) -> float:
        return true * 1e9 * chance.lognormvariate(0.0, SCATTER)

    return side_by_side(
        ("iperf", "iperf3"),
        lambda: figure(ours),
        lambda tool, options: figure(better if (tool, options) == ("iperf3", ["-Z"]) else 1.0),
    )


@pytest.mark.parametrize("ours", [1.0, 0.9])
def test_the_best_by_chance_is_no_stronger(ours: float) -> None:
    found = statistics.median(beside(seed, ours).ratio for seed in range(300))
    assert found == pytest.approx(ours, abs=0.015)


def test_the_interval_has_the_truth_in_nineteen_of_twenty() -> None:
    intervals = [beside(seed, 1.0).interval for seed in range(400)]
    assert sum(low <= 1.0 <= high for low, high in intervals) == pytest.approx(380, abs=14)


def test_the_strongest_is_what_ours_is_held_against() -> None:
    found = [beside(seed, 1.0, better=1.5) for seed in range(100)]
    assert sum(one.best == "iperf3 -Z" for one in found) >= 95
    assert statistics.median(one.ratio for one in found) == pytest.approx(1 / 1.5, abs=0.02)


def test_both_take_turns_at_being_first() -> None:
    asked: list[str] = []

    def ours() -> float:
        asked.append("ours")
        return 1e9

    def alone(tool: str, options: list[str]) -> float:
        asked.append("alone")
        return 1e9

    seen = side_by_side(("iperf",), ours, alone)
    turns = asked[-2 * TURNS :]
    assert [turns[0], turns[1], turns[2], turns[3]] == ["ours", "alone", "alone", "ours"]
    assert turns.count("ours") == len(seen.ours) == len(seen.alone) == TURNS
    assert "ours" not in asked[: -2 * TURNS]
    assert set(seen.first) == {" ".join(["iperf", *options]) for options in OPTIONS["iperf"]}
    assert "of the best alone: iperf" in str(seen)
