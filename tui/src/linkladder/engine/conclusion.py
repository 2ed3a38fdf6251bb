"""Ends a run: judges it once and stores the verdicts with it."""

from __future__ import annotations

from dataclasses import replace

from linkladder import judge
from linkladder import plan as plans
from linkladder.model import Rung, RunState
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


def skipped(store: Store, run_id: str, rung: Rung) -> str:
    """Note how much of a rung was measured before the operator left it; why it is not measured, if nothing was."""
    stored = len([name for name, _, _ in store.done(run_id) if name == rung.name])
    if not stored:
        return "skipped by the operator"
    of = f"{stored} of {plans.trials(rung)} trials"
    store.note(run_id, f"{rung.name}: the rest was skipped by the operator after {of}")
    return ""


def _kept(judged: Judgement) -> KeptVerdict:
    return KeptVerdict(judged.verdict.value, judged.provisional)
