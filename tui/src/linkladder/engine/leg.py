"""Runs one leg: starts a server and its clients on one path, watches and ends them, and reads their output."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from linkladder import tools, units, wire
from linkladder.engine import knock as knocks
from linkladder.engine.account import Watched
from linkladder.engine.route import Route, Side
from linkladder.engine.tool_process import Process
from linkladder.model import Command, Direction, End, Experiment, Fault, Leg, Outcome, Protocol, Role
from linkladder.peer import Refused
from linkladder.phrases.cards import card_state, leaves_by_another, no_link

WATCHDOG = 10.0  # seconds past its expected end after which a client is ended
LOOK = 1.5  # seconds after which it looks at its clients without news; each look takes from what is measured
SILENCE = 8.0  # seconds without a line from a tool that prints each second, while its end still sends samples
PING_INTERVAL = 0.2  # seconds between the pings beside a load
LOAD_PING = Experiment("load-ping", "ping", Protocol.ECHO, interval=PING_INTERVAL)

Starts = Mapping[int, float]  # the moment, on each end's own clock, at which the legs start; empty: at once


class LegFault(Exception):
    """The leg cannot go on; the reason is for people."""

    def __init__(self, reason: str, fault: Fault = Fault.TOOL) -> None:
        super().__init__(reason)
        self.fault = fault


class RunningLeg:
    """`path_number` is its path's place among the rung's; `offsets` are the ends' clocks against the near one's."""

    def __init__(
        self,
        exp: Experiment,
        route: Route,
        path_number: int,
        port: int,
        key: str,
        offsets: Mapping[int, float],
        comes_after: float | None = None,  # seconds after the others, as a visitor; None: it starts with them
    ) -> None:
        self.exp, self.route, self.path_number, self.offsets = exp, route, path_number, offsets
        self.comes_after = comes_after
        self.port, self.key = port, key
        self.tool = tools.named(exp.tool)
        self.layout: tools.Layout | None = None
        self.processes: list[Process] = []
        self.clients: list[Process] = []
        self.server: Process | None = None
        self.pings: list[Process] = []  # the pings beside it, the near side's first
        self.last_client_began: float | None = (
            None  # when the last of its clients began to ask, where each goes on for it
        )
        self.news = asyncio.Event()  # a tool ended, or said what may be enough of it
        self.watchdog = False
        self.progressed: Callable[[], None] = lambda: None  # says that it has come a step further
        self.broken: Outcome | None = None  # why it could not go on
        self.still: tuple[tuple[float, float], ...] = ()  # from when to when an end stood still, on its tool's clock
        self.still_at: tuple[str, ...] = ()  # the names of those ends
        self.route_commands: tuple[Command, ...] = ()  # the cards by which its packets leave

    @property
    def visits(self) -> bool:
        return self.comes_after is not None

    @property
    def began(self) -> float:
        """When its clients began, on the near end's clock: the last one, or each in turn for probes that follow each
        other.
        """
        moments = [client.began for client in self.clients]
        if not moments:
            return time.monotonic()
        if self.last_client_began is not None:
            return max(*moments, self.last_client_began - self.tool.waits(self.exp))
        return max(moments) if self.where.together else min(moments)

    @property
    def zero(self) -> float:
        """When its tool's first second began, as far as is known by now: on a busy machine well after its clients'
        start."""
        if not self.where.together:
            return self.began
        seen = [p.zero for p in self.processes if p not in self.pings and p.zero < math.inf]
        return max(self.began, *seen) if seen else self.began + self.tool.waits(self.exp)

    @property
    def where(self) -> tools.Layout:
        assert self.layout is not None
        return self.layout

    @property
    def ends_by_word(self) -> bool:
        """Whether its clients run until they have run at once for long enough, and are told so."""
        return self.tool.latest(self.exp) > 0

    @property
    def data_ports(self) -> tuple[int, ...]:
        return self.tool.data_ports(self.exp, self.port)

    # --- before it starts

    async def lay_out(self) -> None:
        """Decide which end runs what; LegFault where these two ends cannot do it."""
        route = self.route
        try:
            self.layout = tools.layout(self.exp, route.near.point.hello.versions, route.far.point.hello.versions)
        except tools.Unavailable as error:
            raise LegFault(str(error)) from None

    async def introduce(self) -> None:
        """Both ends must be there; two of which neither coordinates are told that they may measure with each other."""
        near, far = self.route.near, self.route.far
        for side in self.route.sides:
            if side.point.lost:
                await side.point.ask(wire.Clock())  # the exception says how it was lost
        for side in self.route.sides:
            if not side.address:
                raise LegFault(f"no address of {side.point.name} is known: name one in the link description")
        if near.end and far.end:
            await near.point.ask(wire.Introduce(far.point.name, far.address))
            await far.point.ask(wire.Introduce(near.point.name, near.address))

    async def check_routes(self) -> None:
        """Check that each side sends by the card that the path names, or that its address is on. Nothing is sent
        otherwise.
        """
        route = self.route
        for side, other in () if route.local else ((route.near, route.far), (route.far, route.near)):
            way = await side.point.ask(wire.RouteTo(side.address, other.address))
            wanted = side.interface or way.owner
            words = ("from", side.address, "to", other.address, "by", way.interface or "no card")
            via = ("via", way.gateway) if way.gateway else ()
            self.route_commands += (Command(side.name, "route", (*words, *via), 0),)
            if way.interface and wanted and way.interface != wanted:
                cards = (await side.point.ask(wire.Facts())).nics
                if any(nic.name == wanted and card_state(nic) != "up" for nic in cards):
                    raise LegFault(no_link(side.name, wanted, way.interface))
                raise LegFault(
                    leaves_by_another(side.name, side.address, other.address, way.interface, way.gateway, wanted)
                )

    async def meet(self) -> None:
        """Knock at the server's port first, so that open, refused and filtered are known before a tool runs."""
        if self.where.server is None:
            await self._meet_target()
            return
        udp = self.where.protocol_port == "udp"
        seen = await self._knock(udp)
        if seen.state != "open":
            raise LegFault(knocks.words(seen, self._at(self.where.server).address, self.port, udp), Fault.PATH)

    async def _meet_target(self) -> None:
        """Knock at the far end of a ping, which has no server: pings go only to who has answered in this run."""
        client, target = self._client(), self._target()
        if (await client.point.ask(wire.Known(target.address))).known:
            return
        refusals = []
        for udp in (False, True):
            seen = await self._knock(udp)
            if seen.state == "open":
                return
            refusals.append(knocks.words(seen, target.address, self.port, udp))
        raise LegFault("; ".join(refusals), Fault.PATH)

    async def _knock(self, udp: bool) -> wire.ProbeReply:
        client, target = self._client(), self._target()
        return await knocks.knock(target.point, target.address, client.point, client.address, self.port, udp, self.key)

    async def serve(self) -> None:
        if self.where.server is None:
            return
        side, client = self._at(self.where.server), self._client()
        request = wire.Serve(self.exp, side.address, self.port, client.address, self.key)
        self.server = self._keep(side, self.where.server, "server", await side.point.ask(request))

    # --- while it runs

    async def visit(self) -> None:
        """Wait for the moment of this load, and only then start its server: it would not wait so long for a client."""
        await asyncio.sleep(self.comes_after or 0.0)
        await self.serve()
        await self.run({})

    async def run(self, starts: Starts) -> None:
        """Run the clients, and pings beside them, to their end; DF probes run one after the other."""
        beside = self.exp.ping_under_load and self.tool.loads
        where = self.where
        if where.together:
            every = [self._start(index, starts) for index in range(where.clients)]
            came = await asyncio.gather(*every, return_exceptions=True)  # one that starts late is to be ended as well
            self.clients = [one for one in came if isinstance(one, Process)]
            if fault := next((one for one in came if isinstance(one, BaseException)), None):
                raise fault
            if beside:
                for side in self.route.sides:
                    await self._start_ping(side)
            latest = self.began + self.tool.latest(self.exp)
            await self._wait(self.clients, latest + tools.expected_seconds(self.exp) + WATCHDOG)
            return
        for index in range(where.clients):
            begun = time.monotonic()  # each has its own timeout, since slow starts add up over the sizes
            self.clients.append(await self._start(index, starts if index == 0 else {}))
            await self._wait(self.clients[-1:], begun + tools.expected_seconds(self.exp) / where.clients + WATCHDOG)

    async def _start(self, index: int, starts: Starts) -> Process:
        side, target = self._client(), self._target()
        port = self.port if self.where.server is not None else 0
        at = starts.get(side.end, 0.0)
        request = wire.RunClient(self.exp, self.where, side.address, target.address, port, index, self.key, at)
        return self._keep(side, self.where.client, "client", await side.point.ask(request))

    async def _start_ping(self, side: Side) -> None:
        """Start pings at both ends, since a busy end sees answers late. A trial does not fail if they cannot start."""
        exp, other = load_ping(self.exp), self._other(side)
        versions = side.point.hello.versions
        try:
            where = tools.layout(exp, versions, versions)
            started = await side.point.ask(wire.RunClient(exp, where, side.address, other.address, 0))
        except (Refused, tools.Unavailable):
            return
        live = tools.live_parser(exp, where, End.NEAR)
        self.pings.append(Process(side, "ping", started.process, started.argv, time.monotonic(), live))
        self.processes.append(self.pings[-1])

    def _keep(self, side: Side, of: End, role: str, started: wire.Started) -> Process:
        live = tools.live_parser(self.exp, self.where, of)
        began = started.t - self.offsets.get(side.end, 0.0)
        process = Process(side, role, started.process, started.argv, began, live)
        self.processes.append(process)
        return process

    async def _wait(self, clients: Sequence[Process], limit: float) -> None:
        """Wait until every client has ended, or until the watchdog ends it."""
        talks, ordered = self.tool.every_second, False
        while waiting := [c for c in clients if not c.exited.is_set()]:
            self.news.clear()
            self.progressed()
            if gone := next((side for side in self.route.sides if side.point.lost), None):
                await gone.point.ask(wire.Clock())  # the exception says how it was lost
            now = time.monotonic()
            if self.last_client_began is None and self.tool.latest(self.exp) and (spans := _spans(clients)):
                self.last_client_began = now - min(end - begun for begun, end in spans)
                limit = self.last_client_began + tools.expected_seconds(self.exp) + WATCHDOG
            if not ordered and self.tool.enough(self.exp, [c.live.span for c in clients]):
                ordered = True
                await asyncio.gather(*(c.enough() for c in clients))
            silent = talks and all(c.quiet > SILENCE for c in waiting)
            if now > limit or silent:
                self.watchdog = True
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK, max(0.01, limit - now))):
                    await self.news.wait()

    def note_sample(self, end: int, at: float) -> None:
        """Note that an end took a sample then."""
        for process in self.processes:
            if process.side.end == end:
                process.note_silence(at)

    def note_news(self, ended: bool) -> None:
        """Note that one of its tools has printed or ended, which may be what it waits for."""
        if ended or self.ends_by_word:
            self.news.set()

    async def end(self) -> None:
        await asyncio.gather(*(c.stop() for c in self.clients), *(p.stop() for p in self.pings))
        server = self.server
        if server:
            until = time.monotonic() + self.tool.afterthought
            while not server.exited.is_set() and not server.complete and (left := until - time.monotonic()) > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await server.news.wait()
                server.news.clear()
            await server.stop()

    # --- when it is over

    def stood_still(self, watched: Mapping[int, Watched], begun: float, over: float = -math.inf) -> None:
        """Take from what was seen of its ends when one stood still; their clock's zero is `begun`.

        `over`: when on that clock the trial was over, from which on an end need tell nothing more of itself.
        """
        apart = self.zero - begun
        ends = [watched[side.end] for side in self.route.sides]
        seen = [(one, end.name) for end in ends for one in end.stood_still(over)]
        self.still = tuple((one.at - apart, one.at + one.seconds - apart) for one, _ in seen)
        self.still_at = tuple(name for _, name in seen)

    def outcome(self) -> Outcome:
        """The outcome of the tool's output; output that is cut short is a fault of the tool, never of the link."""
        for process in self.processes:
            if process not in self.pings and process.finished and process.finished.cut:
                kept = units.size(len(process.finished.output))
                what = f"the {process.role}'s output was longer than the {kept} that are kept of it"
                return Outcome(False, Fault.TOOL, f"{what}: ask for a shorter trial, or for fewer streams")
        server = self.server.texts if self.server else ("", "")
        return tools.finish(self.exp, self.where, server, tuple(c.texts for c in self.clients), self._expectation())

    def written(self) -> Mapping[Direction, int]:
        """How many bytes the senders say they wrote each way, read or not."""
        server = self.server.texts if self.server else ("", "")
        return tools.written(self.exp, self.where, server, tuple(c.texts for c in self.clients))

    def results(self, outcome: Outcome, first: float, more: tuple[Command, ...] = ()) -> tuple[Leg, ...]:
        """The legs of the result: the load and the pings beside it; `first` is when the first leg began."""
        began = max(0.0, round(self.began - first, 3)) if self.clients else 0.0
        commands = (*more, *self.route_commands, *(p.command() for p in self.processes if p not in self.pings))
        role = Role.VISITOR if self.visits else Role.LOAD
        load = Leg(outcome, role, self.path_number, self.route.near.end, self.route.far.end, began, commands)
        return load, *(
            replace(
                load,
                outcome=self._pinged(ping),
                role=Role.PING,
                commands=(ping.command(),),
                pinged_by=End.NEAR if ping.side is self.route.near else End.FAR,
            )
            for ping in self.pings
        )

    def _pinged(self, ping: Process) -> Outcome:
        """Round trips of the counted part, beside the load."""
        exp = self.exp
        counted = tuple(ms for t, ms in ping.round_trips if exp.warmup <= t <= exp.warmup + exp.duration)
        if not counted:
            return Outcome(False, Fault.TOOL, "no ping was answered in the counted seconds")
        return Outcome(True, rtt=tools.rtt_of(counted, round(exp.duration / PING_INTERVAL)))

    def _expectation(self) -> tools.Expectation:
        near, far = self.route.near.point.hello, self.route.far.point.hello
        server = self.server
        return tools.Expectation(
            local=self.route.near.address,
            remote=self.route.far.address,
            port=self.port,
            os_near=near.os,
            os_far=far.os,
            window_limit_near=near.window_limit,
            window_limit_far=far.window_limit,
            exit_codes=tuple(c.finished.exit_code if c.finished else None for c in self.clients),
            server_exit=server.finished.exit_code if server and server.finished and server.exited_alone else None,
            still=self.still,
            still_at=self.still_at,
            watchdog=self.watchdog,
        )

    def _at(self, side: End) -> Side:
        return self.route.at(side)

    def _client(self) -> Side:
        return self._at(self.where.client)

    def _target(self) -> Side:
        return self._other(self._client())

    def _other(self, side: Side) -> Side:
        return self.route.far if side is self.route.near else self.route.near


def _spans(clients: Sequence[Process]) -> list[tuple[float, float]]:
    """The time that each has reported on so far, from when to when; empty until all have."""
    every = [one for client in clients if (one := client.live.span)]
    return every if len(every) == len(clients) else []


def first_second(legs: Sequence[RunningLeg]) -> float:
    """When the first second of the first leg's tool began, as far as is known by now; now while none has a client."""
    return min((leg.zero for leg in legs if leg.clients), default=time.monotonic())


def load_ping(exp: Experiment) -> Experiment:
    """The ping that goes beside a load."""
    return replace(LOAD_PING, count=max(1, int(tools.expected_seconds(exp) / PING_INTERVAL)))
