"""The pairing window: opened by a person, closed by itself; one exchange at a time gets as far as a code.

    service = PairingService()
    await service.open(minutes=10)
    async for event in service.events(): ...      # frozen dataclasses of linkladder.pairing.events
    await service.dial("10.0.0.2")                # from another task; errors come as Failed events
    await service.confirm() / refuse()            # after CodeReady
    await service.close()

`events()` ends once the window is closed.  Everything belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime

from linkladder import __version__, state
from linkladder.errors import EnvironmentFault, LinkladderError
from linkladder.host import addresses as own_addresses
from linkladder.pairing import events as say
from linkladder.pairing import keys, peers, sshd
from linkladder.pairing.discovery import Beacon, Discovery
from linkladder.pairing.link import HELLO_TIME, Link, connect
from linkladder.pairing.protocol import (
    LINE_LIMIT,
    MAX_ADDRESSES,
    Card,
    Confirm,
    ProtocolError,
    Refuse,
    Role,
    Session,
    Stored,
)

PORT = 8623
GUESSES = 3
WAITING, PER_SOURCE = 256, 4  # connections that have not got as far as a code, in all and from one address
REVEAL_TIME = 15.0
STORED_TIME = 3.0


class _Superseded(Exception):
    """Both ends called each other, and the other call goes on."""


class _Refused(Exception):
    def __init__(self, here: bool) -> None:
        self.here = here


class PairingService:
    """See the module; `secret` is what `secret.read` gives, and confirms in place of a person."""

    def __init__(
        self, *, secret: bytes | None = None, port: int = PORT, name: str = "", discover: bool = True, bind: str = ""
    ) -> None:
        self.name = own_name(name)
        self.port = port
        self._secret, self._discover, self._bind = secret, discover, bind
        self._id = secrets.token_hex(16)
        self._events: asyncio.Queue[say.Event | None] = asyncio.Queue()
        self._card: Card | None = None
        self._server: asyncio.Server | None = None
        self._beacons: Discovery | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._sources: dict[str, int] = {}
        self._engaged: Link | None = None
        self._calling = 0
        self._decision: asyncio.Future[bool] | None = None
        self._ready: say.CodeReady | None = None
        self._failures = 0
        self._deadline = 0.0
        self._closed = True
        self._known: dict[str, str] = {}

    # --- face

    async def open(self, minutes: float = 10) -> None:
        """Listen, send beacons, and accept one pairing within the time."""
        if not self._closed:
            return
        self._card = await asyncio.to_thread(self._make_card)
        self._known = {p.fingerprint: p.name for p in await asyncio.to_thread(peers.load)}
        try:
            self._server = await asyncio.start_server(
                self._accepted, self._bind or None, self.port, limit=LINE_LIMIT, backlog=512
            )
        except OSError as error:
            raise EnvironmentFault(
                "the pairing window cannot be opened", str(error), "another linkladder here may have it open: use that"
            ) from None
        mine = Beacon(1, self._id, self.name, __version__, self._card.addresses, self.port,
                      keys.fingerprint(self._card.host_key))  # fmt: skip
        if self._discover:
            self._beacons = Discovery(mine, self._changed, self.port)
            try:
                await self._beacons.open()
            except LinkladderError:
                self._server.close()
                raise
        self._closed, self._failures = False, 0
        self._deadline = time.monotonic() + minutes * 60
        self._spawn(self._expire())
        self._tell(say.WindowOpened(minutes * 60, self.name, mine.fingerprint, mine.addresses, self.port,
                                    self._secret is not None))  # fmt: skip

    async def dial(self, address: str, port: int | None = None) -> None:
        """Pair with the window open at the address; what comes of it is told by events."""
        if self._closed or self._card is None:
            raise EnvironmentFault("the pairing window is closed", hint="open it first")
        self._tell(say.Dialling(address))
        self._calling += 1
        try:
            reader, writer = await connect(address, port or self.port)
        except LinkladderError as error:
            self._tell(say.Failed(error.title, error.cause, error.hint, self.left))
            return
        finally:
            self._calling -= 1
        self._calling += 1
        link = Link(Session(Role.DIAL, self._card, self._id, self._secret, calling=True), reader, writer)
        try:
            await self._run(link, self._dialled(link))
        finally:
            self._calling -= 1

    async def confirm(self) -> None:
        """The person says that both consoles show the same code."""
        self._decide(True)

    async def refuse(self) -> None:
        self._decide(False)

    async def close(self, reason: str = "closed here") -> None:
        if self._closed:
            return
        self._closed = True
        if self._server:
            self._server.close()
        if self._beacons:
            await self._beacons.close()
        current = asyncio.current_task()
        others = [t for t in self._tasks if t is not current]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._tell(say.WindowClosed(reason))
        self._events.put_nowait(None)

    async def events(self) -> AsyncIterator[say.Event]:
        while (event := await self._events.get()) is not None:
            yield event

    @property
    def is_open(self) -> bool:
        return not self._closed

    @property
    def seconds_left(self) -> float:
        return 0.0 if self._closed else max(0.0, self._deadline - time.monotonic())

    @property
    def left(self) -> int:
        """Attempts until the window closes."""
        return max(0, GUESSES - self._failures)

    @property
    def ready(self) -> say.CodeReady | None:
        """The code that waits for this end's person."""
        return self._ready

    def heard(self) -> tuple[say.Appliance, ...]:
        found = self._beacons.heard() if self._beacons else ()
        return tuple(self._named(one) for one in found)

    # --- both roles

    async def _run(self, link: Link, exchange: Awaitable[None]) -> None:
        """An exchange to its end, which is told; whatever was revealed and came to nothing counts as a guess."""
        session, paired = link.session, False
        try:
            await exchange
            paired = True
        except (ProtocolError, TimeoutError, ConnectionError, LinkladderError, _Refused) as error:
            if session.revealed:
                self._failures += 1
            who = session.other.name if session.other else session.other_name or link.address
            if isinstance(error, _Refused):
                self._tell(say.Refused(error.here, who, self.left))
            elif session.revealed or session.role is Role.DIAL:
                self._tell(self._failure(who, error))
        except _Superseded:
            self._failures += session.revealed
        except asyncio.CancelledError:
            link.abort()
            raise
        finally:
            if self._engaged is link:
                self._engaged = self._decision = self._ready = None
            with contextlib.suppress(OSError):
                await link.close()
        if paired:
            await self.close("paired")
        elif self._failures >= GUESSES:
            await self.close(f"{GUESSES} attempts failed: somebody may be guessing, or the wrong console was looked at")

    async def _dialled(self, link: Link) -> None:
        session = link.session
        await link.send(session.hello())
        await self._next(link, HELLO_TIME)
        if session.other_calling and session.other_id < self._id:
            # Both call: the lower one's call goes on. Wait for it, unless it went elsewhere.
            for _ in range(30):
                await asyncio.sleep(0.1)
                if self._engaged:
                    break
        self._engage(link)
        await link.send(session.reveal())
        await self._next(link, REVEAL_TIME)
        await self._compare(link)

    async def _answered(self, link: Link) -> None:
        """Nothing is revealed to a caller that has not opened its own commitment: idle callers cost no guess."""
        session = link.session
        await link.send(session.hello())
        await self._next(link, HELLO_TIME)
        await self._next(link, REVEAL_TIME)
        engaged = self._engaged
        if engaged and engaged.session.role is Role.DIAL and engaged.session.other_id == session.other_id:
            if self._id < session.other_id or engaged.session.complete:
                raise _Superseded
            engaged.abort()  # both revealed at once: the lower one's call goes on
            self._engaged = None
        try:
            self._engage(link)
        except ProtocolError:
            await link.send(Refuse("busy"))
            raise
        await link.send(session.reveal())
        await self._compare(link)

    def _engage(self, link: Link) -> None:
        if self._engaged is None:
            self._engaged = link
        elif self._engaged.session.other_id == link.session.other_id:
            raise _Superseded
        else:
            raise ProtocolError("another pairing is under way at this end")

    async def _next(self, link: Link, seconds: float) -> object:
        message = await link.take(seconds)
        if isinstance(message, Refuse):
            if message.reason == "busy":
                raise ProtocolError("it is busy pairing with another appliance")
            raise _Refused(here=False)
        return message

    async def _compare(self, link: Link) -> None:
        """Show the code, wait for both persons (or secrets), store, and tell the other end."""
        session = link.session
        card = session.other
        assert card
        self._decision = asyncio.get_running_loop().create_future()
        decision = self._decision
        self._ready = say.CodeReady(session.code, session.words, card.name, link.address,
                                    keys.fingerprint(card.host_key), session.role is Role.ANSWER,
                                    self._secret is not None)  # fmt: skip
        self._tell(self._ready)
        if self._secret is not None:
            decision.set_result(True)
        reading = asyncio.create_task(self._next(link, self.seconds_left + 1))
        confirmed = False
        try:
            while not (confirmed and session.other_confirmed):
                waiting: set[asyncio.Future[object]] = {reading} if not session.other_confirmed else set()
                if not confirmed:
                    waiting.add(decision)  # type: ignore[arg-type]
                done, _ = await asyncio.wait(waiting, timeout=self.seconds_left, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    raise TimeoutError
                if reading in done:
                    if isinstance(reading.result(), Confirm):
                        self._tell(say.PeerConfirmed(card.name))
                    reading = asyncio.create_task(self._next(link, self.seconds_left + 1))
                if decision in done and not confirmed:
                    confirmed = await self._answer(link, decision.result())
            peer = await asyncio.to_thread(peers.pin, self._peer(link, card), self.name)
            await link.send(Stored())
            certain = session.other_stored
            if not certain:
                with contextlib.suppress(ProtocolError, TimeoutError, _Refused):
                    await asyncio.wait_for(asyncio.shield(reading), STORED_TIME)
                    certain = session.other_stored
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        self._tell(say.Paired(peer, certain, peer.name != card.name))

    async def _answer(self, link: Link, yes: bool) -> bool:
        self._ready = None
        if not yes:
            with contextlib.suppress(OSError, TimeoutError):
                await link.send(Refuse("refused"))
            raise _Refused(here=True)
        own = (keys.host_key(), keys.user_key())
        sign = link.session.confirm
        await link.send(await asyncio.to_thread(sign, lambda d: keys.sign(d, own[0]), lambda d: keys.sign(d, own[1])))
        self._tell(say.Confirmed())
        return True

    def _decide(self, yes: bool) -> None:
        if self._decision is None or self._decision.done():
            raise EnvironmentFault("there is no code to confirm", hint="it may have been too late; pair again")
        self._decision.set_result(yes)

    # --- callers

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = str((writer.get_extra_info("peername") or ("?",))[0])
        crowded = self._sources.get(source, 0) >= PER_SOURCE or sum(self._sources.values()) >= WAITING
        if self._closed or crowded or self._card is None:
            writer.transport.abort()
            return
        self._sources[source] = self._sources.get(source, 0) + 1
        session = Session(Role.ANSWER, self._card, self._id, self._secret, calling=self._calling > 0)
        link = Link(session, reader, writer)
        task = self._spawn(self._run(link, self._answered(link)))
        task.add_done_callback(lambda _: self._left(source))

    def _left(self, source: str) -> None:
        self._sources[source] -= 1
        if not self._sources[source]:
            del self._sources[source]

    # --- small things

    def _changed(self, appliance: say.Appliance, there: bool) -> None:
        one = self._named(appliance)
        self._tell(say.Heard(one) if there else say.Gone(one))

    def _named(self, one: say.Appliance) -> say.Appliance:
        return replace(one, known_as=self._known.get(one.fingerprint, ""))

    def _failure(self, who: str, error: Exception) -> say.Failed:
        if isinstance(error, LinkladderError):
            return say.Failed(error.title, error.cause, error.hint, self.left)
        cause = str(error) if isinstance(error, ProtocolError) else "it stopped answering, or nobody confirmed in time"
        hint = "start again at both consoles; if it happens again, look for what sits in between"
        if "version" in cause:
            hint = "put the same version of linkladder on both appliances"
        elif "busy" in cause or "under way" in cause:
            hint = "finish or refuse that one first"
        elif "secret" in cause:
            hint = "both ends need the same site secret, or both none"
        return say.Failed(f"pairing with {who} failed", cause, hint, self.left)

    async def _expire(self) -> None:
        await asyncio.sleep(self.seconds_left)
        await self.close("its time is over")

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _tell(self, event: say.Event) -> None:
        self._events.put_nowait(event)

    def _peer(self, link: Link, card: Card) -> peers.Peer:
        addresses = (link.address, *(a for a in card.addresses if a != link.address))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return peers.Peer(card.name, addresses, card.host_key, card.user_key, card.port, card.user, paired_at=now)

    def _make_card(self) -> Card:
        user, port = sshd.control(state.ensure(state.folder()))
        found = [i.ip for _, i in own_addresses.own() if not (i.ip.is_loopback or i.ip.is_link_local)]
        addresses = tuple(dict.fromkeys(str(a) for a in found))[:MAX_ADDRESSES]
        host, mine = keys.public(keys.host_key()), keys.public(keys.user_key())
        return Card(self.name, addresses, port, user, host, mine, __version__)


def own_name(given: str = "") -> str:
    """This appliance's name, in the letters that names may have."""
    text = re.sub(r"[^A-Za-z0-9._-]", "-", given or socket.gethostname().partition(".")[0])
    return text.lstrip("._-")[:63] or "appliance"
