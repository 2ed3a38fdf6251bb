"""Shortens a document for a page: keeps what the verdicts rest on, and as much of the rest as a few megabytes hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from linkladder.judge import AS_PLANNED, Overrides, judge_document
from linkladder.judge.decided import decided
from linkladder.laid_on_disk import Shelf
from linkladder.model import SHORTENED, Command, Document, ExperimentResult, HostSample, Leg, TrialResult
from linkladder.phrases.documents import abridged
from linkladder.report import rounding
from linkladder.verdicts import DocumentJudgement

RAW_BUDGET = 500_000  # characters of tool output in one page
SAMPLE_BUDGET = 12_000  # samples of hosts in one page
LEAST = 1200  # characters that are kept of every output
FLOW_SECONDS = 5000  # if a document has more seconds of single flows, all are left out; their sums stay


@dataclass(frozen=True)
class Amount:
    """How much a document holds of everything for which a page has a budget."""

    flow_seconds: int
    outputs: int  # the number of commands
    characters: int  # of everything that they printed
    samples: int
    seconds: int  # of all trials

    @property
    def fits(self) -> bool:
        return (
            self.flow_seconds <= FLOW_SECONDS
            and self.characters <= RAW_BUDGET
            and self.samples <= SAMPLE_BUDGET
            and self.seconds <= rounding.MOST
        )

    @property
    def kept_of_each_output(self) -> int | None:
        """How many characters are kept of each output; None if all are."""
        return max(LEAST, RAW_BUDGET // max(1, self.outputs)) if self.characters > RAW_BUDGET else None

    @property
    def sample_step(self) -> int:
        """N if every N-th sample is kept."""
        return -(-self.samples // SAMPLE_BUDGET)


def condensed(document: Document, overrides: Overrides = AS_PLANNED) -> tuple[Document, DocumentJudgement]:
    """A short document as it is, or the smallest cut of a long one that is judged like the whole; and its judgement."""
    bare = replace(document, judgement=None)
    whole = judge_document(bare, overrides)
    amount = _amount(bare)
    if amount.fits:
        return bare, whole
    for shown in _cuts(bare, amount):
        judged = judge_document(shown, overrides)
        if decided(judged) == decided(whole):
            return shown, judged
    return bare, whole


def _amount(document: Document) -> Amount:
    trials = list(document.trials)
    outputs = [len(c.output) + len(c.errors) for t in trials for c in t.commands]
    return Amount(
        flow_seconds=sum(len(f.intervals) for t in trials for leg in t.legs for f in leg.outcome.flows),
        outputs=len(outputs),
        characters=sum(outputs),
        samples=sum(len(end.samples) for t in trials for end in t.ends),
        seconds=rounding.measured(document),
    )


def _cuts(document: Document, amount: Amount) -> Iterator[Document]:
    """Shortened documents, the smallest first: with rounded seconds if there are very many, then with all seconds."""
    keep, step = amount.kept_of_each_output, amount.sample_step
    cut = _with_trials(document, lambda _, t: _trial(t, keep, step))
    if amount.seconds > rounding.MOST:
        pings = -(-rounding.answers(document) // rounding.ANSWERS)
        shelf = Shelf()
        made = _with_trials(cut, lambda e, t: rounding.rounded(e.parameters, t, pings, shelf))
        words = abridged(amount.seconds, rounding.MOST, rounding.LEVELS, rounding.SPAN, pings)
        yield replace(made, abridged=words)
    yield cut


def _with_trials(document: Document, made: Callable[[ExperimentResult, TrialResult], TrialResult]) -> Document:
    rungs = tuple(
        replace(r, experiments=tuple(replace(e, trials=tuple(made(e, t) for t in e.trials)) for e in r.experiments))
        for r in document.rungs
    )
    return replace(document, rungs=rungs)


def _trial(trial: TrialResult, keep: int | None, step: int) -> TrialResult:
    """The trial without its flows' seconds (their sums stay), with shorter outputs and every `step`-th sample."""
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
