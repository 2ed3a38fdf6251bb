"""A run as a list of runs shows it, without its trials."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.model import RunState


@dataclass(frozen=True)
class KeptVerdict:
    """A verdict as it is kept for lists; false where there is none."""

    word: str = ""  # linkladder.verdicts.Verdict's
    provisional: bool = False

    def __bool__(self) -> bool:
        return bool(self.word)

    def __str__(self) -> str:
        """For scripts: 'provisional PASS'."""
        return f"{'provisional ' if self.provisional else ''}{self.word}"


NONE = KeptVerdict()


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
    verdict: KeptVerdict = NONE
    best_bps: dict[str, float] = field(default_factory=dict)  # rung -> one way: its best setting, or trial until judged
    reason: str = ""  # why it ended early
    verdicts: dict[str, KeptVerdict] = field(default_factory=dict)  # by rung
    cancelled: bool = False  # by a person, who then wants no offer to go on
