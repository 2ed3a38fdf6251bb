"""Makes the tables of cards' queues: what passed by each in the fastest trial of a direction, and its core."""

from __future__ import annotations

from collections.abc import Iterator

from linkladder import units
from linkladder.judge.busy_queues import FEW, NEARLY_ALL
from linkladder.model import Direction, EndRecord, Protocol, QueueCounters, RungResult, TrialResult
from linkladder.phrases import queue_tables as words
from linkladder.phrases.ways import way
from linkladder.report.bundle_tables import WAYS, Table


def tables(rung: RungResult) -> tuple[Table, ...]:
    """A table for each direction and side in which the cards' queues were counted, of more than one queue."""
    made = [_table(rung, direction, sending) for direction in WAYS for sending in (False, True)]
    return tuple(table for table in made if len(table.rows) > 1)


def lines(table: Table) -> Iterator[str]:
    """The table for a shell, its columns below each other."""
    rows = (table.heads, *table.rows)
    wide = [max(len(row[n]) for row in rows) for n in range(len(table.heads))]
    yield table.caption
    for row in rows:
        yield "  ".join(f"{text:<{width}}" for text, width in zip(row, wide, strict=True)).rstrip()


def _table(rung: RungResult, direction: Direction, sending: bool) -> Table:
    counted = [
        (trial.goodput_bps, n, e.parameters.id, trial)
        for n, e in enumerate(rung.experiments)
        for trial in e.trials
        if trial.ok and e.parameters.protocol in (Protocol.TCP, Protocol.UDP) and e.parameters.direction is direction
        if _queues(trial, direction, sending)
    ]
    if not counted:
        return Table("", (), ())
    *_, name, trial = max(counted, key=lambda one: (one[0], -one[1]))
    seen = _queues(trial, direction, sending)
    rows = [row for end, queues in seen for row in _rows(end, queues)]
    caption = words.caption(sending, way(direction, rung.paths), name, trial.repeat)
    notes = [words.by_one(end.name) for end, queues in seen if sending and _by_one(queues)]
    return Table("; ".join([caption, *notes]), words.SENDING_HEADS if sending else words.HEADS, tuple(rows))


def _queues(
    trial: TrialResult, direction: Direction, sending: bool
) -> list[tuple[EndRecord, tuple[QueueCounters, ...]]]:
    """Each end that sends, or receives, with its queues."""
    if sending:
        return [(end, end.sending_queues) for end in trial.senders(direction) if end.sending_queues]
    return [(end, end.queues) for end in trial.receivers(direction) if end.queues]


def _rows(end: EndRecord, queues: tuple[QueueCounters, ...]) -> Iterator[tuple[str, ...]]:
    whole = sum(map(_count, queues))
    for queue in queues:
        busy = end.cpu.per_core if end.cpu else ()
        known = queue.core is not None and queue.core < len(busy)
        yield (
            words.queue(end.name, queue.card, queue.number),
            words.count(queue.packets, queue.interrupts),
            units.share(_count(queue) / whole) if whole else "-",
            "-" if queue.core is None else f"{queue.core}",
            units.share(busy[queue.core] / 100) if known and queue.core is not None else "-",
        )


def _by_one(queues: tuple[QueueCounters, ...]) -> bool:
    """Whether one of several queues sent nearly all, by the threshold of the receiving side."""
    counts = [_count(queue) for queue in queues]
    return len(counts) > 1 and max(counts) >= NEARLY_ALL * max(FEW, sum(counts))


def _count(queue: QueueCounters) -> int:
    return queue.packets if queue.packets is not None else queue.interrupts or 0
