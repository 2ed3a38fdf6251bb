"""Makes the table of receive queues: what came in by each in the fastest trial of a direction, and its core."""

from __future__ import annotations

from collections.abc import Iterator

from linkladder import units
from linkladder.model import Direction, EndRecord, Protocol, QueueCounters, RungResult, TrialResult
from linkladder.phrases import queue_tables as words
from linkladder.phrases.ways import way
from linkladder.report.bundle_tables import WAYS, Table


def tables(rung: RungResult) -> tuple[Table, ...]:
    """A table for each direction in which the cards' receive queues were counted, of more than one queue."""
    made = [_table(rung, direction) for direction in WAYS]
    return tuple(table for table in made if len(table.rows) > 1)


def lines(table: Table) -> Iterator[str]:
    """The table for a shell, its columns below each other."""
    rows = (table.heads, *table.rows)
    wide = [max(len(row[n]) for row in rows) for n in range(len(table.heads))]
    yield table.caption
    for row in rows:
        yield "  ".join(f"{text:<{width}}" for text, width in zip(row, wide, strict=True)).rstrip()


def _table(rung: RungResult, direction: Direction) -> Table:
    counted = [
        (trial.goodput_bps, n, e.parameters.id, trial)
        for n, e in enumerate(rung.experiments)
        for trial in e.trials
        if trial.ok and e.parameters.protocol in (Protocol.TCP, Protocol.UDP) and e.parameters.direction is direction
        if _receivers(trial, direction)
    ]
    if not counted:
        return Table("", (), ())
    *_, name, trial = max(counted, key=lambda one: (one[0], -one[1]))
    rows = [row for end in _receivers(trial, direction) for row in _rows(end)]
    return Table(words.caption(way(direction, rung.paths), name, trial.repeat), words.HEADS, tuple(rows))


def _receivers(trial: TrialResult, direction: Direction) -> list[EndRecord]:
    return [end for end in trial.receivers(direction) if end.queues]


def _rows(end: EndRecord) -> Iterator[tuple[str, ...]]:
    whole = sum(map(_count, end.queues))
    for queue in end.queues:
        busy = end.cpu.per_core if end.cpu else ()
        known = queue.core is not None and queue.core < len(busy)
        yield (
            words.queue(end.name, queue.card, queue.number),
            words.count(queue.packets, queue.interrupts),
            units.share(_count(queue) / whole) if whole else "-",
            "-" if queue.core is None else f"{queue.core}",
            units.share(busy[queue.core] / 100) if known and queue.core is not None else "-",
        )


def _count(queue: QueueCounters) -> int:
    return queue.packets if queue.packets is not None else queue.interrupts or 0
