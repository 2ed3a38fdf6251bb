"""A whole run: every rung's verdict, and in plain words where on the ladder the throughput went."""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

from linkladder import phrases, units
from linkladder.judge.ceilings import ceiling
from linkladder.judge.circumstances import GENERATOR
from linkladder.judge.evidence import direction_bps
from linkladder.judge.rungs import ORDER, judge_rung
from linkladder.judge.stats import difference
from linkladder.model import Contract, Direction, Document, Layer, Protocol, RungName, RungResult, RunState
from linkladder.verdicts import Cause, DocumentJudgement, Judgement, RungJudgement, Verdict

NOTICEABLE = 0.10  # a drop from rung to rung below this is not worth a person's time
SUSPECT = {
    RungName.LOCALHOST: "the guest's own stack",
    RungName.SAME_HOST: "the virtual cards and the virtual switch of the host",
    RungName.SAME_VLAN: "the physical cards, cables and switches of the data centre",
    RungName.DC_LINK: "the interconnect",
}


@dataclass(frozen=True)
class Overrides:
    """Other assumptions about the link than the plan's; None keeps the plan's."""

    port_bps: float | None = None
    rate_bps: float | None = None
    layer: Layer | None = None
    mtu: int | None = None
    vlan_tags: int | None = None
    encap_bytes: int | None = None
    ip_version: int | None = None
    timestamps: bool | None = None
    pass_ratio: float | None = None
    fcs: bool | None = None

    def apply(self, contract: Contract) -> Contract:
        given = {k: v for k, v in dataclasses.asdict(self).items() if v is not None}
        return dataclasses.replace(contract, **given)


AS_PLANNED = Overrides()


def judge_document(document: Document, overrides: Overrides = AS_PLANNED) -> DocumentJudgement:
    """Every rung judged, the run's verdict, and the ladder's diagnosis."""
    planned = document.run.plan.contract
    deal = overrides.apply(planned)
    rungs = tuple(judge_rung(r, document, deal) for r in document.rungs)
    assumed, changed = _assumptions(deal), _assumptions(planned)
    return DocumentJudgement(
        judgement=_judge(document, rungs),
        rungs=rungs,
        diagnosis=_diagnosis(document, rungs, deal),
        ceilings={"tcp": ceiling(deal), "udp": ceiling(deal, Protocol.UDP)},
        assumptions=assumed,
        overridden=tuple(k for k, v in assumed.items() if changed[k] != v),
    )


def with_judgement(document: Document, overrides: Overrides = AS_PLANNED) -> Document:
    """The same document with its judgement in it."""
    return dataclasses.replace(document, judgement=judge_document(document, overrides))


def _judge(document: Document, rungs: tuple[RungJudgement, ...]) -> Judgement:
    """The run's verdict is that of the highest rung: it is what the others were climbed for."""
    wanted = [*(r.name for r in document.run.plan.rungs), *(RungName(r.rung) for r in rungs)]
    if not wanted or not rungs:
        return _incomplete("no rung was measured.", Cause.NOTHING_MEASURED)
    top = max(wanted, key=ORDER.index)
    found = next((r for r in rungs if r.rung == top), None)
    if found is None:
        return _incomplete(f"{top} was planned and not measured.", Cause.NOTHING_MEASURED)
    judged = found.judgement
    if document.run.state is RunState.RUNNING and judged.verdict is Verdict.PASS:
        said = phrases.headed(Verdict.PASS, True, judged.text)
        judged = dataclasses.replace(judged, provisional=True, sentence=said)
    if top is not RungName.DC_LINK and judged.verdict is Verdict.PASS:
        what = "only the generator was measured, no link" if top in GENERATOR else "the link itself was not measured"
        text = f"{what}. {judged.text[:1].upper()}{judged.text[1:]}"
        return dataclasses.replace(
            judged, verdict=Verdict.INCOMPLETE, provisional=True, cause=Cause.NOTHING_MEASURED, text=text,
            sentence=phrases.headed(Verdict.INCOMPLETE, False, text),
        )  # fmt: skip
    if top is not RungName.DC_LINK:
        note = f"The link itself was not part of this run; its highest rung is {top}."
        judged = dataclasses.replace(judged, findings=(*judged.findings, note))
    below = [r for r in rungs if r is not found and r.verdict in (Verdict.FAIL, Verdict.CANNOT_JUDGE)]
    notes = tuple(f"{r.rung}: {r.sentence}" for r in below)
    return dataclasses.replace(judged, findings=(*judged.findings, *notes))


def _incomplete(text: str, cause: Cause) -> Judgement:
    said = phrases.headed(Verdict.INCOMPLETE, False, text)
    return Judgement(Verdict.INCOMPLETE, True, said, (said,), cause=cause, text=text)


