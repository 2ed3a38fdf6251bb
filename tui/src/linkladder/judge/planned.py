"""Compares what a plan asked for on a rung with what the run has."""

from __future__ import annotations

from linkladder.model import Direction, Document, Experiment, Protocol, Rung, RungResult, RunState
from linkladder.phrases import rungs as say


def planned(rung: RungResult, document: Document) -> tuple[Experiment, ...]:
    """The planned experiments that the verdict rests on: those without settings on loan."""
    return tuple(e for e in _asked(rung, document) if not e.settings)


def throughput_asked(rung: RungResult, document: Document) -> bool:
    """Whether any throughput was planned or measured on the rung, if only under settings on loan."""
    measured = (e.parameters for r in document.rungs if r.name is rung.name for e in r.experiments)
    return any(e.protocol in (Protocol.TCP, Protocol.UDP) for e in (*_asked(rung, document), *measured))


def only_others_asked(rung: RungResult, document: Document) -> bool:
    """Whether no throughput was asked for on the rung, and all that was is there, such as transactions."""
    return not rung.unavailable and not throughput_asked(rung, document) and not lacking(rung, document)


def lacking(rung: RungResult, document: Document) -> str:
    """A sentence on what is not there of all that was asked for, under settings on loan as well; '' if nothing."""
    trials = [trial for e in _whole(rung, document).experiments for trial in e.trials]
    known = _to_be_measured(_asked(rung, document), rung, document)
    failed = sum(not trial.ok for trial in trials)
    if (missing := _missing(known, rung, document)) or not failed:
        return missing if trials or missing else say.nothing_run()
    return say.failed_trials(failed, len(trials))


def _asked(rung: RungResult, document: Document) -> tuple[Experiment, ...]:
    plan: Rung | None = next((r for r in document.run.plan.rungs if r.name is rung.name), None)
    return plan.experiments if plan else tuple(e.parameters for e in rung.experiments)


def _whole(rung: RungResult, document: Document) -> RungResult:
    """The run's rung, of which `rung` may be only the part that is judged."""
    return next((r for r in document.rungs if r.name is rung.name), rung)


def _done(rung: RungResult, document: Document) -> dict[str, int]:
    """The number of trials by experiment, of the whole rung."""
    return {e.parameters.id: len(e.trials) for e in _whole(rung, document).experiments if e.trials}


def every(rung: RungResult, document: Document) -> bool:
    """Whether each planned setting was measured at least once."""
    done = _done(rung, document)
    return all(p.id in done for p in _to_be_measured(planned(rung, document), rung, document))


def missing_trials(rung: RungResult, document: Document) -> str:
    """A sentence on how many planned trials the run lacks, those under settings on loan apart; '' if none."""
    return _missing(_to_be_measured(planned(rung, document), rung, document), rung, document)


def _missing(known: list[Experiment], rung: RungResult, document: Document) -> str:
    done = _done(rung, document)
    absent = sum(max(0, p.repeats - done.get(p.id, 0)) for p in known)
    return say.missing_trials(absent, sum(p.repeats for p in known)) if absent else ""


def too_few_cores(p: Experiment, rung: RungResult, document: Document) -> str:
    """A sentence on the end that has too few cores for an experiment, which is left out for that; '' if none has."""
    names = dict.fromkeys(name for path in rung.paths for name in (path.origin or "near", path.peer))
    known = [facts for facts in map(document.run.facts, filter(None, names)) if facts]
    small = next((one for one in known if p.cores and one.cores and p.cores > one.cores), None)
    return say.too_few_cores(p.cores or 0, small.name, small.cores) if small else ""


def _to_be_measured(wanted: tuple[Experiment, ...], rung: RungResult, document: Document) -> list[Experiment]:
    """What was planned and could be had: a run that went to its end left out the arms of a comparison that its machines
    do not have, such as idle hyperthreads, and said so; and a baseline that nothing was left for.
    """
    asked = [p for p in wanted if p.direction is not Direction.BOTH]
    if document.run.state is not RunState.COMPLETE:
        return asked
    done, arms = _done(rung, document), [p for p in _asked(rung, document) if p.baseline]
    for_none = {p.baseline for p in arms} - {p.baseline for p in arms if p.id in done}
    return [p for p in asked if p.id in done or not (p.baseline or p.id in for_none)]
