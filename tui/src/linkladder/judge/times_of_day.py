"""Times of day as documents have them."""

from __future__ import annotations

from datetime import datetime


def moment(text: str) -> float | None:
    """Seconds since the epoch; None for what is no time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
