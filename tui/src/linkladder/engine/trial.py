"""One trial: servers before clients, both ends watched throughout, everything ended and collected afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from linkladder import tools, wire
from linkladder.engine import account
from linkladder.engine import knock as knocks
from linkladder.engine.leases import Loan
from linkladder.events import Event, IntervalSeen, RoundTripSeen, Sampled
from linkladder.model import (
    Command,
    End,
    EndRecord,
    Experiment,
    Fault,
    HostSample,
    Leg,
    Outcome,
    Path,
    Protocol,
    Role,
    SocketsSeen,
    TrialResult,
)
from linkladder.peer import EndPoint, PeerLost, Refused

WATCHDOG = 10.0  # seconds past its expected end after which a client is ended
SILENCE = 8.0  # seconds without a line of a tool that prints every second
LOOK = 0.5  # seconds before the end at which connections are looked at
LOAD_PING = Experiment("load-ping", "ping", Protocol.ECHO, interval=account.PING_INTERVAL)


class TrialFault(Exception):
    """The trial cannot go on; the reason is for people."""

    def __init__(self, reason: str, fault: Fault = Fault.TOOL) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fault = fault


@dataclass
class Process:
    """A tool of this trial, at one of the ends."""

    end: End
    role: str
    number: int
    argv: tuple[str, ...]
    live: tools.Live | None = None
    last_line: float = field(default_factory=time.monotonic)
    exited: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)  # it printed something, or ended
    told: bool = False  # it was told to end
    exited_alone: bool = False  # it ended before that
    finished: wire.Finished | None = None

    @property
    def complete(self) -> bool:
        """Every flow's last line is here."""
        return self.live is not None and self.live.complete

    def command(self) -> Command:
        done = self.finished
        if done is None:
            return Command(self.end, self.role, self.argv)
        return Command(self.end, self.role, self.argv, done.exit_code, done.output, done.errors)


