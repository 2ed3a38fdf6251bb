"""Finds figures of one trial that cannot all be true, by comparing places that record the same event.

Needs only the trial and its experiment. A missing figure is not held against the trial here; `accounts` decides whether
there are enough for a verdict. Only what no run of linkladder writes is a contradiction, not what is merely odd.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence

from linkladder.judge.ceilings import counted_seconds
from linkladder.judge.evidence import ways
from linkladder.model import (
    CpuUse,
    Direction,
    EndRecord,
    Experiment,
    Interval,
    NicCounters,
    Outcome,
    Path,
    PathMtu,
    Protocol,
    Role,
    Rtt,
    SocketStat,
    TrialResult,
)
from linkladder.phrases import contradictions as say

AGREE = 0.02  # share by which a sum may differ
EDGE = 1.5  # seconds by which the counted part may be longer than asked
WHOLE = 0.9  # share of the asked time that each flow must have run
LOST = 0.001  # share of the datagrams
FULL = 110.0  # percent of a core; a little more than 100 can be read, as two kinds of clock are compared
ROUNDED = 2.0  # percent of a core by which two figures of the same seconds may differ
LARGEST = 1 << 20  # bytes per packet; no card handles larger ones
PORTS = 65535
ALIKE = 4  # so many different seconds are never equal in two loads by chance
HAIR = 0.02  # milliseconds of rounding
APART = 3.0  # times by which two jitters may differ, as not every flow has datagrams in each second
DEAD = 0.2  # share of a second's bytes; if its flows make less than that, the second hides an outage
CARRIED = 0.4  # share of a trial's bytes that its connections must have carried when their end looked at them


def contradiction(t: TrialResult, p: Experiment, paths: Sequence[Path] = ()) -> str:
    """The first contradiction in a throughput trial; '' if there is none. `paths`: the rung's, to name its pairs."""
    rules = (
        _record(t, p), _ways(t, p, paths), _seconds(t, p), _flows(t, p, paths),
        _datagrams(t, p), _negative(t), _ends(t),
    )  # fmt: skip
    return next((said for rule in rules for said in rule), "")


def _record(t: TrialResult, p: Experiment) -> Iterable[str]:
    """A good trial that has a reason to fail, cut output, too small a buffer, a part or name twice, or a late leg."""
    if why := next((leg.outcome.reason for leg in t.legs if leg.outcome.ok and leg.outcome.reason), ""):
        yield say.good_with_a_reason(why)
    if any(c.cut > 0 for leg in t.legs if leg.role is Role.LOAD for c in leg.commands):
        yield say.cut_and_read()
    granted = [size for leg in t.legs for size in (leg.outcome.window_read_back.near, leg.outcome.window_read_back.far)]
    if p.window and (small := next((size for size in granted if 0 < size < 0.99 * p.window), 0)):
        yield say.small_buffer(small, p.window)
    if p.protocol is Protocol.TCP:  # paced UDP makes its seconds alike
        loads = (leg.outcome for leg in t.legs if leg.role is Role.LOAD)
        if _twice([i for f in one.flows for i in f.intervals] or one.intervals for one in loads):
            yield say.one_part_twice()
    names = Counter(end.name for end in t.ends)
    if any(count > 1 for count in names.values()):
        yield say.one_name_for_two_ends(next(name for name, count in names.items() if count > 1))
    if t.seconds > 0 and any(leg.began > t.seconds + EDGE or leg.began < 0 for leg in t.legs):
        yield say.began_afterwards()


def _twice(loads: Iterable[Sequence[Interval]]) -> bool:
    """Whether two of these are alike in all that is told of each second, as a copy is.

    Bytes alone may be alike: what two equal token buckets let through is.
    """
    seen = Counter(tuple((i.bytes, i.retransmits, i.rtt_ms, i.cwnd) for i in seconds) for seconds in loads)
    return any(times > 1 and len({number for number, *_ in one}) >= ALIKE for one, times in seen.items())


