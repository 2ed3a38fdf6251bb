"""A long trial as the real programs would print it: its noise is drawn, its form is that of tests/captures."""

from __future__ import annotations

import random
from collections.abc import Iterator

from linkladder import tools
from linkladder.model import (
    Command,
    CoreLoad,
    Direction,
    End,
    EndRecord,
    Experiment,
    HostSample,
    Leg,
    NicCounters,
    Outcome,
    Protocol,
    Role,
    SocketsSeen,
    SocketStat,
    TrialResult,
    WindowSeen,
)
from linkladder.tools import Expectation, ToolVersions

NEAR, FAR, PORT = "10.98.3.1", "10.98.4.2", 5301
MODERN = ToolVersions({"iperf": "2.1.8", "ping": "present"})
DAY = 86_400
RULE = "-" * 60
LATE = 0.16  # seconds in which the last of it arrives
Rates = dict[tuple[int, int], float]  # (flow, second) -> share of the usual rate


def experiment(seconds: float, streams: int, direction: Direction, udp_rate: float | None = None) -> Experiment:
    return Experiment(
        "soak", "iperf", Protocol.UDP if udp_rate else Protocol.TCP, direction, streams,
        duration=seconds, warmup=3.0, ping_under_load=True, udp_rate_bps=udp_rate,
    )  # fmt: skip


class _Flow:
    """One connection one way: what both ends print of it, second by second and in sum."""

    def __init__(self, number: int, exp: Experiment, bps: float, forward: bool, draw: random.Random, odd: Rates):
        self.number, self.exp, self.forward = number, exp, forward
        self.udp, self.draw = exp.protocol is Protocol.UDP, draw
        self.seconds = round(exp.warmup + exp.duration)
        self.bytes = [
            round(draw.gauss(1.0, 0.0 if self.udp else 0.08) * bps / 8 * odd.get((number, t), 1.0)) // 1470 * 1470
            for t in range(self.seconds)
        ]
        self.late = 0 if self.udp else round(bps / 8 * LATE)  # after the last second that is printed
        self.lost = [draw.randrange(3) if self.udp and draw.random() < 0.2 else 0 for _ in self.bytes]

    def received(self, mark: str) -> Iterator[tuple[int, str]]:
        for t, count in enumerate(self.bytes):
            yield t, self._row(mark, t, t + 1, count, self._tail(count, self.lost[t]))
        whole = sum(self.bytes) + self.late
        yield (
            self.seconds,
            self._row(mark, 0, self.seconds + LATE * (not self.udp), whole, self._tail(whole, sum(self.lost))),
        )

    def sent(self, mark: str) -> Iterator[tuple[int, str]]:
        window, again = 650, 0
        for t, count in enumerate(self.bytes):
            window += self.draw.randrange(-20, 21)
            resent = self.draw.randrange(20) if self.draw.random() < 0.3 else 0
            again += resent
            yield t, self._row(mark, t, t + 1, count, self._writes(count, resent, max(40, window)))
        whole = sum(self.bytes) + self.late
        yield self.seconds, self._row(mark, 0, self.seconds + LATE * (not self.udp), whole, self._writes(1, again, 640))

    @staticmethod
    def _row(mark: str, start: int, end: float, count: int, tail: str) -> str:
        rate = round(count * 8 / (end - start))
        return f"{mark} {start:.4f}-{end:.4f} sec  {count} Bytes  {rate} bits/sec  {tail}"

    def _tail(self, count: int, lost: int) -> str:
        if self.udp:
            sent = count // 1470 + lost
            share = f"{lost}/{sent} ({100 * lost / sent if sent else 0:.2g}%)"
            late = f"{self.draw.gauss(2, 0.1):.3f}/1.029/11.101/1.517 ms"
            return f"{self.draw.random() / 5:.3f} ms {share} {late} {sent} pps {sent}/0(0) pkts {sent}"
        reads = [self.draw.randrange(3, 900 >> place) for place in range(8)]
        return f"{sum(reads)}={':'.join(map(str, reads))}"

    def _writes(self, count: int, again: int, window: int) -> str:
        if self.udp:
            return f"{count // 1470}/0     {count // 1470} pps"
        rtt = self.draw.randrange(20_000, 40_000)
        return f"{count // 131072}/0  {again}  {window}K/{rtt}({self.draw.randrange(1500)}) us  {count // rtt}"


def trial(exp: Experiment, bps: float = 2e8, odd: Rates | None = None, seed: int = 1, repeat: int = 0) -> TrialResult:
    """What the engine makes of it, with all that the tools printed; `odd` are seconds of flows that differ."""
    draw = random.Random(seed)
    ways = [Direction.FORWARD, Direction.REVERSE] if exp.direction is Direction.DUPLEX else [exp.direction]
    where = tools.layout(exp, MODERN, MODERN)
    assert where.server
    flows = [
        _Flow(n + 1, exp, bps / exp.streams, (way is Direction.FORWARD) == (where.client is End.NEAR), draw, odd or {})
        for way in ways
        for n in range(exp.streams)
    ]
    server, client = _printed(exp, where, flows, True), _printed(exp, where, flows, False)
    expect = Expectation(NEAR, FAR, PORT, exit_codes=(0,))
    outcome = tools.finish(exp, where, (server, ""), ((client, ""),), expect)
    assert outcome.ok, outcome.reason
    argv = tools.client_argv(exp, MODERN, where, *_addresses(where.client), PORT)
    commands = (
        Command(where.server, "server", tools.server_argv(exp, MODERN, _addresses(where.server)[0], PORT), 0, server),
        Command(where.client, "client", argv, 0, client),
    )
    pings = tuple(_pinged(exp, end, draw) for end in (End.NEAR, End.FAR))
    ends = tuple(_end(exp, end, flows, draw) for end in (End.NEAR, End.FAR))
    return TrialResult(f"soak-{repeat + 1}", repeat, (Leg(outcome, commands=commands), *pings), ends, seconds=3605.0)


