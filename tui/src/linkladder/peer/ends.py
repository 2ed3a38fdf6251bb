"""The near end, mostly in this process, and the far end over a channel."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import subprocess
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from linkladder import __version__, measurer, wire
from linkladder.agent import Service
from linkladder.codec import CodecError
from linkladder.errors import EnvironmentFault
from linkladder.peer.piped import Piped
from linkladder.printable import clean, one_line
from linkladder.trust.calling import start
from linkladder.wire import PROTOCOL, Refused

HELLO_TIMEOUT = 45.0  # a small machine needs long for ssh's keys and an agent's start; ssh itself reports a dead path
OWN_TIMEOUT = 120.0  # this end's own agent is slow, not lost, while it runs; at boot an emulated machine took 45 s
ASK_TIMEOUT = 12.0
LAST_WORDS = 2.0  # seconds to wait for the last messages of a channel that broke
MOST_EVENTS = 512  # events that may wait in the queue
R = TypeVar("R")


class PeerLost(Exception):
    """The channel to the far end is gone."""


class EndPoint(Protocol):
    name: str
    hello: wire.HelloReply
    events: asyncio.Queue[wire.Event]

    @property
    def lost(self) -> bool:
        """Whether the end can no longer be reached."""

    async def ask(self, request: wire.Request[R]) -> R: ...

    async def close(self) -> None: ...


class NearEnd:
    """This appliance, in this process."""

    hello: wire.HelloReply
    lost = False

    def __init__(self) -> None:
        self.name = "near"
        self.events: asyncio.Queue[wire.Event] = asyncio.Queue(MOST_EVENTS)
        self._service = Service(self._tell)

    @classmethod
    async def open(cls) -> NearEnd:
        end = cls()
        end.hello = await end.ask(wire.Hello(PROTOCOL, __version__, "near"))
        end.name = end.hello.name
        return end

    async def ask(self, request: wire.Request[R]) -> R:
        request.check()
        return await self._service.do(request)

    def _tell(self, event: wire.Event) -> None:
        """Queue an event; the oldest is dropped if the queue is full, as nobody reads it between trials."""
        if self.events.full():
            self.events.get_nowait()
        self.events.put_nowait(event)

    async def close(self) -> None:
        await self._service.close()


class FarEnd:
    """A paired appliance, reached over the stdio of its agent."""

    hello: wire.HelloReply
    ends_within = 2.0  # seconds that a closed channel may take to end; the far agent ends without it as well

    def __init__(self, name: str, process: Piped) -> None:
        self.name = name
        self.address = ""  # by which it was reached
        self.card = ""  # this end's card on the way there
        self.events: asyncio.Queue[wire.Event] = asyncio.Queue(MOST_EVENTS)
        self._process = process
        self._waiting: dict[int, asyncio.Future[wire.Answer]] = {}
        self._next = 1
        self._asked = 0.0  # when something was asked last
        self._lost: str | None = None
        self._errors: list[bytes] = []
        self._hearing = asyncio.create_task(self._read_errors())
        self._reading = asyncio.create_task(self._read())
        self._tasks: list[asyncio.Task[None]] = [self._hearing, self._reading]

    @classmethod
    async def open(
        cls, name: str, argv: Sequence[str], own_name: str = "", begun: subprocess.Popen[bytes] | None = None
    ) -> FarEnd:
        """Start the channel by the command `argv`, if it is not `begun`, and exchange Hello; raises PeerLost with ssh's
        message on failure.
        """
        end = cls(name, await Piped.over(begun or start(argv), wire.REPLY_LIMIT))
        try:
            hello = wire.Hello(PROTOCOL, __version__, own_name or "near")
            end.hello = await end.ask(hello)
            _check_addresses(name, end.hello.addresses)
            end._tasks.append(asyncio.create_task(end._keep_alive()))
        except BaseException:
            await end.close()
            raise
        return end

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    @property
    def errors(self) -> str:
        return str(clean(b"".join(self._errors).decode("utf-8", "replace")))

    async def ask(self, request: wire.Request[R]) -> R:
        if self._lost is not None:
            raise PeerLost(self._lost)
        number, self._next, self._asked = self._next, self._next + 1, time.monotonic()
        future: asyncio.Future[wire.Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        limit = self._patience(request)
        try:
            self._process.stdin.write(wire.question(number, request))
            await self._process.stdin.drain()
            async with asyncio.timeout(limit):
                answer = await future
            if answer.refused is not None:
                raise Refused(one_line(f"{self.name}: {answer.refused}"), one_line(answer.holder))
            if isinstance(request, wire.Hello):
                _check_protocol(self.name, answer.value)
            reply: R = answer.reply_to(request)
            return reply
        except TimeoutError:
            self._fail(f"{self.name} did not answer within {limit:g} s")
            raise PeerLost(self._lost or "") from None
        except (OSError, CodecError) as error:
            if isinstance(error, OSError):  # ssh's own message says more than that ssh ended
                await asyncio.wait({self._reading}, timeout=LAST_WORDS)
            self._fail(f"the channel to {self.name} broke: {error}")
            raise PeerLost(self._lost or "") from None
        finally:
            self._waiting.pop(number, None)
            if future.done() and not future.cancelled():
                future.exception()  # marks it as seen, as nothing else awaits it if the question was not sent

    def _patience(self, request: wire.Request[R]) -> float:
        return HELLO_TIMEOUT if request.slow else ASK_TIMEOUT

    @property
    def lost(self) -> bool:
        """Whether the channel is gone."""
        return self._lost is not None

    @property
    def why_lost(self) -> str:
        """Why the channel is gone; '' while it is not."""
        return self._lost or ""

    async def _read(self) -> None:
        async for line in wire.read_lines(self._process.stdout, wire.REPLY_LIMIT):
            if line is None:
                continue
            with contextlib.suppress(wire.WireError):
                self._take(wire.read_answer(line))
        await self._process.wait()
        await asyncio.wait({self._hearing}, timeout=LAST_WORDS)
        words = self.errors.strip()
        said = words.rfind("linkladder: ")  # all that the far linkladder printed, else the last line of ssh
        words = words[said:] if said >= 0 else words.splitlines()[-1] if words else ""
        self._fail(f"the channel to {self.name} closed" + (f": {words}" if words else ""))

    def _take(self, said: wire.Answer | wire.Event) -> None:
        if not isinstance(said, wire.Answer):
            if self.events.full():  # a trial reads events at once, and outside a trial none are sent
                self._fail(f"{self.name} talks without end")
            else:
                self.events.put_nowait(said)
            return
        future = self._waiting.get(said.number or 0)
        if future and not future.done():
            future.set_result(said)

    async def _read_errors(self) -> None:
        while data := await self._process.stderr.read(4096):
            self._errors.append(data)
            del self._errors[:-16]

    async def _keep_alive(self) -> None:
        """Ask for the clock if nothing else was asked: the agent would end without requests, and a dead path shows
        before a trial.
        """
        while self._lost is None:
            left = self._asked + wire.KEEPALIVE - time.monotonic()
            if left > 0:
                await asyncio.sleep(left)
                continue
            with contextlib.suppress(PeerLost, Refused):
                await self.ask(wire.Clock())

    def _fail(self, reason: str) -> None:
        if self._lost is None:
            self._lost = reason
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(PeerLost(self._lost))

    async def close(self) -> None:
        """Close the agent's stdin, which makes it end its tools and itself, and wait for ssh to end."""
        self._lost = self._lost or f"the channel to {self.name} was closed"
        self._process.stdin.close()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.ends_within):
                    await self._process.wait()
        finally:  # also if nobody waits for the rest any more
            will_end = self._process.returncode is not None or self._killed()
            for task in self._tasks:
                task.cancel()
            self._fail(self._lost)
        if will_end:
            await self._process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._process.close()

    def _killed(self) -> bool:
        """Kill the process; False if it is another user's, which then ends by itself or never."""
        with contextlib.suppress(ProcessLookupError):
            try:
                self._process.kill()
            except PermissionError:
                return False
        return True