def _ways(t: TrialResult, p: Experiment, paths: Sequence[Path]) -> Iterable[str]:
    asked = {str(way) for way in ways(p)}
    rates = t.by_direction
    if strange := sorted(set(rates) - asked):
        yield say.other_way(p, strange, paths)
    total = sum(rates.values())
    if rates and abs(total - t.goodput_bps) > AGREE * max(total, t.goodput_bps):
        yield say.other_sum(total, t.goodput_bps)


def _seconds(t: TrialResult, p: Experiment) -> Iterable[str]:
    if t.seconds < 0:
        yield say.ended_before()
    if any(i.start < -0.5 for i in t.intervals):
        yield say.seconds_before()
    counted = [i for i in t.intervals if i.counted]
    if not counted:
        return
    took = counted_seconds(t, p)
    if took > p.duration + EDGE:
        yield say.counted_too_long(took, p.duration)
    if min(i.start for i in counted) < p.warmup - 0.5:
        yield say.warmup_counted(p.warmup)
    for way in ways(p):
        spans = sorted((i.start, i.end) for i in counted if i.direction is way)
        if any(later[0] < first[1] - 0.5 for first, later in itertools.pairwise(spans)):
            yield say.seconds_overlap()
    for one in t.loads:
        yield from _seconds_of_flows(one)


def _seconds_of_flows(one: Outcome) -> Iterable[str]:
    """Each second of a load must be the sum of its flows' seconds, if all flows have that second, and each flow's bytes
    the sum of its own.
    """
    made: dict[tuple[float, float, Direction], list[int]] = {}
    for f in one.flows:
        for i in f.intervals:
            made.setdefault((i.start, i.end, f.direction), []).append(i.bytes)
    for f in one.flows:
        counted = [i.bytes for i in f.intervals if i.counted]
        if sum(counted) and abs(sum(counted) - f.bytes) > AGREE * max(sum(counted), f.bytes):
            yield say.flow_differs(f.bytes, sum(counted))
    for i in one.intervals:
        parts = made.get((i.start, i.end, i.direction), [])
        every = len(parts) == sum(f.direction is i.direction for f in one.flows) > 0
        if i.counted and every and sum(parts) < DEAD * i.bytes:
            yield say.second_differs(i.start, i.bytes, sum(parts))


def _flows(t: TrialResult, p: Experiment, paths: Sequence[Path]) -> Iterable[str]:
    known = [f for f in t.flows if f.local_port or f.remote_port]
    seen = Counter((f.direction, f.local, f.local_port, f.remote, f.remote_port) for f in known)
    alike = _twice(f.intervals for f in t.flows if p.protocol is Protocol.TCP)
    if alike or any(count > 1 for count in seen.values()):
        yield say.one_flow_twice()
    for f in t.flows:
        if len(t.flows) > 1 and not f.total_bytes and any(one.total_bytes for one in t.flows):
            yield say.empty_flow()
        if f.seconds < 0 or f.bps < 0:
            yield say.flow_below_nothing()
        if 0 < f.seconds < WHOLE * p.duration:
            yield say.short_flow(f.seconds, p.duration)
        if not all(0 <= port <= PORTS for port in (f.local_port, f.remote_port)):
            yield say.no_port()
    there = {f.direction for f in t.flows}
    if there and (lacking := set(ways(p)) - there):
        yield say.no_flow(p, sorted(lacking)[0], paths)


