"""Judges paced UDP: what arrives of an even stream, and whether the path or an end lost the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkladder.judge import remedies
from linkladder.judge.ceilings import ceiling, datagram
from linkladder.judge.evidence import CLOSE, WARM, Paced, counted_each, of_path, paced
from linkladder.judge.outages import RECOVERS, by_chance, standstills, stood_still
from linkladder.judge.weighing import GRAVITY
from linkladder.judge.withheld import STARVED, explained, lacked, withheld
from linkladder.model import (
    Contract,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    HeldUp,
    Interval,
    NicCounters,
    Role,
    TrialResult,
)
from linkladder.model.several_legs import share
from linkladder.phrases import udp as say
from linkladder.phrases.outages import carriers_lost
from linkladder.phrases.remedies import UDP_QUEUES
from linkladder.verdicts import Cause, Judgement, Spread, Verdict

WANDERING = 0.93  # cores used per stream, above which one thread may use a whole core's time
UNLIKELY = 0.01  # probability that a link within its loss limit loses so much; a lower one is no chance
EVEN = 0.8  # share of the best second; if all others carry more, no link was away for part of one
BEHIND = 0.5  # share of what was asked of a sender; who sends less is at its limit, and sends as it can
FRAMING = 8  # bytes per packet, as one card may count the FCS or a tag that another does not


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
    """Judge what arrived of what was sent at an even pace; loss at an end is not held against the path."""
    p = result.parameters
    paths = list(_paths(p, usable, direction).values())
    trials = [paced(t, one.asked, direction) for one in paths for t in one.trials]
    loss = max(q.loss for q in trials)
    offered = p.udp_rate_bps or 0.0
    figures |= {"offered_bps": offered, "loss_percent": 100 * loss}
    differ = any(one.loss != loss for one in trials)
    said = say.arrived(offered, seen.median, loss, len(usable) if differ else 1, len(paths) if differ else 1)
    if above_contract(p, contract) and all(_sent_above(t, p, contract) for t in usable):
        said = say.more_than_contract(said) if loss > 0 else said
        return Judgement(Verdict.PASS, provisional, said, findings=findings, figures=figures)
    blame = [_blamed(path, direction, contract) for path in paths]
    verdict = min((found for path in blame for found, _ in path), key=GRAVITY.index)
    worst = (next((said for found, said in path if found is verdict and said), "") for path in blame)
    who = "; ".join(dict.fromkeys(filter(None, worst)))
    if loss > 0:
        findings = (*findings, say.loses(loss, offered, who))
    counted = any(q.datagrams for q in trials)  # datagrams not counted may never have been sent
    usual = loss if len(paths) == 1 else max(paced(t, p, direction).loss for t in usable)  # loss of all paths together
    kept = min(offered or best, best) * (1 - (usual if counted else 0.0))  # loss is no shortfall of pace
    least = contract.pass_ratio if counted else 1 - contract.loss_percent / 100
    late = seen.median < least * kept
    said = say.pace_not_kept(said) if late else said
    if verdict is Verdict.FAIL:
        said = say.beyond_contract(said, contract.loss_percent, who)
        return Judgement(verdict, provisional, said, (said,), findings=findings, figures=figures, cause=Cause.UDP_LOSS)
    if verdict is Verdict.CANNOT_JUDGE:
        said = say.unknown_loser(said, who)
        advice = (UDP_QUEUES, *(remedies.stronger(contract) if late else ()))
        return Judgement(verdict, provisional, said, (said,), advice, findings, figures, Cause.WHO_LOST)
    if late:
        return Judgement(
            Verdict.CANNOT_JUDGE, provisional, said, (said,), remedies.stronger(contract), findings, figures,
            Cause.UDP_PACE,
        )  # fmt: skip
    return Judgement(Verdict.PASS, provisional, said, findings=findings, figures=figures)


@dataclass(frozen=True)
class _Path:
    """What one path's load was asked for, and the trials reduced to that path and its ends."""

    asked: Experiment
    trials: list[TrialResult]


