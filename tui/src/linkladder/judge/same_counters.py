"""Finds records of an end that are in the run twice: what cards and cores did is never the same in two trials.

Needs cards that count packets beside bytes, both ways, or samples of the end. Of paced UDP nothing is said by cards, as
it is as many packets of one size in each trial.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from linkladder import phrases
from linkladder.model import Document, EndRecord, Protocol, RungResult
from linkladder.phrases import accounts as say
from linkladder.verdicts import Cause

MANY = 1000  # packets; as many or more are never the same in four counts by chance
ROUND = 1000  # no card's counts are all multiples of this; where they are, somebody made them up to be round
SAMPLES = 3  # so many at least are compared
DIFFERENT = 6  # values that the cores of all samples must have at least, as an idle machine's are all alike
EXACT = 1e-4  # percent; the share of a core that its clock told has digits beyond this


def same_counters(rung: RungResult, document: Document) -> dict[tuple[str, int], tuple[Cause, str]]:
    """Trials of this rung in which an end's record has the counts of another trial of the run, met before it."""
    found: dict[tuple[str, int], tuple[Cause, str]] = {}
    had: dict[Hashable, tuple[int, str]] = {}
    number = 0
    for r, e in [(one, e) for one in document.rungs for e in one.experiments]:
        p = e.parameters
        for t in e.trials if p.protocol in (Protocol.TCP, Protocol.UDP) else ():
            number += 1
            name = phrases.trial(p, t.repeat, paths=r.paths)
            for end in t.ends if t.ok else ():
                for sign in _signs(end, p.protocol is Protocol.TCP):
                    first = had.setdefault((end.name, sign), (number, say.named(name, r.name, rung.name)))
                    if first[0] != number and r.name is rung.name:
                        found.setdefault((p.id, t.repeat), (Cause.COPIED, say.same_record(name, end.name, first[1])))
    return found


def _signs(end: EndRecord, by_cards: bool) -> Iterator[Hashable]:
    """What of an end's record no other trial has."""
    for card in end.nics if by_cards else ():
        counts = card.rx_bytes, card.tx_bytes, card.rx_packets, card.tx_packets
        if min(card.rx_packets, card.tx_packets) >= MANY and any(count % ROUND for count in counts):
            yield "card", card.name, counts
    if end.cpu is not None and sum(_exact(share) for share in end.cpu.per_core) > 1:
        yield "mean", end.cpu.per_core
    if len(end.samples) < SAMPLES:
        return
    first, last = end.samples[0].nics, end.samples[-1].nics
    if first and last and any(one.rx_packets + one.tx_packets for one in last):
        yield "samples", first, last
    busy = tuple(core.busy for sample in end.samples for core in sample.cores)
    if len({share for share in busy if _exact(share)}) >= DIFFERENT:
        yield "cores", busy


def _exact(share: float) -> bool:
    """Whether it has digits that no one writes, and no two trials have alike."""
    return abs(share - round(share, 1)) > EXACT
