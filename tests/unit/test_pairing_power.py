"""Power lost at every step of a pairing: real processes, killed with -9 as each message of either end goes by."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import pytest

from linkladder.pairing import window_events as say
from linkladder.pairing.service import PairingService
from linkladder.trust import keys
from pairing_ends import free_port

FORKS = multiprocessing.get_context("forkserver")
ENDS = ("alpha", "beta")  # alpha calls, beta waits
SAID = ("hello", "commit", "reveal", "confirm", "done")
Dies = Literal["sender, and the line is lost", "sender, just after it", "receiver, just after it"]
HOW: tuple[Dies, ...] = ("sender, and the line is lost", "sender, just after it", "receiver, just after it")


def appliance(base: str, name: str, port: int, call: int, told: Connection) -> None:
    """A console whose person types what the other one shows and, when a window closes, opens the next one."""
    os.environ["LINKLADDER_STATE"] = base

    async def run() -> None:
        while True:
            service = PairingService(name=name, port=port, bind="127.0.0.1", discover=False)
            await service.open(0.5)
            told.send("WindowOpened")
            calling = asyncio.create_task(_calls(service, call)) if call else None
            async for event in service.events():
                if isinstance(event, say.CodeReady):
                    assert service._engaged and service._engaged.session.codes  # what the other screen shows
                    await service.answer(service._engaged.session.codes.due.digits)
                if isinstance(event, say.Paired):
                    told.send("Paired")
            if calling:
                calling.cancel()

    asyncio.run(run())


async def _calls(service: PairingService, port: int) -> None:
    while service.is_open:
        await service.dial("127.0.0.1", port)
        await asyncio.sleep(0.05)


def other(name: str) -> str:
    return ENDS[1 - ENDS.index(name)]


class Appliances:
    def __init__(self, top: Path) -> None:
        self.base = {name: top / name for name in ENDS}
        for one in self.base.values():
            one.mkdir(mode=0o700)
            keys.host_key(one), keys.user_key(one)
        self.port = {name: free_port() for name in ENDS}
        self.relayed = free_port()
        self.running: dict[str, Any] = {}
        self.told: dict[str, Connection] = {}

    def start(self, name: str) -> None:
        ours, theirs = FORKS.Pipe()
        call = self.relayed if name == "alpha" else 0
        args = (str(self.base[name]), name, self.port[name], call, theirs)
        self.running[name] = FORKS.Process(target=appliance, args=args, daemon=True)
        self.running[name].start()
        theirs.close()
        self.told[name] = ours

    def cut(self, name: str) -> None:
        os.kill(self.running[name].pid, signal.SIGKILL)
        self.running[name].join()

    async def wait(self, name: str, word: str, case: str) -> None:
        try:
            async with asyncio.timeout(60):
                while True:
                    while not self.told[name].poll():
                        await asyncio.sleep(0.005)
                    if self.told[name].recv() == word:
                        return
        except TimeoutError:
            raise AssertionError(f"{name} was never {word} after {case}") from None

    def forget_what_was_told(self, name: str) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self.told[name].poll():
                self.told[name].recv()

    def forget(self) -> None:
        for base in self.base.values():
            for file in ("peers.json", "sshd/authorized_keys"):
                (base / file).unlink(missing_ok=True)

    def pinned(self, name: str) -> list[tuple[str, str, str]]:
        path = self.base[name] / "peers.json"
        return (
            [(p["name"], p["host_key"], p["user_key"]) for p in json.loads(path.read_text())] if path.exists() else []
        )

    def genuine(self, name: str) -> tuple[str, str, str]:
        base = self.base[name]
        return name, keys.public(keys.host_key(base)), keys.public(keys.user_key(base))

    def allowed(self, name: str) -> list[str]:
        path = self.base[name] / "sshd" / "authorized_keys"
        return [" ".join(line.split()[-3:-1]) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def appliances(tmp_path: Path) -> Iterator[Appliances]:
    FORKS.set_forkserver_preload(["linkladder.pairing.service", "pytest"])  # for all ends, once
    made = Appliances(tmp_path)
    yield made
    for one in made.running.values():
        one.kill()
        one.join()


class Wire:
    """Passes lines on between the two, and cuts the power of one at the chosen line."""

    def __init__(self, them: Appliances) -> None:
        self._them = them
        self._cut: tuple[str, int, Dies] | None = None
        self.happened = asyncio.Event()

    def arm(self, sender: str, number: int, dies: Dies) -> None:
        """At that line of the next talk; the two know nobody as it begins."""
        self.happened.clear()
        self._cut = sender, number, dies

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._them.port["beta"])
        except OSError:
            writer.close()
            return
        cut, self._cut = self._cut, None
        if cut:
            self._them.forget()
        off = set[str]()
        ways = (self._pass("alpha", reader, far_writer, cut, off), self._pass("beta", far_reader, writer, cut, off))
        done, rest = await asyncio.wait([asyncio.create_task(w) for w in ways], return_when=asyncio.FIRST_COMPLETED)
        if cut and not self.happened.is_set():
            self._cut = cut  # this talk ended before its line came
        for one in rest:
            one.cancel()
        await asyncio.gather(*done, *rest, return_exceptions=True)
        far_writer.close()
        writer.close()

    async def _pass(
        self,
        sender: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        cut: tuple[str, int, Dies] | None,
        off: set[str],  # who has lost power: what it said while this process stood still is not passed on
    ) -> None:
        for number in range(100):
            line = await reader.readline()
            if not line or sender in off:
                return
            here = cut if cut and cut[:2] == (sender, number) else None
            if not here or not here[2].endswith("lost"):
                writer.write(line)
                await writer.drain()
            if here:
                dies = other(sender) if here[2].startswith("receiver") else sender
                self._them.cut(dies)
                off.add(dies)
                self.happened.set()


async def test_power_lost_at_every_message(appliances: Appliances) -> None:
    """Afterwards the two pair again, and what was stored at one end only lets in nobody but the other end."""
    them, wire = appliances, Wire(appliances)
    server = await asyncio.start_server(wire.take, "127.0.0.1", them.relayed)
    for name in reversed(ENDS):
        them.start(name)
    one_sided = 0
    for sender, number, dies in itertools.product(ENDS, range(len(SAID)), HOW):
        case = f"{sender}'s {SAID[number]}: {dies}"
        wire.arm(sender, number, dies)
        async with asyncio.timeout(60):
            await wire.happened.wait()
        await asyncio.sleep(0.1)  # whoever still has power stores what it has been told
        pins = {name: them.pinned(name) for name in ENDS}
        for name in ENDS:  # at most the other end, under its own keys; before both said yes, nobody
            assert set(pins[name]) <= {them.genuine(other(name))}, case
            assert set(them.allowed(name)) <= {them.genuine(other(name))[2]}, case
            assert number >= 3 or not pins[name], case
        one_sided += bool(pins["alpha"]) != bool(pins["beta"])
        them.start(other(sender) if dies.startswith("receiver") else sender)
        for name in ENDS:
            them.forget_what_was_told(name)
            await them.wait(name, "Paired", case)
        for name in ENDS:
            assert them.pinned(name) == [them.genuine(other(name))], case
            assert them.allowed(name) == [them.genuine(other(name))[2]], case
    assert one_sided  # or nothing of it was tried
    server.close()
