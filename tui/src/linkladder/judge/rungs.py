"""Judges one rung: whether both directions carry what was bought, and whether the generator could have shown it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from linkladder import phrases
from linkladder.judge import remedies
from linkladder.judge.able import NOBODY, able_below, able_on
from linkladder.judge.accounts import accounts, of_changes, proven, without_doubted
from linkladder.judge.all_cards import held_against, of_cards, paths_at_once
from linkladder.judge.as_sold import own_cards
from linkladder.judge.below_need import against_need
from linkladder.judge.besides_one_way import besides_one_way
from linkladder.judge.card_faults import Faults, at_fault, card_faults, excused, not_the_link
from linkladder.judge.ceilings import ceiling, rate_sold
from linkladder.judge.changes import changes, steps_to_come
from linkladder.judge.chosen import chosen_of, counts, duplex_ids
from linkladder.judge.circumstances import GENERATOR, HEADROOM, alike_below, concerns, once, under_loans
from linkladder.judge.common_limits import several_pairs
from linkladder.judge.each_setting import against, as_carried, each_setting, lent, of_all_paths, shown
from linkladder.judge.evidence import parameters, ways
from linkladder.judge.families import over_its_paths
from linkladder.judge.figures import rfc6349
from linkladder.judge.followups import follow_ups
from linkladder.judge.latency import latency
from linkladder.judge.limiters import at_ceiling
from linkladder.judge.loss_bound import uncounted
from linkladder.judge.member_down import besides
from linkladder.judge.outages import outages
from linkladder.judge.paths_and_bundles import at_once, in_company, paths_and_bundles
from linkladder.judge.planned import (
    every,
    lacking,
    missing_trials,
    only_others_asked,
    planned,
    throughput_asked,
    too_few_cores,
)
from linkladder.judge.sizing import sizing
from linkladder.judge.staircase import landings, staircase
from linkladder.judge.transactions import transactions
from linkladder.judge.weighing import GRAVITY, REFUTED, no_rate_asked, undone, weigh
from linkladder.model import (
    Contract,
    Direction,
    Document,
    Protocol,
    RungName,
    RungResult,
    RunState,
    best_rate,
)
from linkladder.phrases import remedies as advise
from linkladder.phrases import rungs as say
from linkladder.verdicts import (
    SHORTFALL,
    Cause,
    Change,
    ExperimentJudgement,
    Judgement,
    RungJudgement,
    Verdict,
)

ORDER = tuple(RungName)


def judge_rung(rung: RungResult, document: Document, contract: Contract | None = None) -> RungJudgement:
    """Judge the rung, taking the rungs below it into account; `contract` replaces the plan's.

    A FAIL needs trials that the tools' own output does not contradict, and an IMPOSSIBLE trials whose figures nothing
    contradicts: if others alone show it, it is CANNOT JUDGE.
    """
    judged = _judged(rung, document, contract)
    causes = REFUTED.get(judged.verdict, ())
    doubt = next((c for c in judged.judgement.concerns if c.excuses and c.cause in causes), None)
    if doubt is None:
        return judged
    sound = without_doubted(rung, document, causes)
    rungs = tuple(sound if r is rung else r for r in document.rungs)
    if _judged(sound, dataclasses.replace(document, rungs=rungs), contract).verdict is judged.verdict:
        return judged
    return dataclasses.replace(judged, judgement=undone(judged.judgement, doubt))


@dataclass(frozen=True)
class _Parts:
    """Of a rung what was measured, what loads all paths at once, and what of that is as the rung is without a loan."""

    measured: RungResult
    whole: RungResult
    borne_out: RungResult
    plain: RungResult


def _parts(rung: RungResult) -> _Parts:
    """Where no load of all paths is without a loan, none counts, as long as something else is."""
    whole, borne_out = at_once(rung), as_it_is(in_company(rung))
    ids = {e.parameters.id for e in borne_out.experiments}
    kept = tuple(e for e in whole.experiments if e.parameters.id in ids)
    return _Parts(rung, whole, borne_out, dataclasses.replace(whole, experiments=kept))


def _judged(rung: RungResult, document: Document, contract: Contract | None) -> RungJudgement:
    of_one = over_its_paths(contract or document.run.plan.contract, rung)
    bounded = rung.name is RungName.DC_LINK
    below = able_below(rung, document, of_one) if len(rung.paths) > 1 else NOBODY
    own: Faults = card_faults(rung, of_one, document) if rung.name not in GENERATOR else ()
    several = paths_and_bundles(rung, of_one, below, own, document)
    card, parts = several.deal(of_one), _parts(rung)
    whole, rung = parts.whole, parts.plain
    deal = of_cards(card, paths_at_once(rung), document)
    pairs = several_pairs(rung.paths)
    if pairs and several.whole is None:  # none was loaded one way, and what all carry at once proves nothing of one
        rung = dataclasses.replace(rung, experiments=())
    judged = each_setting(rung, deal, own_cards(rung, card, document))
    chosen = chosen_of(judged)
    judged = tuple(dataclasses.replace(j, counts=pairs or counts(j, rung, deal, chosen)) for j in judged)
    verdict = _verdict(rung, judged, chosen, deal, document)
    found = [
        *several.concerns,
        *besides_one_way(judged, rung, parts.measured, of_one, below, document),
        *concerns(parts.borne_out, chosen, deal, document, card),
        *((*outages(besides(whole), deal), *under_loans(whole, deal)) if bounded else ()),
        *of_changes(whole, document),
        *(uncounted(parts.measured, of_one, deal) if bounded else ()),
    ]
    if several.whole is None:
        verdict = not_the_link(verdict, own, _rests_on(verdict, judged, rung, deal))
    verdict = weigh(several.added_to(verdict), several.excuses([excused(one, own) for one in found]))
    compared = proven(whole, document)
    changed = changes(compared, steps_to_come(document.run.plan, rung.name))
    answers, change_words = _answers(parts, compared, changed, deal, document)
    verdict = dataclasses.replace(verdict, findings=(*answers, *change_words, *verdict.findings))
    if verdict.cause is Cause.NOTHING_MEASURED and only_others_asked(parts.measured, document):
        verdict = no_rate_asked(verdict)
    weakest = min(chosen.values(), key=_median, default=None)
    limit = weakest.limiter if weakest else None
    # What several pairs carry together has a ceiling only where the contract names what they share, and all cross it.
    sum_bounded = held_against(of_one, rung.paths, (), document) is not None
    every_one = shown(parts.borne_out, judged, of_one, document)
    of_one_pair = {way: as_carried(j, rung) for way, j in chosen.items()}
    chosen_shown = chosen_of(of_all_paths(every_one, parts.borne_out)) if pairs else of_one_pair
    best = max(chosen_shown.values(), key=_median, default=None)
    by_direction = {d: j.spread.median for d, j in chosen_shown.items() if j.spread}
    return RungJudgement(
        rung=str(rung.name),
        judgement=verdict,
        ceiling=ceiling(deal) if bounded and sum_bounded else None,
        best_bps=by_direction.get(best_rate.worse_way(by_direction)),
        best_experiment=best.experiment if best else "",
        by_direction=by_direction,
        limiter=limit if sum_bounded or not at_ceiling(limit) else None,
        experiments=(*every_one, *lent(without_planted(whole), parts.borne_out, deal, card, bounded and sum_bounded)),
        rfc6349=rfc6349(rung, deal, chosen, bounded and sum_bounded),
        latency=latency(rung, chosen),
        rests_on=several.rests_on or tuple(phrases.rests_on(j, rung.paths) for j in chosen.values() if j.spread),
        follow_up=follow_ups(rung, verdict, judged, chosen, deal, document.run.window_limit) if not pairs else (),
        changes=changed,
        staircase=landings(compared, changed, card),
        answers=answers,
        company=several.company,
        bundles=several.bundles,
        members=several.members,
    )


def _median(j: ExperimentJudgement) -> float:
    return j.spread.median if j.spread else 0.0


def _verdict(
    rung: RungResult, judged: tuple[ExperimentJudgement, ...], chosen: dict[str, ExperimentJudgement], deal: Contract,
    document: Document,
) -> Judgement:  # fmt: skip
    """What the settings show, before any concern."""
    if rung.unavailable:
        said = say.not_measured(rung.name, rung.unavailable)
        return Judgement(Verdict.INCOMPLETE, False, said, cause=Cause.NOTHING_MEASURED)
    if rung.name in GENERATOR:
        return _judge_generator(rung, chosen, deal, document)
    return _judge_link(rung, judged, chosen, deal, document)


def _answers(
    parts: _Parts, compared: RungResult, changed: tuple[Change, ...], deal: Contract, document: Document
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the rung's comparisons answer in a sentence each, and in full."""
    arms = {c: (parameters(parts.whole, c.experiment), parameters(parts.whole, c.baseline)) for c in changed}
    paths = parts.whole.paths
    words = [(phrases.difference(*arms[c]), phrases.load(*arms[c], paths), c) for c in changed]
    short = (
        *transactions(compared),
        *staircase(compared, changed, document),
        *phrases.offloads([(*arms[c], c) for c in changed], paths),
        *phrases.briefly(words, paths),
        *sizing(parts.whole, deal),
    )
    return short, tuple(phrases.change(*one, paths) for one in words)


