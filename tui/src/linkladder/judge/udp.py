"""Paced UDP: what arrives of an even stream, and whether the path or an end lost the rest."""

from __future__ import annotations

from linkladder import units
from linkladder.judge import remedies
from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import BUSY, STARVED, lost_by, paced
from linkladder.model import Contract, Direction, Experiment, ExperimentResult, TrialResult
from linkladder.verdicts import Judgement, Spread, Verdict


def judge_udp(
    result: ExperimentResult,
    usable: list[TrialResult],
    seen: Spread,
    contract: Contract,
    direction: Direction,
    best: float,
    provisional: bool,
    findings: tuple[str, ...],
    figures: dict[str, float],
) -> Judgement:
    """What arrived of what was sent at an even pace; loss that the end and not the path made is no verdict on it."""
    p = result.parameters
    trials = [paced(t, p, direction) for t in usable]
    loss = max(t.loss for t in trials)
    offered = p.udp_rate_bps or 0.0
    figures |= {"offered_bps": offered, "loss_percent": 100 * loss}
    said = f"Of {units.rate(offered)} of paced UDP {units.rate(seen.median)} arrived, {loss:.2%} of it was lost."
    if loss > 0 and above_contract(p, contract):
        said += " More was offered than the contract carries, so loss is expected."
    if above_contract(p, contract):
        return Judgement(Verdict.PASS, provisional, said, findings=findings, figures=figures)
    away = [t for t in usable if lost_by(t, direction) == "path"]  # whoever is busy, these never reached the card
    held = ""
    if loss > 0 and len(away) < len(usable):
        held = saturated(usable) or _dropped(usable, direction) or _lost_inside(usable, direction)
    though = f", though {held}" if held else ""
    lost = (f"UDP loses {loss:.3%} of {units.rate(offered)}, at or below the contract{though}.",) if loss > 0 else ()
    if 1 - loss >= contract.pass_ratio and seen.low >= contract.pass_ratio * min(offered or best, best):
        return Judgement(Verdict.PASS, provisional, said, findings=(*findings, *lost), figures=figures)
    if held or (loss == 0 and (held := saturated(usable))):
        said += f" But {held}: the end, not the path, may have lost them."
        return Judgement(Verdict.CANNOT_JUDGE, provisional, said, (held,), (remedies.UDP_QUEUES,), findings, figures)
    findings = (*findings, *lost)
    if 1 - loss >= contract.pass_ratio:
        said += " The sender did not keep the pace that was asked of it."
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (said,), remedies.stronger(contract), findings, figures
        )
    return Judgement(Verdict.FAIL, provisional, said, (said,), findings=findings, figures=figures)


def above_contract(p: Experiment, contract: Contract) -> bool:
    """Whether a paced stream offers more than the contract can carry."""
    return (p.udp_rate_bps or 0.0) > ceiling(contract, p.protocol, p.write_size).bps * 1.0005


def saturated(trials: list[TrialResult]) -> str:
    """The busiest or most starved end, in words; empty when neither end was at its limit."""
    said = ""
    worst = 0.0
    for t in trials:
        for end, cpu in ((one.name, one.cpu) for one in t.ends if one.cpu):
            if (cpu.starved or 0.0) >= STARVED and 1000 + (cpu.starved or 0.0) > worst:
                worst = 1000 + (cpu.starved or 0.0)
                said = f"{cpu.starved:.0%} of the {end} end's CPU time was withheld by a quota or the hypervisor"
            elif cpu.busiest >= BUSY and cpu.busiest > worst:
                worst = cpu.busiest
                said = f"a core of the {end} end was {cpu.busiest:.0f} % busy"
            elif cpu.percent >= BUSY and cpu.percent > worst:
                worst = cpu.percent
                said = f"the CPU of the {end} end was {cpu.percent:.0f} % busy"
    return said


def _dropped(trials: list[TrialResult], direction: Direction) -> str:
    drops = sum(t.receiver(direction).carried.rx_drops for t in trials)
    return f"the receiving card dropped {drops} packets" if drops else ""


def _lost_inside(trials: list[TrialResult], direction: Direction) -> str:
    """Whether the receiving card took in what its socket did not get: then the host lost it, not the path."""
    count = sum(lost_by(t, direction) == "end" for t in trials)
    return f"the receiving card took in all that was sent, in {count} of {len(trials)} trials" if count else ""