def _datagrams(t: TrialResult, p: Experiment) -> Iterable[str]:
    """The losses of the trial, its flows and its seconds must agree, and no more may arrive than was paced or sent."""
    counted = [i for i in t.intervals if i.counted]
    if p.protocol is not Protocol.UDP:
        if t.datagrams or any(f.datagrams for f in t.flows) or any(i.datagrams for i in counted):
            yield say.datagrams_of_tcp()
        return
    if min([t.jitter_ms or 0.0, *(f.lost or 0 for f in t.flows), *(i.lost or 0 for i in t.intervals)]) < 0:
        yield say.losses_below_nothing()
    if (t.jitter_ms or 0.0) > 1000 * max(t.seconds, p.duration):
        yield say.long_jitter(t.jitter_ms or 0.0)
    for one in t.loads:
        yield from _jitter(one)
    if p.udp_rate_bps and (t.offered_bps or 0.0) > 1.1 * p.udp_rate_bps:
        yield say.offered_more(t.offered_bps or 0.0, p.udp_rate_bps)
    arrived = t.goodput_bps
    if p.udp_rate_bps and arrived > 1.05 * p.udp_rate_bps:
        yield say.more_than_asked(arrived, p.udp_rate_bps)
    if t.offered_bps is not None and arrived > 1.05 * t.offered_bps:
        yield say.more_than_sent(arrived, t.offered_bps)
    if t.datagrams == 0 and arrived > 0:
        yield say.none_sent(arrived)
    if not t.datagrams or t.lost is None:
        return
    share = t.lost / t.datagrams
    for parts in (t.flows, counted):
        lost = sum(one.lost or 0 for one in parts)
        sent = sum(one.datagrams or 0 for one in parts)
        if sent and lost > 20 and lost / sent > share + max(LOST, 0.2 * share):
            yield say.other_loss(share, lost / sent)
        if sent and not 0.5 < sent / t.datagrams < 2:
            yield say.other_datagrams(sent, t.datagrams)


def _jitter(one: Outcome) -> Iterable[str]:
    """A load's jitter must be the mean of its flows' jitter, and of its counted seconds in which anything arrived."""
    counted = [i.jitter_ms for i in one.intervals if i.counted and i.datagrams and i.jitter_ms is not None]
    of_flows = [f.jitter_ms for f in one.flows if f.jitter_ms is not None]
    for parts in (counted, of_flows):
        if one.jitter_ms is not None and parts and far_apart(one.jitter_ms, statistics.fmean(parts)):
            yield say.other_jitter(one.jitter_ms, statistics.fmean(parts))


def far_apart(claimed: float, seen: float) -> bool:
    """Whether two jitters of the same seconds, in ms, differ too much for both to be true."""
    return max(claimed, seen) > APART * min(claimed, seen) + HAIR


def _negative(t: TrialResult) -> Iterable[str]:
    """No figure may be negative: a counter that went backwards was reset or wrapped during the trial."""
    seconds = itertools.chain(t.intervals, *(f.intervals for f in t.flows))
    seen = [v for i in seconds for v in (i.rtt_ms, i.cwnd, i.retransmits, i.jitter_ms, i.lost, i.datagrams)]
    seen += [v for f in t.flows for v in (f.retransmits, f.jitter_ms, f.datagrams)]
    granted = [size for one in t.loads for size in (one.window_read_back.near, one.window_read_back.far)]
    looks = [n for end in t.ends for look in end.windows for n in (*look.cwnd_bytes, *look.ssthresh_bytes)]
    if any(v is not None and v < 0 for v in (*seen, *granted, *looks)):
        yield say.below_nothing()
    for end in t.ends:
        for card in end.nics:
            if counters := _backwards(card):
                yield say.card_backwards(counters, card.name, end.name)
            if too_large := next((b for b, n in _packed(card) if n and b > n * LARGEST), 0):
                yield say.packets_too_large(card.name, end.name, too_large)
        if end.memory is not None and max(end.memory.peak, end.memory.mean) > end.memory.total > 0:
            yield say.more_memory_than_there_is(end.name)
        if end.memory is not None and min(end.memory.total, end.memory.mean, end.memory.peak) < 0:
            yield say.memory_below_nothing(end.name)
        if end.sockets is not None and any(min(_of_socket(s)) < 0 for s in end.sockets.sockets):
            yield say.tcp_backwards(end.name)
        if end.tcp is not None and any(v is not None and v < 0 for v in vars(end.tcp).values()):
            yield say.tcp_backwards(end.name)
        if (end.udp_dropped or 0) < 0:
            yield say.udp_backwards(end.name)


