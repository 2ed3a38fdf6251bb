"""A run as a list of runs shows it, without its trials."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.model import RunState

CANCELLED = "it was cancelled"  # by a person, who then wants no offer to go on


@dataclass(frozen=True)
class RunSummary:
    """A stored run in a list of them."""

    id: str
    started: str
    ended: str
    state: RunState
    plan: str
    peer: str
    trials: int
    failed: int
    verdict: str = ""
    best_bps: dict[str, float] = field(default_factory=dict)  # rung -> one way: its best setting, or trial until judged
    reason: str = ""  # why it ended early
    verdicts: dict[str, str] = field(default_factory=dict)  # rung -> its verdict, in the words of the run's

    @property
    def cancelled(self) -> bool:
        return self.state is RunState.INCOMPLETE and self.reason == CANCELLED
