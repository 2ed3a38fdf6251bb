"""Lists the trials whose figures are doubtful, and what follows for a rung: such figures cannot give a PASS.

What makes a single trial doubtful is in `trial_figures`, and in `copies` and `same_counters` what makes two of them so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from weakref import ref

from linkladder import phrases, tools
from linkladder.judge.arranged import whole_run
from linkladder.judge.copies import copies, moved_or_changed
from linkladder.judge.recount import unreadable
from linkladder.judge.same_counters import same_counters
from linkladder.judge.trial_figures import LOADS, Said, doubt
from linkladder.model import Document, Experiment, Fault, Protocol, RungName, RungResult, TrialResult
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause, Concern, Verdict

TWICE = 1.5  # times the packets sent; if more come in, they were doubled or belong to other traffic
SHOWN = 3  # how many concerns of a kind are spelled out
COARSE = 1.6  # seconds; an interval longer than this does not show single seconds

Doubted = dict[RungName, dict[tuple[str, int], Said]]

_compared: list[tuple[ref[Document], tuple[Doubted, Doubted]]] = []  # last answers of `_of_two_trials`
_asked: list[tuple[ref[RungResult], ref[Document], dict[tuple[str, int], Said]]] = []  # last answers of `doubted`


def doubted(rung: RungResult, document: Document) -> dict[tuple[str, int], Said]:
    """The trials with doubtful figures, by experiment and repeat, with cause and reason; they prove nothing.

    The last answers are kept, as judging a rung asks about all the others and reading their output again is slow.
    """
    for one, whole, answer in _asked:
        if one() is rung and whole() is document:
            return answer
    answer = _doubted(rung, document)
    _asked.append((ref(rung), ref(document), answer))
    del _asked[:-16]
    return answer


def _doubted(rung: RungResult, document: Document) -> dict[tuple[str, int], Said]:
    found: dict[tuple[str, int], Said] = {}
    for e in rung.experiments:
        p = e.parameters
        for t in e.trials:
            if said := doubt(t, p, rung, document):
                found[p.id, t.repeat] = said[0], say.of_trial(p, t.repeat, said[1], rung.paths)
    again, recorded = _of_two_trials(document)
    return recorded.get(rung.name, {}) | moved_or_changed(rung, document) | again.get(rung.name, {}) | found


def _of_two_trials(document: Document) -> tuple[Doubted, Doubted]:
    """What `copies` and `same_counters` say of each rung; kept, as they compare all trials of the run."""
    for whole, answer in _compared:
        if whole() is document:
            return answer
    _compared.append((ref(document), (copies(document), same_counters(document))))
    del _compared[:-4]
    return _compared[-1][1]


def proven(rung: RungResult, document: Document) -> RungResult:
    """The rung with its contradicted trials marked as failed, so that no answer about a change relies on them."""
    found = {name: said for name, said in doubted(rung, document).items() if said[0] is not Cause.UNACCOUNTED}
    if not found:
        return rung
    experiments = tuple(
        replace(
            e,
            trials=tuple(
                _failed(t, found[e.parameters.id, t.repeat][1]) if (e.parameters.id, t.repeat) in found else t
                for t in e.trials
            ),
        )
        for e in rung.experiments
    )
    return replace(rung, experiments=experiments)


def without_doubted(rung: RungResult, document: Document, causes: Collection[Cause]) -> RungResult:
    """The rung without the trials whose figures are doubtful for one of these causes."""
    left_out = {name for name, (cause, _) in doubted(rung, document).items() if cause in causes}
    experiments = tuple(
        replace(e, trials=tuple(t for t in e.trials if (e.parameters.id, t.repeat) not in left_out))
        for e in rung.experiments
    )
    return replace(rung, experiments=experiments)


def _failed(t: TrialResult, reason: str) -> TrialResult:
    legs = (replace(g, outcome=replace(g.outcome, ok=False, fault=Fault.TOOL, reason=reason)) for g in t.legs)
    return replace(t, legs=tuple(legs))


def of_changes(rung: RungResult, document: Document) -> list[Concern]:
    """Concerns about doubtful trials with settings on loan; they are only reported, as no verdict rests on them."""
    lent = {e.parameters.id for e in rung.experiments if e.parameters.settings}
    found = [said for (arm, _), said in doubted(rung, document).items() if arm in lent]
    return [Concern(cause, text) for cause, text in dict.fromkeys(found)][:SHOWN]


def accounts(rung: RungResult, document: Document) -> list[Concern]:
    """All concerns about the figures of this rung that are doubtful."""
    found = list(dict.fromkeys(doubted(rung, document).values()))
    concerns = [Concern(cause, text, Verdict.CANNOT_JUDGE, excuses=True) for cause, text in found[:SHOWN]]
    if len(found) > SHOWN:
        concerns.append(Concern(found[SHOWN][0], say.more_like_that(len(found) - SHOWN)))
    return [
        *concerns,
        *_coarse(rung),
        *_twice(rung),
        *_in_part(rung),
        *_unread(rung, document),
        *whole_run(rung, document),
    ]


def _coarse(rung: RungResult) -> list[Concern]:
    """A concern about trials that do not report each second: their rate may be right, but an outage cannot be seen."""
    loads = [(t, e.parameters) for e in rung.experiments for t in e.trials if t.ok and e.parameters.protocol in LOADS]
    coarse = sum(_longest_step(t, p) > COARSE for t, p in loads)
    return [Concern(Cause.UNACCOUNTED, say.without_seconds(coarse), provisional=True)] if coarse else []


def _twice(rung: RungResult) -> list[Concern]:
    """A concern if far more packets of paced UDP came in than went out: they were doubled, or others use the cards."""
    for e in rung.experiments:
        p = e.parameters
        for t in e.trials if p.protocol is Protocol.UDP and rung.name is not RungName.LOCALHOST else ():
            out = sum(end.carried.tx_packets for end in t.senders(p.direction))
            in_ = sum(end.carried.rx_packets for end in t.receivers(p.direction))
            if t.ok and in_ > TWICE * out > 0:
                said = say.came_twice(phrases.trial(p, t.repeat, paths=rung.paths), out, in_)
                return [Concern(Cause.UNACCOUNTED, said, provisional=True)]
    return []


def _longest_step(t: TrialResult, p: Experiment) -> float:
    steps = [i.end - i.start for i in t.intervals if i.counted]
    return max(steps, default=p.duration)


def _in_part(rung: RungResult) -> list[Concern]:
    """Concerns about trials that kept only the client's or only the server's output, so it cannot be read again.

    Trials without any output are no concern, as it may never have been kept.
    """
    found = []
    for absent, there in (("server", "client"), ("client", "server")):
        alone = sum(t.ok and _alone(t, e.parameters, absent, there) for e in rung.experiments for t in e.trials)
        if alone:
            said = say.output_of_one_side(alone, there, absent)
            found.append(Concern(Cause.RAW_OUTPUT, said, provisional=True))
    return found


def _alone(t: TrialResult, p: Experiment, absent: str, there: str) -> bool:
    printed = {c.role for c in t.commands if c.output.strip()}
    tool = tools.TOOLS.get(p.tool)
    needed = absent == "client" or (tool is not None and tool.server_tells)
    return there in printed and absent not in printed and p.protocol in (Protocol.TCP, Protocol.UDP) and needed


def _unread(rung: RungResult, document: Document) -> list[Concern]:
    """A concern about output that cannot be checked because no end states its tool's version."""
    hidden = sum(t.ok and unreadable(t, e.parameters, rung, document) for e in rung.experiments for t in e.trials)
    return [Concern(Cause.RAW_OUTPUT, say.unread(hidden), provisional=True)] if hidden else []
