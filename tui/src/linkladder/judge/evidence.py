"""Gathers the figures that speak for or against each limiter, from a trial and from its rung."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from linkladder.judge.ceilings import ceiling
from linkladder.judge.disorder import Disorder, disorder
from linkladder.judge.stats import variation
from linkladder.judge.withheld import explained, lacked, withheld
from linkladder.model import (
    CarrierLost,
    Contract,
    CpuUse,
    Direction,
    End,
    EndRecord,
    Experiment,
    Fault,
    Interval,
    NicCounters,
    Outcome,
    PathMtu,
    Protocol,
    Rtt,
    RungResult,
    TcpCounters,
    TrialResult,
)
from linkladder.model.same_setting import same_load_but_streams

BUSY = 95.0  # percent of one core
CLOSE = 85.0  # percent of one core above which it may be what limits
WARM = 75.0  # percent of one core above which it may be, if nothing shows that the path does
CALM = 60.0  # percent of one core; an end that uses less does not delay its own pings


@dataclass(frozen=True)
class Paced:
    """One paced UDP trial: what the sender put out, what arrived, and the share lost on the way."""

    offered_bps: float
    delivered_bps: float
    loss: float
    datagrams: int = 0
    uneven: bool = False  # whether the sender was too busy to keep an even pace, so that it sent in bursts


@dataclass(frozen=True)
class Evidence:
    """What is known about one direction of one trial; None for what was not measured."""

    goodput: float
    ceiling: float | None
    streams: int
    mss: int
    sender: str  # the ends' names
    receiver: str
    sender_busy: float | None = None  # percent of the busiest core
    receiver_busy: float | None = None
    sender_starved: float = 0.0  # 0..1, as in `withheld`
    receiver_starved: float = 0.0
    sender_lacked: float = 0.0  # 0..1 of all its cores' time, as in `lacked`
    receiver_lacked: float = 0.0
    loss: float | None = None  # retransmitted share of the segments sent
    retransmits: int | None = None
    disorder: Disorder | None = None
    zero_windows: int = 0
    receiver_drops: int = 0
    receiver_packets: int = 0
    heard: EndRecord | None = None  # of the receiver
    held: float | None = None  # share of the time that the receiver's window held the sender
    steady: bool = False  # whether an autotuned window stayed at the limit that the granted buffer sets
    flows: int = 0
    without_link: tuple[CarrierLost, ...] = ()  # the ends' cards that lost their link
    idle: Rtt | None = None
    idle_ms: float | None = None
    loaded_ms: float | None = None
    calm_ms: float | None = None  # under load, as pinged by the less busy end
    floor_ms: float | None = None  # under load, the value that a fifth of the round trips stay below
    window: float | None = None  # bytes of one stream
    window_fixed: bool = False
    congestion: tuple[float, ...] = ()  # bytes of a connection's congestion window in each counted second
    seconds: tuple[float, ...] = ()  # bps of each counted second
    burst: float | None = None  # the first second's rate divided by the plateau's
    total_bytes: int = 0
    segment: int = 0  # bytes of the sender's largest segments; 0 where its system tells none
    path_mtu: PathMtu | None = None
    paced: tuple[Paced, ...] = ()
    by_streams: tuple[tuple[int, float], ...] = ()  # other settings of this rung: streams, bps

    @property
    def ratio(self) -> float | None:
        return self.goodput / self.ceiling if self.ceiling else None

    @property
    def rise_ms(self) -> float | None:
        if self.idle_ms is None or self.loaded_ms is None:
            return None
        return self.loaded_ms - self.idle_ms

    @property
    def cv(self) -> float | None:
        return variation(self.seconds, least=3)


def direction_bps(trial: TrialResult | Outcome, experiment: Experiment, direction: Direction) -> float:
    """The goodput of one direction in bit/s; for a one-way trial without rates by direction, its whole goodput."""
    if str(direction) in trial.by_direction:
        return trial.by_direction[str(direction)]
    return trial.goodput_bps if experiment.direction is direction else 0.0


def ways(experiment: Experiment) -> tuple[Direction, ...]:
    """The directions an experiment measures."""
    if experiment.direction in (Direction.DUPLEX, Direction.BOTH):
        return (Direction.FORWARD, Direction.REVERSE)
    return (experiment.direction,)


def parameters(rung: RungResult, experiment: str) -> Experiment:
    """The parameters of the rung's experiment with that id."""
    return next(e.parameters for e in rung.experiments if e.parameters.id == experiment)


