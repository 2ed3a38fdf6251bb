"""The pairing window: a person opens it, it closes by itself, and only one exchange at a time gets as far as a code.

With a site secret as many go on as come, as strangers could hold a place that only one can have, and learn nothing.

    service = PairingService()
    await service.open(minutes=10)
    async for event in service.events(): ...      # frozen dataclasses of linkladder.pairing.window_events
    await service.dial("10.0.0.2")                # from another task; errors come as Failed events
    await service.answer(typed) / refuse()        # after CodeReady, with the code that the other console shows
`events()` ends once the window is closed. All of it must run in one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING

from linkladder import __version__, state
from linkladder.errors import EnvironmentFault, LinkladderError
from linkladder.pairing import window_events as say
from linkladder.pairing.callers import Callers, Failing
from linkladder.pairing.card import KeyProver, own_card
from linkladder.pairing.connection import STEP_TIME, Connection, connect_patiently, listen
from linkladder.pairing.discovery import Beacon, Discovery, own_name
from linkladder.pairing.endings import Answer, RefusedHere, as_event
from linkladder.pairing.messages import Hello, ProtocolError, Reason, Reveal, Role, decode
from linkladder.pairing.protocol import Handshake, Step
from linkladder.trust import peers
from linkladder.trust.keys import fingerprint

if TYPE_CHECKING:
    from linkladder.pairing.confirmation import Confirmation

PORT = 8623
UNBOUNDED = 0  # others: as many as come
GUESSES = 3
COURTESY = 1.0  # seconds that one of two crossing calls waits for the other if no person is needed
REVEAL_TIME = 10.0  # seconds; the called end may first wait for its own call to fail
NO_FAULT = (Reason.BUSY, Reason.CROSSED, Reason.CLOSED)  # who calls at a wrong moment has not failed


class PairingService:
    """A pairing window; a `secret`, as `secret.read` returns it, confirms in place of a person.

    With a secret it stays open until that many `others` are paired, or for as many as come (UNBOUNDED).
    """

    def __init__(
        self,
        *,
        secret: bytes | None = None,
        port: int = PORT,
        name: str = "",
        discover: bool = True,
        bind: str = "",
        others: int = 1,
    ) -> None:
        self.name = own_name(name)
        self.port = port
        self._secret, self._discover, self._bind = secret, discover, bind
        self._tie = secrets.token_hex(16)
        self._events: asyncio.Queue[say.Event | None] = asyncio.Queue()
        self._card: Reveal | None = None
        self._server: asyncio.Server | None = None
        self._beacons: Discovery | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._going: dict[Connection, None] = {}  # exchanges that have revealed or will; without a secret one at most
        self._calls: dict[object, None] = {}  # this end's calls that the other end has not answered yet
        self._confirmation: Confirmation | None = None  # the one that waits for a person
        self._failures = 0
        self._failing = Failing(GUESSES)
        self._callers = Callers(self._failing, secret is not None)
        self._deadline = 0.0
        self._closed = True
        self._known: dict[str, str] = {}  # names by fingerprints
        self._others = others if secret is not None else 1
        self._paired: set[str] = set()  # fingerprints of those paired by this window

    # --- interface

    async def open(self, minutes: float = 10) -> None:
        """Listen, send beacons, and accept pairings within the time."""
        if not self._closed:
            return
        self._card = await asyncio.to_thread(own_card, self.name)
        self._prover = KeyProver(state.folder())
        self._known = {p.fingerprint: p.name for p in await asyncio.to_thread(peers.load)}
        self._server = await listen(self._accepted, self._bind, self.port)
        mine = Beacon(1, self._tie, self.name, __version__, self._card.addresses, self.port,
                      fingerprint(self._card.host_key))  # fmt: skip
        if self._discover:
            self._beacons = Discovery(mine, self._changed, self.port)
            try:
                await self._beacons.open()
            except BaseException:
                self._server.close()
                await self._beacons.close()
                raise
        self._closed, self._failures = False, 0
        self._deadline = time.monotonic() + minutes * 60
        self._spawn(self._expire())
        self._tell(say.WindowOpened(minutes * 60, self.name, mine.fingerprint, mine.addresses, self.port,
                                    self._secret is not None))  # fmt: skip

    async def dial(self, address: str, port: int | None = None) -> None:
        """Pair with the window that is open at an address; the result comes as events."""
        if self._closed or self._card is None:
            raise EnvironmentFault("the pairing window is closed", hint="open it first")
        self._tell(say.Dialling(address))
        pending = object()
        self._calls[pending] = None
        try:
            reader, writer = await connect_patiently(address, port or self.port, lambda: self._engaged is not None)
        except LinkladderError as error:
            if self._engaged is None:
                self._tell(as_event(error, address, self.left))
            return
        finally:
            del self._calls[pending]
        link = Connection(self._handshake(Role.INITIATOR), reader, writer)
        self._calls[link] = None
        await self._run(link, self._dialled)

    async def answer(self, typed: str) -> bool:
        """Take the code that the person read at the other console: the right one is a yes, another one refuses."""
        codes = self._engaged.session.codes if self._engaged and self.ready else None
        right = codes.is_due(typed) if codes else False
        self._decide(Answer.YES if right else Answer.OTHER_CODE)
        return right

    async def refuse(self) -> None:
        self._decide(Answer.NO)

    async def close(self, reason: str = "closed here") -> None:
        if self._closed:
            return
        self._closed = True
        if self._server:
            self._server.close()
        if self._beacons:
            await self._beacons.close()
        for link in [one for one in self._going if not one.session.agreed]:  # it would wait for a yes that cannot come
            with contextlib.suppress(OSError, TimeoutError):
                reason = Reason.CROSSED if self._is_paired(link) else Reason.CLOSED
                await link.send(link.session.refuse(reason))
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
    def _engaged(self) -> Connection | None:
        """The exchange that a person may have to answer; with a secret no exchange keeps others out."""
        return next(iter(self._going), None) if self._secret is None else None

    @property
    def is_open(self) -> bool:
        return not self._closed

    @property
    def paired(self) -> int:
        """How many others this window has paired."""
        return len(self._paired)

    @property
    def seconds_left(self) -> float:
        return 0.0 if self._closed else max(0.0, self._deadline - time.monotonic())

    @property
    def left(self) -> int:
        """Attempts left until the window closes; with a secret failures do not count, as 160 bits cannot be guessed."""
        return GUESSES if self._secret is not None else max(0, GUESSES - self._failures)

    @property
    def ready(self) -> say.CodeReady | None:
        """The code that this end's person must answer, if one is waiting."""
        return self._confirmation.code if self._confirmation and not self._confirmation.answered else None

    def heard(self) -> tuple[say.Appliance, ...]:
        found = self._beacons.heard() if self._beacons else ()
        return tuple(self._named(one) for one in found)

    # --- both roles

    async def _run(self, link: Connection, exchange: Callable[[Connection], Awaitable[None]]) -> None:
        """Run an exchange to its end and report it; one that revealed codes and failed counts as a guess."""
        session, paired = link.session, False
        mine = session.role is Role.INITIATOR
        try:
            await exchange(link)
            paired = True
        except (ProtocolError, TimeoutError, OSError, LinkladderError, RefusedHere) as error:
            reason = error.reason if isinstance(error, ProtocolError) else None
            crossed = reason is Reason.CROSSED and (not session.revealed or self._secret is not None)
            if not crossed and (session.revealed or reason not in NO_FAULT):
                self._count(link)
            if isinstance(error, ProtocolError) and error.ours:
                with contextlib.suppress(OSError, TimeoutError):
                    await link.send(session.refuse(error.reason))
            who = session.peer.name if session.peer else link.address
            if crossed or self._is_paired(link):
                pass  # the other one of the two crossing calls goes on, or has come to its end
            elif session.revealed or reason is Reason.REFUSED or (mine and self._engaged is None):
                self._tell(as_event(error, who, self.left, mine))
        except asyncio.CancelledError:
            self._failures += session.revealed
            link.abort()
            raise
        finally:
            self._calls.pop(link, None)
            over = paired and self.paired == self._others
            if link in self._going and not over:  # after the last pairing no other exchange may start
                del self._going[link]
                self._confirmation = None
            await link.close()
        if over:
            await self.close("paired")
        elif not self.left:
            await self.close(f"{GUESSES} attempts failed: somebody may be guessing, or the wrong console was looked at")

    def _is_paired(self, link: Connection) -> bool:
        return link.session.peer is not None and fingerprint(link.session.peer.host_key) in self._paired

    def _count(self, link: Connection) -> None:
        self._failures += link.session.revealed
        if self._secret is not None and link.session.role is Role.RESPONDER:
            self._failing.failed(link.address)

    async def _dialled(self, link: Connection) -> None:
        session = link.session
        await link.send(session.start())
        await link.step(REVEAL_TIME)
        line = await link.receive()
        await self._give_way(session.peer_hello.tie if session.peer_hello else "", mine=True)
        self._engage(link)
        self._calls.pop(link, None)
        await link.send(session.take(line))
        await link.step(REVEAL_TIME)
        await self._compare(link)

    async def _answered(self, link: Connection) -> None:
        session = link.session
        line = await link.receive()
        hello = decode(line)
        tie = hello.tie if isinstance(hello, Hello) else ""
        await self._give_way(tie, mine=False)
        self._engageable(tie)
        await link.send(session.take(line))
        line = await link.receive()
        await self._give_way(tie, mine=False)  # gives way to a call that began meanwhile
        self._engage(link)  # before anything is revealed, so that one caller at a time gets a code and is counted
        await link.send(session.take(line))
        await link.step(REVEAL_TIME)
        await self._compare(link)

    async def _give_way(self, tie: str, *, mine: bool) -> None:
        """Wait while the other call goes on, if both ends call: that of the end with the lower tie has precedence.

        With a secret that is a courtesy of a moment, as anybody can show a tie that was heard.
        """
        until = time.monotonic() + (STEP_TIME if self._secret is None else COURTESY)
        while self._engaged is None and time.monotonic() < until:
            if not (self._callers.have(tie) and tie < self._tie if mine else self._calls and tie > self._tie):
                return
            await asyncio.sleep(0.05)

    def _engageable(self, tie: str) -> None:
        if not self.left:
            raise ProtocolError(Reason.CLOSED)
        rivals = [one.session for one in self._going if self._secret is None or one.session.claim]
        same = any(one.peer_hello and one.peer_hello.tie == tie for one in rivals)
        if same or self._engaged:
            raise ProtocolError(Reason.CROSSED if same else Reason.BUSY)

    def _engage(self, link: Connection) -> None:
        hello = link.session.peer_hello
        self._engageable(hello.tie if hello else "")
        self._going[link] = None

    async def _compare(self, link: Connection) -> None:
        """Have the code of this exchange compared, and the other end's keys stored."""
        from linkladder.pairing.confirmation import Confirmation  # imported late, so that the window opens sooner

        confirmation = Confirmation(link, self._secret is not None, lambda: self.seconds_left, self._tell)
        if self._secret is None:
            self._confirmation = confirmation
        peer = await confirmation.pair(self.name)
        certain = link.session.step is Step.DONE
        self._known[confirmation.key] = peer.name
        if confirmation.key in self._paired:  # two calls that crossed have both come to their end
            return
        if certain or self._others == 1:  # one that may not have stored this end's keys calls again
            self._paired.add(confirmation.key)
        self._tell(say.Paired(peer, certain, confirmation.code.name))

    def _decide(self, answer: Answer) -> None:
        if self._confirmation is None or self._confirmation.decision.done():
            raise EnvironmentFault("there is no code to compare", hint="it may have been too late; pair again")
        self._confirmation.decision.set_result(answer)

    # --- callers

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = str((writer.get_extra_info("peername") or ("?",))[0])
        kept = () if self._engaged is None else (self._engaged,)
        if self._closed or self._card is None or not self._callers.admits(source, kept):
            writer.transport.abort()
            return
        link = Connection(self._handshake(Role.RESPONDER), reader, writer)
        task = self._spawn(self._run(link, self._answered))
        task.add_done_callback(lambda _: link.abort())  # one that is cancelled before it starts closes nothing
        self._callers.add(task, source, link)

    # --- helpers

    def _changed(self, appliance: say.Appliance, there: bool) -> None:
        one = self._named(appliance)
        self._tell(say.Heard(one) if there else say.Gone(one))

    def _named(self, one: say.Appliance) -> say.Appliance:
        return replace(one, known_as=self._known.get(one.fingerprint, ""))

    def _handshake(self, role: Role) -> Handshake:
        assert self._card
        return Handshake(role, self._card, self._tie, __version__, self._prover, self._secret)

    async def _expire(self) -> None:
        await asyncio.sleep(self.seconds_left)
        while self._engaged and self._engaged.session.agreed:  # both said yes, so wait until the keys are stored
            await asyncio.sleep(0.05)
        await self.close("its time is over")

    def _spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _tell(self, event: say.Event) -> None:
        self._events.put_nowait(event)
