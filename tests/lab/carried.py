"""What a trial must have carried of what its way can: all but 3 %, in the time that its ends had."""

from __future__ import annotations

NEAR = 0.03


def carried_all(bps: float, can: float, withheld: float) -> bool:
    """Whether it is within 3 % of what the way can in the time that its ends had: nobody sends in time withheld.

    Above that a reader kept waiting may take, in seconds that count, what came in the time withheld from it before.
    `withheld`: the largest share of its time that an end did not get.
    """
    return can * (1 - NEAR) * (1 - withheld) <= bps <= can * (1 + NEAR + withheld)