def _addresses(end: End) -> tuple[str, str]:
    return (NEAR, FAR) if end is End.NEAR else (FAR, NEAR)


def _printed(exp: Experiment, where: tools.Layout, flows: list[_Flow], serves: bool) -> str:
    """The server's or the client's output; in full duplex a connection has a row each way."""
    udp = exp.protocol is Protocol.UDP
    word, size = ("UDP", "UDP buffer") if udp else ("TCP", "TCP window")
    mine, theirs = _addresses(where.server if serves and where.server else where.client)
    back = exp.direction is Direction.REVERSE and where.reverse_flag
    kind = " (full-duplex)" if exp.direction is Direction.DUPLEX else " (reverse)" if back else ""
    named = f"Server listening on {word} port {PORT} with pid 1"
    if not serves:
        named = f"Client connecting to {theirs}, {word} port {PORT} with pid 2 ({exp.streams} flows)"
    head = [RULE, named, f"{size} size: 131072 Byte (default)", RULE]
    for n in range(1, exp.streams + 1):
        ports = (PORT, 40_000 + n) if serves else (40_000 + n, PORT)
        head.append(f"[{n:3}] local {mine} port {ports[0]} connected with {theirs} port {ports[1]}{kind} (sock={n})")
    rows: list[tuple[int, int, str]] = []
    for flow in flows:
        to_server = flow.forward and not back
        star = "*" if exp.direction is Direction.DUPLEX and not to_server else ""
        mark = f"[ {star}{flow.number}]" if star else f"[{flow.number:3}]"
        lines = flow.received(mark) if to_server == serves else flow.sent(mark)
        rows += [(t, flow.number, text) for t, text in lines]
    if exp.streams > 1:
        for t in range(flows[0].seconds):
            count = sum(flow.bytes[t] for flow in flows)
            rows.append((t, 999, f"[SUM] {t:.4f}-{t + 1:.4f} sec  {count} Bytes  {count * 8} bits/sec"))
    printed = [text for _, _, text in sorted(rows)]
    if udp and not serves:
        printed += [f"[{f.number:3}] Sent {sum(f.bytes) // 1470 + sum(f.lost)} datagrams" for f in flows]
    return "\n".join((*head, *printed, ""))


def _pinged(exp: Experiment, by: End, draw: random.Random) -> Leg:
    count = round((exp.warmup + exp.duration) * 5)
    times = [float(f"{draw.gauss(30, 4):.3g}") for _ in range(count)]
    local, remote = _addresses(by)
    lines = (f"64 bytes from {remote}: icmp_seq={n} ttl=62 time={ms:g} ms" for n, ms in enumerate(times, 1))
    text = "\n".join((f"PING {remote} ({remote}) from {local} : 56(84) bytes of data.", *lines, ""))
    kept = tools.rtt_of(tuple(times[15:]), count - 15)
    command = Command(by, "ping", ("ping", "-i", "0.2", remote), 0, text)
    return Leg(Outcome(True, rtt=kept), Role.PING, commands=(command,), pinged_by=by)


def _end(exp: Experiment, name: End, flows: list[_Flow], draw: random.Random) -> EndRecord:
    """Four cores and three cards, as the sampler tells of them each second; and each second's windows."""
    samples, windows, moved = [], [], 0
    for t in range(flows[0].seconds):
        moved += sum(flow.bytes[t] for flow in flows)
        cores = []
        for _ in range(4):
            user, system, interrupt = draw.random() * 9, draw.random() * 50, draw.random() * 20
            cores.append(CoreLoad(user, system, interrupt, 100 - user - system - interrupt))
        test = NicCounters("vmx1", moved, moved // 40, moved // 1448, moved // 2900, carrier_lost=0)
        cards = (NicCounters("lo0"), NicCounters("vmx0", 1000 * t, 1200 * t, 9 * t, 8 * t), test)
        samples.append(HostSample(t + 1.0 + draw.random() / 99, tuple(cores), 4 << 28, cards, moved // 1448 // 900))
        sizes = tuple(draw.randrange(400_000, 700_000) for _ in range(exp.streams))
        windows.append(WindowSeen(t + 1.0 + draw.randrange(9) / 1000, sizes, tuple(size // 2 for size in sizes)))
    stats = tuple(
        SocketStat(NEAR, 40_000 + n, FAR, PORT, "ESTABLISHED", n, 0, 0, 31.2, 700_000, 500_000, 1448, 10**9, 0)
        for n in range(exp.streams)
    )
    seen = SocketsSeen(exp.duration, "netstat", stats)
    return EndRecord(name, samples=tuple(samples), windows=tuple(windows), sockets=seen)
