"""States how sure each look at the repeats must be if they go on until the verdict is settled.

A judge that looks after every repeat and stops at the first clear answer is wrong far more often than the 5 % of a
single look: up to 16 % in ten looks. So the more looks a plan allows, the wider the interval of each, and all of them
together are still wrong at most once in twenty. The table was found by simulation, and a test simulates it again.
"""

from __future__ import annotations

from linkladder.model import Experiment
from linkladder.verdicts import MOST_LOOKS

# The most repeats allowed, with a look after each from the second on -> the confidence of every single look.
PER_LOOK = {2: 0.95, 3: 0.973, 4: 0.98, 5: 0.984, 6: 0.986, 7: 0.988, 8: 0.989, 9: 0.99, 10: 0.9905}


def confidence(p: Experiment) -> float:
    """The confidence of each interval over the repeats, such that the verdict is 95 % sure whenever it is reached."""
    bound = max(p.at_most, p.repeats) if p.at_most else 0
    return PER_LOOK.get(min(bound, MOST_LOOKS), 0.95)
