"""What several unit tests need."""

from __future__ import annotations

from pairing_ends import two_states

__all__ = ["two_states"]
