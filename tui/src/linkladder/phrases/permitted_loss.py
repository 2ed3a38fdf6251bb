"""Says in words why a loss that the contract permits does not fail a link."""

from __future__ import annotations

from linkladder import units
from linkladder.phrases.followups import Question

MORE = Question(
    "whether more streams carry what few do not through the loss that is permitted",
    "each stream gets as much as the loss lets it, so more get more; if many do not, the path does not carry it",
)


def permitted(limit_percent: float, streams: int) -> str:
    return (
        f"But paced UDP arrives at nearly the full rate with no more lost than the {limit_percent:g} % of it that the "
        f"contract permits, and so much loss alone holds {units.plural(streams, 'stream')}."
    )


def more(streams: int) -> str:
    return f"Measure with {streams} streams: each carries as much as the loss lets it."
