"""Who sits in the router, and the two ends that do nothing but pair: run inside namespaces by the tests of pairing.

pairing_middle.py between ADDRESS PORT      the one in the router; each line of stdin says how to meet a caller
pairing_middle.py calls ADDRESS RUNS        opens windows and calls; prints each code that it would show
pairing_middle.py waits RUNS                opens windows and waits; likewise
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from linkladder.pairing import window_events as say
from linkladder.pairing.messages import Reveal, Role, decode, encode
from linkladder.pairing.protocol import Handshake
from linkladder.pairing.service import PairingService

sys.path[:0] = [str(Path(__file__).parents[1] / "unit")]
from pairing_ends import a_key, end  # noqa: E402

Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


class Between:
    """Answers alpha in beta's name and calls beta in alpha's."""

    def __init__(self, beta: str) -> None:
        self._beta = beta
        self._kept: list[bytes] = []  # all that beta said in a talk that was passed on
        self._talks: set[asyncio.Task[None] | None] = set()  # asyncio itself forgets a talk whose caller hung up
        self.way = "pass"
        self.ways: dict[str, Callable[[Reader, Writer], Awaitable[None]]] = {
            "pass": self.pass_on, "substitute": self.substitute, "opening": self.other_opening,
            "reorder": self.reorder, "reflect": self.reflect, "replay": self.replay,
        }  # fmt: skip

    async def meet(self, reader: Reader, writer: Writer) -> None:
        task = asyncio.current_task()
        self._talks.add(task)
        try:
            await self.ways[self.way](reader, writer)
            await reader.read()
        except (OSError, EOFError):
            pass
        finally:
            self._talks.discard(task)
        writer.close()

    async def call(self) -> tuple[Reader, Writer]:
        while True:  # its window may be between two openings
            try:
                return await asyncio.open_connection(self._beta, 8623)
            except OSError:
                await asyncio.sleep(0.01)

    async def pass_on(self, reader: Reader, writer: Writer) -> None:
        far_reader, far_writer = await self.call()
        self._kept = []

        async def back() -> None:
            while line := await far_reader.readline():
                self._kept.append(line)
                writer.write(line)
            writer.close()

        task = asyncio.create_task(back())
        while line := await reader.readline():
            far_writer.write(line)
        far_writer.close()
        await task

    async def substitute(self, reader: Reader, writer: Writer) -> None:
        """Keys of his own to both, in an order that is drawn anew each time: one talk may wait for the other."""
        while True:  # beta may have opened its next window only half
            far_reader, far_writer = await self.call()
            mine = end(Role.RESPONDER, me=Reveal("beta", (), 8622, "ladder", a_key(), a_key()))
            theirs = end(Role.INITIATOR, me=Reveal("alpha", (), 8622, "ladder", a_key(), a_key()))
            far_writer.write(theirs.start())
            first = await far_reader.readline()
            if first and b'"refuse"' not in first:
                break
            far_writer.close()
        far_writer.write(theirs.take(first))
        talks = [(mine, reader, writer), (theirs, far_reader, far_writer)]
        while open_ones := [t for t in talks if t[0].codes is None]:
            await self._one_line(*random.choice(open_ones))
        assert mine.codes and theirs.codes
        # What alpha shows and what beta's person must find there; then the same the other way.
        pairs = (mine.codes.due, theirs.codes.shown), (mine.codes.shown, theirs.codes.due)
        print("codes", *(code.digits.replace(" ", "") for pair in pairs for code in pair), flush=True)
        await far_reader.read()
        far_writer.close()

    @staticmethod
    async def _one_line(session: Handshake, reader: Reader, writer: Writer) -> None:
        line = await reader.readline()
        if not line:
            raise EOFError
        writer.write(session.take(line))
        await writer.drain()

    async def other_opening(self, reader: Reader, writer: Writer) -> None:
        """Beta's own commitment, and then other keys than it is of."""
        far_reader, far_writer = await self.call()
        far_writer.write(await reader.readline())
        for _ in range(2):
            writer.write(await far_reader.readline())
        far_writer.write(await reader.readline())
        reveal = decode(await far_reader.readline())
        assert isinstance(reveal, Reveal)
        writer.write(encode(replace(reveal, user_key=a_key())))
        await reader.read()
        far_writer.close()

    async def reorder(self, reader: Reader, writer: Writer) -> None:
        """What beta says, its commitment first: an end that took it so could be shown keys chosen later."""
        hello, commit = self._kept[:2]
        await reader.readline()
        writer.write(commit + hello)

    async def reflect(self, reader: Reader, writer: Writer) -> None:
        writer.write(await reader.readline())

    async def replay(self, reader: Reader, writer: Writer) -> None:
        """All that beta said in an earlier talk, its yes included."""
        for line in self._kept:
            writer.write(line)


async def between(beta: str, port: int) -> None:
    one = Between(beta)
    async with await asyncio.start_server(one.meet, "0.0.0.0", port):
        print("up", flush=True)
        while way := (await asyncio.to_thread(sys.stdin.readline)).strip():
            one.way = way
            print("now", way, flush=True)


async def windows(name: str, runs: int, call: str) -> None:
    """As many codes as asked for; this end's person always says no, so that a window lasts for three."""
    seen = 0
    while seen < runs:
        service = PairingService(name=name, discover=False)
        await service.open(5)
        print("open", flush=True)
        calling = asyncio.create_task(service.dial(call)) if call else None
        async for event in service.events():
            if isinstance(event, say.CodeReady):
                seen += 1
                print("code", event.code.replace(" ", ""), flush=True)
                await service.refuse()
            elif isinstance(event, (say.Refused, say.Failed)) and call and service.left and seen < runs:
                assert calling
                await calling
                calling = asyncio.create_task(service.dial(call))
            elif isinstance(event, (say.Refused, say.Failed)) and seen >= runs:
                await service.close()


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "between":
        asyncio.run(between(rest[0], int(rest[1])))
    elif what == "calls":
        asyncio.run(windows("alpha", int(rest[1]), rest[0]))
    else:
        asyncio.run(windows("beta", int(rest[0]), ""))
