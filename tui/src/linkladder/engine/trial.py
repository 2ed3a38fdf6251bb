"""One trial: its legs start together, all ends are watched throughout, everything is ended and collected afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from linkladder import tools, wire
from linkladder.engine.account import Watched, accounted, of_trial
from linkladder.engine.leases import Loan
from linkladder.engine.leg import LegFault, RunningLeg, Starts, share
from linkladder.engine.live import LiveSeconds
from linkladder.engine.process import Process
from linkladder.engine.route import Route, ends_of
from linkladder.engine.shared import counted_together
from linkladder.events import Event, IntervalSeen, RoundTripSeen, Sampled
from linkladder.model import EndRecord, Experiment, Fault, HostSample, Outcome, SocketsSeen, TrialResult
from linkladder.peer import PeerLost, Refused

LOOK = 0.5  # seconds before the end at which connections are looked at
LEAD = 0.15  # seconds, beside the slowest answer, from the word to several legs to their start


class Trial:
    """`routes` are the rung's paths with their ends; each has a leg of its own, on a port of its own."""

    def __init__(
        self,
        routes: Sequence[Route],
        exp: Experiment,
        repeat: int,
        ports: Sequence[int],
        emit: Callable[[Event], None],
        channels: tuple[str, ...] = (),  # where this end's channels to its peers lead
    ) -> None:
        self.routes, self.exp, self.repeat, self.emit, self.channels = tuple(routes), exp, repeat, emit, channels
        self.ends = ends_of(routes)
        self.offset = dict.fromkeys(range(len(self.ends)), 0.0)  # of each end's clock against the near one's
        self.slowest = 0.0  # answer to a question about the clock
        mine = share(exp, len(routes))
        self.key = secrets.token_hex(16)  # of knocks and tools: strangers have none
        self.legs = [
            RunningLeg(mine, route, number, port, self.key, self.offset)
            for number, (route, port) in enumerate(zip(routes, ports, strict=True))
        ]
        self.watched = [Watched(end.name) for end in self.ends]
        self.seconds = LiveSeconds(len(self.legs))
        self.begun = time.monotonic()

    async def run(self) -> TrialResult:
        """The result, good or not; PeerLost and cancellation pass through after the ends were told to stop."""
        wall, started = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
        outcomes = self._alike(Outcome(False, Fault.TOOL, "it did not start"))
        ends: tuple[EndRecord, ...] = ()
        pumps = [asyncio.create_task(self._pump(number)) for number in range(len(self.ends))]
        loan = Loan(self.exp.settings, self.routes, self.channels)
        clean = False
        try:
            try:
                for leg in self.legs:
                    leg.lay_out()
                async with loan:
                    outcomes, ends = await self._measure()
                    loan.check()
            except LegFault as error:
                outcomes = self._alike(Outcome(False, error.fault, error.reason))
            except Refused as error:
                outcomes = self._alike(Outcome(False, Fault.TOOL, str(error)))
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
        return TrialResult(f"{self.exp.id}-{self.repeat + 1}", self.repeat, legs, ends, wall, took)

    def _alike(self, outcome: Outcome) -> tuple[Outcome, ...]:
        return (outcome,) * len(self.legs)

    async def _measure(self) -> tuple[tuple[Outcome, ...], tuple[EndRecord, ...]]:
        loads = tools.named(self.exp.tool).loads
        for leg in self.legs:  # in turn: an end listens for one knock at a time
            await leg.meet()
        await asyncio.gather(*(self._synchronise(number) for number in range(len(self.ends))))
        if loads:
            await asyncio.gather(*(self._count(number) for number in range(len(self.ends))))
            await asyncio.gather(*(end.point.ask(wire.Sampling(True)) for end in self.ends))
        await asyncio.gather(*(leg.serve() for leg in self.legs))
        starts = self._barrier()
        look = asyncio.create_task(self._look())
        try:
            await asyncio.gather(*(leg.run(starts) for leg in self.legs))
        finally:
            look.cancel()
        await asyncio.gather(*(leg.end() for leg in self.legs))
        if loads:
            await asyncio.gather(*(end.point.ask(wire.Sampling(False)) for end in self.ends))
            await asyncio.gather(*(self._count(number) for number in range(len(self.ends))))
        found = counted_together([(leg.began, leg.outcome()) for leg in self.legs], self.exp)
        if not loads:
            return found, ()
        carried = [0.0] * len(self.ends)  # by the legs that end at each
        for leg, outcome in zip(self.legs, found, strict=True):
            for side in leg.route.sides:
                carried[side.end] += outcome.goodput_bps if outcome.ok else 0.0
        offsets = self.offset.values()
        records = tuple(w.record(self.exp, c, o) for w, c, o in zip(self.watched, carried, offsets, strict=True))
        return accounted(found, self.routes, self.watched, self.exp), records

    def _barrier(self) -> Starts:
        """The moment at which all legs start, on each end's clock; a single leg starts as soon as it can."""
        self.begun = time.monotonic()
        if len(self.legs) == 1:
            return {}
        self.begun += LEAD + self.slowest
        return {number: self.begun + offset for number, offset in self.offset.items()}

    async def _count(self, number: int) -> None:
        """What the end's counters are now, of every card that a path of the trial uses there."""
        end, watched = self.ends[number], self.watched[number]
        sides = [side for route in self.routes for side in route.sides if side.end == number]
        for side in {side.address: side for side in sides}.values():
            watched.count(side.address, await end.point.ask(wire.Counters(side.address, side.interface)))

    async def _look(self) -> None:
        """Each connection's own counters, once, while it still is there."""
        ports = tuple(port for leg in self.legs for port in leg.data_ports)

        async def look(number: int) -> None:
            t = round(time.monotonic() - self.begun, 3)
            with contextlib.suppress(Refused, PeerLost):
                seen = await self.ends[number].point.ask(wire.Sockets())
                self.watched[number].sockets = SocketsSeen(t, seen.source, of_trial(seen.sockets, ports))

        await asyncio.sleep(self.begun + tools.expected_seconds(self.exp) - LOOK - time.monotonic())
        if ports:
            await asyncio.gather(*(look(number) for number in range(len(self.ends))))

    async def _synchronise(self, number: int) -> None:
        """The end's monotonic clock minus ours, from the quickest of three questions."""
        best = 1e9
        for _ in range(3):
            sent = time.monotonic()
            reply = await self.ends[number].point.ask(wire.Clock())
            took = time.monotonic() - sent
            self.slowest = max(self.slowest, took)
            if took < best:
                best = took
                self.offset[number] = 0.0 if number == 0 else reply.now - (sent + took / 2)

    async def _stop_everything(self) -> None:
        """After a fault: nothing of this trial may run on; what its tools said is kept if it still can be had."""
        for process in (process for leg in self.legs for process in leg.processes):
            with contextlib.suppress(Exception):
                await asyncio.wait_for(process.stop(), 2.0)
        for end in self.ends:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(end.point.ask(wire.Cancel()), 2.0)

    async def _pump(self, number: int) -> None:
        """Events of one end to the front end, and to where the result is made from."""
        queue = self.ends[number].point.events
        while not queue.empty():  # what an earlier trial left
            queue.get_nowait()
        while True:
            self._take(number, await queue.get())

    def _take(self, number: int, event: wire.Event) -> None:
        if isinstance(event, wire.RawSample):
            t = event.t - self.offset[number] - self.begun
            sample = HostSample(round(t, 3), event.cores, event.memory_used, event.nics, event.retransmits)
            self.watched[number].samples.append(sample)
            self.emit(Sampled(self.ends[number].name, sample))
            return
        for leg in self.legs:
            for process in leg.processes:
                if process.side.end == number and process.number == event.process:
                    self._heard(leg, process, event)

    def _heard(self, leg: RunningLeg, process: Process, event: wire.Line | wire.Exited) -> None:
        process.news.set()
        if isinstance(event, wire.Exited):
            process.exited.set()
            process.exited_alone = not process.told
            return
        process.last_line = time.monotonic()
        for line in event.lines:
            for interval in process.live.feed(line):
                for whole in self.seconds.add(interval):
                    self.emit(IntervalSeen(whole))
            round_trip = process.live.round_trip(line)
            if round_trip is not None:
                now = time.monotonic() - self.begun
                leg.round_trips.append((now, round_trip))
                self.emit(RoundTripSeen(round(now, 2), round_trip))
