"""What the hosts' own counters say of a trial, and whether they account for what the tool claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from linkladder import host, tools
from linkladder.model import (
    Direction,
    End,
    EndRecord,
    Experiment,
    Fault,
    HostSample,
    NicCounters,
    Outcome,
    Path,
    Protocol,
    SocketsSeen,
    SocketStat,
    TcpCounters,
)
from linkladder.wire import CountersReply

Record = TypeVar("Record", TcpCounters, NicCounters)
PING_INTERVAL = 0.2  # seconds between the pings beside a trial
TOLERANCE = 0.05  # how far counters and tool may differ
SMALL = 1 << 20  # bytes below which the counters' other traffic says nothing


def end_records(
    names: Mapping[End, str],
    exp: Experiment,
    outcome: Outcome,
    samples: dict[End, list[HostSample]],
    before: dict[End, CountersReply],
    after: dict[End, CountersReply],
    sockets: dict[End, SocketsSeen],
    offset: dict[End, float],
) -> tuple[EndRecord, ...]:
    """CPU, memory, TCP and interface counters of each end over the trial."""
    made = []
    for end, first in before.items():
        last = after[end]
        tcp = _with_sockets(_difference(TcpCounters(), first.tcp, last.tcp), sockets.get(end))
        nics = (_difference(NicCounters(last.nic.name), first.nic, last.nic),) if first.nic and last.nic else ()
        seen, cpu, memory = samples.get(end, []), None, None
        if seen:
            starved = None
            if first.starved is not None and last.starved is not None:
                span = (exp.warmup + exp.duration) * max(1, len(seen[0].cores))
                starved = min(1.0, max(0.0, (last.starved - first.starved) / span))
            goodput = outcome.goodput_bps if outcome.ok else None
            cpu, memory = host.summarise(
                seen, last.memory_total, exp.warmup, exp.warmup + exp.duration, goodput, starved
            )
        away = round(offset[end] * 1000, 3)
        made.append(EndRecord(names[end], cpu, memory, tcp, nics, sockets.get(end), tuple(seen), away))
    return tuple(made)


def of_trial(sockets: tuple[SocketStat, ...], ports: range | tuple[int, ...]) -> tuple[SocketStat, ...]:
    """The connections that carry a trial's payload; those of an earlier one may still linger."""
    return tuple(
        s
        for s in sockets
        if s.state in ("", "ESTABLISHED") and (s.local_port in ports or s.remote_port in ports) and s.remote_port
    )


def _with_sockets(tcp: TcpCounters, seen: SocketsSeen | None) -> TcpCounters:
    """FreeBSD counts closed windows for each connection only."""
    told = [s.zero_window for s in seen.sockets if s.zero_window is not None] if seen else []
    return replace(tcp, zero_window_sent=sum(told)) if told and tcp.zero_window_sent is None else tcp


def _difference(blank: Record, first: Record, last: Record) -> Record:
    changed: dict[str, Any] = {}
    for f in fields(blank):
        a, b = getattr(first, f.name), getattr(last, f.name)
        if isinstance(a, int) and isinstance(b, int):
            changed[f.name] = b - a
    return replace(blank, **changed)


def of_load_ping(exp: Experiment, seen: list[tuple[float, float]]) -> Outcome:
    """Round trips of the counted part, beside the load."""
    counted = tuple(ms for t, ms in seen if exp.warmup <= t <= exp.warmup + exp.duration)
    if not counted:
        return Outcome(False, Fault.TOOL, "no ping was answered in the counted seconds")
    return Outcome(True, rtt=tools.rtt_of(counted, round(exp.duration / PING_INTERVAL)))


def accounted(result: Outcome, exp: Experiment, path: Path, local: bool, seen: Mapping[End, NicCounters]) -> Outcome:
    """Fail a leg whose bytes the interfaces have not seen, or that shared them with other traffic."""
    if not result.ok or not tools.named(exp.tool).accountable(exp):
        return result
    bytes_by = {way: sum(f.total_bytes for f in result.flows if f.direction == way) for way in Direction}
    sends = {
        End.NEAR: bytes_by[Direction.FORWARD] + (bytes_by[Direction.REVERSE] if local else 0),
        End.FAR: bytes_by[Direction.REVERSE],
    }
    receives = {
        End.NEAR: bytes_by[Direction.REVERSE] + (bytes_by[Direction.FORWARD] if local else 0),
        End.FAR: bytes_by[Direction.FORWARD],
    }
    address = {End.NEAR: path.local, End.FAR: path.remote}
    for end in (End.NEAR,) if local else tuple(End):
        nic = seen.get(end)
        if nic is None:
            return _unaccounted(result, f"the interface counters of {address[end]} could not be read")
        for word, claimed, counted in (("sent", sends[end], nic.tx_bytes), ("received", receives[end], nic.rx_bytes)):
            if claimed > SMALL and counted < claimed * (1 - TOLERANCE):
                return _unaccounted(
                    result,
                    f"{nic.name} at the {end} end {word} {counted} bytes while the test moved {claimed}: "
                    "the traffic takes another interface",
                )
            most = _most(exp, claimed, sends[end] + receives[end] - claimed, _sent(seen, end))
            if claimed > SMALL and counted > most * (1 + TOLERANCE) and word == "received":
                return _unaccounted(
                    result,
                    f"{nic.name} at the {end} end {word} {counted} bytes while the test moved {claimed}: "
                    "other traffic shares the interface",
                )
    return result


def _sent(seen: Mapping[End, NicCounters], receiver: End) -> int:
    """What the other end's interface put out, which is the most that can arrive."""
    nic = seen.get(End.NEAR if receiver == End.FAR else End.FAR)
    return nic.tx_bytes if nic else 0


def _most(exp: Experiment, data: int, opposite: int, sent: int) -> float:
    """The most an interface should count for so much payload: headers of the smallest usual segments, and ACKs."""
    if exp.protocol == Protocol.UDP:  # what its socket lost came in by the interface all the same
        size = exp.write_size or 1470
        return max(sent, data * (size + 62) / size)
    return data * 1514 / 1448 + opposite * 0.06


def _unaccounted(result: Outcome, reason: str) -> Outcome:
    return replace(result, ok=False, fault=Fault.TOOL, reason=reason)
