"""The far ends of a run: had to itself before anything is stored, reached when needed, waited for when lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable

from linkladder import events as ev
from linkladder import wire
from linkladder.engine.controls import Controls, Stop
from linkladder.errors import EnvironmentFault, LinkladderError, in_a_line
from linkladder.model import HostFacts
from linkladder.peer import EndPoint, FarEnd, PeerLost, Refused

Connect = Callable[[str, wire.HelloReply], Awaitable[FarEnd]]
RETRIES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # seconds before each try to reach a lost peer again
LONG = 1.0  # seconds after which a person is told what is waited for


class FarEnds:
    def __init__(
        self,
        near: EndPoint,
        connect: Connect,
        controls: Controls,
        emit: Callable[[ev.Event], None],
        keep: Callable[[str, HostFacts], None],
        retries: tuple[float, ...] = RETRIES,
    ) -> None:
        """`keep` stores what a peer tells of itself, once there is a run to store it in."""
        self._near, self._connect, self._controls = near, connect, controls
        self._emit, self._keep, self._retries = emit, keep, retries
        self._run_id = ""
        self._open: dict[str, FarEnd] = {}
        self._lost: set[str] = set()  # peers that answered in this run, and do not now
        self.facts: dict[str, HostFacts] = {}  # of each peer that answered in this run, as it last told

    @property
    def addresses(self) -> dict[str, str]:
        """Where the control channel to each of those that are open leads."""
        return {peer: far.address for peer, far in self._open.items()}

    async def reserve(self, peers: Iterable[str], run_id: str) -> None:
        """Before anything is stored: where one is busy there is no run.

        One that does not answer may have to be moved first; its rung will tell, and the rungs without it are measured.
        """
        self._run_id = run_id
        for peer in peers:
            words = f"Waiting for {peer} to say whether it is free ..."
            told = asyncio.get_running_loop().call_later(LONG, self._emit, ev.Notice(words))
            try:
                await self._have(peer)
            except Refused as error:
                await self.close()
                raise EnvironmentFault(f"{peer} is busy", str(error), "wait for that run to end, or end it") from None
            except (PeerLost, LinkladderError):
                continue
            finally:
                told.cancel()

    def keep_facts(self) -> None:
        """Now there is a run."""
        for peer, facts in self.facts.items():
            self._keep(peer, facts)

    async def reach(self, peer: str) -> FarEnd:
        """The connected far end, waited for with growing pauses when it is lost."""
        if peer in self._open and self._open[peer].lost:
            self._lost.add(peer)
            await self.drop(peer)
        if peer in self._open:
            return self._open[peer]
        for pause in (*self._retries, 0.0):
            try:
                far = await self._have(peer)
            except (PeerLost, LinkladderError) as error:
                if pause == 0.0 or peer not in self.facts:  # one that answered is lost, not wrong
                    self._emit(ev.PeerLost(peer, in_a_line(error), 0.0))
                    raise Stop(f"{peer} cannot be reached: {in_a_line(error)}") from error
                self._lost.add(peer)
                self._emit(ev.PeerLost(peer, in_a_line(error), pause))
                await self._nap(pause)
                continue
            if peer in self._lost:
                self._lost.discard(peer)
                self._emit(ev.PeerBack(peer))
            self._keep(peer, self.facts[peer])
            return far
        raise AssertionError("the last pause is 0")

    async def _have(self, peer: str) -> FarEnd:
        """Connected and ours, once the agent of this run's connection before has quite gone."""
        for pause in (*self._retries, 0.0):
            far = await self._connect(peer, self._near.hello)
            try:
                await far.ask(wire.Reserve(f"{self._near.name}, run {self._run_id}"))
                self.facts[peer] = await far.ask(wire.Facts())
                self._open[peer] = far
                return far
            except Refused as error:
                await far.close()
                if pause == 0.0 or self._run_id not in str(error):
                    raise
            except BaseException:
                await far.close()
                raise
            await self._nap(pause)
        raise AssertionError("the last pause is 0")

    async def _nap(self, seconds: float) -> None:
        for _ in range(max(1, int(seconds * 10))):
            self._controls.raise_if_asked()
            await asyncio.sleep(0.1)

    async def went(self, error: PeerLost) -> None:
        """Whoever went did so in the middle of something, which is done again once it is back."""
        for peer in [peer for peer, far in self._open.items() if far.lost]:
            self._lost.add(peer)
            await self.drop(peer)
        self._emit(ev.Notice(f"{str(error).rstrip('.')}; the trial will be done again"))

    async def drop(self, peer: str) -> None:
        far = self._open.pop(peer, None)
        if far:
            with contextlib.suppress(Exception):
                await far.close()

    async def close(self) -> None:
        for peer in tuple(self._open):
            await self.drop(peer)
