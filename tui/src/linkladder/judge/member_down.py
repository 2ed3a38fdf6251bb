"""Judges what a bundle did while one of its members was taken down during a trial, as the plan asked, and came back.

Uses both ends' samples, ten per second, and the flows' seconds. That a member was down is believed only if its own
counters stood still meanwhile; otherwise the trial's seconds count like any others.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from linkladder.judge.evidence import ways
from linkladder.judge.outages import DEAD
from linkladder.model import Away, Direction, EndRecord, Experiment, Flow, Interval, RungResult, TrialResult, sums
from linkladder.phrases import member_down as say
from linkladder.verdicts import MemberDown

STILL = 0.01  # share of the bundle's rate before; a card that is down moves less than that
SMALL = 20_000  # bytes that are ignored
EARLY = 0.5  # seconds by which a member may go down or come up before the planned moment
LEAST = 0.5  # seconds for which a card must be seen to stand still
RETURNED = 0.5  # share of its traffic before that a member must have again to count as used
EDGE = 0.05
Points = Sequence[tuple[float, float]]  # moments in seconds, each with the count until then


@dataclass(frozen=True)
class _Planted:
    """A member that one end reports to have been down."""

    end: EndRecord
    away: Away
    doubt: str  # why it is not believed; '' if it is


def members_down(rung: RungResult) -> tuple[MemberDown, ...]:
    """A judgement for each trial, direction, and end at which a member went down."""
    return tuple(
        _judge(e.parameters, t, way, one)
        for e in rung.experiments
        if e.parameters.member_down
        for t in e.trials
        for way in ways(e.parameters)
        for one in _planted(e.parameters, t)
    )


def unclaimed(rung: RungResult) -> tuple[str, ...]:
    """Sentences on trials in which a member should have gone down, but no end reports that it did."""
    return tuple(
        say.never_went_down(e.parameters, t.repeat)
        for e in rung.experiments
        if e.parameters.member_down
        for t in e.trials
        if t.ok and not any(end.away for end in t.ends)
    )


def besides(rung: RungResult) -> RungResult:
    """The trials in which a member was taken down, without the seconds that this affects."""
    cut = [
        replace(e, trials=tuple(part for t in e.trials for part in _parts(e.parameters, t)))
        for e in rung.experiments
        if e.parameters.member_down
    ]
    return replace(rung, experiments=tuple(cut))


def _parts(p: Experiment, t: TrialResult) -> Iterator[TrialResult]:
    """The trial's seconds before the member went down, and those after the flows must have recovered."""
    stretch = planted_seconds(p, t)
    if stretch is None:
        yield t
        return
    first, last = stretch
    for part in (lambda i: i.end <= first + EDGE, lambda i: i.start >= last):
        legs = (
            replace(g, outcome=replace(g.outcome, intervals=tuple(filter(part, g.outcome.intervals)))) for g in t.legs
        )
        yield replace(t, legs=tuple(legs))


def planted_seconds(p: Experiment, t: TrialResult) -> tuple[float, float] | None:
    """From which to which second the member affects what arrives; None if it is not believed that one was down."""
    found = [one.away for one in _planted(p, t) if not one.doubt]
    if not found or p.member_down is None:
        return None
    first, until = p.member_down[0], max(one.until for one in found)
    return first, until + (until - first) + 1


def _planted(p: Experiment, t: TrialResult) -> list[_Planted]:
    return [_Planted(end, one, _doubt(p, end, one)) for end in t.ends for one in end.away]


def _doubt(p: Experiment, end: EndRecord, away: Away) -> str:
    """Why it is not believed that the member was down at the reported time; '' if it is believed."""
    assert p.member_down is not None
    first, last = p.member_down
    if not first - EARLY <= away.since < away.until or away.until < last - EARLY:
        return say.OTHER_MOMENTS
    if last - away.since < LEAST:
        return say.TOO_SHORT
    both = [_series(end, (away.name,), field) for field in ("rx_bytes", "tx_bytes")]
    if any(len(_inside(points, away.since, last)) < 2 for points in both):
        return say.NO_COUNTERS
    names = tuple(one.name for one in end.members) or (away.name,)
    usual = sum(_rate(_series(end, names, field), p.warmup, first) for field in ("rx_bytes", "tx_bytes"))
    moved = sum(_moved(points, away.since, last) for points in both)
    return say.counters_moved(moved) if moved > max(SMALL, STILL * usual * (last - away.since)) else ""


