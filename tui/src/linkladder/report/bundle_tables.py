"""Makes tables about a bundle of links.

They show what one transfer and many get, in bits and in bytes per second as a file copy shows them; what each card
carried; and the state of the bundle card by card.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkladder import units
from linkladder.model import Direction, Document, End, Protocol, RungResult, Setting, TrialResult
from linkladder.phrases import bundle_tables as words
from linkladder.phrases.ways import way
from linkladder.verdicts import BundleJudgement

WAYS = (Direction.FORWARD, Direction.REVERSE)


@dataclass(frozen=True)
class Table:
    """Rows of texts under a caption; the first text of each row is its name."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(document: Document, rung: RungResult, judged: Sequence[BundleJudgement]) -> tuple[Table, ...]:
    """The tables of a rung on which a bundle was measured, or whose ends have bundles; none for other rungs."""
    made = [
        *(_transfers(rung, one) for one in judged),
        *(_cards(rung, direction, lent) for lent in ((), *_lent(rung)) for direction in WAYS),
        _status(document, rung),
    ]
    return tuple(table for table in made if table.rows)


def _transfers(rung: RungResult, judged: BundleJudgement) -> Table:
    """Rates by number of flows and block of ports, compared with what the likely number of members would carry."""
    rates: dict[int, dict[int, float]] = {}
    for e in rung.experiments:
        p = e.parameters
        good = [t.goodput_bps for t in e.trials if t.ok and t.goodput_bps > 0]
        if p.protocol is Protocol.TCP and p.client_port and p.direction == judged.direction and good and not p.settings:
            rates.setdefault(p.streams, {})[p.client_port] = statistics.median(good)
    blocks = sorted({port for found in rates.values() for port in found})
    rows = []
    for flows, found in sorted(rates.items()):
        best = max(found.values())
        each = (words.transfer(found[port]) if port in found else "-" for port in blocks)
        share = f"{units.share(best / (judged.members * judged.one_bps))}" if judged.members else "-"
        rows.append((words.transfers(flows), *each, f"{best / judged.one_bps:.2f}" if judged.one_bps else "-", share))
    heads = (words.FLOWS, *map(words.from_port, blocks), words.TIMES_ONE, words.of_members(judged.members))
    return Table(words.what_transfers_get(way(judged.direction)), heads, tuple(rows))


def _lent(rung: RungResult) -> list[tuple[Setting, ...]]:
    """The settings that set up a bundle on loan, without repetition."""
    bundles = [e.parameters for e in rung.experiments if e.parameters.bundled and not e.parameters.member_down]
    return list(dict.fromkeys(p.settings for p in bundles))


def _cards(rung: RungResult, direction: Direction, lent: tuple[Setting, ...]) -> Table:
    """What each member sent or received, by its own counters, with the fewest and with the most flows."""
    trials: dict[int, TrialResult] = {}
    for e in rung.experiments:
        p = e.parameters
        if p.protocol is Protocol.TCP and p.direction is direction and p.settings == lent:
            good = next((t for t in e.trials if t.ok), None)
            if good is not None:
                trials.setdefault(p.streams, good)
    shown = sorted({min(trials), max(trials)}) if trials else []
    rows: dict[tuple[str, str, str], dict[int, str]] = {}
    for flows in shown:
        trial = trials[flows]
        for end, sends in ((trial.sender(direction), True), (trial.receiver(direction), False)):
            counted = {m.name: m.tx_bytes if sends else m.rx_bytes for m in end.members}
            total = sum(counted.values())
            for name, moved in counted.items() if total else ():
                part = words.part(trial.goodput_bps * moved / total, moved / total)
                rows.setdefault((end.name, name, words.SENT if sends else words.RECEIVED), {})[flows] = part
    texts = ((f"{end} {card}", does, *(row.get(n, "-") for n in shown)) for (end, card, does), row in rows.items())
    heads = (words.CARD, "", *map(words.transfers, shown))
    return Table(words.what_cards_carry(way(direction), lent), heads, tuple(texts))


def _status(document: Document, rung: RungResult) -> Table:
    """The state of the bundles as their systems reported it before the run."""
    rows = []
    for end in document.run.ends:
        for nic in end.facts.nics:
            if nic.bundle and _used(rung, end.name, nic.addresses):
                one = nic.bundle
                for n, member in enumerate(one.members):
                    first = (f"{end.name} {nic.name}", one.protocol, one.hash or "-") if n == 0 else ("", "", "")
                    state = ", ".join(filter(None, (*member.flags, *member.state))).lower() or "-"
                    rows.append((*first, member.name, state, member.partner or "-"))
    return Table(words.STATUS, words.STATUS_HEADS, tuple(rows))


def _used(rung: RungResult, host: str, addresses: Iterable[str]) -> bool:
    """Whether a path of the rung ends at one of these addresses of the host."""
    sides = ((path.origin or End.NEAR, path.local) for path in rung.paths)
    others = ((path.peer, path.remote) for path in rung.paths)
    return any(name == host and address in addresses for name, address in (*sides, *others))
