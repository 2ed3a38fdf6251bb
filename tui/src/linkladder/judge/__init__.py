"""Judges a run: ceilings, limiters, verdicts and comparisons, as pure functions over linkladder.model.

    ceiling(contract)                     the best possible goodput, and which of port and contract sets it
    at_lent_mtu(contract, settings)       the contract with the MTU that settings on loan give both ends' adapters
    judge_document(document, overrides)   verdict per rung and for the run, with reasons, remedies and a diagnosis
    judge_rung(rung, document)            the verdict on one rung, given what the rungs below it showed
    limiter(trial, experiment, ...)       what kept one trial from a higher rate
    unsettled(rung, document)             the settings that one more repeat could settle, within the plan's limit
    compare(a, b)                         whether two runs are the same or differ beyond the noise

The records are in linkladder.verdicts; `with_judgement` puts them into the document, in the same schema.
"""

from __future__ import annotations

from linkladder.judge.accounts import proven
from linkladder.judge.ceilings import (
    at_lent_mtu,
    ceiling,
    largest_datagram,
    measurement_error,
    rate_sold,
    whole_datagram,
)
from linkladder.judge.comparison import compare
from linkladder.judge.documents import AS_PLANNED, Overrides, judge_document, with_judgement
from linkladder.judge.experiments import judge_experiment, judge_trial
from linkladder.judge.limiters import limiter
from linkladder.judge.rungs import judge_rung
from linkladder.judge.sequential import unsettled
from linkladder.judge.soundness import flaws
from linkladder.judge.staircase import flights, lost, winner_so_far, with_cards, won
from linkladder.verdicts import (
    Ceiling,
    Comparison,
    Difference,
    DocumentJudgement,
    ExperimentJudgement,
    Judgement,
    Limiter,
    LimiterKind,
    Rfc6349,
    RungJudgement,
    Spread,
    TrialJudgement,
    Verdict,
)

__all__ = [
    "AS_PLANNED",
    "Ceiling",
    "Comparison",
    "Difference",
    "DocumentJudgement",
    "ExperimentJudgement",
    "Judgement",
    "Limiter",
    "LimiterKind",
    "Overrides",
    "Rfc6349",
    "RungJudgement",
    "Spread",
    "TrialJudgement",
    "Verdict",
    "at_lent_mtu",
    "ceiling",
    "compare",
    "flaws",
    "flights",
    "judge_document",
    "judge_experiment",
    "judge_rung",
    "judge_trial",
    "largest_datagram",
    "limiter",
    "lost",
    "measurement_error",
    "proven",
    "rate_sold",
    "unsettled",
    "whole_datagram",
    "winner_so_far",
    "with_cards",
    "with_judgement",
    "won",
]