def _paths(p: Experiment, usable: list[TrialResult], way: Direction) -> dict[int, _Path]:
    numbers = dict.fromkeys(leg.path for t in usable for leg in t.legs if leg.role is Role.LOAD)
    return (
        {n: _of_each(usable, p, n, way) for n in numbers}
        if len(numbers) > 1
        else {n: _Path(p, usable) for n in numbers}
    )


def losing_paths(result: ExperimentResult, contract: Contract, direction: Direction) -> tuple[int, ...]:
    """Those of the setting's paths that are themselves to blame for loss."""
    paths = _paths(result.parameters, [t for t in result.trials if t.ok], direction)
    return tuple(n for n, one in paths.items() if any(v is Verdict.FAIL for v, _ in _blamed(one, direction, contract)))


def lost_between(t: TrialResult, p: Experiment, paths: int, direction: Direction) -> float:
    """The share of datagrams that one of so many paths lost in a trial, without what its ends themselves lost."""
    q = paced(t, share(p, paths), direction)
    if counted_each(t.sender(direction).carried, t.receiver(direction).carried, q.datagrams):
        return _lost_on_path(t, q, direction)
    return q.loss if t.receiver(direction).udp_dropped is None else _dropped_by_nobody(t, q, direction)


def _of_each(trials: list[TrialResult], p: Experiment, number: int, way: Direction) -> _Path:
    parts = [of_path_alone(t, number, way) for t in trials]
    return _Path(share(p, len(trials[0].loads)), [t for t in parts if t.loads])


