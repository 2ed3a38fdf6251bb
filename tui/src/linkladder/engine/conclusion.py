"""Ends a run: judges it once and stores the verdicts with it."""

from __future__ import annotations

from dataclasses import replace

from linkladder import judge
from linkladder.model import RunState
from linkladder.store import KeptVerdict, Store
from linkladder.verdicts import Judgement, Verdict


def conclude(store: Store, run_id: str, state: RunState, reason: str, cancelled: bool) -> dict[str, float]:
    """Judge the run and store its verdicts; returns what each rung's best setting carries, for the run's last event."""
    document = store.load(run_id, output=False)
    judged = judge.judge_document(replace(document, run=replace(document.run, state=state)))  # what runs is provisional
    whole = state == RunState.COMPLETE
    rungs = {r.rung: (_kept(r.judgement) if whole else KeptVerdict(), r.best_bps) for r in judged.rungs}
    verdict = _kept(judged.judgement) if whole else KeptVerdict(Verdict.INCOMPLETE)
    store.finish(run_id, state, verdict, reason, rungs, cancelled)
    return {r.rung: r.best_bps for r in judged.rungs if r.best_bps}


def _kept(judged: Judgement) -> KeptVerdict:
    return KeptVerdict(judged.verdict.value, judged.provisional)
