"""Does an end's work: each request of `wire.VERBS` has a method here, which serves the near and the far end alike."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from linkladder import __version__, host, privilege, settings, tools, wire
from linkladder.agent.firewall import Firewall
from linkladder.agent.lending import Lending
from linkladder.agent.probing import ProbeListener, probe
from linkladder.agent.processes import Child, Children, Gate, Turn, buffers
from linkladder.agent.targets import Caller, Targets, announced, owned
from linkladder.errors import LinkladderError, in_a_line
from linkladder.host import programs
from linkladder.model import Affinity, Experiment, HostFacts

if TYPE_CHECKING:
    from linkladder.agent.sampling import Samples

R = TypeVar("R")
LONGEST_WAIT = 5.0  # how many seconds in advance a client's start may be requested
LISTEN_WAIT = 3.0  # seconds within which a server must listen
OVERTIME = 60.0  # seconds after its planned end at which a tool is ended if nobody has stopped it
MISSING = "not found; install it (linkladder doctor says how)"


class Service:
    """One end of a trial; it reports events to `say`."""

    def __init__(self, say: Callable[[wire.Event], None], caller: Caller = Caller.CONSOLE, peer: str = "") -> None:
        self.say = say
        self.targets = Targets(caller, peer)
        self.turn = Turn()
        self.lock = self.turn.lock
        self.children = Children(self._tell, self.lock.descriptors)
        self.firewall = Firewall(self.children.at_end)
        self.lending = Lending()
        self.gate: Gate | None = None  # of the trial whose clients start together
        self.listener: ProbeListener | None = None
        self.awaited = ("", "")  # the listener's address, and whose knock it is for
        self.listening = asyncio.Lock()
        self.samples: Samples | None = None  # once a trial has asked for them
        self.single: set[str] = set()  # cards known to be no bundle; emptied when the machine is changed
        self.versions: dict[str, str] | None = None

    async def do(self, request: wire.Request[R]) -> R:
        """Carry out a checked request. Raises Refused, with the reason, if that is not allowed or fails."""
        method: Callable[[wire.Request[R]], Awaitable[R]] = getattr(self, f"do_{request.verb}")
        with self.turn.carrying_out() if request.held else contextlib.nullcontext():
            return await method(request)

    @property
    def may_wait(self) -> bool:
        """Whether what the tools print may be told later."""
        return self.samples is not None and self.samples.may_wait

    def _tell(self, event: wire.Line | wire.Exited) -> None:
        self.say(event)
        known = isinstance(event, wire.Line) and event.process in self.children
        if self.samples and known and self.children[event.process].loads:
            self.samples.beside_a_line()

    async def close(self) -> None:
        """Clean up: end tools and listeners, restore settings, close the firewall and release the reservation."""
        with contextlib.suppress(wire.Refused):
            await self.do_cancel(wire.Cancel())
        with contextlib.suppress(wire.Refused):  # the journal still has it, and the next reservation reports it
            await self.lending.give_back()
        with contextlib.suppress(wire.Refused):
            await self.firewall.close()
        await self.children.close()
        self.lock.release()

    # --- who this is

    async def do_hello(self, request: wire.Hello) -> wire.HelloReply:
        with contextlib.suppress(LinkladderError):  # if settings cannot be restored, the reservation is refused later
            await settings.recover()
        facts, found, management = await asyncio.gather(
            asyncio.to_thread(host.facts), self._versions(), asyncio.to_thread(self.targets.management_adapter)
        )
        mine = tuple(a for nic in facts.nics if nic.name != management for a in nic.addresses if announced(a))
        return wire.HelloReply(
            wire.PROTOCOL, __version__, facts.name, facts.os, found, mine, facts.window_limit, facts.cores
        )

    async def do_facts(self, _: wire.Facts) -> HostFacts:
        facts, found = await asyncio.gather(asyncio.to_thread(host.facts), self._versions())
        return replace(facts, tools=found, version=__version__)

    async def _versions(self) -> dict[str, str]:
        if self.versions is None:
            found = await asyncio.gather(*(asyncio.to_thread(programs.tool_version, name) for name in tools.TOOLS))
            self.versions = {name: version for name, version in zip(tools.TOOLS, found, strict=True) if version}
        return self.versions

    async def do_clock(self, _: wire.Clock) -> wire.ClockReply:
        return wire.ClockReply(time.monotonic(), time.time())

    # --- one run at a time

    async def do_reserve(self, request: wire.Reserve) -> None:
        if self.lock.held:
            return
        self.single.clear()
        if (holder := self.lock.take(request.holder)) is not None:
            raise wire.Refused(f"busy: {holder} is measuring with this appliance", holder)
        try:
            await settings.settle()  # so that no run measures with settings that a crash left changed
        except BaseException as error:
            self.lock.release()
            if isinstance(error, LinkladderError):
                lent = isinstance(error, settings.StillLent)  # and put back soon: the same run may ask again
                raise wire.Refused(in_a_line(error), request.holder if lent else "") from None
            raise

    async def do_release(self, _: wire.Release) -> None:
        """Free this end once nothing of the run is left here: tools, listeners, open ports, changed settings."""
        with self.turn.ending():
            await self.do_cancel(wire.Cancel())  # so that requests which wait for a tool come to an end
            await self.turn.quiet()
            await self.do_cancel(wire.Cancel())
            self.targets.forget()
            try:
                await self.firewall.close()
            finally:
                await self.lending.give_back()
            await self.children.close()

    # --- settings on loan

    async def do_lease(self, request: wire.TakeLease) -> wire.LeaseReply:
        self.single.clear()
        return await self.lending.take(request)

    async def do_renew(self, _: wire.RenewLease) -> None:
        await self.lending.renew(resting=not self.children)

    async def do_return(self, _: wire.ReturnLease) -> wire.LeaseReply:
        self.single.clear()
        return await self.lending.give_back()

    async def do_member(self, request: wire.SwitchMember) -> wire.SwitchedReply:
        return await self.lending.turn(request.down)

    # --- is the port reachable

    async def do_known(self, request: wire.Known) -> wire.KnownReply:
        return wire.KnownReply(self.targets.known(request.address))

    async def do_introduce(self, request: wire.Introduce) -> None:
        """Say early, and in words, what `targets` holds in any case: whether this end meets others than the caller."""
        if self.targets.caller is not Caller.INTRODUCER:
            raise wire.Refused(
                f"no introductions are taken here, so it does not measure with {request.name}; "
                "say yes at its console: linkladder peers introductions NAME allow"
            )

    async def do_route(self, request: wire.RouteTo) -> wire.RouteReply:
        interface, gateway = await asyncio.to_thread(host.route, request.remote, request.local)
        return wire.RouteReply(interface, gateway, await asyncio.to_thread(host.interface_of, request.local))

    async def do_listen(self, request: wire.Listen) -> None:
        own, peer, targets = request.address, request.peer, self.targets
        self._own(own)
        targets.check_way(own, peer)
        async with self.listening:  # or of two requests at once each would open a port, and one stay open
            await self._unlisten()
            self.awaited = (own, peer)
            await self.firewall.open(own, peer)
            key, met = bytes.fromhex(request.key), partial(targets.met_by, expected=peer)
            try:
                self.listener = await ProbeListener.open(own, request.port, request.udp, key, targets.role, met)
            except OSError as error:
                await self._unlisten()
                raise wire.Refused(f"port {request.port} of {own} cannot be opened: {error.strerror}") from None

    async def do_unlisten(self, _: wire.Unlisten) -> None:
        async with self.listening:
            await self._unlisten()

    async def _unlisten(self) -> None:
        if self.listener:
            await self.listener.close()
            self.listener = None
        if self.awaited[1] and not self.targets.known(self.awaited[1]):
            await self.firewall.shut(*self.awaited)
        self.awaited = ("", "")

    async def do_probe(self, request: wire.Probe) -> wire.ProbeReply:
        self._own(request.local)
        self.targets.check_way(request.local, request.remote)
        await self.targets.may_knock(request.remote)
        key, targets = bytes.fromhex(request.key), self.targets
        state, detail = await probe(
            request.local, request.remote, request.port, request.udp, key, targets.role, targets.may_meet
        )
        if state == "open":
            targets.met(request.remote)
            await self.firewall.open(request.local, request.remote)
        return wire.ProbeReply(state, detail)

    # --- tools

    async def do_serve(self, request: wire.Serve) -> wire.Started:
        trial = self.turn.trial
        self._own(request.bind)
        self.targets.check_way(request.bind, request.peer)
        self.targets.check(request.peer)
        await self.firewall.open(request.bind, request.peer)
        exp = request.experiment
        argv = tools.server_argv(exp, await self._tool_versions(), request.bind, request.port)
        if not argv:
            raise wire.Refused(f"{exp.tool} has no server")
        argv = tools.named(exp.tool).guarded(argv, request.key)
        child = await self._start(await self._placed(argv, exp, request.bind), exp, trial=trial)
        udp = tools.named(exp.tool).listens(exp) == "udp"
        await self._until_listening(child, request.port, udp, request.bind)
        return wire.Started(child.number, tuple(argv), child.started)

    async def _until_listening(self, child: Child, port: int, udp: bool, address: str) -> None:
        """Wait until the server listens. A check may take seconds, so one more is made after the time is up."""
        deadline = time.monotonic() + LISTEN_WAIT
        late, pause = False, 0.0025
        while not await asyncio.to_thread(host.listening, port, udp, address):
            if child.done.done() or late:
                ended = await self.children.end(child)
                words = (ended.errors + ended.output).strip()[-300:] or "it printed nothing"
                how = f"did not listen within {LISTEN_WAIT:g} s" if late or ended.hung else "ended at once"
                raise wire.Refused(f"the server {how}: {words}")
            await asyncio.sleep(pause)
            late, pause = time.monotonic() > deadline, min(2 * pause, 0.02)  # most listen within a few milliseconds

    async def do_client(self, request: wire.RunClient) -> wire.Started:
        trial = self.turn.trial
        self._own(request.local)
        self.targets.check_way(request.local, request.remote)
        self.targets.check(request.remote)
        await self.firewall.open(request.local, request.remote)
        versions = await self._tool_versions()
        try:
            argv = tools.client_argv(
                request.experiment, versions, request.layout, request.local, request.remote, request.port, request.index
            )
        except IndexError:
            raise wire.Refused(f"index: the experiment has no process {request.index}") from None
        argv = tools.named(request.experiment.tool).guarded(argv, request.key)
        exp, privileged = request.experiment, request.layout.privileged
        held = privilege.wrap(argv) if privileged else await self._placed(argv, exp, request.local)
        wait = request.at - time.monotonic()
        if wait > LONGEST_WAIT:
            raise wire.Refused(f"at: expected a moment within {LONGEST_WAIT:g} s, got one in {wait:.0f} s")
        gate = None if request.at or privileged else self._gate(request)
        try:
            child = await self._start(list(held), exp, privileged, request.at, gate, trial)
        except wire.Refused:
            if gate:
                gate.arrive()  # so that the others do not wait for this one
            raise
        return wire.Started(child.number, tuple(argv), child.started)

    def _gate(self, request: wire.RunClient) -> Gate | None:
        """The gate at which the trial's clients wait for each other; None if this client starts by itself."""
        where, of = request.layout, (request.port, request.key)
        if not where.together or where.clients < 2:
            return None
        if self.gate is None or self.gate.is_open or self.gate.of != of:
            self._open_gate()
            self.gate = Gate(of, where.clients)
        return self.gate

    def _open_gate(self) -> None:
        if self.gate:
            self.gate.open()

    async def do_enough(self, request: wire.Enough) -> None:
        self._known(request.process)
        self.children[request.process].enough()

    async def do_stop(self, request: wire.Stop) -> wire.Finished:
        self._known(request.process)
        finished = await self.children.stop(request.process, request.at_once)
        if not self.children:
            self.firewall.trial_over()
        return finished

    async def do_cancel(self, _: wire.Cancel) -> None:
        self.turn.trial += 1
        if self.samples:
            self.samples.end()
        await self.children.stop_all()
        self._open_gate()
        self.firewall.trial_over()
        await self.do_unlisten(wire.Unlisten())  # last, as the firewall may refuse

    async def _placed(self, argv: Iterable[str], exp: Experiment, address: str) -> list[str]:
        """The command line, restricted to the CPU cores that the experiment allows its tool."""
        try:
            if exp.affinity is Affinity.FREE:
                return [*host.confined(exp.cores, exp.on_cores), *argv]
            name = await asyncio.to_thread(host.interface_of, address)
            facts = await asyncio.to_thread(host.facts)
            nic = next((n for n in facts.nics if n.name == name), None)
            return [*host.pinned(exp.affinity, nic.queue_cores if nic else (), facts.threads), *argv]
        except ValueError as error:
            raise wire.Refused(str(error)) from None

    async def _start(
        self, command: list[str], exp: Experiment, privileged: bool = False, at: float = 0.0, gate: Gate | None = None,
        trial: int | None = None,
    ) -> Child:  # fmt: skip
        """Start a tool, at the moment `at`, or when all clients have come to the gate, or else at once.

        It is ended some time after its planned end, even if the caller is gone by then.
        """
        self.children.check(exp)
        found = programs.find(command[0])
        if not found:
            raise wire.Refused(f"{command[0]}: {MISSING}")
        argv = [found, *command[1:]]
        tool = tools.named(exp.tool)
        self.turn.go_on(trial)
        try:
            child = await self.children.start(argv, privileged, at, gate, tool.memory(exp))
        except OSError as error:
            raise wire.Refused(f"{command[0]}: {error.strerror}") from None
        child.enough_by, child.buffers, child.loads = tool.enough_by, buffers(exp), tool.loads
        longest = tools.expected_seconds(exp) + tool.latest(exp) + OVERTIME
        limit = asyncio.create_task(self._end_after(child, longest))
        child.done.add_done_callback(lambda _: limit.cancel())
        try:
            self.turn.go_on(trial)
        except wire.Refused:
            await self.children.end(child)
            raise
        return child

    async def _end_after(self, child: Child, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await child.stop()

    async def _tool_versions(self) -> tools.ToolVersions:
        facts_os = await asyncio.to_thread(host.system)
        return tools.ToolVersions(await self._versions(), facts_os)

    # --- watching

    async def do_sampling(self, request: wire.Sampling) -> wire.SamplingReply:
        if self.samples:
            self.samples.end()
        if request.on:
            from linkladder.agent.sampling import Samples  # imported late, so that an agent starts faster

            self.samples = Samples(self.say)
            self.samples.begin(request)
        return wire.SamplingReply(self.samples.connections if self.samples else None)

    async def do_counters(self, request: wire.Counters) -> wire.CountersReply:
        return await asyncio.to_thread(self._counters, request)

    def _counters(self, request: wire.Counters) -> wire.CountersReply:
        name = request.interface or host.interface_of(request.address)
        total, _ = host.memory()
        seen, bundle = host.nic_counters(detail=True), None if name in self.single else host.bundle(name)
        if bundle is None and name in seen:
            self.single.add(name)  # remembered, since finding out starts a program before and after each trial
        members = tuple(seen[m.name] for m in (bundle.members if bundle else ()) if m.name in seen)
        nic = seen.get(name)
        if nic and bundle and bundle.of_routes:  # the interface with the address carries no traffic itself
            from linkladder.model import sums  # imported late, as few ends need it

            of_itself = replace(nic, rx_bytes=0, tx_bytes=0, rx_packets=0, tx_packets=0)
            nic = replace(sums.of_nics((of_itself, *members)), name=name, carrier_lost=nic.carrier_lost)
        starved, dropped = host.starvation(), host.udp_dropped()
        queues = host.queues([name, *(m.name for m in members)])
        return wire.CountersReply(name, nic, host.tcp_counters(), starved, total, members, dropped, *queues)

    async def do_sockets(self, _: wire.Sockets) -> wire.SocketsReply:
        now = time.monotonic()
        found = await asyncio.to_thread(host.sockets, wire.PORTS.start, wire.PORTS.stop - 1)
        return wire.SocketsReply(now, host.sockets_source(), found)

    # --- what is not allowed

    def _own(self, address: str) -> None:
        if not owned(address):
            raise wire.Refused(f"{address} is not an address of this appliance")

    def _known(self, process: int) -> None:
        if process not in self.children:
            raise wire.Refused(f"no process {process} runs here")