def _check_addresses(name: str, announced: Iterable[str]) -> None:
    """Give an end up that announces what is no address, as paths are laid by what it announces."""
    for one in announced:
        try:
            ipaddress.ip_address(one)
        except ValueError:
            raise PeerLost(f"{name} announces {one_line(one[:40])!r}, which is no address") from None


def _check_protocol(name: str, said: Any) -> None:
    """Refuse an end of another protocol, before the rest of its answer is read, which may have another form."""
    hello = said if isinstance(said, dict) else {}
    if hello.get("protocol") != PROTOCOL:
        raise EnvironmentFault(
            f"{name} speaks another protocol",
            f"it has linkladder {one_line(str(hello.get('version', ''))[:40])}, this is {__version__}",
            "put the same version on both appliances",
        )


class OwnAgent(FarEnd):
    """This appliance's own agent, if agents run as another user."""

    ends_within = measurer.WAIT  # it puts back what it has lent, and nobody can kill it

    async def ask(self, request: wire.Request[R]) -> R:
        try:
            return await super().ask(request)
        except PeerLost as error:  # unlike a peer, it cannot come back
            raise EnvironmentFault("this appliance's own agent ended", str(error), "linkladder doctor") from None

    def _patience(self, request: wire.Request[R]) -> float:
        return OWN_TIMEOUT


async def near_end() -> EndPoint:
    """This appliance as an end: in this process, or as an agent of the measuring user if there is one."""
    argv = measurer.command("--near")
    if argv is None:
        return await NearEnd.open()
    end = await OwnAgent.open("near", argv)
    end.name = end.hello.name
    return end
