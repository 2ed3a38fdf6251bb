"""Finds signs that a record was changed afterwards: trials left out, added or moved, and arms other than planned.

Needs the plan, the trials' numbers and times, and the rung's paths. What differs from the plan is a contradiction. An
order that only a repeat by the operator, or a rearranged record, can explain makes the verdict provisional.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import fields

from linkladder import phrases
from linkladder.judge.as_sold import as_address, cards
from linkladder.judge.history import moment
from linkladder.model import (
    Contract,
    CpuUse,
    Document,
    End,
    Experiment,
    ExperimentResult,
    Fault,
    HostFacts,
    Protocol,
    Role,
    RungName,
    RungResult,
    RunState,
)
from linkladder.phrases import arranged as say
from linkladder.phrases import as_sold as say_of_cards
from linkladder.verdicts import Cause, Concern, Verdict

LOADS = (Protocol.TCP, Protocol.UDP)
NOT_COMPARED = ("id", "repeats", "label")  # repeats are checked elsewhere, the others do not change the load
AGREE = 0.02  # share by which a stored median, minimum or maximum may be off
OUTSIDE = 60.0  # seconds by which a trial may lie outside of its run
BESIDE = 2.0  # seconds by which two trials may seem to overlap, as the clock is read before and after the work
SLOW = 30.0  # seconds that a trial may last besides its load; an adapter that was reset is up again in less
LASTING = 2.0  # seconds that a trial must count at least for a firm verdict
MUCH = 50 << 20  # bytes that no machine receives without using its CPU
FASTER = 2.0  # times the port's rate; no buffer can pass on more than that in a second


def arranged(rung: RungResult, document: Document) -> list[Concern]:
    """Concerns about a rung that differs from its plan, or whose trials are missing, odd or out of order."""
    loads = [e for e in rung.experiments if e.parameters.protocol in LOADS]
    return [
        *_plan(rung, document),
        *_slow(loads, rung),
        *_without_cpu(loads),
        *_short(loads),
        *_left_out(rung, document),
        *(c for e in loads for c in (*_trials(e, rung, document), *_sums(e, rung))),
        *(c for e in rung.experiments if e.parameters.protocol not in LOADS for c in _without_load(e, rung)),
    ]


def _plan(rung: RungResult, document: Document) -> Iterable[Concern]:
    plan = next((r for r in document.run.plan.rungs if r.name is rung.name), None)
    if plan is None:
        return
    ways = [(p.local, p.remote, p.peer) for p in plan.paths]
    went = [(p.local, p.remote, p.peer) for p in rung.paths]
    if len(ways) == len(went) and any(
        a and a != b for one, other in zip(ways, went, strict=True) for a, b in zip(one, other, strict=True)
    ):
        yield Concern(Cause.CONTRADICTION, say.other_paths(), Verdict.CANNOT_JUDGE)
    if len(went) > len(set(went)):
        yield Concern(Cause.CONTRADICTION, say.path_twice(), Verdict.CANNOT_JUDGE)
    asked = {e.id: e for e in plan.experiments}
    # Of the whole rung: an arm that claims a loan, or other company, is left out of what the verdict rests on.
    for e in next((r for r in document.rungs if r.name is rung.name), rung).experiments:
        p = asked.get(e.parameters.id)
        if p is not None and (other := _differs(p, e.parameters)):
            said = say.other_than_planned(phrases.arm(e.parameters, paths=rung.paths), other)
            yield Concern(Cause.CONTRADICTION, said, Verdict.CANNOT_JUDGE)
        if p is not None and e.parameters.repeats > max(p.repeats, len(e.trials)):
            said = say.more_repeats_asked(phrases.arm(e.parameters, paths=rung.paths), e.parameters.repeats, p.repeats)
            yield Concern(Cause.TRIALS_MISSING, said, provisional=True)
        if p is None and asked:
            yield Concern(
                Cause.CONTRADICTION, say.not_asked(phrases.arm(e.parameters, paths=rung.paths)), provisional=True
            )
    if any(not 0 <= n < max(1, len(rung.paths)) for e in rung.experiments for n in e.parameters.paths) or any(
        leg.role is not Role.DISCARDED and not 0 <= leg.path < max(1, len(rung.paths))
        for e in rung.experiments
        for t in e.trials
        for leg in t.legs
    ):
        yield Concern(Cause.CONTRADICTION, say.no_such_path(), Verdict.CANNOT_JUDGE)


def _differs(planned: Experiment, done: Experiment) -> str:
    """A field in which an experiment differs from the plan, else ''. A run stores its plan with every field as it was
    measured, so none may differ.
    """
    asked = (field.name for field in fields(Experiment) if field.name not in NOT_COMPARED)
    return next((name for name in asked if getattr(planned, name) != getattr(done, name)), "")


def _trials(e: ExperimentResult, rung: RungResult, document: Document) -> Iterable[Concern]:
    """Concerns about an arm's trials: they must be numbered from 0 without a gap, no more than asked for, follow each
    other in time, load the same paths, and have something measured.
    """
    p = e.parameters
    name = phrases.arm(p, paths=rung.paths)
    numbers = sorted(t.repeat for t in e.trials)
    plans = [r for r in document.run.plan.rungs if r.name is rung.name]
    planned = [one for r in plans for one in r.experiments if one.id == p.id]
    most = max((max(one.repeats, one.at_most) for one in (p, *planned)), default=0)
    if numbers and (numbers[0] < 0 or numbers != list(range(len(numbers)))):
        yield Concern(Cause.TRIALS_MISSING, say.gap(name, [n + 1 for n in numbers]), provisional=True)
    elif len(numbers) > most:
        yield Concern(Cause.CONTRADICTION, say.more_than_planned(name, len(numbers), most), provisional=True)
    times = [moment(t.started) for t in sorted(e.trials, key=lambda t: t.repeat)]
    known = [at for at in times if at is not None]
    if any(later < first for first, later in itertools.pairwise(known)):
        yield Concern(Cause.CONTRADICTION, say.not_in_turn(name), provisional=True)
    if document.run.state is RunState.COMPLETE and any(
        t.ok and (t.seconds <= 0 or at is None)
        for t, at in zip(sorted(e.trials, key=lambda t: t.repeat), times, strict=True)
    ):
        yield Concern(Cause.CONTRADICTION, say.without_time(name), provisional=True)
    if e.trials and not any(t.ok or t.fault is Fault.PATH for t in e.trials):
        # If there were interruptions, another concern reports them.
        alone = any(t.fault is Fault.PEER and not t.interruptions for t in e.trials)
        partly = any(one.ok for t in e.trials for one in t.loads)
        said = say.none_measured(name, len(e.trials), e.trials[0].reason, partly)
        yield Concern(Cause.TRIALS_FAILED, said, provisional=alone)
    yield from _without_load(e, rung)
    loaded = {tuple(sorted(leg.path for leg in t.legs if leg.role is Role.LOAD)) for t in e.trials}
    if len(loaded - {()}) > 1:  # each repeat of an arm loads the same paths, even if they carry nothing
        yield Concern(Cause.CONTRADICTION, say.other_loads(name), provisional=True)


def _without_load(e: ExperimentResult, rung: RungResult) -> Iterable[Concern]:
    if any(not any(leg.role is Role.LOAD for leg in t.legs) for t in e.trials):
        yield Concern(
            Cause.CONTRADICTION, say.without_load(phrases.arm(e.parameters, paths=rung.paths)), provisional=True
        )


def _slow(loads: Iterable[ExperimentResult], rung: RungResult) -> Iterable[Concern]:
    """Concerns about trials far longer than planned: no connection came about, or an end did nothing, for that long."""
    for e in loads:
        p = e.parameters
        more = max((t.seconds - p.warmup - p.duration for t in e.trials if t.ok), default=0.0)
        if more > SLOW:
            yield Concern(Cause.SEEN, say.took_longer(phrases.arm(p, paths=rung.paths), more))


def _without_cpu(loads: Iterable[ExperimentResult]) -> Iterable[Concern]:
    """A concern about ends without a believable record of their CPU use, as they may have limited the rate."""
    blind = {
        end.name
        for e in loads
        for t in e.trials
        for end in t.ends
        if t.ok and end.nics and (end.cpu is None or (_stood_still(end.cpu) and end.carried.rx_bytes > MUCH))
    }
    if blind:
        yield Concern(Cause.UNACCOUNTED, say.without_cpu(sorted(blind)), provisional=True, excuses=True)


def _short(loads: Iterable[ExperimentResult]) -> Iterable[Concern]:
    """A concern about trials too short to judge by, as a token bucket may exceed the rate sold for a second or two."""
    shortest = min((e.parameters.duration for e in loads if any(t.ok for t in e.trials)), default=LASTING)
    if shortest < LASTING:
        yield Concern(Cause.LEVEL_FELL, say.short_trials(shortest), provisional=True)


def _left_out(rung: RungResult, document: Document) -> Iterable[Concern]:
    """A concern about planned rungs that a complete run lacks, as it records even a rung that it could not measure."""
    there = {r.name for r in document.rungs}
    absent = [r.name for r in document.run.plan.rungs if r.name not in there]
    if absent and rung.name is RungName.DC_LINK and document.run.state is RunState.COMPLETE:
        yield Concern(Cause.TRIALS_MISSING, say.left_out(absent), provisional=True)


def _stood_still(cpu: CpuUse) -> bool:
    return max(cpu.busiest, cpu.percent, cpu.cores_used, *cpu.per_core, 0.0) == 0


def _sums(e: ExperimentResult, rung: RungResult) -> Iterable[Concern]:
    rates = [t.goodput_bps for t in e.trials if t.ok]
    if not rates or e.median_bps is None:
        return
    least, most = min(rates), max(rates)
    if not least * (1 - AGREE) <= e.median_bps <= most * (1 + AGREE):
        said = say.other_median(phrases.arm(e.parameters, paths=rung.paths), e.median_bps)
        yield Concern(Cause.CONTRADICTION, said, provisional=True)
    for stated, made in ((e.min_bps, least), (e.max_bps, most)):
        if stated is not None and abs(stated - made) > AGREE * max(stated, made):
            said = say.other_bound(phrases.arm(e.parameters, paths=rung.paths), stated)
            yield Concern(Cause.CONTRADICTION, said, provisional=True)


def bursts(rung: RungResult, deal: Contract) -> list[Concern]:
    """A concern about a second with more bytes than a port of that rate can carry."""
    for e in rung.experiments:
        if e.parameters.protocol not in LOADS:
            continue
        most = FASTER * deal.port_bps * max(1, len(rung.paths))
        for t in e.trials:
            fast = max((i.bps for i in t.intervals if t.ok and i.end - i.start > 0.5), default=0.0)
            if fast > most:
                said = say.faster_than_the_port(
                    phrases.trial(e.parameters, t.repeat, paths=rung.paths), fast, deal.port_bps
                )
                return [Concern(Cause.CONTRADICTION, said, Verdict.CANNOT_JUDGE)]
    return []


def whole_run(rung: RungResult, document: Document) -> list[Concern]:
    """Concerns if the rung is not planned, or the trials do not fit between the run's start and end in sequence."""
    began, ended = moment(document.run.started), moment(document.run.ended)
    if (began is None and document.run.started) or (ended is None and document.run.ended):
        return [Concern(Cause.CONTRADICTION, say.no_time(), provisional=True)]
    if all(r.name is not rung.name for r in document.run.plan.rungs):
        return [Concern(Cause.CONTRADICTION, say.not_planned(rung.name), provisional=True)]
    trials = [(r, t) for r in document.rungs for e in r.experiments for t in e.trials]
    said = ""
    if began is not None and ended is not None:
        took = sum(t.seconds for _, t in trials)
        if ended < began - OUTSIDE:
            said = say.run_ended_before()
        elif took > 1.1 * (ended - began) + 10:
            said = say.trials_last_longer(took, max(0.0, ended - began))
    spans = sorted(
        ((at, at + t.seconds, r.name is rung.name) for r, t in trials if (at := moment(t.started)) is not None),
        key=lambda span: (span[0], -span[1]),
    )
    if not said and _overlap(spans):
        said = say.trials_overlap()
    if said:
        return [Concern(Cause.CONTRADICTION, said, Verdict.CANNOT_JUDGE)]
    if any(
        (began is not None and first < began - OUTSIDE) or (ended is not None and last > ended + OUTSIDE)
        for first, last, mine in spans
        if mine
    ):
        return [Concern(Cause.CONTRADICTION, say.trials_outside(), provisional=True)]
    return []