def _of_socket(s: SocketStat) -> tuple[float, ...]:
    figures = (
        s.retransmits, s.sent_bytes, s.received_bytes, s.rtt_ms, s.cwnd_bytes, s.send_buffer, s.receive_buffer,
        s.out_of_order, s.zero_window, s.receiver_limited_ms, s.ssthresh_bytes,
    )  # fmt: skip
    return tuple(value for value in figures if value is not None) or (0,)


def _backwards(card: NicCounters) -> str:
    """The kind of counter that went backwards; '' if none did."""
    counts = {
        "bytes": (card.rx_bytes, card.tx_bytes),
        "packets": (card.rx_packets, card.tx_packets),
        "errors": (card.rx_errors, card.tx_errors, card.crc_errors or 0),
        "drops": (card.rx_drops, card.tx_drops),
        "pauses": (card.rx_pause or 0, card.tx_pause or 0),
        "carrier": (card.carrier_lost or 0,),
    }
    return next((name for name, values in counts.items() if min(values) < 0), "")


def _packed(card: NicCounters) -> tuple[tuple[int, int], ...]:
    return (card.rx_bytes, card.rx_packets), (card.tx_bytes, card.tx_packets)


def of_connections(t: TrialResult, p: Experiment) -> Iterable[str]:
    """The bytes that an end's system counted on the connections, shortly before their end, must not be far less than
    the trial's.
    """
    for way in ways(p) if p.protocol is Protocol.TCP and len(t.loads) == 1 else ():
        moved = sum(f.total_bytes for f in t.flows if f.direction is way)
        sent, received = t.sender(way), t.receiver(way)
        counts = ((sent, [s.sent_bytes for s in _seen(sent)]), (received, [s.received_bytes for s in _seen(received)]))
        for end, known in ((end, [v for v in values if v is not None]) for end, values in counts):
            if known and sum(known) < CARRIED * moved:
                yield say.connections_carried(end.name, sum(known), moved)


def _seen(end: EndRecord) -> tuple[SocketStat, ...]:
    return end.sockets.sockets if end.sockets else ()


def _ends(t: TrialResult) -> Iterable[str]:
    for end in t.ends:
        if end.cpu is not None and (busy := _no_share(end.cpu)) is not None:
            yield say.impossible_share(end.name, busy)
        elif end.cpu is not None and _no_sum(end.cpu):
            yield say.cores_differ(end.name)


def _no_share(cpu: CpuUse) -> float | None:
    shares = (cpu.busiest, cpu.percent, *cpu.per_core, 100 * (cpu.starved or 0.0))
    return next((v for v in shares if not -1 <= v <= FULL), None)


def _no_sum(cpu: CpuUse) -> bool:
    """Whether the busiest core, the mean and the sum do not fit the figures of the single cores."""
    if cpu.percent > cpu.busiest + ROUNDED:
        return True
    if not cpu.per_core:
        return False
    apart = abs(max(cpu.per_core) - cpu.busiest) > ROUNDED
    return apart or abs(sum(cpu.per_core) - 100 * cpu.cores_used) > ROUNDED * len(cpu.per_core)


def of_pings(r: Rtt) -> str:
    """What is impossible in a series of pings; '' if nothing is."""
    if not 0 <= r.received <= r.sent:
        return say.pings_answered(r.received, r.sent)
    if any(
        v is not None and v < 0 for v in (r.min_ms, r.avg_ms, r.max_ms, r.p50_ms, r.p95_ms, r.stddev_ms, *r.samples_ms)
    ):
        return say.negative_round_trip()
    middle = r.p50_ms if r.p50_ms is not None else r.avg_ms
    series = ((r.min_ms, middle, r.max_ms), (r.min_ms, r.avg_ms, r.max_ms), (r.p50_ms, r.p95_ms, r.max_ms))
    known = [[v for v in one if v is not None] for one in series]
    if any(later < first - HAIR - AGREE * first for one in known for first, later in itertools.pairwise(one)):
        return say.round_trips_out_of_order()
    if len(r.samples_ms) > r.received:
        return say.pings_answered(len(r.samples_ms), r.received)
    if r.received and len(r.samples_ms) == r.received and r.min_ms is not None:
        least = min(r.samples_ms)
        if r.min_ms < least * (1 - AGREE) - HAIR:
            return say.other_round_trip(r.min_ms, least)
    if r.received and len(r.samples_ms) == r.received and r.p50_ms is not None:
        low, high = statistics.median_low(r.samples_ms), statistics.median_high(r.samples_ms)
        if not low - HAIR - AGREE * low <= r.p50_ms <= high + HAIR + AGREE * high:
            return say.other_median(r.p50_ms, low)
    return _of_samples(r) if r.received and len(r.samples_ms) == r.received else ""


