"""Serves the far end's requests on stdin and stdout; sshd runs it as a forced command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from typing import Any

from linkladder import privilege, wire
from linkladder.agent.answering import Service
from linkladder.agent.processes import MOST
from linkladder.agent.targets import Caller
from linkladder.trust.sshd import register_session

AT_ONCE = MOST + 32  # requests in progress at the same time: one for every tool of a trial, and others beside them
UNREAD = 8 << 20  # bytes of events that may wait for a caller who does not read them
LONGEST = 5.0  # seconds that an event waits at most
TOGETHER = 64  # events that wait at most, of which a caller takes some hundreds at once


def main(peer: str | None, introduced: bool = False) -> int:
    """Serve the paired peer `peer`, or this appliance's own console if it is None, until the channel closes.

    `introduced`: whether that peer may have this appliance measure with others.
    """
    privilege.restrict()  # whatever a peer requests, only the privileged calls for measuring are available
    out = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)  # keeps anything that a library prints out of the protocol's channel
    with register_session(peer) if peer else contextlib.nullcontext():
        caller = Caller.INTRODUCER if introduced else Caller.PEER if peer else Caller.CONSOLE
        asyncio.run(Agent(caller, peer or "").serve(sys.stdin.buffer, out))
    return 0


class Agent:
    def __init__(self, caller: Caller, peer: str = "") -> None:
        self._writer: asyncio.StreamWriter | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._one = asyncio.Lock()  # for the answer that is on its way
        self._answering = 0  # its bytes
        self._events: list[wire.Event] = []  # sent together, as each sending wakes whoever carries or reads it
        self._sending = False  # whether they are about to be sent
        self._since = 0.0  # when the first of them was said
        self._serving: asyncio.Task[Any] | None = None  # while it takes requests
        self._service = Service(self._say, caller, peer)

    async def serve(self, stdin: Any, stdout: Any) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=wire.REQUEST_LIMIT)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, stdout)
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        self._serving = asyncio.current_task()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self._end)
        try:
            await self._read(reader)
        except asyncio.CancelledError:
            pass
        finally:
            self._serving = None
            busy = tuple(self._busy)
            for one in busy:
                one.cancel()
            await asyncio.gather(*busy, return_exceptions=True)
            await self._service.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        lines = wire.read_lines(reader)
        while True:
            try:
                if self._writer:  # a caller that does not read the answers cannot send more requests
                    async with asyncio.timeout(wire.IDLE_LIMIT):
                        await self._writer.drain()
                async with asyncio.timeout(wire.IDLE_LIMIT):
                    line = await anext(lines)
            except (StopAsyncIteration, TimeoutError, OSError):
                return
            if line is None:
                self._send(wire.refusal(None, f"a request is at most {wire.REQUEST_LIMIT} bytes long"))
                continue
            task = asyncio.create_task(self._answer(line))
            self._busy.add(task)
            task.add_done_callback(self._busy.discard)

    async def _answer(self, line: bytes) -> None:
        number: int | None = None
        try:
            question = wire.read_question(line)
            number = question.number
            if len(self._busy) > AT_ONCE:
                raise wire.Refused("too many requests at once")
            reply = await self._service.do(question.request())
            await self._reply(number, reply)
        except wire.Refused as error:
            self._send(wire.refusal(number, str(error)[:2000], error.holder))
        except (wire.WireError, ValueError) as error:
            self._send(wire.refusal(number, str(error)[:2000]))
        except Exception as error:  # the operator must see our own defects too
            self._send(wire.refusal(number, f"{type(error).__name__}: {str(error)[:1000]}"))

    async def _reply(self, number: int | None, reply: Any) -> None:
        """Send one answer at a time, each written down only when the one before is gone: it may be all of an output."""
        async with self._one:
            line = wire.answer(number, reply)
            self._answering = len(line)
            self._send(line)
            del line
            if self._writer:
                with contextlib.suppress(OSError):
                    await self._writer.drain()
            self._answering = 0

    def _say(self, event: wire.Event) -> None:
        """Send an event, soon; a caller who leaves too much of what he asked for unread is served no more.

        In a trial on a slow machine it may wait for others, as sending takes from what is measured; a tool's end waits
        for nothing.
        """
        now = time.monotonic()
        self._since = self._since if self._events else now
        self._events.append(event)
        few = now - self._since < LONGEST and len(self._events) < TOGETHER
        waits = few and self._service.may_wait and not isinstance(event, wire.Exited)
        if not self._sending and not waits:
            self._sending = True
            asyncio.get_running_loop().call_soon(self._send_events)

    def _send_events(self) -> None:
        self._sending = False
        self._send(b"")
        if self._writer and self._writer.transport.get_write_buffer_size() - self._answering > UNREAD:
            self._end()

    def _end(self) -> None:
        """Take no more requests, and end what they began; the second word for it must not cut that short."""
        if self._serving:
            self._serving.cancel()
            self._serving = None

    def _send(self, line: bytes) -> None:
        """Send a line behind the events that wait: what was said before it is read before it."""
        together, self._events = b"".join((*map(wire.event, self._events), line)), []
        if self._writer and together:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.write(together)