def _judge(p: Experiment, t: TrialResult, way: Direction, one: _Planted) -> MemberDown:
    assert p.member_down is not None
    first, last = p.member_down
    end, away = one.end, one.away
    made = MemberDown(p.id, t.repeat, str(way), end.name, away.name, away.since, away.until, believed=not one.doubt)
    if one.doubt:
        return replace(made, sentences=(say.not_believed(made, one.doubt),))
    over = p.warmup + p.duration
    sends = end is t.sender(way)
    receiver, sender = t.receiver(way), t.sender(way)
    arrived = _series(receiver, tuple(m.name for m in receiver.members or receiver.nics), "rx_bytes")
    usual = _rate(arrived, p.warmup, first)
    flows = [f for f in t.flows if f.direction is way]
    lasts = [max((i.end for i in f.intervals), default=0.0) for f in flows]
    gave_up = [last < min(over, max(lasts)) - 1 for last in lasts]  # its tool stopped, as on "Network is down"
    stops = [_stopped(f, p.warmup, first, min(over, max(lasts))) for f in flows]
    again = [(s.t, float(s.retransmits)) for s in sender.samples if s.retransmits is not None]
    field, names = "tx_bytes" if sends else "rx_bytes", tuple(m.name for m in end.members)
    mine, every = _series(end, (away.name,), field), _series(end, names, field)
    after = away.until + 1
    mine_of = [_share(mine, every, *span) for span in ((p.warmup, first), (away.since, last), (after, over))]
    made = replace(
        made,
        sends=sends,
        before_bps=_goodput(t.intervals, way, p.warmup, first),
        without_bps=_goodput(t.intervals, way, away.since, last),
        after_bps=_goodput(t.intervals, way, after, over),
        resolution_s=statistics.median([b[0] - a[0] for a, b in pairwise(arrived)]) if len(arrived) > 1 else None,
        silent_down_s=silence(arrived, first, last, usual),
        silent_back_s=silence(arrived, last, min(over, away.until + (away.until - first)), usual),
        flows=len(flows),
        stopped=sum(seconds > 0 for seconds, _ in stops),
        longest_stop_s=max((seconds for seconds, _ in stops), default=0.0),
        not_back=sum(gone for _, gone in stops),
        again=round(_moved(again, first, over)) if again else None,
        again_before=round(_moved(again, p.warmup, first)) if again else None,
        lost=sums.known([i.lost for i in t.intervals if i.direction is way and i.end > first]),
        share_before=mine_of[0],
        share_without=mine_of[1],
        share_after=mine_of[2],
    )
    return replace(made, sentences=say.sentences(made, p, None if any(gave_up) else returned(made)))


def returned(seen: MemberDown) -> bool | None:
    """Whether flows came back to the member; None if it had none before, or that was not counted."""
    if not seen.share_before or seen.share_after is None:
        return None
    return seen.share_after >= RETURNED * seen.share_before


def silence(points: Points, first: float, last: float, usual: float) -> float | None:
    """The longest time in seconds between `first` and `last` with almost no traffic; None if that is not known."""
    spans = [(a, b) for a, b in pairwise(points) if b[0] > first and a[0] < last]
    if not spans or usual <= 0:
        return None
    longest = run = 0.0
    for (start, before), (end, now) in spans:
        quiet = end > start and now - before < DEAD * usual * (end - start)
        run = run + min(end, last) - max(start, first) if quiet else 0.0
        longest = max(longest, run)
    return longest


def _stopped(flow: Flow, warmup: float, first: float, over: float) -> tuple[float, bool]:
    """The flow's longest stop after `first` in seconds, and whether one of two seconds or more lasted to the end."""
    before = [i.bps for i in flow.intervals if i.start >= warmup - EDGE and i.end <= first + EDGE]
    usual = statistics.fmean(before) if before else 0.0
    longest = run = 0.0
    for i in flow.intervals:
        if i.end <= first + EDGE or i.start >= over - EDGE or usual <= 0:
            continue
        run = run + i.end - i.start if i.bps < DEAD * usual else 0.0
        longest = max(longest, run)
    if usual > 0 and (missing := over - max(i.end for i in flow.intervals)) > 1:
        run += missing
    return max(longest, run), run >= 2


def _series(end: EndRecord, names: tuple[str, ...], field: str) -> list[tuple[float, float]]:
    """The sum of these cards' counters at each sample that has all of them."""
    found = []
    for sample in end.samples:
        counts = [getattr(nic, field) for nic in sample.nics if nic.name in names]
        if names and len(counts) == len(names):
            found.append((sample.t, float(sum(counts))))
    return found


def _inside(points: Points, first: float, last: float) -> Points:
    return [one for one in points if first - EDGE <= one[0] <= last + EDGE]


def _at(points: Points, t: float) -> float:
    """The count at the moment `t`, interpolated between two samples."""
    for (start, before), (end, now) in pairwise(points):
        if start <= t <= end and end > start:
            return before + (now - before) * (t - start) / (end - start)
    return points[0][1] if t < points[0][0] else points[-1][1]


def _moved(points: Points, first: float, last: float) -> float:
    return max(0.0, _at(points, last) - _at(points, first)) if len(points) > 1 and last > first else 0.0


def _rate(points: Points, first: float, last: float) -> float:
    """What was counted per second between two moments."""
    return _moved(points, first, last) / (last - first) if last > first else 0.0


def _share(mine: Points, every: Points, first: float, last: float) -> float | None:
    total = _moved(every, first, last)
    return min(1.0, _moved(mine, first, last) / total) if total > 0 else None


def _goodput(intervals: Sequence[Interval], way: Direction, first: float, last: float) -> float | None:
    """The goodput in bit/s over the whole seconds between two moments; None if there are none."""
    within = [i for i in intervals if i.direction is way and i.start >= first - EDGE and i.end <= last + EDGE]
    seconds = sum(i.end - i.start for i in within)
    return 8 * sum(i.bytes for i in within) / seconds if seconds > 0 else None