def of_path_alone(t: TrialResult, number: int, way: Direction) -> TrialResult:
    """The trial with only the legs of that path, its ends, and what these counted of it.

    An end counts for all its cards and sockets. Each path is sent as much, and what is missing is laid to the paths by
    what each of them lost. Where other paths begin or end at only one of the two ends, as in a mesh, the packets that
    their cards counted cannot be compared.
    """
    part = of_path(t, number)
    loads = [g for g in t.legs if g.role is Role.LOAD]
    mine = next((g for g in loads if g.path == number), None)
    if mine is None or len(part.ends) < 2 or len(part.loads) != 1:
        return part
    forward = way is not Direction.REVERSE
    sender, receiver = (mine.near, mine.far) if forward else (mine.far, mine.near)
    there = [g for g in loads if (g.near if forward else g.far) == sender]
    here = [g for g in loads if (g.far if forward else g.near) == receiver]
    if len(there) == len(here) == 1:
        return part
    lost = sum(g.outcome.lost or 0 for g in here)
    fraction = (mine.outcome.lost or 0) / lost if lost else 1 / len(here)
    out, in_ = t.ends[sender].carried, t.ends[receiver].carried
    tx, rx, tx_bytes, rx_bytes = 0, 0, 0, 0
    if there == here:
        tx, tx_bytes = out.tx_packets // len(here), out.tx_bytes // len(here)
        if in_.rx_packets:
            rx = max(1, tx - round(fraction * (out.tx_packets - in_.rx_packets)))
            rx_bytes = max(1, tx_bytes - round(fraction * (out.tx_bytes - in_.rx_bytes)))
    sent = NicCounters("", tx_bytes=tx_bytes, tx_packets=tx, tx_drops=out.tx_drops // len(there))
    heard = NicCounters(
        "",
        rx_bytes=rx_bytes,
        rx_packets=rx,
        rx_drops=round(fraction * in_.rx_drops),
        rx_errors=round(fraction * in_.rx_errors),
        crc_errors=None if in_.crc_errors is None else round(fraction * in_.crc_errors),
    )
    ends = list(part.ends)
    load = next(g for g in part.legs if g.role is Role.LOAD)
    first, last = (load.near, load.far) if forward else (load.far, load.near)
    ends[first] = _counting(ends[first], sent)
    dropped = ends[last].udp_dropped
    ends[last] = replace(
        _counting(ends[last], heard), udp_dropped=None if dropped is None else round(fraction * dropped)
    )
    return replace(part, ends=tuple(ends))


def _counting(end: EndRecord, counted: NicCounters) -> EndRecord:
    """The end with this counted; of its cards is left whether they lost their link."""
    return replace(end, nics=(*(NicCounters(c.name, carrier_lost=c.carrier_lost) for c in end.nics), counted))


def _blamed(path: _Path, direction: Direction, contract: Contract) -> list[tuple[Verdict, str]]:
    """The blame of each trial by itself, the one that lost most first; if no trial has any, that of all together."""
    seen = sorted(((t, paced(t, path.asked, direction)) for t in path.trials), key=lambda one: -one[1].loss)
    blame = [_blame(t, q, direction, contract) for t, q in seen]
    on_path = [(_lost_on_path(t, q, direction), q.datagrams) for t, q in seen]
    if all(verdict is Verdict.PASS for verdict, _ in blame) and _beyond_together(on_path, contract.loss_percent / 100):
        blame = [_blame(t, q, direction, contract, surely=True) for t, q in seen]
    return [_excused(one, t, q, path.asked, direction, contract) for one, (t, q) in zip(blame, seen, strict=True)]


def _excused(
    blame: tuple[Verdict, str], t: TrialResult, q: Paced, asked: Experiment, direction: Direction, contract: Contract
) -> tuple[Verdict, str]:
    """The blame, but not the path's if the loss is in single seconds and an end's card lost its link meanwhile, or the
    sender could not send half of what it was asked to; nor if it is in seconds in which an end stood still. What is
    sent late comes in a burst, and nobody may have taken in what came to an end meanwhile.
    """
    if blame[0] is not Verdict.FAIL:
        return blame
    limit = contract.loss_percent / 100
    if name := _lost_while_still(t, direction, limit):
        return Verdict.CANNOT_JUDGE, say.lost_while_still(name)
    if said := _far_behind(t, q, asked, direction, limit):
        return Verdict.CANNOT_JUDGE, said
    seconds = [i.bps for i in t.intervals if i.direction is direction and i.end - i.start > 0.5]
    even = min(seconds, default=0.0) > EVEN * max(seconds, default=0.0)
    return (Verdict.CANNOT_JUDGE, carriers_lost(t.carriers_lost)) if t.carriers_lost and not even else blame


def _seconds(t: TrialResult, direction: Direction) -> list[Interval]:
    """The seconds of which it is known what they lost; none if together they lost less than the trial."""
    known = [i for i in t.intervals if i.direction is direction and i.datagrams and i.lost is not None]
    return known if sum(i.lost or 0 for i in known) >= (t.lost or 0) else []


def _far_behind(t: TrialResult, q: Paced, asked: Experiment, direction: Direction, limit: float) -> str:
    """Words on a sender that sent less than half of what it was asked to, if at most half of the seconds lost more than
    the limit; '' otherwise: what a link loses at random it loses in every second.
    """
    sent, wanted = q.delivered_bps / (1 - q.loss) if q.loss < 1 else q.offered_bps, asked.udp_rate_bps or 0.0
    seconds = _seconds(t, direction)
    lossy = [i for i in seconds if (i.lost or 0) > limit * (i.datagrams or 0)]
    behind = sent < BEHIND * wanted and len(seconds) > 1 and 2 * len(lossy) <= len(seconds)
    return say.far_behind(t.sender(direction).name, sent, wanted, len(lossy), len(seconds)) if behind else ""


def _lost_while_still(t: TrialResult, direction: Direction, limit: float) -> str:
    """The end that stood still, if the link keeps within its limit in the seconds in which none did; else ''."""
    still, seconds = standstills(t), _seconds(t, direction)
    touched = [i for i in seconds if any(_touches(i, one) for _, one in still)]
    if not touched:
        return ""
    calm = [i for i in seconds if i not in touched]
    sent, lost = sum(i.datagrams or 0 for i in calm), sum(i.lost or 0 for i in calm)
    if lost > limit * sent and by_chance(lost, sent, limit) <= UNLIKELY:
        return ""
    return max(still, key=lambda one: one[1].seconds)[0]


def _touches(second: Interval, still: HeldUp) -> bool:
    return still.at - RECOVERS < second.end and second.start < still.at + still.seconds + RECOVERS


def _lost_on_path(t: TrialResult, q: Paced, direction: Direction) -> float:
    """The share of the datagrams lost between the cards; if these did not count each packet, the whole loss."""
    out, in_ = t.sender(direction).carried, t.receiver(direction).carried
    if not counted_each(out, in_, q.datagrams):
        return q.loss
    return min(q.loss, max(0, out.tx_packets - in_.rx_packets) / out.tx_packets)


def _beyond_together(trials: list[tuple[float, int]], limit: float) -> bool:
    """Whether the repeats together lost too many datagrams, though the loss of each could be chance."""
    sent = sum(datagrams for _, datagrams in trials)
    lost = round(sum(share * datagrams for share, datagrams in trials))
    return lost > limit * sent and by_chance(lost, sent, limit) <= UNLIKELY


def _blame(
    t: TrialResult, q: Paced, direction: Direction, contract: Contract, surely: bool = False
) -> tuple[Verdict, str]:
    """The verdict that one trial's loss allows, and who is to blame, by the counters of both ends' cards.

    Loss is blamed on an end only as far as its own counters show it: datagrams that its card received and its socket
    did not, or that the card dropped. The question stays open if an end was busy and the cards did not count; if bytes
    are missing between the cards but no packets; or if an end that counts full sockets did not count the loss, as small
    packets of other traffic may then stand for the lost ones. `surely`: all repeats together show that the loss is no
    chance.
    """
    limit = contract.loss_percent / 100
    out, in_ = t.sender(direction).carried, t.receiver(direction).carried
    sent = q.datagrams or out.tx_packets

    def beyond(lost: float) -> bool:
        return lost > limit and (surely or by_chance(round(lost * sent), sent, limit) <= UNLIKELY)

    if not beyond(q.loss):
        return Verdict.PASS, ""
    if counted_each(out, in_, q.datagrams):
        dropped = _refused(in_) / out.tx_packets
        lost = _lost_on_path(t, q, direction)
        if beyond(lost):
            if dropped >= 0.5 * lost:
                return Verdict.CANNOT_JUDGE, say.card_dropped(_refused(in_))
            if lost - (late := _withheld_of_sender(t, direction)) <= limit:
                return Verdict.CANNOT_JUDGE, say.sent_in_bursts(t.sender(direction).name, late)
            return Verdict.FAIL, say.path_lost(lost)
        if beyond(less := min(q.loss, _bytes_missing(out, in_))) and less >= 0.5 * q.loss:
            return Verdict.CANNOT_JUDGE, say.bytes_missing(less)
        if beyond(unexplained := _dropped_by_nobody(t, q, direction)):
            return Verdict.CANNOT_JUDGE, say.nobody_dropped(unexplained)
        return Verdict.PASS, say.end_lost()
    if not q.datagrams:  # the sender may have sent less than it was asked to
        return Verdict.PASS, ""
    if t.receiver(direction).udp_dropped is not None and not beyond(_dropped_by_nobody(t, q, direction)):
        return Verdict.PASS, say.sockets_full()
    held = saturated([t], short=q.loss, close=WARM)
    for drops, said in ((_refused(in_), say.card_dropped), (out.tx_drops, say.card_did_not_send)):
        if drops / q.datagrams >= 0.5 * q.loss:
            held = held or said(drops)
    return (Verdict.CANNOT_JUDGE, held) if held else (Verdict.FAIL, "")


def _refused(in_: NicCounters) -> int:
    """The packets that came to a card and went no further: no room in its ring, or damaged on the last cable."""
    return in_.rx_drops + max(in_.rx_errors, in_.crc_errors or 0)


def _dropped_by_nobody(t: TrialResult, q: Paced, direction: Direction) -> float:
    """The share of the datagrams that were lost, but counted as dropped neither by the receiving card nor by sockets.

    Both count the whole trial, so losses during its warm-up are included. The share is 0 if the end does not count
    drops at full sockets.
    """
    end = t.receiver(direction)
    if end.udp_dropped is None:
        return 0.0
    early = sum(i.lost or 0 for i in t.intervals if i.direction is direction and not i.counted)
    dropped = end.udp_dropped + max(0, end.carried.rx_drops)
    return min(q.loss, max(0.0, (q.loss * q.datagrams + early - dropped) / max(1, q.datagrams)))


def _bytes_missing(out: NicCounters, in_: NicCounters) -> float:
    """The share of the sending card's bytes that the receiving card did not count, apart from framing."""
    return 1 - in_.rx_bytes / out.tx_bytes - FRAMING * out.tx_packets / out.tx_bytes if out.tx_bytes else 0.0


def _withheld_of_sender(t: TrialResult, direction: Direction) -> float:
    """The share of CPU time withheld from the sender: at most so much of the stream was sent late and in bursts."""
    cpu = t.sender(direction).cpu
    return lacked(cpu) if withheld(cpu) >= STARVED else 0.0


def above_contract(p: Experiment, contract: Contract) -> bool:
    """Whether a paced stream offers more than the contract can carry."""
    return (p.udp_rate_bps or 0.0) > ceiling(contract, p.protocol, p.write_size).bps * 1.0005


def _sent_above(t: TrialResult, p: Experiment, contract: Contract) -> bool:
    """Whether more than the contract's ceiling was really sent; if it was only asked for, loss is not excused."""
    sent = t.offered_bps or (t.datagrams or 0) * datagram(p, contract) * 8 / p.duration
    return not sent or sent > 0.98 * ceiling(contract, p.protocol, p.write_size).bps


def saturated(trials: list[TrialResult], p: Experiment | None = None, short: float = 0.0, close: float = CLOSE) -> str:
    """A sentence on the busiest or most starved end; '' if neither end was at its limit.

    A core need not show 100 %: a hypervisor may hide what it takes, so 85 % is close; and a single thread that moves
    between cores keeps none of them busy, but uses one core's time in total. Withheld CPU counts only if it explains
    `short`, the share that is lacking. `close`: percent of a core that are too many.
    """
    said = ""
    worst = 0.0
    for t in trials:
        for end, cpu, held_up in ((one.name, one.cpu, stood_still(one)) for one in t.ends if one.cpu):
            threads = p.streams if p is not None else 0
            still = sum(one.seconds for one in held_up) / max(1.0, t.seconds)
            if still >= max(short, STARVED) and 1000 + still > worst:
                worst = 1000 + still
                said = say.stood_still(end, still)
            wanders = 0 < threads < len(cpu.per_core) and cpu.cores_used >= WANDERING * threads and cpu.busiest < close
            if 0 < explained(cpu) >= short and 1000 + lacked(cpu) > worst:
                worst = 1000 + lacked(cpu)
                said = say.withheld(end, lacked(cpu))
            elif cpu.busiest >= close and cpu.busiest > worst:
                worst = cpu.busiest
                said = say.busy_core(end, cpu.busiest)
            elif cpu.percent >= close and cpu.percent > worst:
                worst = cpu.percent
                said = say.busy_cpu(end, cpu.percent)
            elif wanders and worst < 1:
                worst = 1.0
                said = say.wandering(end, cpu.cores_used, threads)
    return said