def _diagnosis(document: Document, judged: tuple[RungJudgement, ...], deal: Contract) -> tuple[str, ...]:
    """Each rung against the one below, in its weaker direction: how much is lost, and could the noise explain it."""
    by_name = {r.name: (r, j) for r, j in zip(document.rungs, judged, strict=True) if j.by_direction}
    climbed = [n for n in ORDER if n in by_name]
    needed = deal.pass_ratio * ceiling(deal).bps
    said = []
    for low, high in itertools.pairwise(climbed):
        said.append(_step(by_name[low], by_name[high], _suspect(by_name[high][0]), needed))
    culprit = next((n for n in climbed if min(by_name[n][1].by_direction.values()) < needed), None)
    if culprit is not None:
        weak = by_name[culprit][1]
        held = weak.verdict is Verdict.CANNOT_JUDGE
        look = "an end, not the path, may be what holds it: see its remedies" if held else f"look at {SUSPECT[culprit]}"
        if held and weak.judgement.cause is Cause.SCATTERED:
            look = "its repeats are too scattered to say more"
        if _elsewhere(by_name[culprit][0]):
            look = "its traffic went another way than the rung claims, see its evidence"
        said.append(f"The first rung below the {units.rate(needed)} that is needed is {culprit}: {look}.")
    elif len(climbed) > 1:
        passed = all(by_name[n][1].verdict is Verdict.PASS for n in climbed)
        every = "Every rung measured carries" if passed else "The rate alone of every rung reaches"
        said.append(f"{every} the {units.rate(needed)} that is needed.")
    return tuple(said)


def _elsewhere(rung: RungResult) -> bool:
    """What was measured is another path than the claim names: nothing that the claim names can be blamed."""
    return rung.evidence is not None and rung.evidence.contradicts


def _suspect(rung: RungResult) -> str:
    return "a way that the rung does not claim (see its evidence)" if _elsewhere(rung) else SUSPECT[rung.name]


def _step(
    low: tuple[RungResult, RungJudgement], high: tuple[RungResult, RungJudgement], suspect: str, needed: float
) -> str:
    a, b = min(low[1].by_direction.values()), min(high[1].by_direction.values())
    change, noise = difference(_values(*low), _values(*high))
    names = f"From {low[1].rung} to {high[1].rung}"
    figures = f"{units.rate(a)} to {units.rate(b)}"
    if noise is None:
        sure = "one repeat each, so the noise is not known"
    elif abs(change) > noise:
        sure = f"beyond the noise of ±{units.rate(noise)}"
    else:
        return f"{names}: {figures}, no difference beyond the noise of ±{units.rate(noise)}."
    if b >= a:
        return f"{names}: {figures}, nothing is lost ({sure})."
    if 1 - b / a < NOTICEABLE:
        return f"{names}: {figures}, less by {1 - b / a:.0%} of it ({sure})."
    if high[1].ceiling is not None and b >= 0.97 * high[1].ceiling.bps:
        return f"{names}: {figures}, as much as the link's ceiling of {units.rate(high[1].ceiling.bps)} allows."
    if high[1].ceiling is not None and a > high[1].ceiling.bps:
        best = high[1].ceiling.bps
        lost = f"{1 - b / best:.0%} of the {units.rate(best)} that the link can carry is lost"
        return f"{names}: {figures}; {lost} to {suspect}."
    enough = ", which still is enough" if b >= needed else ""
    return f"{names}: {figures}, {1 - b / a:.0%} of it is lost to {suspect} ({sure}){enough}."


def _values(rung: RungResult, judged: RungJudgement) -> list[float]:
    """The repeats of the best setting in the rung's weaker direction."""
    way = min(judged.by_direction, key=lambda d: judged.by_direction[d])
    found = next(
        j.experiment
        for j in judged.experiments
        if j.direction == way and j.spread is not None and j.spread.median == judged.by_direction[way]
    )
    e = next(e for e in rung.experiments if e.parameters.id == found)
    return [direction_bps(t, e.parameters, Direction(way)) for t in e.trials if t.ok] or [0.0]


def _assumptions(deal: Contract) -> dict[str, str]:
    layer = f"{deal.layer}{' with FCS' if deal.fcs and deal.layer is Layer.L2 else ''}"
    rate = units.rate(deal.rate_bps) + f" counted in {layer}" if deal.rate_bps else "as the port"
    return {
        "port": units.rate(deal.port_bps),
        "contracted rate": rate,
        "MTU": str(deal.mtu),
        "VLAN tags": str(deal.vlan_tags),
        "encapsulation": f"{deal.encap_bytes} bytes",
        "IP version": str(deal.ip_version),
        "TCP timestamps": "on" if deal.timestamps else "off",
        "needed to pass": f"{100 * deal.pass_ratio:.4g}% of the ceiling",
    }