class Trial:
    """`ends` maps near and far to their endpoints; on the localhost rung both are the near one."""

    def __init__(
        self,
        ends: dict[End, EndPoint],
        path: Path,
        exp: Experiment,
        repeat: int,
        port: int,
        emit: Callable[[Event], None],
        channels: tuple[str, ...] = (),  # where this end's channels to its peers lead
    ) -> None:
        self.channels = channels
        self.ends, self.path, self.exp, self.repeat, self.port, self.emit = ends, path, exp, repeat, port, emit
        self.local = ends[End.NEAR] is ends[End.FAR]
        self.address = {End.NEAR: path.local, End.FAR: path.remote}
        self.processes: list[Process] = []
        self.samples: dict[End, list[HostSample]] = {}
        self.sockets: dict[End, SocketsSeen] = {}
        self.offset: dict[End, float] = {End.NEAR: 0.0, End.FAR: 0.0}
        self.begun = time.monotonic()
        self.round_trips: list[tuple[float, float]] = []
        self.watchdog = False
        self.key = secrets.token_hex(16)  # of knock and tools: strangers have none

    async def run(self) -> TrialResult:
        """The result, good or not; PeerLost and cancellation pass through after the ends were told to stop."""
        wall, started = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        identity = f"{self.exp.id}-{self.repeat + 1}"
        where = self._layout()
        if isinstance(where, str):
            return TrialResult(identity, self.repeat, (Leg(Outcome(False, Fault.TOOL, where)),), started=wall)
        outcome, ends = Outcome(False, Fault.TOOL, "it did not start"), tuple[EndRecord, ...]()
        pumps = [asyncio.create_task(self._pump(end)) for end in self._sides()]
        loan = Loan(self.exp.settings, self.path, self.ends, self.channels)
        clean = False
        try:
            try:
                async with loan:
                    outcome, ends = await self._measure(where)
                    loan.check()
            except TrialFault as error:
                outcome = Outcome(False, error.fault, error.reason)
            except Refused as error:
                outcome = Outcome(False, Fault.TOOL, str(error))
            clean = True
        finally:
            for pump in pumps:
                pump.cancel()
            if not clean or outcome.fault:
                await asyncio.shield(self._stop_everything())
        far = 0 if self.local else 1
        loads = tuple(p.command() for p in self.processes if p.role != "ping")
        legs = [Leg(outcome, Role.LOAD, far=far, commands=(*loan.commands, *loads))]
        for ping in (p for p in self.processes if p.role == "ping"):
            told = account.of_load_ping(self.exp, self.round_trips)
            legs.append(Leg(told, Role.PING, far=far, commands=(ping.command(),)))
        seconds = round(time.monotonic() - started, 3)
        return TrialResult(identity, self.repeat, tuple(legs), ends, wall, seconds)

    def _layout(self) -> tools.Layout | str:
        try:
            return tools.layout(self.exp, self.ends[End.NEAR].hello.versions, self.ends[End.FAR].hello.versions)
        except tools.Unavailable as error:
            return str(error)

    def _sides(self) -> tuple[End, ...]:
        return (End.NEAR,) if self.local else (End.NEAR, End.FAR)

    async def _measure(self, where: tools.Layout) -> tuple[Outcome, tuple[EndRecord, ...]]:
        throughput = tools.named(self.exp.tool).loads
        await (self._knock(where) if where.server is not None else self._meet_target(where.client))
        await asyncio.gather(*(self._synchronise(end) for end in self._sides()))
        before: dict[End, wire.CountersReply] = {}
        if throughput:
            before = await self._counters()
            await asyncio.gather(*(self.ends[e].ask(wire.Sampling(True)) for e in self._sides()))
        server = await self._serve(where) if where.server is not None else None
        self.begun = time.monotonic()
        clients = await self._clients(where)
        ping = await self._load_ping() if self.exp.ping_under_load and throughput else None
        look = asyncio.create_task(self._look())
        try:
            await self._wait(clients)
        finally:
            look.cancel()
        await self._end(clients, server, ping)
        after: dict[End, wire.CountersReply] = {}
        if throughput:
            await asyncio.gather(*(self.ends[e].ask(wire.Sampling(False)) for e in self._sides()))
            after = await self._counters()
        outcome = tools.finish(
            self.exp,
            where,
            _texts(server),
            tuple(_texts(c) for c in clients),
            self._expectation(clients, server),
        )
        names = {end: end.value for end in End}
        ends = account.end_records(names, self.exp, outcome, self.samples, before, after, self.sockets, self.offset)
        seen = {end: record.carried for end, record in zip(before, ends, strict=True) if record.nics}
        return account.accounted(outcome, self.exp, self.path, self.local, seen), ends

    async def _look(self) -> None:
        """Each connection's own counters, once, while it still is there."""
        ports = tools.named(self.exp.tool).data_ports(self.exp, self.port)

        async def look(end: End) -> None:
            t = round(time.monotonic() - self.begun, 3)
            with contextlib.suppress(Refused, PeerLost):
                seen = await self.ends[end].ask(wire.Sockets())
                self.sockets[end] = SocketsSeen(t, seen.source, account.of_trial(seen.sockets, ports))

        await asyncio.sleep(self.begun + tools.expected_seconds(self.exp) - LOOK - time.monotonic())
        if ports:
            await asyncio.gather(*(look(end) for end in self._sides()))

    async def _knock(self, where: tools.Layout) -> None:
        """Open, refused and filtered are told apart before a tool can blur them."""
        assert where.server is not None
        udp = where.protocol_port == "udp"
        seen = await self._meet(where.client, udp)
        if seen.state != "open":
            raise TrialFault(knocks.words(seen, self.address[where.server], self.port, udp), Fault.PATH)

    async def _meet_target(self, client: End) -> None:
        """A ping has no server to knock at, and goes to nobody who has not answered in this run."""
        address = self.address[_other(client)]
        if (await self.ends[client].ask(wire.Known(address))).known:
            return
        refusals = []
        for udp in (False, True):
            seen = await self._meet(client, udp)
            if seen.state == "open":
                return
            refusals.append(knocks.words(seen, address, self.port, udp))
        raise TrialFault("; ".join(refusals), Fault.PATH)

    async def _meet(self, client: End, udp: bool) -> wire.ProbeReply:
        server = _other(client)
        listens, goes = self.ends[server], self.ends[client]
        return await knocks.knock(listens, self.address[server], goes, self.address[client], self.port, udp, self.key)

    async def _synchronise(self, end: End) -> None:
        """The far monotonic clock minus ours, from the quickest of three questions."""
        best = 1e9
        for _ in range(3):
            sent = time.monotonic()
            reply = await self.ends[end].ask(wire.Clock())
            took = time.monotonic() - sent
            if took < best:
                best = took
                self.offset[end] = 0.0 if end == End.NEAR else reply.now - (sent + took / 2)

    async def _counters(self) -> dict[End, wire.CountersReply]:
        named = {End.NEAR: self.path.local_interface, End.FAR: self.path.remote_interface}
        sides = self._sides()
        asked = (self.ends[e].ask(wire.Counters(self.address[e], named[e])) for e in sides)
        return dict(zip(sides, await asyncio.gather(*asked), strict=True))

    async def _serve(self, where: tools.Layout) -> Process:
        assert where.server is not None
        request = wire.Serve(self.exp, self.address[where.server], self.port, self.address[where.client], self.key)
        started = await self.ends[where.server].ask(request)
        return self._keep(where, where.server, "server", started)

    async def _clients(self, where: tools.Layout) -> list[Process]:
        end = where.client
        other = _other(end)

        async def start(index: int) -> Process:
            port = self.port if where.server is not None else 0
            request = wire.RunClient(self.exp, where, self.address[end], self.address[other], port, index, self.key)
            return self._keep(where, end, "client", await self.ends[end].ask(request))

        if where.together:
            return list(await asyncio.gather(*(start(i) for i in range(where.clients))))
        made = []
        for index in range(where.clients):
            begun = time.monotonic()  # one after the other, each with its own time: a slow start adds up over the sizes
            made.append(await start(index))
            await self._wait(made[-1:], begun + tools.expected_seconds(self.exp) / where.clients + WATCHDOG)
        return made

    async def _load_ping(self) -> Process | None:
        """A ping of its own beside the trial, from the near end; a trial is not failed for the want of it."""
        exp = load_ping(self.exp)
        versions = self.ends[End.NEAR].hello.versions
        try:
            where = tools.layout(exp, versions, versions)
            request = wire.RunClient(exp, where, self.path.local, self.path.remote, 0)
            started = await self.ends[End.NEAR].ask(request)
        except (Refused, tools.Unavailable):
            return None
        process = Process(End.NEAR, "ping", started.process, started.argv, tools.live_parser(exp, where, End.NEAR))
        self.processes.append(process)
        return process

    def _keep(self, where: tools.Layout, end: End, role: str, started: wire.Started) -> Process:
        live = tools.live_parser(self.exp, where, end)
        process = Process(end, role, started.process, started.argv, live)
        self.processes.append(process)
        return process

    async def _wait(self, clients: list[Process], limit: float = 0.0) -> None:
        """Until every client has ended, or its watchdog bites."""
        limit = limit or self.begun + tools.expected_seconds(self.exp) + WATCHDOG
        talks = tools.named(self.exp.tool).every_second
        while True:
            waiting = [c for c in clients if not c.exited.is_set()]
            if not waiting:
                return
            now = time.monotonic()
            silent = talks and all(now - c.last_line > SILENCE for c in waiting)
            if now > limit or silent:
                self.watchdog = True
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiting[0].exited.wait(), min(1.0, max(0.01, limit - now)))

    async def _end(self, clients: list[Process], server: Process | None, ping: Process | None) -> None:
        await asyncio.gather(*(self._finish(c) for c in clients), *([self._finish(ping)] if ping else []))
        if server:
            until = time.monotonic() + tools.named(self.exp.tool).afterthought
            while not server.exited.is_set() and not server.complete and (left := until - time.monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(server.news.wait(), left)
                server.news.clear()
            await self._finish(server)

    async def _finish(self, process: Process) -> None:
        if process.finished is None:
            process.told = True
            stop = wire.Stop(process.number, process.complete)
            process.finished = await self.ends[process.end].ask(stop)

    async def _stop_everything(self) -> None:
        """After a fault: nothing of this trial may run on; what its tools said is kept if it still can be had."""
        for process in self.processes:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self._finish(process), 2.0)
        for end in self._sides():
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.ends[end].ask(wire.Cancel()), 2.0)

    def _expectation(self, clients: list[Process], server: Process | None) -> tools.Expectation:
        near, far = self.ends[End.NEAR].hello, self.ends[End.FAR].hello
        return tools.Expectation(
            local=self.path.local,
            remote=self.path.remote,
            port=self.port,
            os_near=near.os,
            os_far=far.os,
            window_limit_near=near.window_limit,
            window_limit_far=far.window_limit,
            exit_codes=tuple(c.finished.exit_code if c.finished else None for c in clients),
            server_exit=server.finished.exit_code if server and server.finished and server.exited_alone else None,
            watchdog=self.watchdog,
        )

    async def _pump(self, end: End) -> None:
        """Events of one end to the front end, and to where the result is made from."""
        queue = self.ends[end].events
        while not queue.empty():  # what an earlier trial left
            queue.get_nowait()
        while True:
            self._take(end, await queue.get())

    def _take(self, end: End, event: wire.Event) -> None:
        if isinstance(event, wire.RawSample):
            t = event.t - self.offset[end] - self.begun
            sample = HostSample(round(t, 3), event.cores, event.memory_used, event.nics, event.retransmits)
            self.samples.setdefault(end, []).append(sample)
            self.emit(Sampled(end, sample))
            return
        process = next((p for p in self.processes if self._is(p, end) and p.number == event.process), None)
        if process is None:
            return
        process.news.set()
        if isinstance(event, wire.Exited):
            process.exited.set()
            process.exited_alone = not process.told
            return
        process.last_line = time.monotonic()
        for line in event.lines:
            self._live(process, line)

    def _live(self, process: Process, line: str) -> None:
        if process.live is None:
            return
        for interval in process.live.feed(line):
            self.emit(IntervalSeen(interval))
        round_trip = process.live.round_trip(line)
        if round_trip is not None:
            now = time.monotonic() - self.begun
            self.round_trips.append((now, round_trip))
            self.emit(RoundTripSeen(round(now, 2), round_trip))

    def _is(self, process: Process, end: End) -> bool:
        return process.end == end or self.local


def _texts(process: Process | None) -> tuple[str, str]:
    done = process.finished if process else None
    return (done.output, done.errors) if done else ("", "")


def _other(end: End) -> End:
    return End.FAR if end == End.NEAR else End.NEAR


def load_ping(exp: Experiment) -> Experiment:
    """The ping that goes beside a trial."""
    return replace(LOAD_PING, count=max(1, int(tools.expected_seconds(exp) / account.PING_INTERVAL)))
