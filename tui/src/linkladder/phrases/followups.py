"""Says in words which question a further measurement answers, and how to read its result."""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    text: str
    tells: str  # what the possible results mean


HOLE = Question("a path MTU black hole", "silence above a size tells one")
COMPRESSION = Question(
    "compression on the way",
    "if it stays within the ceiling, something on the way compresses; if not, the link is not what was entered",
)
REPEATS = Question("whether it holds over repeats", "the interval over the repeats replaces the provisional one")
OTHER_WAY = Question("the other direction", "the verdict is of the weaker direction")
