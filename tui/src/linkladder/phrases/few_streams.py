"""Says in words what few streams do not tell of a link that is loaded both ways at once."""

from __future__ import annotations

from linkladder import units
from linkladder.phrases.followups import Question

SEVERAL = Question(
    "whether several streams carry both ways at once what few do not",
    "if they reach the required rate, TCP itself held the few; if not, the path does not carry both ways at once",
)


def few(streams: int) -> str:
    own = "its" if streams == 1 else "their"
    return (
        f"But of a good link {units.plural(streams, 'stream')} may leave one way empty while the other is full, as "
        f"{own} acknowledgements wait behind its data."
    )


def several(streams: int) -> str:
    return f"Measure both ways at once with {streams} streams or more: another sends while one waits."
