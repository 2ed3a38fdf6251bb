"""How long a run will take at best, as far as this machine knows before the ends are asked."""

from __future__ import annotations

from pathlib import Path

from linkladder import plan as plans
from linkladder import state
from linkladder.model import Plan, RungName


def soonest(plan: Plan, folder: Path) -> float:
    """In seconds: with anything kept of a generator's strength, nothing may have to be looked for."""
    return plans.soonest(plan, tuple(RungName) if (folder / state.GENERATORS).exists() else ())
