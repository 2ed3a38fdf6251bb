"""One rung: do both directions carry what was bought, and could this generator have shown it."""

from __future__ import annotations

from linkladder.model import Contract, Document, RungResult
from linkladder.verdicts import RungJudgement


def judge_rung(rung: RungResult, document: Document, contract: Contract | None = None) -> RungJudgement:
    """The rung's verdict in the light of the rungs below it; `contract` replaces the plan's."""
    raise NotImplementedError
