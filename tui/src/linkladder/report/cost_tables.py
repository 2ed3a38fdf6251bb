"""Makes a table for each load under which something was changed: the cores of both ends, and what they carried."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from linkladder.model import Direction, Document, Experiment, RungResult, Setting
from linkladder.phrases import cost_tables as words
from linkladder.phrases.arms import difference
from linkladder.report.bundle_tables import Table
from linkladder.verdicts import Change, ChangedFigure, Measured

SENDER_FIRST = (Measured.SENDER_CORES, Measured.RECEIVER_CORES)
CARRIED = (Measured.GOODPUT, Measured.TRANSACTIONS)


def tables(document: Document, rung: RungResult, changes: Sequence[Change]) -> tuple[Table, ...]:
    """A table for each load and direction, with a row as it is and one for each change; none of a staircase's steps."""
    asked = {e.parameters.id: e.parameters for e in rung.experiments}
    loads: dict[tuple[str, str], list[Change]] = {}
    for one in changes:
        figures = _figures(one)
        counted = any(kind in figures for kind in SENDER_FIRST) and any(kind in figures for kind in CARRIED)
        if counted and not asked[one.baseline].step:
            loads.setdefault((one.baseline, one.direction), []).append(one)
    made = []
    for (baseline, direction), tried in loads.items():
        base, arms = asked[baseline], [asked[one.experiment] for one in tried]
        kind = next(kind for kind in CARRIED if kind in _figures(tried[0]))
        first = words.as_it_is(base, _switched(document, rung, arms))
        rows = [(first, *_row(tried[0], kind, changed=False))]
        rows += [(difference(p, base), *_row(one, kind)) for p, one in zip(arms, tried, strict=True)]
        caption = words.caption(base, direction, rung.paths, max(one.pairs for one in tried))
        made.append(Table(caption, words.heads(kind), tuple(rows)))
    return tuple(made)


def _row(one: Change, kind: Measured, changed: bool = True) -> tuple[str, ...]:
    """The cores of the near and the far end and of both, what was carried, and that against the row as it is."""
    figures = _figures(one)
    order = SENDER_FIRST if one.direction != Direction.REVERSE else SENDER_FIRST[::-1]
    cores = [_value(figures.get(measured), changed) for measured in order]
    known = [number for number in cores if number is not None]
    both = sum(known) if len(known) == len(cores) else None
    carried = figures.get(kind)
    against = words.against(carried) if changed and carried else ""
    return *map(words.cores, (*cores, both)), words.carried(kind, _value(carried, changed)), against


def _figures(one: Change) -> dict[Measured, ChangedFigure]:
    return {f.measured: f for f in one.figures}


def _value(f: ChangedFigure | None, changed: bool) -> float | None:
    return None if f is None else f.after if changed else f.before


def _switched(document: Document, rung: RungResult, arms: Sequence[Experiment]) -> tuple[Setting, ...]:
    """Of the offloads that the arms change those that were alike on all cards beforehand, as they were."""
    sides = chain.from_iterable(
        ((path.origin or "near", path.local_interface, path.local), (path.peer, path.remote_interface, path.remote))
        for path in rung.paths
    )
    known = ((document.run.facts(end), name, address) for end, name, address in sides)
    cards = [facts.card(name, address) if facts else None for facts, name, address in known]
    found = []
    for kind in dict.fromkeys(one.kind for p in arms for one in p.settings):
        seen = {card.offloads.get(kind) if card else None for card in cards}
        if seen in ({True}, {False}):
            found.append(Setting(kind, "on" if True in seen else "off"))
    return tuple(found)
