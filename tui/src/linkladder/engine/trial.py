"""One trial: its legs start together, all ends are watched throughout, everything is ended and collected afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from linkladder import tools, wire
from linkladder.engine.account import Watched, accounted, counted_from
from linkladder.engine.connections import Connections
from linkladder.engine.discarded import SMALL, blocked, carried, discarded, loads_before
from linkladder.engine.leases import STEP, Loan
from linkladder.engine.leg import LegFault, RunningLeg, Starts, first_second
from linkladder.engine.live import CardSeconds, LiveSeconds
from linkladder.engine.member import MemberOutage
from linkladder.engine.ports import ports_for
from linkladder.engine.route import Route, ends_of
from linkladder.engine.tool_process import Process
from linkladder.events import Event, IntervalSeen, RoundTripSeen, Sampled
from linkladder.model import (
    Direction,
    EndRecord,
    Experiment,
    Fault,
    HostSample,
    Leg,
    Outcome,
    TrialResult,
)
from linkladder.model.several_legs import counted_together, loads
from linkladder.peer import PeerLost, Refused

LEAD = 0.15  # seconds, beside the slowest answer, from the word to several legs to their start
HELD = 2.0  # times what a server took to start, for clients to be held ready
LONGEST = 4.0  # seconds in all: an end takes no word for a moment far ahead
READY = 10.0  # seconds in which an adapter that starts anew must carry traffic
PAUSE = 0.5
EACH = 0.025  # seconds more for each leg: one coordinator tells all of them, and each end readies a process for it


class NoLegLeft(Exception):
    """No leg can go on; each has a reason of its own."""


class Trial:
    """`routes` are paths of the rung with their ends; each has a leg of its own, on a port of its own."""

    def __init__(
        self,
        routes: Sequence[Route],
        exp: Experiment,
        repeat: int,
        ports: Sequence[int],
        emit: Callable[[Event], None],
        channels: tuple[str, ...] = (),  # where this end's channels to its peers lead
        path_numbers: Sequence[int] = (),  # which of the rung's paths they are; none: all, in their order
        more_ports: Iterator[int] | None = None,  # ports for what is discarded before it
        lent_routes: Sequence[Route] = (),  # whose adapters its settings change; none: those of its own routes
    ) -> None:
        routes = [route.by_address() for route in routes] if exp.bundled else routes
        self.routes, self.exp, self.repeat, self.emit, self.channels = tuple(routes), exp, repeat, emit, channels
        self.path_numbers, self.more_ports = tuple(path_numbers), more_ports
        self.lent_routes = tuple(lent_routes or routes)
        self.ends = ends_of(routes)
        self.clock_offset = dict.fromkeys(self.ends, 0.0)  # of each end's clock against the near one's
        self.wall_offset: dict[int, float] = {}  # of each other end's time of day
        self.slowest_answer = 0.0  # answer to a question about the clock
        self.slowest_server_start = 0.0  # seconds that the slowest server took to start
        self.key = secrets.token_hex(16)  # of knocks and tools: strangers have none
        self.legs = [
            RunningLeg(mine, route, number, port, self.key, self.clock_offset, after)
            for number, route, port, (after, mine) in zip(
                path_numbers or range(len(routes)), routes, ports, loads(exp, len(routes)), strict=True
            )
        ]
        self.watched = {number: Watched(end.name) for number, end in self.ends.items()}
        ports_of_data = tuple(port for leg in self.legs for port in leg.data_ports)
        self.connections = Connections(self.ends, self.watched, self.clock_offset, ports_of_data)
        self._listening = {number: asyncio.Lock() for number in self.ends}
        self._lost: PeerLost | None = None
        self.seconds = LiveSeconds(sum(not leg.visits for leg in self.legs))
        self.cards, self.tool_reports = CardSeconds(exp, self.routes), tools.named(exp.tool).every_second
        self.outage = MemberOutage(exp, self.clock_offset)
        self.begun = time.monotonic()

    async def run(self) -> TrialResult:
        """The result, good or not; PeerLost and cancellation pass through after the ends were told to stop."""
        wall, started = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        outcomes = self._every_outcome(Outcome(False, Fault.TOOL, "it did not start"))
        ends: tuple[EndRecord, ...] = ()
        pumps: list[asyncio.Task[None]] = []
        before: tuple[Leg, ...] = ()
        loan = Loan(self.exp.settings, self.lent_routes, self.channels)
        for leg in self.legs:
            leg.progressed = loan.progressed
        clean = False
        try:
            try:
                async with loan:
                    if self.exp.discard_first and self.more_ports:
                        before = await self._discard(self.more_ports, loan)
                    pumps = [asyncio.create_task(self._pump(number)) for number in self.ends]
                    outcomes, ends = await self._measure(loan)
                    await loan.check()
            except Refused as error:
                outcomes = self._every_outcome(Outcome(False, Fault.TOOL, str(error)))
            clean = True
        finally:
            for pump in pumps:
                pump.cancel()
            if not clean or any(one.fault for one in outcomes):
                await asyncio.shield(self._stop_everything())
        first = min((leg.began for leg in self.legs if leg.clients), default=0.0)
        legs = tuple(
            made
            for leg, outcome in zip(self.legs, outcomes, strict=True)
            for made in leg.results(outcome, first, loan.commands if leg is self.legs[0] else ())
        )
        took = round(time.monotonic() - started, 3)
        return TrialResult(f"{self.exp.id}-{self.repeat + 1}", self.repeat, (*legs, *before), ends, wall, took)

    async def _discard(self, drawn: Iterator[int], loan: Loan) -> tuple[Leg, ...]:
        """Run short loads until adapters that have just restarted carry packets of the size set, for READY seconds at
        most. The results are kept, and counted nowhere. A leg whose path carries small packets alone is broken: what it
        carried then would be no measurement of that MTU."""
        found: tuple[Leg, ...] = ()
        until = time.monotonic() + READY

        async def load(exp: Experiment) -> TrialResult:
            loan.progressed(tools.expected_seconds(exp) + STEP)
            ports = ports_for(drawn, exp, len(self.routes))
            return await Trial(
                self.routes, exp, self.repeat, ports, lambda _: None, self.channels, self.path_numbers
            ).run()

        for exp in loads_before(self.exp):
            while True:
                seen = await load(exp)
                found += discarded(seen)
                if carried(seen) or time.monotonic() > until:
                    break
                await asyncio.sleep(PAUSE)
            if exp.sizes and not self.exp.sizes and not carried(seen):
                both = await load(replace(exp, sizes=(SMALL, *exp.sizes)))
                for leg, outcome in zip(self.legs, both.loads, strict=True):
                    leg.broken = blocked(exp.sizes[0], outcome.path_mtu, leg.route)
                if all(leg.broken for leg in self.legs):
                    break
        return found

    def _every_outcome(self, outcome: Outcome) -> tuple[Outcome, ...]:
        return (outcome,) * len(self.legs)

    async def _measure(self, loan: Loan) -> tuple[tuple[Outcome, ...], tuple[EndRecord, ...]]:
        loading = tools.named(self.exp.tool).loads
        try:
            await self._every_leg(RunningLeg.lay_out)
            await self._every_leg(RunningLeg.introduce)
            await self._every_leg(self._check_routes)
            if loading:
                await self._every_end(self._count)
            await self._every_leg(self._meet)
            await self._every_end(self._synchronise)
            if loading:
                await self._every_end(self._sample)
            await self._every_leg(self._serve)
            starts = self._barrier()
            switching = self.outage.keep_time(loan, self.begun, lambda: first_second(self.legs))
            asking = self.connections.ask(self.begun, tools.expected_seconds(self.exp))
            beside = [asyncio.create_task(one) for one in (asking, switching)]
            try:
                await self._every_leg(lambda leg: leg.visit() if leg.visits else leg.run(starts))
            finally:
                for task in beside:
                    task.cancel()
            over = time.monotonic() - self.begun
            if loading:  # first, as no end keeps anything back then
                await self._every_end(lambda number: self.connections.sample_no_more(number, self.begun))
            await self._every_leg(RunningLeg.end)
            if loading:
                await self._every_end(self._count)
        except NoLegLeft:
            broken = tuple(leg.broken or Outcome(False, Fault.TOOL, "it was ended") for leg in self.legs)
            return broken, await self._without_link() if any(one.fault is Fault.PATH for one in broken) else ()
        for leg in self.legs:
            leg.stood_still(self.watched, self.begun, over)
        going = [leg for leg in self.legs if leg.broken is None and not leg.visits]
        together = counted_together([(leg.began, leg.outcome()) for leg in going], self.exp) if going else ()
        counted = iter(together)
        found = tuple(leg.broken or (leg.outcome() if leg.visits else next(counted)) for leg in self.legs)
        if not loading:
            return found, ()
        carried = dict.fromkeys(self.ends, 0.0)  # by the legs that end at each
        for leg, outcome in zip(self.legs, found, strict=True):
            for side in leg.route.sides:
                carried[side.end] += outcome.goodput_bps if outcome.ok else 0.0
        records = tuple(self._record(number, carried) for number in range(max(self.ends) + 1))
        written = [leg.written for leg in self.legs]
        return accounted(found, self.routes, self.watched, self.exp, written), records

    async def _without_link(self) -> tuple[EndRecord, ...]:
        """The ends, if the card of one of them has or had lost its link, so that they could not meet."""

        async def look(number: int) -> None:
            if self.watched[number].before:
                with contextlib.suppress(Refused, PeerLost):
                    await self._count(number)
                    cards = (await self.ends[number].point.ask(wire.Facts())).nics
                    self.watched[number].without_link = {c.name for c in cards if not c.up or c.carrier is False}

        await asyncio.gather(*(look(number) for number in self.ends))
        records = tuple(self._record(number, dict.fromkeys(self.ends, 0.0)) for number in range(max(self.ends) + 1))
        return records if any(card.carrier_lost for end in records for card in end.nics) else ()

    def _record(self, number: int, carried: Mapping[int, float]) -> EndRecord:
        """What an end did; the record of one that only coordinates, or was lost, is blank."""
        watched = self.watched.get(number)
        if watched is None or not watched.after:
            return EndRecord(self.ends[number].name if number in self.ends else "near")
        since = first_second(self.legs) - self.begun
        made = watched.record(self.exp, carried[number], self.clock_offset[number], since)
        return counted_from(
            replace(made, wall_offset_s=self.wall_offset.get(number), away=self.outage.at(number)), since
        )

    # --- every step is taken by all legs or ends; those that cannot take it are out of the trial

    async def _every_leg(self, step: Callable[[RunningLeg], Awaitable[None]]) -> None:
        async def one(leg: RunningLeg) -> None:
            try:
                leg.progressed()
                await step(leg)
                leg.progressed()
            except (LegFault, Refused, PeerLost) as error:
                self._break((leg,), error)

        await asyncio.gather(*(one(leg) for leg in self.legs if leg.broken is None))
        self._go_on()

    async def _every_end(self, step: Callable[[int], Awaitable[object]]) -> None:
        async def one(number: int) -> None:
            mine = [leg for leg in self.legs if leg.broken is None and number in (s.end for s in leg.route.sides)]
            if not mine:
                return
            try:
                await step(number)
                mine[0].progressed()
            except (Refused, PeerLost) as error:
                self._break(mine, error)

        await asyncio.gather(*(one(number) for number in self.ends))
        self._go_on()

    def _break(self, legs: Sequence[RunningLeg], error: LegFault | Refused | PeerLost) -> None:
        """Note why these legs cannot go on."""
        fault = error.fault if isinstance(error, LegFault) else Fault.TOOL
        if isinstance(error, PeerLost):
            fault, self._lost = Fault.PEER, self._lost or error
        for leg in legs:
            leg.broken = Outcome(False, fault, str(error))

    def _go_on(self) -> None:
        """Go on with the legs that can; NoLegLeft when there is none, PeerLost where that is for a lost end."""
        if all(leg.broken for leg in self.legs):
            if self._lost:
                raise self._lost
            raise NoLegLeft

    async def _check_routes(self, leg: RunningLeg) -> None:
        """Check by which card packets leave, if a card is named or there are several paths."""
        if len(self.legs) > 1 or self.exp.paths or any(side.interface for side in leg.route.sides):
            await leg.check_routes()

    async def _meet(self, leg: RunningLeg) -> None:
        """Knock while no other leg knocks at these ends, as an end listens for one knock at a time."""
        async with contextlib.AsyncExitStack() as stack:
            for number in sorted({side.end for side in leg.route.sides}):
                await stack.enter_async_context(self._listening[number])
            await leg.meet()

    async def _serve(self, leg: RunningLeg) -> None:
        """Start the server, and note how long that took: a client there will take as long to be ready."""
        if leg.visits:
            return
        began = time.monotonic()
        await leg.serve()
        self.slowest_server_start = max(self.slowest_server_start, time.monotonic() - began)

    def _barrier(self) -> Starts:
        """The moment at which all legs start, on each end's clock; a single leg starts as soon as it can."""
        before, self.begun = self.begun, time.monotonic()
        alone = sum(not leg.visits for leg in self.legs) == 1
        held = LEAD + self.slowest_answer + HELD * self.slowest_server_start + EACH * len(self.legs)
        self.begun += 0.0 if alone else min(LONGEST, held)
        for watched in self.watched.values():
            watched.count_from(self.begun - before)
        return {} if alone else {number: self.begun + offset for number, offset in self.clock_offset.items()}

    async def _count(self, number: int) -> None:
        """What the end's counters are now, of every card that a path of the trial uses there."""
        end, watched = self.ends[number], self.watched[number]
        sides = [side for route in self.routes for side in route.sides if side.end == number]
        for side in {side.address: side for side in sides}.values():
            watched.count(side.address, await end.point.ask(wire.Counters(side.address, side.interface)))

    async def _sample(self, number: int) -> None:
        """Have the end tell of itself from now on; a sender of its connections' windows as well."""
        at_once = any(leg.ends_by_word for leg in self.legs)
        await self.connections.sample(number, self.outage.every, number in self._senders(), at_once)
        self.watched[number].looked = time.monotonic() - self.begun

    def _senders(self) -> set[int]:
        near = {leg.route.near.end for leg in self.legs if self.exp.direction is not Direction.REVERSE}
        return near | {leg.route.far.end for leg in self.legs if self.exp.direction is not Direction.FORWARD}

    async def _synchronise(self, number: int) -> None:
        """The end's monotonic clock minus ours, from the quickest of three questions."""
        best = 1e9
        for _ in range(3):
            sent = time.monotonic()
            reply = await self.ends[number].point.ask(wire.Clock())
            took = time.monotonic() - sent
            self.slowest_answer = max(self.slowest_answer, took)
            if took < best:
                best = took
                self.clock_offset[number] = 0.0 if number == 0 else reply.now - (sent + took / 2)
                if number and reply.wall:
                    self.wall_offset[number] = round(reply.wall - (time.time() - took / 2), 3)

    async def _stop_everything(self) -> None:
        """After a fault: end every process of this trial, and keep what the tools have printed so far."""
        for process in (process for leg in self.legs for process in leg.processes):
            with contextlib.suppress(Exception):
                async with asyncio.timeout(2.0):
                    await process.stop()
        for end in self.ends.values():
            with contextlib.suppress(Exception):
                async with asyncio.timeout(2.0):
                    await end.point.ask(wire.Cancel())

    async def _pump(self, number: int) -> None:
        """Take in the events of one end as they come."""
        queue = self.ends[number].point.events
        while not queue.empty():  # what an earlier trial left
            queue.get_nowait()
        while True:
            self._take(number, await queue.get())

    def _take(self, number: int, event: wire.Event) -> None:
        if isinstance(event, wire.RawSample):
            now = event.t - self.clock_offset[number]
            t = round(now - self.begun, 3)
            sample = HostSample(t, event.cores, event.memory_used, event.nics, event.retransmits)
            sample = self.watched[number].look(sample)
            for leg in self.legs:
                leg.note_sample(number, now)
            if not self.outage.shown(number, sample.t):
                return
            if event.windows:
                self.watched[number].windows.append(replace(event.windows, t=sample.t))
            self.emit(Sampled(self.ends[number].name, replace(sample, nics=())))  # nobody watches counters
            if not self.tool_reports and self.legs[0].clients:
                for second in self.cards.take(number, sample, self.watched[number].card):
                    self.emit(IntervalSeen(second, by_cards=True))
            return
        for leg in self.legs:
            for process in leg.processes:
                if process.side.end == number and process.number == event.process:
                    self._take_output(leg, process, event)

    def _take_output(self, leg: RunningLeg, process: Process, event: wire.Line | wire.Exited) -> None:
        process.news.set()
        if process not in leg.pings:
            leg.note_news(isinstance(event, wire.Exited))
        if isinstance(event, wire.Exited):
            process.exited.set()
            process.exited_alone = not process.ordered_to_end
            return
        at = event.t - self.clock_offset[process.side.end]
        process.note_line(at)
        for line in event.lines:
            found = process.read(line, at)
            for interval in () if leg.visits else found:
                self.tool_reports = True
                for second in self.seconds.add(leg.path_number, interval):
                    self.emit(second)
            if (round_trip := process.live.round_trip(line)) is not None:
                now = at - self.begun
                process.round_trips.append((now, round_trip))
                if process not in leg.pings[1:]:  # one curve is drawn
                    self.emit(RoundTripSeen(round(now, 2), round_trip))
