"""What a further measurement is to answer, and how to read what it shows."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    text: str
    tells: str  # what the answer is known by


ONE_CORE = Question("what limits", "more throughput means that one core held it")
LARGE_SENDS = Question("large sends", "if it runs with TSO off, the large sends are what a card or its driver breaks")
HOLE_OR_SENDS = Question("a path MTU black hole or broken large sends", "silence above a size tells a black hole")
HOLE = Question("a path MTU black hole", "silence above a size tells one")
ONE_FLOW = Question("what limits", "more of either shows whether one flow was the limit")
WINDOW = Question("what the path carries when the window does not hold it", "windows add up")
LOSS_BY_RATES = Question(
    "loss or a policer", "random loss takes the same share of each rate, a policer takes nothing below its own"
)
LOSS_BY_STREAMS = Question(
    "loss or a policer", "more streams carry more through random loss, and no more through a policer"
)
COMPRESSION = Question(
    "compression on the way",
    "if it stays within the ceiling, something on the way compresses; if not, the link is not what was entered",
)
REPEATS = Question("whether it holds over repeats", "the interval over the repeats replaces the provisional one")
OTHER_WAY = Question("the other direction", "the verdict is of the weaker direction")


def cores(end: str) -> Question:
    """`end`: 'sender' or 'receiver', '' where it may be either."""
    text = f"whether more cores help the {end}" if end else "sender or receiver"
    return Question(
        text, "more throughput means that one core held it, and the core still saturated then names the end"
    )
