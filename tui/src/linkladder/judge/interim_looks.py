"""Repeats that go on until the verdict is settled, and how sure each look at them must be.

Whoever looks after every repeat and stops at the first clear answer is wrong far more often than the 5 % of each single
look: up to 16 % in ten looks.  So the more looks a plan allows, the wider the interval of each; then all of them
together still claim wrongly at most once in twenty.  The table was found by simulation, and a test simulates it again.
"""

from __future__ import annotations

from linkladder.model import Experiment

# Looks after 2, 3, ... repeats, up to the bound -> the confidence of every single one.
PER_LOOK = {2: 0.95, 3: 0.973, 4: 0.98, 5: 0.984, 6: 0.986, 7: 0.988, 8: 0.989, 9: 0.99, 10: 0.9905}
MOST_LOOKS = max(PER_LOOK)


def confidence(p: Experiment) -> float:
    """Of each interval over the repeats, so that the verdict is 95 % sure whenever it came."""
    bound = max(p.at_most, p.repeats) if p.at_most else 0
    return PER_LOOK.get(min(bound, MOST_LOOKS), 0.95)
