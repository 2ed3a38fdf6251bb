"""Finds seconds in which a link carried nothing, a card without its link, and a rate that did not last.

Needs the seconds of the trials, including the warm-up's, as an outage may begin at any time.
Nothing is said without them; `accounts` decides whether a trial counts without seconds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from linkladder.judge.ceilings import ceiling, datagram
from linkladder.judge.evidence import idle_round_trip, of_path, ways
from linkladder.judge.few_streams import without_alive
from linkladder.judge.stats import variance
from linkladder.judge.weighing import GRAVITY
from linkladder.judge.withheld import explained
from linkladder.model import (
    Contract,
    Direction,
    EndRecord,
    Experiment,
    Fault,
    HeldUp,
    Interval,
    Outcome,
    Protocol,
    Role,
    RungResult,
    TrialResult,
)
from linkladder.phrases import outages as say
from linkladder.verdicts import Cause, Concern, Verdict

DEAD = 0.05  # share of the usual second's rate; a second with less counts as without traffic
START = 1.0  # seconds in which a connection may still be opening
OPENING = 8  # round trips in which TCP may still be opening: the handshake, the tool's own, six doublings
RUN = 2.0  # seconds of silence that make an outage; the machine itself may cause a single one
INEXACT = 0.1  # seconds by which two of a tool's seconds may last less than two seconds
PIECE = 0.1  # seconds; less by itself is what a tool's last line may hold, in which nothing came any more
FEW_SECONDS = 3  # with so few seconds, most may be dead, so the best of them is taken as the usual one
FELL = 0.015  # share of the rate; a later level that is lower by more is a different rate
RECOVERS = 1.0  # seconds added on either side, as samples come once a second and TCP waits before it goes on
CARRYING = (Protocol.TCP, Protocol.UDP, Protocol.RR)
NEARLY = 0.8  # share of the silent seconds
FULL = 0.9  # share of the median second's rate; a link that was lost for a tenth of a second costs more
FEW_LOST = 0.1  # share of what the silent seconds would have carried
PART = 3  # fewest seconds that a rate must have been at its later level


@dataclass(frozen=True)
class Dead:
    """The time without traffic in one direction of one trial, in seconds; `at`: when the longest part began."""

    seconds: float
    longest: float
    at: float
    runs: tuple[tuple[float, float], ...]  # each from when to when


def outages(rung: RungResult, deal: Contract) -> list[Concern]:
    """Concerns about interruptions of each path, compared with the availability that was sold.

    Many short ones of several paths may come to one that none of these paths shows by itself.
    """
    found: list[Concern] = []
    loads = [g for e in rung.experiments for t in e.trials for g in t.legs if g.role is Role.LOAD]
    numbers = sorted({g.path for g in loads})
    for way in (Direction.FORWARD, Direction.REVERSE):
        each = [c for n in numbers if (c := _away(rung, deal, way, (n,)))]
        found += each
        whole = _away(rung, deal, way, numbers) if len(each) > 1 else None
        if whole is not None and _weight(whole) < min(map(_weight, each)):
            found.append(replace(whole, paths=tuple(n for c in each for n in c.paths)))
    return found


def _weight(c: Concern) -> tuple[int, bool]:
    """The less, the graver."""
    return GRAVITY.index(c.best or Verdict.PASS), not c.provisional


def _away(rung: RungResult, deal: Contract, way: Direction, numbers: Collection[int]) -> Concern | None:
    """A concern about the seconds in which these paths carried nothing; None if there are none."""
    measured, lost, worst, where, excuse = 0.0, 0.0, 0.0, "", ""
    still, longest = 0.0, 0.0  # lost seconds in which an end stood still, and the longest time that one did
    for e in rung.experiments:
        if e.parameters.protocol not in CARRYING or way not in ways(e.parameters):
            continue
        for t in e.trials:
            for leg in t.legs:  # one path may be dead while others go on
                if leg.role is not Role.LOAD or leg.path not in numbers:
                    continue
                mine = [
                    i for i in leg.outcome.intervals if i.direction is way and not 0 < t.seconds < i.end - 1
                ]  # a longer interval means that a clock jumped
                measured += (span := sum(i.end - i.start for i in mine))
                dead = dead_seconds(mine, _opens_until(t, e.parameters, rung))
                if dead is not None:
                    dead = _dead(without_alive(dead.runs, leg.outcome.intervals, e.parameters, way))
                if dead is None:
                    continue
                own = of_path(t, leg.path)  # another path's ends are no excuse
                lost += dead.seconds
                seconds, most = _held_up(own, dead)
                still, longest = still + seconds, max(longest, most)
                if dead.longest > worst:
                    worst, excuse = dead.longest, _excuse(own, leg.outcome, e.parameters, deal, way, dead, span)
                    where = say.when(e.parameters, t.repeat, dead.at, rung.paths)
    if lost <= 0:
        return None
    share = 100 * (1 - lost / measured)
    figures = {"dead_seconds": lost, "availability_percent": share}
    paths = tuple(numbers)
    which = say.of_path(rung.paths, numbers, way)
    if worst < RUN - INEXACT and lost < 2 * RUN - INEXACT:
        often = lost - still >= RUN - INEXACT  # repeated single ones are no accident of a machine
        beyond = 100 * (1 - (lost - still) / measured) < deal.availability_percent
        said = say.brief(which, lost, where)
        said += f" {say.brief_beyond(measured, share, deal.availability_percent)}" if beyond else ""
        best = Verdict.PASS if beyond and not often else None
        return Concern(Cause.SEEN, said, best, provisional=often or beyond, figures=figures, paths=paths)
    seen = which, lost, measured, worst, where, share
    if share >= deal.availability_percent:
        return Concern(Cause.OUTAGE, say.outage(*seen), provisional=True, figures=figures, paths=paths)
    if (itself := 100 * (1 - (lost - still) / measured) >= deal.availability_percent) or excuse:
        said = say.outage_excused(*seen, say.stood_still(still, longest) if itself else excuse)
        return Concern(Cause.OUTAGE, said, Verdict.CANNOT_JUDGE, figures=figures, paths=paths)
    said = say.outage_beyond(*seen, deal.availability_percent)
    return Concern(Cause.OUTAGE, said, Verdict.FAIL, figures=figures, paths=paths)


def _excuse(
    t: TrialResult, load: Outcome, p: Experiment, deal: Contract, way: Direction, dead: Dead, measured: float
) -> str:
    """What other than the path may have caused the silence, in words; '' if nothing.

    A card may have lost its link. An end from which CPU was withheld excuses only as many seconds as it may have stood
    still. So do a receiver that held the sender up, and a sender of whose datagrams hardly any were lost.
    """
    if t.carriers_lost:
        return say.carriers_lost(t.carriers_lost)
    stopped = max((explained(end.cpu) for end in t.ends), default=0.0) * measured
    if 0 < stopped >= dead.longest:
        return say.stopped_meanwhile()
    if p.protocol is Protocol.UDP and (p.udp_rate_bps or 0.0) > ceiling(deal, p.protocol, p.write_size).bps:
        return say.more_than_sold()
    seen = t.sender(way).sockets
    held = max((s.receiver_limited_ms or 0.0 for s in (seen.sockets if seen else ())), default=0.0) / 1000
    tcp = t.receiver(way).tcp
    if p.protocol is Protocol.TCP and held >= NEARLY * dead.longest and tcp and tcp.zero_window_sent:
        return say.receiver_closed(held, tcp.zero_window_sent)
    return say.sender_stopped() if p.protocol is Protocol.UDP and _not_sent(load, p, deal, way, dead) else ""


def _not_sent(load: Outcome, p: Experiment, deal: Contract, way: Direction, dead: Dead) -> bool:
    """Whether the datagrams of the dead seconds were never sent: few were lost, and correspondingly fewer sent."""
    if not load.datagrams or load.lost is None or not p.udp_rate_bps:
        return False
    mine = [i for i in load.intervals if i.direction is way and i.counted]
    silent = sum(i.end - i.start for i in mine if any(a <= i.start < b for a, b in dead.runs))
    span = sum(i.end - i.start for i in mine)
    if not 0 < silent < span:
        return False
    usual = load.datagrams / (span - silent)  # in a second that was not silent
    asked = p.udp_rate_bps / 8 / datagram(p, deal)
    return load.lost < FEW_LOST * usual * silent and load.datagrams < asked * (span - NEARLY * silent)


def standstills(t: TrialResult) -> list[tuple[str, HeldUp]]:
    """The times in which an end stood still, by its name; none during which it took a sample of itself."""
    return [(end.name, one) for end in t.ends for one in stood_still(end)]


def stood_still(end: EndRecord) -> list[HeldUp]:
    return [one for one in end.held_up if not any(one.holds(sample.t) for sample in end.samples)]


def _held_up(t: TrialResult, dead: Dead) -> tuple[float, float]:
    """How many of the dead seconds an end itself stood still, and for how many seconds it did so at the most."""
    found = [(one.at, one.at + one.seconds) for _, one in standstills(t)]
    if not found:
        return 0.0, 0.0
    covered = 0.0
    for start, end in dead.runs:
        reached = start
        for since, until in sorted(found):
            since, until = max(since - RECOVERS, reached), min(until + RECOVERS, end)
            if until > since:
                covered, reached = covered + until - since, until
    return covered, max(until - since for since, until in found)


def carriers(rung: RungResult) -> list[Concern]:
    """Concerns about cards that lost their link during trials, as the ends report, whatever the trials carried.

    If every second of a trial was at its usual rate, the card's report and the seconds contradict each other, unless
    the link came back at once. The same of the same cards is one concern, however many trials it is about.
    """
    alike: dict[tuple[Cause, frozenset[tuple[str, str]]], list[tuple[Experiment, TrialResult]]] = {}
    for p, t in ((e.parameters, t) for e in rung.experiments for t in e.trials if t.carriers_lost):
        cause = Cause.CONTRADICTION if _never_slow(t, p) else Cause.OWN_CARD
        alike.setdefault((cause, frozenset((c.end, c.card) for c in t.carriers_lost)), []).append((p, t))
    found = []
    for (cause, _), trials in alike.items():
        p, t = trials[0]
        figures = {"times": float(sum(c.times for _, one in trials for c in one.carriers_lost))}
        where = say.in_trials(p, t.repeat, len(trials), rung.paths)
        said = say.carriers_in_trials(t.carriers_lost, where)
        if rates := _never_slow(t, p) if cause is Cause.CONTRADICTION else None:
            said = say.carried_without_link(t.carriers_lost, where, *rates)
            figures |= {"least_bps": rates[0], "usual_bps": rates[1]}
        found.append(Concern(cause, said, provisional=True, figures=figures))
    return found


def _never_slow(t: TrialResult, p: Experiment) -> tuple[float, float] | None:
    """The slowest second and the median one in bit/s of a good trial all of whose seconds were alike, else None."""
    rates = _slowest_second(t, p) if t.ok else None
    return rates if rates and rates[0] >= FULL * rates[1] else None


def _slowest_second(t: TrialResult, p: Experiment) -> tuple[float, float] | None:
    """The slowest second and the median one, in bit/s, of that load and direction in which they differ most.

    None if there are no seconds, or some are missing, as a rate of several seconds hides a short interruption.
    """
    found = []
    for load, way in ((load, way) for load in t.loads for way in ways(p)):
        late = [i for i in load.intervals if i.direction is way and i.end > START and i.end - i.start > 0.5]
        if not late or max(i.end - i.start for i in late) > RUN - 0.5 or dead_seconds(late):
            return None
        found.append((min(i.bps for i in late), statistics.median(i.bps for i in late)))
    return min(found, key=lambda one: one[0] / max(1.0, one[1]), default=None)


def _opens_until(t: TrialResult, p: Experiment, rung: RungResult) -> float:
    """The second up to which TCP may carry little because its window is still opening (over a satellite, the third)."""
    if p.protocol is not Protocol.TCP:
        return START
    idle = idle_round_trip(t, rung)
    before = rung.evidence.rtt_ms if rung.evidence else None
    round_trip = (idle.p50_ms or idle.avg_ms) if idle else before
    return max(START, OPENING * (round_trip or 0.0) / 1000)


def dead_seconds(intervals: list[Interval], opens_until: float = START) -> Dead | None:
    """The seconds of one direction in which almost nothing arrived, including gaps in the record; None if none.

    A second that carried something counts only if it ended after `opens_until`.
    """
    late = sorted((i for i in intervals if i.end > START), key=lambda i: i.start)
    few = len(late) <= FEW_SECONDS
    alive = [i.bps for i in (intervals if few else late) if i.bytes]
    if len(late) < 2 or not alive:
        return None
    usual = max(alive) if few else statistics.median(alive)
    spans: list[tuple[float, float]] = []
    before = late[0].start
    for i in late:
        if i.start - before > 0.5:
            spans.append((before, i.start))
        if i.bps < DEAD * usual and not (i.bytes and i.end <= opens_until):
            spans.append((i.start, i.end))
        before = max(before, i.end)
    if not spans:
        return None
    runs = [list(spans[0])]
    for start, end in spans[1:]:
        if start - runs[-1][1] < 0.5:
            runs[-1][1] = end
        else:
            runs.append([start, end])
    return _dead((start, end) for start, end in runs)


def _dead(spans: Iterable[tuple[float, float]]) -> Dead | None:
    runs = tuple((start, end) for start, end in spans if end - start >= PIECE)
    if not runs:
        return None
    at, until = max(runs, key=lambda run: run[1] - run[0])
    return Dead(sum(b - a for a, b in runs), until - at, at, runs)


def by_chance(lost: int, sent: int, share: float) -> float:
    """The probability of at least `lost` losses if each ping or datagram is lost with the probability `share`."""
    if lost <= 0:
        return 1.0
    if share <= 0:
        return 0.0
    mean = sent * share
    if mean > 50:  # close to the normal distribution, and exp(-mean) underflows
        return 0.5 * math.erfc((lost - 0.5 - mean) / math.sqrt(2 * mean))
    below, term = 0.0, math.exp(-mean)  # Poisson: losses are rare
    for k in range(lost):
        below += term
        term *= mean / (k + 1)
    return max(0.0, 1 - below)


def plateau(seconds: tuple[float, ...]) -> float | None:
    """The later level of a rate that fell once and stayed lower, as when a token bucket is empty; None if none did."""
    best: tuple[float, float] | None = None
    sums = [0.0, *accumulate(seconds)]
    for k in range(2, len(seconds) - PART + 1):
        if (sums[-1] - sums[k]) / (len(seconds) - k) > (1 - FELL / 2) * sums[k] / k:
            continue  # true for nearly all of a soak's seconds; exact sums for each would take minutes
        before, after = seconds[:k], seconds[k:]
        high, low = statistics.fmean(before), statistics.fmean(after)
        if high <= 0 or high - low < FELL * high:
            continue
        noise = math.sqrt(_variance(before, high) / len(before) + _variance(after, low) / len(after))
        sharp = (high - low) / max(noise, 1e-4 * high)
        if sharp > 6 and (best is None or sharp > best[0]):
            best = sharp, low
    return best[1] if best else None


def _variance(values: tuple[float, ...], mean: float) -> float:
    """The variance, but never quite zero: two equal seconds do not prove that there is no noise at all."""
    spread = variance(values) if len(values) > 1 else 0.0
    return max(spread, (0.002 * mean) ** 2)


def stalled_answers(rung: RungResult) -> list[Concern]:
    """Concerns about request-and-response trials that the path or the far end broke off, as no rate shows that."""
    broken = [
        (e.parameters, t)
        for e in rung.experiments
        for t in e.trials
        if e.parameters.protocol is Protocol.RR and not t.ok and t.fault in (Fault.PATH, Fault.PEER)
    ]
    return [
        Concern(Cause.SILENCE, say.broken_off(p, t.repeat, t.reason, rung.paths), provisional=True) for p, t in broken
    ]


def lost_trials(rung: RungResult) -> list[Concern]:
    """A concern about attempts that ended because the far end was out of reach, whatever their repeats show.

    If control uses the card under test, the path itself may have been dead; otherwise it may have been the far machine.
    Neither allows a firm PASS.
    """
    lost = [(e, t, i) for e in rung.experiments for t in e.trials for i in t.interruptions]
    if not lost:
        return []
    e, t, first = lost[0]
    shared = any(i.shared for _, _, i in lost)
    said = say.peer_lost(len(lost), first.started, e.parameters, t.repeat, first.reason, shared, rung.paths)
    if gone := [c for _, _, i in lost for c in i.carriers]:
        said = say.with_carriers(said, gone)
    figures = {"attempts": float(len(lost)), "seconds": sum(i.seconds for _, _, i in lost)}
    if shared:
        return [Concern(Cause.OUTAGE, said, Verdict.CANNOT_JUDGE, figures=figures)]
    return [Concern(Cause.PEER_LOST, said, provisional=True, figures=figures)]
