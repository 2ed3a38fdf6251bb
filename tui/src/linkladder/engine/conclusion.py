"""The end of a run: judged once, and the verdicts kept with it."""

from __future__ import annotations

from dataclasses import replace

from linkladder import judge
from linkladder.model import RunState
from linkladder.store import Store
from linkladder.verdicts import Judgement


def conclude(store: Store, run_id: str, state: RunState, reason: str) -> dict[str, float]:
    """What each rung's best setting carries, as the run's end tells of it."""
    document = store.load(run_id, output=False)
    judged = judge.judge_document(replace(document, run=replace(document.run, state=state)))  # what runs is provisional
    whole = state == RunState.COMPLETE
    rungs = {r.rung: (_words(r.judgement) if whole else "", r.best_bps) for r in judged.rungs}
    store.finish(run_id, state, _words(judged.judgement) if whole else "INCOMPLETE", reason, rungs)
    return {r.rung: r.best_bps for r in judged.rungs if r.best_bps}


def _words(judged: Judgement) -> str:
    """As the list of runs shows it; the judge has the words."""
    return ("provisional " if judged.provisional else "") + judged.verdict.value
