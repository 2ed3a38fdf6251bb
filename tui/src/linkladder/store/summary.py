"""The summary of a run, without its trials, for lists of runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.model import RunState


@dataclass(frozen=True)
class KeptVerdict:
    """A stored verdict, for lists; it is false if there is none."""

    word: str = ""  # a value of linkladder.verdicts.Verdict
    provisional: bool = False

    def __bool__(self) -> bool:
        return bool(self.word)

    def __str__(self) -> str:
        """The verdict for scripts, such as 'provisional PASS'."""
        return f"{'provisional ' if self.provisional else ''}{self.word}"


NONE = KeptVerdict()


@dataclass(frozen=True)
class RunSummary:
    """A stored run in a list of runs."""

    id: str
    started: str
    ended: str
    state: RunState
    plan: str
    peer: str
    trials: int
    failed: int
    verdict: KeptVerdict = NONE
    best_bps: dict[str, float] = field(default_factory=dict)  # rung -> best setting's one-way rate, or trial's
    reason: str = ""  # why it ended early
    verdicts: dict[str, KeptVerdict] = field(default_factory=dict)  # by rung
    cancelled: bool = False  # ended by a person, so the user is not asked whether to resume it
