"""The last part of a pairing: the code is compared, by persons or by a secret, and each end stores the other's keys."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from linkladder.errors import EnvironmentFault
from linkladder.pairing import window_events as say
from linkladder.pairing.card import peer_of
from linkladder.pairing.connection import Connection
from linkladder.pairing.endings import Answer, RefusedHere
from linkladder.pairing.messages import ProtocolError, Reason, Role
from linkladder.pairing.protocol import Step
from linkladder.trust import peers
from linkladder.trust.keys import fingerprint

SECRET_TIME = 30.0  # seconds that an exchange may wait for the other end if no person is needed
DONE_TIME = 60.0  # seconds for the other end to store the keys, for which it starts a program that ends older sessions


class Confirmation:
    """One exchange from its code on; with a secret this end needs no person's answer."""

    def __init__(
        self, link: Connection, by_secret: bool, seconds_left: Callable[[], float], tell: Callable[[say.Event], None]
    ) -> None:
        card, codes = link.session.peer, link.session.codes
        assert card and codes
        self._link, self._card, self._by_secret = link, card, by_secret
        self._seconds_left, self._tell = seconds_left, tell
        self.key = fingerprint(card.host_key)
        self.code = say.CodeReady(codes.shown.digits, codes.shown.words, card.name, link.address, self.key, by_secret)
        self.decision: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.answered = False  # whether the decision was taken up
        if by_secret and link.session.role is Role.INITIATOR:
            self.decision.set_result(Answer.YES)  # who was called signs only for one that has shown the secret

    async def pair(self, own_name: str) -> peers.Peer:
        """Show the code, wait for both persons (or secrets), store, and tell the other end."""
        self._tell(self.code)
        self._read_on(self._seconds_left() + 1)
        try:
            await self._agree()
            self._tell(say.Storing(self._card.name))
            peer = await self._store(own_name)
            await self._link.send(self._link.session.done())
            with contextlib.suppress(ProtocolError, TimeoutError, OSError):
                async with asyncio.timeout(DONE_TIME):
                    await asyncio.shield(self._reading)
            return peer
        finally:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _agree(self) -> None:
        """Wait until both ends have said yes."""
        session = self._link.session
        while not (session.confirmed and session.peer_confirmed):
            # Read also after the other end's yes, so that an end that went away does not hold the place.
            waiting: set[asyncio.Future[Any]] = {self._reading} if session.confirmed else {self._reading, self.decision}
            limit = min(self._seconds_left(), SECRET_TIME) if self._by_secret else self._seconds_left()
            done, _ = await asyncio.wait(waiting, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                if (
                    not self._by_secret and session.step is not Step.FAILED
                ):  # the window closes at this moment too; whichever comes first says so
                    with contextlib.suppress(OSError, TimeoutError):
                        await self._link.send(session.refuse(Reason.CLOSED))
                raise TimeoutError
            if self._reading in done:
                self._peer_confirmed(self._seconds_left() + 1)
                if self._by_secret and not self.decision.done():
                    self.decision.set_result(Answer.YES)
            if self.decision in done and not session.confirmed:
                await self._answer(self.decision.result())
        if self._reading.done():  # the other end's yes came while this end was answering
            self._peer_confirmed(DONE_TIME)

    def _peer_confirmed(self, patience: float) -> None:
        self._reading.result()
        self._tell(say.PeerConfirmed(self._card.name))
        self._read_on(patience)

    def _read_on(self, patience: float) -> None:
        self._reading = asyncio.create_task(self._link.step(patience))

    async def _answer(self, answer: Answer) -> None:
        """Send this end's answer."""
        self.answered = True
        session = self._link.session
        if answer is not Answer.YES:
            with contextlib.suppress(OSError, TimeoutError):
                await self._link.send(session.refuse())
            raise RefusedHere(answer)
        proofs = await asyncio.to_thread(session.sign)
        if session.step is Step.FAILED:  # the other end refused meanwhile, which the reading task reports
            return
        await self._link.send(session.confirm(proofs))
        self._tell(say.Confirmed())

    async def _store(self, own_name: str) -> peers.Peer:
        try:
            return await asyncio.to_thread(
                peers.pin, peer_of(self._card, self._link.address, self._by_secret), own_name
            )
        except OSError as error:
            hint = "make room in the state folder, then pair again"
            raise EnvironmentFault(f"{self._card.name} cannot be stored", str(error), hint) from None