def as_it_is(rung: RungResult) -> RungResult:
    """The rung without experiments under settings on loan or with a member down, unless there are no others."""
    rung = without_planted(rung)
    plain = tuple(e for e in rung.experiments if not e.parameters.settings)
    return dataclasses.replace(rung, experiments=plain) if 0 < len(plain) < len(rung.experiments) else rung


def without_planted(rung: RungResult) -> RungResult:
    """The rung without experiments in which a bundle's member was taken down, as their rate is not the link's."""
    kept = tuple(e for e in rung.experiments if e.parameters.member_down is None)
    return dataclasses.replace(rung, experiments=kept) if len(kept) < len(rung.experiments) else rung


def _rests_on(
    verdict: Judgement, judged: tuple[ExperimentJudgement, ...], rung: RungResult, deal: Contract
) -> tuple[int, ...]:
    """The paths on which that is seen for which the rung fails."""
    by_id = {e.parameters.id: e for e in rung.experiments}
    failed = (j for j in judged if j.counts and j.judgement.verdict is Verdict.FAIL)
    same = (j for j in failed if j.judgement.cause is verdict.cause)
    return tuple(dict.fromkeys(n for j in same for n in at_fault(j, by_id[j.experiment], deal)))


def _judge_generator(
    rung: RungResult, chosen: dict[str, ExperimentJudgement], deal: Contract, document: Document
) -> Judgement:
    """Judge the generator on localhost or same-host: it must send and receive HEADROOM times the rate bought."""
    if incomplete := _nothing(rung, chosen, document):
        return incomplete
    bought = rate_sold(deal)
    wanted = HEADROOM * bought
    shown = min(j.spread.median if j.spread else 0.0 for j in chosen.values())
    provisional = any(j.judgement.provisional for j in chosen.values())
    findings = tuple(f"{_name(j, rung)}: {f}" for j in chosen.values() for f in j.judgement.findings)
    figures = {"best_bps": shown, "headroom": shown / bought, "needed_bps": wanted}
    dead = [j for j in chosen.values() if j.spread is None or j.spread.minimum <= 0]
    if dead:
        said = say.of_way(dead[0].direction, dead[0].judgement.sentence, rung.paths)
        return Judgement(
            Verdict.FAIL, False, said, (said,), findings=findings, figures=figures, cause=dead[0].judgement.cause
        )
    if shown >= wanted:
        said = say.strong_generator(shown, bought)
        return Judgement(Verdict.PASS, provisional, said, findings=findings, figures=figures)
    said = say.weak_generator(shown, bought, HEADROOM)
    return Judgement(
        Verdict.CANNOT_JUDGE, provisional, said, (said,), remedies.stronger(deal), findings, figures,
        Cause.WEAK_GENERATOR,
    )  # fmt: skip


