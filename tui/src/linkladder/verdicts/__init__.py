"""Defines the judge's results: frozen records without I/O, stored in a run's document beside what was measured.

Rung, direction and protocol are strings with the values of linkladder.model's enumerations, so that these records need
not import the model, which holds them.
"""

from __future__ import annotations

from linkladder.verdicts.conclusions import (
    BundleJudgement,
    ComparedFigure,
    Comparison,
    Difference,
    Landing,
    MemberDown,
)
from linkladder.verdicts.judgements import (
    LEAST_PAIRS,
    MOST_LOOKS,
    MOST_MORE,
    Bucket,
    Ceiling,
    Cell,
    Change,
    ChangedFigure,
    CompanyJudgement,
    Concern,
    DocumentJudgement,
    ExperimentJudgement,
    FollowUp,
    Judgement,
    Latency,
    Limiter,
    Neighbour,
    OwnLimit,
    Rfc6349,
    RungJudgement,
    Sharing,
    Spread,
    TrialJudgement,
)
from linkladder.verdicts.kinds import (
    NO_RATE_ASKED,
    SHORTFALL,
    Answer,
    Cause,
    LimiterKind,
    Measured,
    Verdict,
)

__all__ = [
    "LEAST_PAIRS",
    "MOST_LOOKS",
    "MOST_MORE",
    "NO_RATE_ASKED",
    "SHORTFALL",
    "Answer",
    "Bucket",
    "BundleJudgement",
    "Cause",
    "Ceiling",
    "Cell",
    "Change",
    "ChangedFigure",
    "CompanyJudgement",
    "ComparedFigure",
    "Comparison",
    "Concern",
    "Difference",
    "DocumentJudgement",
    "ExperimentJudgement",
    "FollowUp",
    "Judgement",
    "Landing",
    "Latency",
    "Limiter",
    "LimiterKind",
    "Measured",
    "MemberDown",
    "Neighbour",
    "OwnLimit",
    "Rfc6349",
    "RungJudgement",
    "Sharing",
    "Spread",
    "TrialJudgement",
    "Verdict",
]
