"""Two runs: same or different beyond the noise, and what else is not the same."""

from __future__ import annotations

from linkladder.model import Document
from linkladder.verdicts import Comparison


def compare(a: Document, b: Document) -> Comparison:
    """Settings that both runs measured, side by side; a difference counts when its 95 % interval excludes none."""
    raise NotImplementedError
