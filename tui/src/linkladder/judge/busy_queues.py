"""Finds the receive queues behind a busy core: one core takes all packets of a queue, however many cores there are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from linkladder.model import EndRecord, QueueCounters
from linkladder.phrases import cards as say
from linkladder.verdicts import Limiter

NEARLY_ALL = 0.8  # share of what came in that makes a core the one that takes it
FEW = 1000  # packets or interrupts of a trial: of fewer nothing is said


@dataclass(frozen=True)
class BusyQueues:
    """The queues by which nearly all came in, and the one core that takes what comes by them."""

    queues: tuple[tuple[str, int], ...]  # card and number
    share: float  # of all that came in by the cards of the trial
    of: int  # how many receive queues those cards have
    core: int
    busy: float  # percent


def busy_queues(end: EndRecord, least: float) -> BusyQueues | None:
    """The queues that the busiest core of this end takes, if it is that busy and they bring nearly all that comes."""
    if end.cpu is None or not end.cpu.per_core or (busy := max(end.cpu.per_core)) < least:
        return None
    core, came = end.cpu.per_core.index(busy), _came_in(end.queues)
    mine = {queue: count for queue, count in came.items() if queue.core == core and count}
    share = sum(mine.values()) / max(FEW, sum(came.values()))
    if share < NEARLY_ALL:
        return None
    return BusyQueues(tuple((queue.card, queue.number) for queue in mine), share, len(came), core, busy)


def with_queues(found: Limiter, receiver: EndRecord, least: float) -> Limiter:
    """What limits, or may, where it is this receiver: with the queues behind it."""
    if (seen := busy_queues(receiver, least)) is None:
        return found
    sentence, evidence = say.of_one_core(seen.queues, seen.share, seen.of, seen.core, seen.busy)
    return replace(found, sentence=f"{found.sentence} {sentence}", evidence=(*found.evidence, evidence))


def _came_in(queues: tuple[QueueCounters, ...]) -> dict[QueueCounters, int]:
    """Packets of each queue where all are counted so, else interrupts; none where some are counted in neither."""
    for counted in ([one.packets for one in queues], [one.interrupts for one in queues]):
        known = [count for count in counted if count is not None]
        if len(known) == len(queues) and any(known):
            return dict(zip(queues, known, strict=True))
    return {}
