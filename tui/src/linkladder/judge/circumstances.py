"""What else was seen of a path, and what it does to the verdict: path MTU, round trip, where the machines stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from linkladder import units
from linkladder.model import Contract, Rtt, RungName, RungResult
from linkladder.verdicts import Judgement, Verdict

GENERATOR = (RungName.LOCALHOST, RungName.SAME_HOST)
TOO_NEAR = 0.5  # of the expected round trip: then the traffic did not cross the link
TOO_FAR = 1.5


def circumstances(verdict: Judgement, rung: RungResult, deal: Contract) -> Judgement:
    """The verdict with what the probes and the evidence say; a PASS does not survive what contradicts it."""
    holes, small = _path_mtu(rung, deal)
    doubts, notes = _whereabouts(rung, deal)
    findings = once([*holes, *small, *doubts, *notes, *verdict.findings])
    worse, sentence = verdict.verdict, verdict.sentence
    if holes and rung.name not in GENERATOR and worse in (Verdict.PASS, Verdict.CANNOT_JUDGE):
        # A link that swallows packets of the MTU it was sold with does not do what was bought.
        worse, sentence = Verdict.FAIL, f"FAIL: {holes[0]}"
    elif doubts and worse is Verdict.PASS:  # a PASS of another path than the one that was claimed is none
        worse, sentence = Verdict.CANNOT_JUDGE, f"CANNOT JUDGE: {doubts[0]} {verdict.sentence}"
    reasons = verdict.reasons if worse is verdict.verdict else (sentence, *verdict.reasons)
    provisional = verdict.provisional or bool(doubts)
    return dataclasses.replace(
        verdict, verdict=worse, provisional=provisional, sentence=sentence, reasons=reasons, findings=findings
    )


def _path_mtu(rung: RungResult, deal: Contract) -> tuple[list[str], list[str]]:
    """Black holes at or below the MTU that was sold, and paths that are merely smaller than it."""
    holes, small = [], []
    for e in rung.experiments:
        for t in e.trials:
            if t.path_mtu is None:
                continue
            way, seen = e.parameters.direction, t.path_mtu
            sold = not seen.failed or min(seen.failed) <= deal.mtu
            if seen.black_hole and sold:
                holes.append(f"Path MTU black hole, {way}: packets larger than {seen.mtu} bytes vanish without a word.")
            elif seen.mtu is not None and seen.mtu < deal.mtu:
                small.append(f"The path carries packets of {seen.mtu}, not the {deal.mtu} that was entered ({way}).")
    return holes, small


def _whereabouts(rung: RungResult, deal: Contract) -> tuple[list[str], list[str]]:
    """Doubts whether the traffic went where it was claimed to go, and a round trip longer than it should be."""
    doubts, notes = [], []
    if rung.evidence is not None and rung.evidence.contradicts:
        said = "; ".join(rung.evidence.against or rung.evidence.findings)
        doubts.append(f"The evidence contradicts the claim of this rung: {said}.")
    series: Iterable[Rtt | None] = (t.rtt for e in rung.experiments for t in e.trials if t.ok)
    idle = next((r.min_ms for r in series if r is not None and r.min_ms is not None), None)
    wanted = deal.expected_rtt_ms
    if rung.name is RungName.DC_LINK and idle is not None and wanted:
        said = f"The round trip is {units.milliseconds(idle)} where {units.milliseconds(wanted)} was expected"
        if idle < TOO_NEAR * wanted:
            doubts.append(f"{said}: the traffic may not have crossed the link.")
        elif idle > TOO_FAR * wanted:
            notes.append(f"{said}.")
    return doubts, notes


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """In order, without repetition."""
    return tuple(dict.fromkeys(texts))
