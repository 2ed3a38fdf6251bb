"""Adds to a rung's verdict what several paths, and many flows over a bundle, show."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from linkladder.judge import disorder
from linkladder.judge.able import NOBODY, Able
from linkladder.judge.bundles import judge_bundles, member_shares
from linkladder.judge.card_faults import Faults
from linkladder.judge.ceilings import of_shared
from linkladder.judge.common_limits import several_pairs, without_refuted
from linkladder.judge.company import judge_company
from linkladder.judge.each_repeat import each_repeat, rests_on_repeats
from linkladder.judge.lent_bundles import lent_bundles
from linkladder.judge.member_down import members_down, unclaimed
from linkladder.model import Company, Contract, Document, RungResult
from linkladder.verdicts import BundleJudgement, Cause, CompanyJudgement, Concern, Judgement, MemberDown, Verdict


@dataclass(frozen=True)
class PathsAndBundles:
    """What is found about a rung's paths and bundles, which is told besides its verdict."""

    company: CompanyJudgement | None
    bundles: tuple[BundleJudgement, ...]
    findings: tuple[str, ...]
    members: tuple[MemberDown, ...] = ()
    concerns: tuple[Concern, ...] = ()
    rests_on: tuple[str, ...] = ()  # of several pairs: which interval of what, from how many repeats
    whole: Judgement | None = None  # of several pairs: of all of them together

    def deal(self, deal: Contract) -> Contract:
        """The contract for all paths at once: if they share a link, that link's rate."""
        return (of_shared(deal) if self.company else None) or deal

    def added_to(self, verdict: Judgement) -> Judgement:
        """The verdict with these findings; for several pairs of ends it is the verdict on all paths together."""
        verdict = self.whole or verdict
        return dataclasses.replace(verdict, findings=(*self.findings, *verdict.findings))

    def excuses(self, concerns: list[Concern]) -> list[Concern]:
        """The concerns; but where a pair fails by itself, no card of another pair excuses it.

        What its own cards excuse is left out of its judgement already.
        """
        cells = self.company.cells if self.whole and self.company else ()
        if not any(cell.judgement.verdict is Verdict.FAIL for cell in cells):
            return concerns
        return [dataclasses.replace(c, excuses=c.excuses and not c.paths) for c in concerns]


def paths_and_bundles(
    rung: RungResult, deal: Contract, below: Able = NOBODY, own: Faults = (), document: Document | None = None
) -> PathsAndBundles:
    company, bundles = judge_company(rung, deal, below, own), judge_bundles(rung, deal)
    company = without_refuted(company, rung, document) if company and document else company
    said = [*(text for one in bundles for text in one.sentences), *member_shares(rung), *lent_bundles(rung)]
    said += [*(company.findings if company else ()), *(disorder.findings(rung) if bundles else ())]
    members = members_down(rung)
    said += [text for one in members if one.believed for text in one.sentences]
    not_done = [*(text for one in members if not one.believed for text in one.sentences), *unclaimed(rung)]
    uneven = each_repeat(rung, deal, company.ceiling_bps) if company and several_pairs(rung.paths) else ()
    # The rates of such trials do not count and may hide a fault, so a PASS is provisional.
    hidden = (Concern(Cause.TRIALS_MISSING, text, Verdict.PASS, provisional=True) for text in not_done)
    rests = rests_on_repeats(rung, deal, company.ceiling_bps) if company and several_pairs(rung.paths) else ()
    whole = company.whole if company and several_pairs(rung.paths) else None
    return PathsAndBundles(company, bundles, tuple(said), members, (*uneven, *hidden), rests, whole)


def at_once(rung: RungResult) -> RungResult:
    """The rung with only the experiments that loaded all its paths at once, or, without any, those of `in_company`."""
    if len(rung.paths) < 2:
        return rung  # with one path, every experiment loads all
    every = tuple(e for e in rung.experiments if e.parameters.company is Company.ALL) or in_company(rung).experiments
    return dataclasses.replace(rung, experiments=every) if 0 < len(every) < len(rung.experiments) else rung


def in_company(rung: RungResult) -> RungResult:
    """The rung without experiments in which other paths came and went, as their rates change on purpose."""
    if len(rung.paths) < 2:
        return rung
    kept = tuple(e for e in rung.experiments if e.parameters.company is not Company.VISITED)
    return dataclasses.replace(rung, experiments=kept) if 0 < len(kept) < len(rung.experiments) else rung
