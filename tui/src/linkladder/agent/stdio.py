"""The far half on stdin and stdout, as sshd's forced command runs it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import Any

from linkladder import privilege, wire
from linkladder.agent.answering import Service
from linkladder.trust.sshd import register_session

AT_ONCE = 32  # requests under way


def main(peer: str | None, introduced: bool = False) -> int:
    """Serve the paired peer `peer`, or this appliance's own console, until the channel closes.

    `introduced`: may that peer have this appliance measure with others?
    """
    privilege.restrict()  # whatever a peer asks, it is asked of root in the measuring class
    out = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)  # nothing but the protocol may reach the channel, whatever a library prints
    with register_session(peer) if peer else contextlib.nullcontext():
        asyncio.run(Agent(introduced).serve(sys.stdin.buffer, out))
    return 0


class Agent:
    def __init__(self, introduced: bool = False) -> None:
        self._writer: asyncio.StreamWriter | None = None
        self._busy: set[asyncio.Task[None]] = set()
        self._service = Service(self._say, introduced)

    async def serve(self, stdin: Any, stdout: Any) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=wire.REQUEST_LIMIT)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, stdout)
        self._writer = asyncio.StreamWriter(transport, protocol, None, loop)
        task = asyncio.current_task()
        assert task
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        try:
            await self._read(reader)
        except asyncio.CancelledError:
            pass
        finally:
            for one in self._busy:
                one.cancel()
            await self._service.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        lines = wire.read_lines(reader)
        while True:
            try:
                if self._writer:  # who does not take the answers may ask no more
                    await asyncio.wait_for(self._writer.drain(), wire.IDLE_LIMIT)
                line = await asyncio.wait_for(anext(lines), wire.IDLE_LIMIT)
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
            self._send(wire.answer(number, reply))
        except wire.Refused as error:
            self._send(wire.refusal(number, str(error)[:2000], error.holder))
        except (wire.WireError, ValueError) as error:
            self._send(wire.refusal(number, str(error)[:2000]))
        except Exception as error:  # a defect of ours must reach the operator, not silence
            self._send(wire.refusal(number, f"{type(error).__name__}: {str(error)[:1000]}"))

    def _say(self, event: wire.Event) -> None:
        self._send(wire.event(event))

    def _send(self, line: bytes) -> None:
        if self._writer:
            with contextlib.suppress(OSError, RuntimeError):
                self._writer.write(line)
