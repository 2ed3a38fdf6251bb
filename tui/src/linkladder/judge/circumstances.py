"""What else was seen of a path, and what it does to the verdict: path MTU, round trip, where the machines stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from linkladder import phrases, units
from linkladder.judge import evidence, soundness
from linkladder.judge.ceilings import IP_HEADER, TCP_HEADER
from linkladder.judge.history import history
from linkladder.model import Contract, Document, Protocol, Rtt, RungName, RungResult
from linkladder.verdicts import Judgement, Verdict

GENERATOR = (RungName.LOCALHOST, RungName.SAME_HOST)
TOO_NEAR = 0.5  # of the expected round trip: then the traffic did not cross the link
TOO_FAR = 1.5


def circumstances(verdict: Judgement, rung: RungResult, deal: Contract, document: Document) -> Judgement:
    """The verdict with what the probes and the evidence say; a PASS does not survive what contradicts it."""
    holes, small = _path_mtu(rung, deal)
    doubts, notes = _whereabouts(rung, deal)
    doubts += soundness.doubts(rung)
    if rung.name is RungName.DC_LINK:
        more, less = _interfaces(rung, deal, document)
        doubts += more
        if small:  # it is the link's fault only where the machines' own interfaces would have taken more
            holes, doubts = (holes, [*doubts, *less]) if less else ([*holes, *small], doubts)
        notes += [*_unprobed(rung), *history(rung, deal)]
    findings = once([*holes, *small, *doubts, *notes, *verdict.findings])
    worse, sentence = verdict.verdict, verdict.sentence
    if holes and rung.name not in GENERATOR and worse in (Verdict.PASS, Verdict.CANNOT_JUDGE):
        # A link that swallows packets of the MTU it was sold with does not do what was bought.
        worse, sentence = Verdict.FAIL, f"FAIL: {holes[0]}"
    elif doubts and worse is Verdict.PASS:  # a PASS of another path than the one that was claimed is none
        worse, sentence = (
            Verdict.CANNOT_JUDGE,
            f"CANNOT JUDGE: {doubts[0]} {verdict.sentence.partition(': ')[2] or verdict.sentence}",
        )
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
            way, seen = phrases.way(e.parameters.direction), t.path_mtu
            sold = not seen.failed or min(seen.failed) <= deal.mtu
            if seen.black_hole and sold:
                holes.append(f"Path MTU black hole, {way}: packets larger than {seen.mtu} bytes vanish without a word.")
            elif seen.mtu is not None and seen.mtu < deal.mtu and seen.failed:
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


def _interfaces(rung: RungResult, deal: Contract, document: Document) -> tuple[list[str], list[str]]:
    """What speaks against a ceiling counted for this MTU; and which interface would not let it through in any case."""
    found = {}
    for name, interface, address in (
        side
        for p in rung.paths
        for side in (("near", p.local_interface, p.local), (p.peer, p.remote_interface, p.remote))
    ):
        host = document.run.hosts.get(name)
        nic = next((n for n in host.nics if n.name == interface or address in n.addresses), None) if host else None
        if nic is not None and nic.mtu:
            found[f"{nic.name} of {name if name != 'near' else 'the near end'}"] = nic.mtu
    less = [f"{i} is set to MTU {mtu}, less than the {deal.mtu} entered." for i, mtu in found.items() if mtu < deal.mtu]
    segments = [
        s.mss
        for e in rung.experiments
        for t in e.trials
        for end in t.ends
        for s in (end.sockets.sockets if end.sockets else ())
        if s.mss is not None and (s.sent_bytes or 0) > s.mss  # who only acknowledges never finds the path's MTU
    ]
    room = deal.mtu - IP_HEADER[deal.ip_version] - TCP_HEADER
    more = []
    if segments and max(segments) > room:
        more.append(
            f"TCP sent segments of {max(segments)} bytes, which no MTU of {deal.mtu} carries: the ceiling was counted "
            "for a smaller MTU than the path's."
        )
    return more, less


def _unprobed(rung: RungResult) -> list[str]:
    ways = {w for e in rung.experiments if e.parameters.protocol is Protocol.TCP for w in evidence.ways(e.parameters)}
    missing = [phrases.way(w) for w in ways if evidence.probed(rung, w) is None]
    if not missing:
        return []
    return [
        f"The path MTU was not probed ({' and '.join(sorted(missing, reverse=True))}): a black hole is not excluded."
    ]


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """In order, without repetition."""
    return tuple(dict.fromkeys(texts))