def _nothing(rung: RungResult, chosen: dict[str, ExperimentJudgement], document: Document) -> Judgement | None:
    measured = {d: j for d, j in chosen.items() if j.judgement.verdict is not Verdict.INCOMPLETE}
    if len(measured) == len(chosen) and chosen:
        return None
    lost = [
        say.of_way(d, too_few_cores(parameters(rung, j.experiment), rung, document) or j.judgement.sentence, rung.paths)
        for d, j in chosen.items()
        if d not in measured
    ]
    asked = throughput_asked(rung, document)
    nothing = say.no_tcp(rung.name, len(rung.paths), several_pairs(rung.paths))
    none = nothing if asked else say.no_load_asked(rung.name, lacking(rung, document))
    said = " ".join(lost) or none
    return Judgement(Verdict.INCOMPLETE, True, said, (said,), cause=Cause.NOTHING_MEASURED)


def _judge_link(
    rung: RungResult,
    judged: tuple[ExperimentJudgement, ...],
    chosen: dict[str, ExperimentJudgement],
    deal: Contract,
    document: Document,
) -> Judgement:
    bounded = rung.name is RungName.DC_LINK
    counting = [j if bounded else against_need(j, rung, deal) for j in judged if j.counts]
    decides = min(counting, key=lambda j: GRAVITY.index(j.judgement.verdict), default=None)
    worst = decides.judgement.verdict if decides else Verdict.INCOMPLETE
    cause = decides.judgement.cause if decides else Cause.NOTHING_MEASURED
    if not chosen and worst is Verdict.PASS:
        worst, cause = Verdict.CANNOT_JUDGE, Cause.NO_TCP  # paced UDP alone does not tell what TCP would get
    provisional = any(j.judgement.provisional for j in counting)
    reasons = [
        f"{_name(j, rung)}: {j.judgement.sentence}"
        for j in sorted(counting, key=lambda j: j.judgement.verdict is not worst)  # what decides comes first
        if j.judgement.verdict is worst or j.protocol == "tcp"
    ]
    advice = [r for j in counting if j.judgement.verdict is worst for r in j.judgement.remedies]
    findings = [f"{_name(j, rung)}: {f}" for j in counting for f in j.judgement.findings]
    findings += [
        f"{_name(j, rung)}: {j.judgement.sentence}"
        for j in judged
        if j.judgement.verdict is Verdict.CANNOT_JUDGE
        and (worst is not Verdict.CANNOT_JUDGE if j.counts else bounded and j.experiment in duplex_ids(judged))
    ]
    figures: dict[str, float] = {f"{d}_bps": j.spread.median for d, j in chosen.items() if j.spread}
    nothing = _nothing(rung, chosen, document)
    if nothing and worst in (Verdict.PASS, Verdict.CANNOT_JUDGE, Verdict.INCOMPLETE):
        worst, cause, reasons = Verdict.INCOMPLETE, Cause.NOTHING_MEASURED, [nothing.sentence]
    only = [d for d in chosen if len(chosen) == 1]
    if only and worst in (Verdict.PASS, Verdict.FAIL):
        asked = {w for e in planned(rung, document) for w in ways(e) if e.protocol is Protocol.TCP}
        if len(asked) > 1 and worst is Verdict.PASS:
            worst, cause = Verdict.INCOMPLETE, Cause.ONE_DIRECTION
        provisional = True
        findings.append(say.one_way_only(only[0], rung.paths))
    way = Direction(decides.direction) if decides else Direction.FORWARD
    weak, why, exclusions = _headroom(rung, document, deal, way)
    findings += exclusions
    short = worst is Verdict.FAIL and cause in SHORTFALL
    if weak and (worst is Verdict.PASS or short) and (short or why is Cause.WEAK_GENERATOR):
        worst, cause, reasons = Verdict.CANNOT_JUDGE, why, [weak, *reasons]
        advice = [*remedies.stronger(deal), *advice] if why is Cause.WEAK_GENERATOR else [advise.MEASURE_BELOW, *advice]
    if decides and worst is Verdict.FAIL and (found := alike_below(decides, rung, deal, document)):
        worst, cause, reasons = Verdict.CANNOT_JUDGE, found[0], [found[1], *reasons]
    if missing := missing_trials(rung, document):
        findings.append(missing)
        provisional = True
        # If the run is complete, its trials were removed afterwards; what is left still counts, provisionally.
        ended = document.run.state is RunState.COMPLETE and every(rung, document)
        if worst is Verdict.PASS and not ended:
            worst, cause = Verdict.INCOMPLETE, Cause.TRIALS_MISSING
    sentence = _sentence(worst, rung, chosen, deal, reasons, missing)
    return Judgement(worst, provisional, sentence, tuple(reasons), once(advice), once(findings), figures, cause)


