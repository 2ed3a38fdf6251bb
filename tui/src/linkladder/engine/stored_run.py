"""Resumes and ends a run in the store, whose verdicts are kept with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from linkladder import judge, units
from linkladder import plan as plans
from linkladder.judge.comparison import host_changes
from linkladder.model import End, HostFacts, Plan, Rung, RunState, TrialResult
from linkladder.store import KeptVerdict, Store
from linkladder.verdicts import Judgement, Verdict


def resume_stored(store: Store, run_id: str, plan: Plan) -> int:
    """Resume a stored run; experiments new in this plan are added, none are removed.

    Returns how many trials of what it goes on with had failed, which are not measured again; 0 if it adds to the plan.
    """
    document = store.load(run_id, output=False)
    before = document.run.plan
    after = plans.extended(before, plan)
    store.resume(run_id)
    if after != before:
        store.replan(run_id, after)
        more = plans.trials(after) - plans.trials(before)
        were = f"{units.plural(more, 'trial')} {'was' if more == 1 else 'were'}"
        store.note(run_id, f"follow-up: {were} added to the plan after the run")
        return 0
    return sum(not trial.ok for trial in document.trials)


def replan(store: Store, run_id: str, before: Plan, after: Plan, why: str = "") -> None:
    """Store how the present plan changes, and why; a follow-up's is only a part of the run's."""
    store.replan(run_id, plans.replaced(store.plan(run_id), before, after), why)


def figures_before(store: Store, run_id: str, rung: Rung) -> dict[str, tuple[TrialResult, ...]]:
    """The figures of the rung's stored trials, by those of its experiments that have any."""
    asked = {e.id for e in rung.experiments}
    found = (e for r in store.load(run_id, output=False).rungs if r.name is rung.name for e in r.experiments)
    stored = {e.parameters.id: tuple(t.figures for t in e.trials) for e in found}
    return {name: trials for name, trials in stored.items() if trials and name in asked}


def keep_host(store: Store, run_id: str, name: str, facts: HostFacts) -> None:
    """Store a host's facts; whatever has changed since the run was interrupted becomes a note of the run.

    Where the plan itself starts another kernel here, that and what it offers have not changed behind its back.
    """
    document = store.load(run_id, output=False)
    before = document.run.facts(name)
    if before is not None:
        if name == End.NEAR and before.kernel != facts.kernel and plans.boots(document.run.plan):
            before = replace(before, kernel=facts.kernel, sysctls=facts.sysctls)
        if changed := host_changes(name, before, facts):
            store.note(run_id, f"changed while the run was interrupted: {'; '.join(changed)}")
    store.keep_host(run_id, name, facts)


def conclude(store: Store, run_id: str, state: RunState, reason: str, cancelled: bool) -> dict[str, float]:
    """Judge the run and store its verdicts; returns what each rung's best setting carries, for the run's last event."""
    document = store.load(run_id, output=False)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    over = replace(document.run, state=state, ended=now)  # what still runs is provisional
    judged = judge.judge_document(replace(document, run=over))
    whole = state == RunState.COMPLETE
    rungs = {r.rung: (_kept(r.judgement) if whole else KeptVerdict(), r.best_bps) for r in judged.rungs}
    verdict = _kept(judged.judgement) if whole else KeptVerdict(Verdict.INCOMPLETE)
    store.finish(run_id, state, verdict, reason, rungs, cancelled)
    return {r.rung: r.best_bps for r in judged.rungs if r.best_bps is not None}


def skipped(store: Store, run_id: str, rung: Rung) -> str:
    """Note how much of a rung was measured before the operator left it; why it is not measured, if nothing was."""
    stored = len([name for name, _, _ in store.stored_trials(run_id) if name == rung.name])
    if not stored:
        return "skipped by the operator"
    of = f"{stored} of {plans.trials(rung)} trials"
    store.note(run_id, f"{rung.name}: the rest was skipped by the operator after {of}")
    return ""


def _kept(judged: Judgement) -> KeptVerdict:
    return KeptVerdict(judged.word, judged.provisional)