def _overlap(spans: list[tuple[float, float, bool]]) -> bool:
    """Whether a trial began before an earlier or longer one had ended, if one of the two belongs to the rung.

    `spans`: when each trial began and ended, and whether it belongs to the rung, in order of their beginning.
    """
    ended, ours = -math.inf, -math.inf  # when the last of all trials so far, and of the rung's own, had ended
    for first, last, mine in spans:
        if first < (ended if mine else ours) - BESIDE:
            return True
        ended = max(ended, last)
        ours = max(ours, last) if mine else ours
    return False


def own_facts(rung: RungResult, document: Document) -> list[Concern]:
    """Concerns about ends that told of no such card as a path names, or of one that was down.

    Needs an end's facts with addresses of its cards. What does not fit may have been told at another time or by another
    machine: it refutes nothing that was measured, but no PASS that rests on it is firm. An end that was moved between
    rungs has the addresses of one of them only.
    """
    if not any(t.ok for e in rung.experiments for t in e.trials):
        return []
    strange = [
        _strange(host, name, interface, address)
        for name, interface, address in _sides(rung)
        if (host := document.run.facts(name)) and not _was_moved(name, _addresses(host), rung, document)
    ]
    off = [(nic, end) for end, nic in cards(rung, document) if not nic.up or nic.carrier is False]
    down = [say_of_cards.was_down(nic.name, end) for nic, end in off]
    return [
        Concern(cause, said, provisional=True)
        for cause, texts in ((Cause.ELSEWHERE, strange), (Cause.OWN_CARD, down))
        for said in dict.fromkeys(filter(None, texts))
    ]