def _headroom(rung: RungResult, document: Document, deal: Contract, way: Direction) -> tuple[str, Cause, list[str]]:
    """Why the generator is too weak to judge this rung ('' if it is not), the cause, and notes on what is not excluded.

    Needs trials in which the sender of this direction sent, and the receiver received, as much as was bought; without
    them it is not known whether the generator can do that.
    """
    run = {r.name: r for r in document.rungs if not r.unavailable and r.experiments}
    shown: dict[RungName, float] = {}
    for name in GENERATOR:
        if name in run and not accounts(run[name], document):
            best = chosen_of(against(run[name], deal, False))
            known = [j.spread.median for j in best.values() if j.spread is not None]
            if known:
                shown[name] = min(known)
    notes = [
        say.not_excluded(name)
        for name in ORDER[: ORDER.index(rung.name)]
        if say.excludes(name) and (name not in run or (name in GENERATOR and name not in shown))
    ]
    below = RungName.SAME_HOST if RungName.SAME_HOST in shown else RungName.LOCALHOST
    if below in shown and shown[below] / rate_sold(deal) < HEADROOM:
        return say.little_headroom(below, shown[below], rate_sold(deal), HEADROOM), Cause.WEAK_GENERATOR, notes
    able = able_below(rung, document, deal) | able_on(rung, deal.pass_ratio * ceiling(deal).bps)
    unknown = dict.fromkeys(end for path in rung.paths or (rung.path,) for end in able.lacking(path, way))
    if not unknown:
        return "", Cause.REACHED, notes
    lower = any(ORDER.index(name) < ORDER.index(rung.name) for name in run)
    return say.not_shown(tuple(unknown)) if lower else say.no_lower_rung(), Cause.UNKNOWN_GENERATOR, notes


def _name(j: ExperimentJudgement, rung: RungResult) -> str:
    return say.setting(parameters(rung, j.experiment), j.protocol, j.direction, rung.paths)


def _sentence(
    verdict: Verdict, rung: RungResult, chosen: dict[str, ExperimentJudgement], deal: Contract, reasons: list[str],
    missing: str,
) -> str:  # fmt: skip
    known = {d: one.spread.median for d, j in chosen.items() if (one := as_carried(j, rung)).spread}
    rates = say.rates(known, ceiling(deal).bps if rung.name is RungName.DC_LINK else None, rung.paths)
    if verdict is Verdict.PASS:
        return say.carries(rung.name, rates)
    if verdict is Verdict.INCOMPLETE and missing and known:
        return say.carried_but(rung.name, rates, missing)
    if reasons and not known:
        return reasons[0]
    return say.carried(rung.name, rates, reasons[0] if reasons else "")
