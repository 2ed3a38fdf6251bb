"""Compares what an end sampled each second with its record of the whole trial and with the trial's figures.

Needs several samples of the end; without them the record cannot be checked. A mean must lie between the smallest and
the largest sample, a card cannot count more between two samples than in the whole trial, and what the tools carried in
that time must have passed the cards.
"""

from __future__ import annotations

from collections.abc import Iterable

from linkladder.judge.evidence import ways
from linkladder.model import EndRecord, Experiment, TrialResult
from linkladder.phrases import contradictions as say

FEW = 3  # so few samples prove nothing
APART = 10.0  # percent of a core by which a mean may lie outside, as the samples of long trials are rounded means
AGREE = 0.02  # share of a card's bytes
LATE = 0.9  # share of the trial's time after which the last sample must have been taken
MORE = 1.3  # times what the cards counted meanwhile, as the last tenth may be missing and clocks differ
SMALL = 1 << 20  # bytes below which nothing is said


def of_seconds(t: TrialResult, p: Experiment) -> Iterable[str]:
    """Sentences on what contradicts an end's own samples."""
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
    """The bytes that each card received and sent between the first and the last sample; counters may start at boot."""
    first, last = ({nic.name: nic for nic in s.nics} for s in (end.samples[0], end.samples[-1]))
    mine = [card.name for card in end.nics if card.name in first and card.name in last]
    return {n: (last[n].rx_bytes - first[n].rx_bytes, last[n].tx_bytes - first[n].tx_bytes) for n in mine}