def _of_samples(r: Rtt) -> str:
    """Which of a series' mean, 95th percentile and largest round trip is shorter than its samples make it; '' if none.

    One that is longer only speaks against the link.
    """
    ordered = sorted(r.samples_ms)
    made = (
        (say.MEAN, r.avg_ms, statistics.fmean(ordered)),
        (say.PERCENTILE_95, r.p95_ms, ordered[math.floor(0.95 * (len(ordered) - 1))]),
        (say.LARGEST, r.max_ms, ordered[-1]),
    )
    for name, claimed, seen in made:
        if claimed is not None and claimed < seen * (1 - AGREE) - HAIR:
            return say.other_than_samples(name, claimed, seen)
    return ""


def of_another_kind(t: TrialResult, p: Experiment) -> str:
    """What is impossible in a good trial that is said to be pings, probes or transactions; '' if nothing is.

    Figures of a load there are those of another trial: as no limit is applied to them, a loss in it would not be seen.
    """
    if p.protocol in (Protocol.TCP, Protocol.UDP):
        return ""
    if t.seconds < 0:
        return say.ended_before()
    loaded = t.flows or t.lost is not None or t.offered_bps is not None
    if loaded or (t.intervals and p.protocol is not Protocol.RR):
        return say.figures_of_a_load()
    return say.no_transactions() if p.protocol is Protocol.RR and t.transactions is None else ""


def of_transactions(t: TrialResult, p: Experiment) -> str:
    """What is impossible in transactions; '' if nothing is.

    No figure may be negative or out of order, the rate must be that of their seconds, and they must be those asked for.
    """
    seen = t.transactions
    if seen is None:
        return ""
    ordered = [v for v in (seen.min_us, seen.p50_us, seen.p90_us, seen.p99_us, seen.max_us) if v is not None]
    if seen.rate < 0 or min([*ordered, seen.mean_us or 0.0]) < 0:
        return say.transactions_below_nothing()
    if ordered != sorted(ordered):
        return say.latencies_out_of_order()
    bounds = seen.mean_us, seen.min_us, seen.max_us
    if all(v is not None for v in bounds) and not _within(*(v or 0.0 for v in bounds)):
        return say.latencies_out_of_order()
    asked = p.sessions * max(1, len(t.loads)), p.request, p.response
    if (seen.sessions, seen.request, seen.response) != asked:
        return say.transactions_not_asked((seen.sessions, seen.request, seen.response), asked)
    counted = [i for i in t.intervals if i.counted and i.datagrams is not None]
    seconds = sum(i.end - i.start for i in counted)
    made = sum(i.datagrams or 0 for i in counted) / seconds if seconds > 0 else 0.0
    if made and abs(seen.rate - made) > 2 * AGREE * max(seen.rate, made):
        return say.other_transactions(seen.rate, made)
    return ""


def _within(value: float, least: float, most: float) -> bool:
    return least * (1 - AGREE) <= value <= most * (1 + AGREE)


def of_probes(found: PathMtu) -> str:
    """What is impossible in the results of DF probes; '' if nothing is."""
    if set(found.passed) & set(found.failed):
        return say.passed_and_failed()
    if found.passed and found.mtu is not None and found.mtu != max(found.passed):
        return say.not_the_largest(found.mtu, max(found.passed))
    if found.black_hole and not found.failed:
        return say.hole_without_a_loss()
    return ""