def counted(intervals: Iterable[Interval], direction: Direction) -> tuple[float, ...]:
    """The rates in bit/s of the whole counted seconds of one direction, summed over the flows if they are separate."""
    sums: dict[tuple[float, float], int] = {}
    for i in intervals:
        if i.counted and i.direction is direction and i.end > i.start:
            sums[i.start, i.end] = sums.get((i.start, i.end), 0) + i.bytes
    if not sums:
        return ()
    typical = statistics.median(end - start for start, end in sums)
    return tuple(b * 8 / (e - s) for (s, e), b in sorted(sums.items()) if e - s > typical / 2)


def gather(
    trial: TrialResult,
    experiment: Experiment,
    contract: Contract,
    direction: Direction,
    rung: RungResult | None,
    bounded: bool,
) -> Evidence:
    """Gather everything that the rules on limiters use; `bounded`: whether the contract's ceiling applies."""
    # With several paths, the busiest end may be what limits all of them, as they begin and end together.
    senders, receivers = trial.senders(direction), trial.receivers(direction)
    sender, receiver = max(senders, key=_pressed), max(receivers, key=_pressed)
    best = ceiling(contract, experiment.protocol, experiment.write_size)
    sent, heard = sender.tcp or TcpCounters(), receiver.tcp or TcpCounters()
    retransmits, loss = _loss(trial, direction, sent, best.payload_bytes)
    idle = idle_round_trip(trial, rung)
    window, fixed = _window(trial, experiment, direction)
    seconds = counted(trial.intervals, direction)
    return Evidence(
        goodput=direction_bps(trial, experiment, direction),
        ceiling=best.bps if bounded else None,
        streams=max(1, experiment.streams),
        mss=best.payload_bytes,
        sender=sender.name,
        receiver=receiver.name,
        sender_busy=sender.cpu.busiest if sender.cpu else None,
        receiver_busy=receiver.cpu.busiest if receiver.cpu else None,
        sender_starved=withheld(sender.cpu),
        receiver_starved=withheld(receiver.cpu),
        sender_lacked=lacked(sender.cpu),
        receiver_lacked=lacked(receiver.cpu),
        loss=loss,
        retransmits=retransmits,
        disorder=disorder(trial, direction),
        zero_windows=max(heard.zero_window_sent or 0, sent.zero_window_probes or 0),
        receiver_drops=sum(one.carried.rx_drops for one in receivers),
        receiver_packets=sum(one.carried.rx_packets for one in receivers),
        heard=receiver,
        held=_held(sender),
        steady=_steady(trial, direction, sender),
        flows=sum(f.direction is direction for f in trial.flows),
        without_link=trial.carriers_lost,
        idle=idle,
        idle_ms=idle.p50_ms if idle and idle.p50_ms is not None else (idle.avg_ms if idle else None),
        loaded_ms=_loaded(trial, direction),
        calm_ms=_calm(trial, direction, sender, receiver),
        floor_ms=_floor(trial.rtt_under_load),
        window=window,
        window_fixed=fixed,
        congestion=tuple(_windows(trial, direction)),
        seconds=seconds,
        burst=_burst(trial, direction, seconds),
        total_bytes=sum(f.total_bytes for f in trial.flows if f.direction is direction),
        segment=max((s.mss or 0 for s in sender.sockets.sockets), default=0) if sender.sockets else 0,
        path_mtu=trial.path_mtu or probed(rung, direction),
        paced=paced_trials(rung, direction),
        by_streams=by_streams(rung, experiment, direction),
    )


def _pressed(end: EndRecord) -> tuple[float, float]:
    return withheld(end.cpu), end.cpu.busiest if end.cpu else 0.0


def _loss(trial: TrialResult, direction: Direction, sent: TcpCounters, mss: int) -> tuple[int | None, float | None]:
    """The retransmitted segments and their share, by the host's counters or else by the tool's."""
    retransmits = sent.retransmits
    flows = [f for f in trial.flows if f.direction is direction]
    if retransmits is None and any(f.retransmits is not None for f in flows):
        retransmits = sum(f.retransmits or 0 for f in flows)
    if retransmits is None:
        return None, None
    carried = sum(f.total_bytes for f in flows) or trial.goodput_bps / 8 * max(trial.seconds, 1)
    segments = max(sent.segments_sent or 0, carried / max(1, mss), 1)
    return retransmits, min(1.0, retransmits / segments)


def idle_round_trip(trial: TrialResult, rung: RungResult | None) -> Rtt | None:
    """The round trip without load: the trial's own, else of the rung's series of pings."""
    if trial.rtt is not None and trial.rtt.received:
        return trial.rtt
    for e in rung.experiments if rung else ():
        if e.parameters.protocol is Protocol.ECHO:
            for t in e.trials:
                if t.ok and t.rtt is not None and t.rtt.received:
                    return t.rtt
    return None


