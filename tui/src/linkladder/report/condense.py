"""What a page carries of a document: everything the verdicts rest on, and of the rest what some megabytes hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from linkladder.judge import AS_PLANNED, Overrides, judge_document
from linkladder.judge.decided import decided
from linkladder.laid_on_disk import Shelf
from linkladder.model import SHORTENED, Command, Document, ExperimentResult, HostSample, Leg, TrialResult
from linkladder.phrases.documents import abridged
from linkladder.report import rounding
from linkladder.verdicts import DocumentJudgement

RAW_BUDGET = 500_000  # characters of tool output in one page
SAMPLE_BUDGET = 12_000  # seconds of hosts in one page
LEAST = 1200  # characters that every output keeps
FLOW_SECONDS = 5000  # of single flows; more than these are left out, as their sums stay


def condensed(document: Document, overrides: Overrides = AS_PLANNED) -> tuple[Document, DocumentJudgement]:
    """All of a short document; of another as little as is judged like all of it. With that judgement."""
    bare = replace(document, judgement=None)
    whole = judge_document(bare, overrides)
    if _short(bare):
        return bare, whole
    for shown in _cuts(bare):
        judged = judge_document(shown, overrides)
        if decided(judged) == decided(whole):
            return shown, judged
    return bare, whole


def _short(document: Document) -> bool:
    trials = [t for r in document.rungs for e in r.experiments for t in e.trials]
    flows = sum(len(f.intervals) for t in trials for leg in t.legs for f in leg.outcome.flows)
    return (
        flows <= FLOW_SECONDS
        and sum(_outputs(trials)) <= RAW_BUDGET
        and sum(len(end.samples) for t in trials for end in t.ends) <= SAMPLE_BUDGET
        and rounding.measured(document) <= rounding.MOST
    )


def _outputs(trials: Sequence[TrialResult]) -> list[int]:
    return [len(c.output) + len(c.errors) for t in trials for c in t.commands]


def _cuts(document: Document) -> Iterator[Document]:
    """From the smallest: seconds rounded, where they are very many; then every second as it was."""
    cut = _cut(document)
    if (seconds := rounding.measured(document)) > rounding.MOST:
        step = -(-rounding.answers(document) // rounding.ANSWERS)
        shelf = Shelf()
        made = _with_trials(cut, lambda e, t: rounding.rounded(e.parameters, t, step, shelf))
        yield replace(made, abridged=abridged(seconds, rounding.MOST, rounding.LEVELS, rounding.SPAN, step))
    yield cut


def _cut(document: Document) -> Document:
    """Flows lose their own intervals (the sums stay); if need be, outputs their middle and samples their density."""
    trials = [t for r in document.rungs for e in r.experiments for t in e.trials]
    outputs = _outputs(trials)
    keep = max(LEAST, RAW_BUDGET // max(1, len(outputs))) if sum(outputs) > RAW_BUDGET else None
    count = sum(len(end.samples) for t in trials for end in t.ends)
    step = -(-count // SAMPLE_BUDGET)
    return _with_trials(document, lambda _, t: _trial(t, keep, step))


def _with_trials(document: Document, made: Callable[[ExperimentResult, TrialResult], TrialResult]) -> Document:
    rungs = tuple(
        replace(r, experiments=tuple(replace(e, trials=tuple(made(e, t) for t in e.trials)) for e in r.experiments))
        for r in document.rungs
    )
    return replace(document, rungs=rungs)


def _trial(trial: TrialResult, keep: int | None, step: int) -> TrialResult:
    return replace(
        trial,
        legs=tuple(_leg(leg, keep) for leg in trial.legs),
        ends=tuple(replace(end, samples=_thin(end.samples, step)) for end in trial.ends),
    )


def _leg(leg: Leg, keep: int | None) -> Leg:
    bare = replace(leg.outcome, flows=tuple(replace(f, intervals=()) for f in leg.outcome.flows))
    return replace(leg, outcome=bare, commands=tuple(_command(c, keep) for c in leg.commands))


def _thin(samples: tuple[HostSample, ...], step: int) -> tuple[HostSample, ...]:
    return samples[::step] if step > 1 else samples


def _command(command: Command, keep: int | None) -> Command:
    if keep is None:
        return command
    return replace(command, output=_middle(command.output, keep), errors=_middle(command.errors, keep))


def _middle(text: str, keep: int) -> str:
    if len(text) <= keep:
        return text
    head, tail = text[: keep * 2 // 3], text[-(keep // 3) :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} {SHORTENED} ...]\n{tail}"
