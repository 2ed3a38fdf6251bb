"""Manages the far ends of a run: reserves them before anything is stored, connects, and finds lost ones again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from linkladder import events as ev
from linkladder import wire
from linkladder.engine import reserving
from linkladder.engine.paths import PathUnknown, resolve
from linkladder.engine.route import Route
from linkladder.errors import EnvironmentFault, LinkladderError, in_a_line
from linkladder.host import interface_of
from linkladder.model import HostFacts, Path
from linkladder.peer import EndPoint, FarEnd, PeerLost, Refused
from linkladder.phrases import is_free, out_of_reach, waits

Connect = Callable[[str], Awaitable[FarEnd]]
LONG = 1.0  # seconds after which a person is told what is waited for
RETRIES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # seconds before each try to reach a lost peer again


class Unreachable(Exception):
    """The end cannot be had; the reason is for people."""


class MissingEnd:
    """Stands in for an end that is out of reach: every request to it fails with the reason."""

    lost = True
    address = ""

    def __init__(self, name: str, hello: wire.HelloReply, reason: str) -> None:
        self.name, self.hello, self.reason = name, hello, reason
        self.events: asyncio.Queue[wire.Event] = asyncio.Queue()

    async def ask(self, request: wire.Request[Any]) -> Any:
        raise PeerLost(self.reason)

    async def close(self) -> None:
        """There is nothing to close."""


def without_one(routes: Iterable[Route]) -> bool:
    """Whether an end of these was out of reach when they were made."""
    return any(isinstance(side.point, MissingEnd) for route in routes for side in route.sides)


def with_addresses(named: Path, ends: Mapping[str, EndPoint], near: EndPoint) -> Path:
    """The path with both addresses; of one that only an end out of reach could tell, what is known by now."""
    here: EndPoint = ends[named.origin] if named.origin else near
    there = ends[named.peer]
    if any(isinstance(end, MissingEnd) for end in (here, there)) and not (named.local and named.remote):
        return named
    return resolve(named, here.hello, there.hello)


def located(paths: Iterable[Path], ends: Mapping[str, EndPoint]) -> tuple[Path, ...]:
    """The paths with the addresses that ends tell which were out of reach before; `ends` are by peer, '' being this."""
    found = []
    for path in paths:
        with contextlib.suppress(PathUnknown):  # the leg on it says so
            if not (path.local and path.remote):
                path = with_addresses(path, ends, ends[""])
        found.append(path)
    return tuple(found)


def shares_a_card(path: Path, name: str, control: str, card: str, facts: HostFacts | None) -> bool:
    """Whether control reaches that peer over a card that the test runs over, here or there: then its loss may be the
    path's.  `card` is this end's on the way to `control`, `facts` are the peer's.
    """
    tested = path.remote if name == path.peer else path.local
    if control == tested or (card and not path.origin and card == (path.local_interface or interface_of(path.local))):
        return True
    cards = facts.nics if facts else ()
    return any(control in nic.addresses and tested in nic.addresses for nic in cards)


class FarEnds:
    """`stop` raises where the operator has asked for it; `keep` takes what a peer tells of its host."""

    def __init__(
        self,
        near: EndPoint,
        connect: Connect,
        retries: tuple[float, ...],
        emit: Callable[[ev.Event], None],
        stop: Callable[[], None],
        keep: Callable[[str, HostFacts], None],
    ) -> None:
        self._near, self._connect, self._retries = near, connect, retries
        self._emit, self._stop, self._keep = emit, stop, keep
        self.run_id = ""
        self.facts: dict[str, HostFacts] = {}  # as they last told
        self.connected: dict[str, FarEnd] = {}
        self._hello: dict[str, wire.HelloReply] = {}  # of all that answered in this run
        self._lost: dict[str, str] = {}  # those that do not answer now, each with the reason
        self._seeking: dict[str, asyncio.Task[None]] = {}

    @property
    def channels(self) -> tuple[str, ...]:
        """Where this end's channels to its peers lead."""
        return tuple(far.address for far in self.connected.values())

    @property
    def present(self) -> frozenset[str]:
        """The peers that are connected, as far as is known."""
        return frozenset(peer for peer, far in self.connected.items() if not far.lost)

    def why_away(self, peer: str) -> str:
        return out_of_reach(peer, self._lost.get(peer, "it was lost"))

    def address(self, peer: str) -> str | None:
        """The address that the peer was reached at; None while it is not."""
        far = self.connected.get(peer)
        return far.address if far else None

    def peer_under_test(self, path: Path) -> str:
        """The peer whose control channel uses a card that the path loads; '' if there is none."""
        here = {name: self.connected[name] for name in path.peers if name in self.connected}
        shared = (
            name for name, far in here.items() if shares_a_card(path, name, far.address, far.card, self.facts.get(name))
        )
        return next(shared, "")

    async def reserve(self, peers: Iterable[str]) -> None:
        """Reserve the peers before a run is stored, all at once, so that one which takes long delays no other. If the
        only one is busy, or all of several are, there is no run.
        One that does not answer may have to be moved first; rungs without it are measured."""
        wanted = tuple(peers)
        work = [asyncio.create_task(self._reserved(peer)) for peer in wanted]
        try:
            busy = [why for why in await asyncio.gather(*work) if why]
        finally:
            for one in work:
                one.cancel()
            await asyncio.gather(*work, return_exceptions=True)
        if busy and len(busy) == len(work):
            await self.close()
            fault = f"{wanted[0]} is busy" if len(busy) == 1 else "every peer is busy"
            raise EnvironmentFault(fault, "; ".join(busy), "wait for that run to end, or end it")

    async def _reserved(self, peer: str) -> str:
        """Why the peer is busy; '' where it is reserved now, or does not answer."""
        words = f"Waiting for {peer} to say whether it is free ..."
        notice = asyncio.get_running_loop().call_later(LONG, self._emit, ev.Notice(words))

        def tell(event: ev.Event) -> None:
            notice.cancel()  # the reason is more than that it has not answered
            self._emit(event)

        try:
            waited = await reserving.patiently(peer, lambda last: self._try_reserve(peer, last), self._retries, tell)
            if waited or notice.when() <= asyncio.get_running_loop().time():
                self._emit(ev.Notice(is_free(peer)))  # or the wait is the last word
        except Refused as error:
            return str(error)
        except (PeerLost, LinkladderError):
            pass
        finally:
            notice.cancel()
        return ""

    async def reach(self, peer: str) -> FarEnd:
        """The connected far end, waited for with growing pauses when it is lost."""
        await self._end_search(peer)
        await self._drop_broken((peer,))
        reason = ""
        for pause in (*self._retries, 0.0):
            if peer in self.connected:
                return self.connected[peer]
            try:
                if not (why := await self._try_reserve(peer, last=pause == 0.0)):
                    continue
                if why != reason:
                    self._emit(ev.Notice(waits(peer, why)))
                reason = why
            except (PeerLost, LinkladderError) as error:
                if pause == 0.0 or peer not in self._hello:  # one that answered is lost, not wrong
                    self._emit(ev.PeerLost(peer, in_a_line(error), 0.0))
                    raise Unreachable(f"{peer} cannot be reached: {in_a_line(error)}") from error
                self._lost[peer] = in_a_line(error)
                self._emit(ev.PeerLost(peer, in_a_line(error), pause))
            await self._nap(pause)
        return self.connected[peer]

    async def facts_now(self, peers: Iterable[str]) -> dict[str, HostFacts]:
        """What this end and those peers that answer are now, by name, this end under ''."""
        found: dict[str, HostFacts] = {}

        async def tells(name: str, end: EndPoint) -> None:
            with contextlib.suppress(PeerLost):  # the trial meets it too
                found[name] = await end.ask(wire.Facts())

        ends: dict[str, EndPoint] = {"": self._near, **await self.connected_or_missing(peers)}
        await asyncio.gather(*(tells(name, end) for name, end in ends.items()))
        return found

    async def connected_or_missing(self, peers: Iterable[str]) -> dict[str, FarEnd | MissingEnd]:
        """Each far end as it is now. With several, one that is lost or busy is looked for meanwhile and delays no
        other."""
        wanted = tuple(peers)
        if len(wanted) < 2:
            return {peer: await self.reach(peer) for peer in wanted}
        await self._drop_broken(wanted)
        first = [self._try(peer) for peer in wanted if peer not in self.connected and peer not in self._lost]
        await asyncio.gather(*first)
        for peer in wanted:
            if peer not in self.connected and peer not in self._seeking:
                self._seeking[peer] = asyncio.create_task(self._seek(peer))
        if not any(peer in self.connected for peer in wanted):
            await self.reach(wanted[0])
        return {peer: self.connected.get(peer) or self._missing(peer) for peer in wanted}

    async def look_again(self, peers: Iterable[str]) -> None:
        """Look once, now, for those of these that are out of reach."""

        async def look(peer: str) -> None:
            await self._end_search(peer)
            if peer not in self.connected:
                await self._try(peer)

        wanted = tuple(peers)
        await self._drop_broken(wanted)
        await asyncio.gather(*(look(peer) for peer in wanted if peer not in self.connected))

    async def drop_lost(self, reason: str, again: str) -> None:
        """Drop the connections to ends that were lost, and say so; `again` says what becomes of the trial."""
        for peer in [peer for peer, far in self.connected.items() if far.lost]:
            self._lost[peer] = reason
            await self.drop(peer)
        self._emit(ev.Notice(f"{reason.rstrip('.')}; {again}"))

    async def _drop_broken(self, peers: Iterable[str]) -> None:
        """Drop those whose channel broke while others measured on, so that nobody takes them for present."""
        for peer in peers:
            far = self.connected.get(peer)
            if far and far.lost:
                self._lost[peer] = far.why_lost
                self._emit(ev.PeerLost(peer, far.why_lost, self._retries[0] if self._retries else 0.0))
                await self.drop(peer)

    async def drop(self, peer: str) -> None:
        far = self.connected.pop(peer, None)
        if far:
            with contextlib.suppress(Exception):
                await far.close()

    async def close(self) -> None:
        for peer in tuple(self._seeking):
            await self._end_search(peer)
        for peer in tuple(self.connected):
            await self.drop(peer)

    async def _try_reserve(self, peer: str, last: bool = True) -> str:
        """Try to connect and reserve once: why it is to be tried again, as where the agent of an earlier connection has
        not quite ended; '' if it is reserved.
        """
        far = await self._connect(peer)
        try:
            if why := await reserving.ask(far, reserving.own(self._near, self.run_id), last):
                await far.close()
                return why
            facts = await far.ask(wire.Facts())
        except BaseException:  # nobody else knows of the channel yet
            await far.close()
            raise
        if self._lost.pop(peer, None) is not None:
            self._emit(ev.PeerBack(peer))
        self.connected[peer], self.facts[peer], self._hello[peer] = far, facts, far.hello
        self._keep(peer, facts)
        return ""

    async def _try(self, peer: str) -> None:
        try:
            await self._try_reserve(peer)
        except (PeerLost, Refused, LinkladderError) as error:
            known, self._lost[peer] = self._lost.get(peer), in_a_line(error)
            if known != self._lost[peer]:
                self._emit(ev.PeerLost(peer, self._lost[peer], self._retries[0] if self._retries else 0.0))

    async def _seek(self, peer: str) -> None:
        """Look for a lost end in the background until it is back."""
        pauses = [*self._retries, 30.0]
        try:
            while peer not in self.connected:
                await asyncio.sleep(pauses.pop(0) if len(pauses) > 1 else pauses[0])
                with contextlib.suppress(PeerLost, Refused, LinkladderError):
                    await self._try_reserve(peer)
        finally:
            self._seeking.pop(peer, None)

    async def _end_search(self, peer: str) -> None:
        task = self._seeking.pop(peer, None)
        if task:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _missing(self, peer: str) -> MissingEnd:
        """A stand-in for an end that never answered; plans treat it as having this machine's tools."""
        hello = self._hello.get(peer) or replace(self._near.hello, name=peer, addresses=())
        return MissingEnd(peer, hello, self.why_away(peer))

    async def _nap(self, seconds: float) -> None:
        for _ in range(max(1, int(seconds * 10))):
            self._stop()
            await asyncio.sleep(0.1)