def _loaded(trial: TrialResult, direction: Direction) -> float | None:
    under = trial.rtt_under_load
    if under is not None and under.received:
        return under.p50_ms if under.p50_ms is not None else under.avg_ms
    seen = [i.rtt_ms for i in trial.intervals if i.counted and i.direction is direction and i.rtt_ms is not None]
    return statistics.median(seen) if seen else None


def _calm(trial: TrialResult, direction: Direction, sender: EndRecord, receiver: EndRecord) -> float | None:
    """The median round trip in ms under load, as pinged by the less busy end; None if no end was calm.

    A busy machine's kernel answers pings at once, so that waiting for that machine's processes is not included.
    """
    if sender.cpu is None or receiver.cpu is None or len({leg.path for leg in trial.legs}) > 1:
        return None
    if min(sender.cpu.busiest, receiver.cpu.busiest) >= CALM:
        return None
    sends = sender.cpu.busiest < receiver.cpu.busiest
    seen = trial.pinged_under_load(End.NEAR if sends is (direction is Direction.FORWARD) else End.FAR)
    return seen.p50_ms if seen is not None and seen.received else None


def _floor(loaded: Rtt | None) -> float | None:
    """The round trip in ms that a fifth stay below: a standing queue raises even these, passing bursts do not."""
    if loaded is None or not loaded.received:
        return None
    if len(loaded.samples_ms) >= 5:
        return sorted(loaded.samples_ms)[len(loaded.samples_ms) // 5]
    return loaded.min_ms


def _window(trial: TrialResult, experiment: Experiment, direction: Direction) -> tuple[float | None, bool]:
    if experiment.window:
        return float(experiment.window), True
    seen = _windows(trial, direction)
    if not seen:
        return None, False
    bounds = _bounds(trial, direction)
    middle = float(statistics.median(seen))
    return (min(middle, *bounds) if bounds and min(seen) >= min(bounds) else middle), False


def _windows(trial: TrialResult, direction: Direction) -> list[float]:
    """A connection's congestion window in bytes in each counted second, by the tool or else by the sender's system."""
    streams = max(1, sum(f.direction is direction for f in trial.flows))
    counted = [i for i in trial.intervals if i.counted and i.direction is direction]
    per_stream = [i.cwnd / streams for i in counted if i.cwnd]
    if per_stream or not counted:
        return per_stream
    first, last = min(i.start for i in counted), max(i.end for i in counted)
    looks = trial.sender(direction).windows
    return [statistics.fmean(w.cwnd_bytes) for w in looks if w.cwnd_bytes and first <= w.t <= last]


def _bounds(trial: TrialResult, direction: Direction) -> list[int]:
    """The sizes in bytes of the sender's and the receiver's buffer, on a system that counts only payload in them."""
    out, in_ = trial.sender(direction), trial.receiver(direction)
    if not out.windows:
        return []
    sent = [s.send_buffer for s in (out.sockets.sockets if out.sockets else ()) if s.send_buffer]
    taken = [s.receive_buffer for s in (in_.sockets.sockets if in_.sockets else ()) if s.receive_buffer]
    return [max(sizes) for sizes in (sent, taken) if sizes]


def _held(sender: EndRecord) -> float | None:
    seen = sender.sockets
    if seen is None or seen.t <= 0:
        return None
    known = [s.receiver_limited_ms for s in seen.sockets if s.receiver_limited_ms is not None]
    return min(1.0, max(known) / (1000 * seen.t)) if known else None


def _steady(trial: TrialResult, direction: Direction, sender: EndRecord) -> bool:
    """Whether the congestion window stayed at the buffer's limit, so that the buffer and not the path held it."""
    seen = _windows(trial, direction)
    if len(seen) >= 3 and (granted := _bounds(trial, direction)):
        return min(seen) >= 0.98 * min(granted)  # the window may exceed the buffer that limits the sender
    bounds = [s.send_buffer for s in (sender.sockets.sockets if sender.sockets else ()) if s.send_buffer]
    if len(seen) < 3 or not bounds or max(seen) - min(seen) > 0.02 * max(seen):
        return False
    return statistics.median(seen) >= 0.45 * max(bounds)  # Linux counts its own bookkeeping in the buffer too


def _burst(trial: TrialResult, direction: Direction, plateau: tuple[float, ...]) -> float | None:
    """How many times the rate of the rest the first second had, as with a token bucket that starts full."""
    first = [i for i in trial.intervals if i.direction is direction and i.start < 0.5 and i.end <= 1.6]
    level = statistics.median(plateau) if plateau else 0.0
    if not first or level <= 0:
        return None
    span = max(i.end for i in first) - min(i.start for i in first)
    return sum(i.bytes for i in first) * 8 / span / level if span > 0 else None


def probed(rung: RungResult | None, direction: Direction) -> PathMtu | None:
    """What DF probes found about that direction; None if there were none."""
    for e in rung.experiments if rung else ():
        if e.parameters.protocol is Protocol.DF and direction in ways(e.parameters):
            for t in e.trials:
                if t.path_mtu is not None:
                    return t.path_mtu
    return None


def paced_trials(rung: RungResult | None, direction: Direction) -> tuple[Paced, ...]:
    """The rung's paced UDP trials in that direction, without those that a busy receiving end may have spoilt."""
    found = []
    for e in rung.experiments if rung else ():
        p = e.parameters
        if p.protocol is Protocol.UDP and p.direction is direction and p.udp_rate_bps:
            for t in e.trials:
                seen = paced(t, p, direction)
                busy = _overwhelmed(t.receiver(direction).cpu, seen.loss) and lost_by(t, direction) != "path"
                if (t.ok or t.fault is Fault.PATH) and not busy:
                    hurried = _overwhelmed(t.sender(direction).cpu, seen.loss)
                    found.append(replace(seen, uneven=hurried))
    return tuple(found)


def _overwhelmed(end: CpuUse | None, loss: float) -> bool:
    """Whether an end may itself have lost the datagrams or sent them in bursts, so that they prove little."""
    return end is not None and (end.busiest >= CLOSE or 0 < explained(end) >= loss)


def lost_by(trial: TrialResult, direction: Direction) -> str:
    """Who lost a UDP trial's datagrams, by the two cards' counters: "path", "end", or "" if that is not clear."""
    out, in_ = trial.sender(direction).carried, trial.receiver(direction).carried
    if not trial.lost or not trial.datagrams or not out.tx_packets or not in_.rx_packets or in_.rx_drops:
        return ""
    lost = trial.lost / trial.datagrams
    between = 1 - in_.rx_packets / out.tx_packets
    if trial.lost < 20:
        return ""
    return "path" if between >= 0.5 * lost else "end" if between <= 0.2 * lost else ""


def counted_each(out: NicCounters, in_: NicCounters, datagrams: int) -> bool:
    """Whether both cards counted packets one by one, so that their counters tell what was lost between them."""
    return bool(out.tx_packets and in_.rx_packets) and out.tx_packets >= 0.98 * datagrams


def of_path(trial: TrialResult, number: int) -> TrialResult:
    """The trial with only the legs of path `number` and their ends, as other paths' ends tell nothing about it."""
    legs = [leg for leg in trial.legs if leg.path == number]
    numbers = list(dict.fromkeys(n for leg in legs for n in (leg.near, leg.far) if 0 <= n < len(trial.ends)))
    place = {n: k for k, n in enumerate(numbers)}
    moved = (replace(g, near=place.get(g.near, len(place)), far=place.get(g.far, len(place))) for g in legs)
    return replace(trial, legs=tuple(moved), ends=tuple(trial.ends[n] for n in numbers))


def paced(trial: TrialResult, experiment: Experiment, direction: Direction) -> Paced:
    """The paced figures of a UDP trial; loss is as the receiver counted it, or else estimated from the two rates."""
    offered = experiment.udp_rate_bps or 0.0
    if trial.offered_bps:
        offered = min(offered, trial.offered_bps)  # a sender that did not keep the pace offered less
    arrived = direction_bps(trial, experiment, direction)
    if arrived <= 0:
        return Paced(offered, 0.0, 1.0)
    if trial.datagrams and trial.lost is not None:
        return Paced(offered, arrived, min(1.0, trial.lost / trial.datagrams), trial.datagrams)
    return Paced(offered, arrived, max(0.0, 1 - arrived / offered) if offered else 0.0)


def by_streams(rung: RungResult | None, experiment: Experiment, direction: Direction) -> tuple[tuple[int, float], ...]:
    """Other numbers of streams of the same load that were measured, and their rates in bit/s."""
    found = []
    for e in rung.experiments if rung else ():
        p = e.parameters
        same = p.direction is direction and p.id != experiment.id and same_load_but_streams(p, experiment)
        if same and e.median_bps:
            found.append((p.streams, e.median_bps))
    return tuple(found)