def _sides(rung: RungResult) -> list[tuple[str, str, str]]:
    """The end, card and address at either side of each of its paths."""
    near = [(path.origin or End.NEAR, path.local_interface, path.local) for path in rung.paths]
    return [*near, *((path.peer, path.remote_interface, path.remote) for path in rung.paths)]


def _was_moved(name: str, known: set[str], rung: RungResult, document: Document) -> bool:
    """Whether the end told what it has at one other rung: one that stayed where it was has the addresses of all."""
    others = [r for r in document.rungs if r.name not in (rung.name, RungName.LOCALHOST)]
    of_rungs = {frozenset(_canonical(at) for who, _, at in _sides(r) if who == name) for r in others}
    of_rungs.discard(frozenset(_canonical(at) for who, _, at in _sides(rung) if who == name))
    return sum(1 for there in of_rungs if there and there <= known) == 1


def _strange(host: HostFacts, name: str, interface: str, address: str) -> str:
    """What the end of this name does not have: the address, or a card of that name; '' if nothing."""
    known, at = _addresses(host), _canonical(address)
    if not known or not at:
        return ""
    if at not in known:
        return say_of_cards.no_such_address(name, address)
    there = {nic.name for nic in host.nics}
    return say_of_cards.no_such_card(name, interface) if interface and interface not in there else ""


def _addresses(host: HostFacts) -> set[str]:
    return {at for nic in host.nics for address in nic.addresses if (at := _canonical(address))}


def _canonical(address: str) -> str:
    return str(as_address(address) or "")
