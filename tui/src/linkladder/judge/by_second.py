"""What an end looked at each second against what its record, and the trial, make of all seconds.

Needs the end's seconds, several of them; of a trial without them the record stands alone.  A mean lies between the
least and the most that it was made of, what a card counted between two looks is a part of what it counted in all, and
what the tools carried in that time went by the cards.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkladder.judge.evidence import ways
from linkladder.model import EndRecord, Experiment, TrialResult
from linkladder.phrases import contradictions as say

FEW = 3  # looks that prove nothing
APART = 10.0  # percent of a core by which a mean may lie outside: means of long trials' looks are rounded
AGREE = 0.02  # of a card's bytes
LATE = 0.9  # of the trial's time that the last look must have seen
MORE = 1.3  # times what the cards counted meanwhile: the last tenth may have been missed, and clocks differ
SMALL = 1 << 20  # bytes below which nothing is said


def of_seconds(t: TrialResult, p: Experiment) -> Iterable[str]:
    """What an end's own seconds do not make."""
    looked = [end for end in t.ends if len(end.samples) > FEW]
    for end in looked:
        yield from _cores(end)
        for card, (received, sent) in _counted(end).items():
            whole = next(one for one in end.nics if one.name == card)
            for part, all_in_all in ((received, whole.rx_bytes), (sent, whole.tx_bytes)):
                if part > all_in_all * (1 + AGREE) + SMALL:
                    yield say.card_of_seconds(end.name, card, all_in_all, part)
    for way in ways(p):
        for side, ends in ((1, t.senders(way)), (0, t.receivers(way))):
            known = [_counted(end) for end in ends if end in looked and end.samples[-1].t >= LATE * t.seconds]
            if len(known) < len(ends) or not all(known):
                continue
            seen = sum(both[side] for cards in known for both in cards.values())
            since = max(end.samples[0].t for end in ends)
            claimed = sum(i.bytes for i in t.intervals if i.direction is way and i.start >= since)
            if claimed > MORE * seen + SMALL:
                yield say.trial_of_seconds([end.name for end in ends], claimed, seen)


def _cores(end: EndRecord) -> Iterable[str]:
    cpu = end.cpu
    if cpu is None or any(len(s.cores) != len(cpu.per_core) for s in end.samples):
        return
    for number, mean in enumerate(cpu.per_core):
        looks = [s.cores[number].busy for s in end.samples]
        if not min(looks) - APART <= mean <= max(looks) + APART:
            yield say.core_of_seconds(end.name, mean, min(looks), max(looks))


def _counted(end: EndRecord) -> dict[str, tuple[int, int]]:
    """Of each card what it received and sent from the first look to the last: its counters may be those since boot."""
    first, last = ({nic.name: nic for nic in s.nics} for s in (end.samples[0], end.samples[-1]))
    mine = [card.name for card in end.nics if card.name in first and card.name in last]
    return {n: (last[n].rx_bytes - first[n].rx_bytes, last[n].tx_bytes - first[n].tx_bytes) for n in mine}
