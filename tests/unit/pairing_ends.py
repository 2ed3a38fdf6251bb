"""Two ends of a pairing, in memory and on loopback, for the tests of pairing."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import contextvars
import random
import secrets
import socket
from pathlib import Path
from typing import Any

import pytest

from linkladder import state
from linkladder.pairing import window_events as say
from linkladder.pairing.card import KeyProver
from linkladder.pairing.messages import Reveal, Role
from linkladder.pairing.protocol import Handshake, Proofs, Prover
from linkladder.pairing.service import PairingService
from linkladder.trust import keys


def a_key() -> str:
    """A public key of the right form, which nobody can sign with."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + secrets.token_bytes(32)
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


def identity(name: str = "alpha") -> Reveal:
    return Reveal(name, ("10.0.0.1", "fd00::1"), 8622, "linkladder", a_key(), a_key())


class Toy:
    """Signs for the one identity it was made for, in memory; a thousand runs are not a thousand ssh-keygens."""

    def __init__(self, me: Reveal) -> None:
        self._me = me

    def sign(self, statement: bytes) -> Proofs:
        return Proofs(self._by(self._me.host_key, statement), self._by(self._me.user_key, statement))

    def holds(self, statement: bytes, proofs: Proofs, of: Reveal) -> bool:
        return proofs == Proofs(self._by(of.host_key, statement), self._by(of.user_key, statement))

    @staticmethod
    def _by(key: str, statement: bytes) -> str:
        text = base64.b64encode(key.encode() + statement).decode()
        return f"-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n"


def real(name: str, base: Path) -> tuple[Reveal, Prover]:
    """An end with keys of its own in a folder of its own: what an attacker has."""
    base.mkdir(mode=0o700, exist_ok=True)
    host, user = keys.public(keys.host_key(base)), keys.public(keys.user_key(base))
    return Reveal(name, ("10.0.0.1",), 8622, "linkladder", host, user), KeyProver(base)


def end(
    role: Role, name: str = "", secret: bytes | None = None, me: Reveal | None = None, prover: Prover | None = None,
    tie: str = "",
) -> Handshake:  # fmt: skip
    card = me or identity(name or role.value)
    return Handshake(role, card, tie or secrets.token_hex(16), "1.0", prover or Toy(card), secret)


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def talk(one: Handshake, other: Handshake) -> list[bytes]:
    """Up to the code, with nobody in between; every line that was said."""
    said = [one.start()]
    queue = [(other, one, line) for line in lines(one.start())]
    while queue:
        to, origin, line = queue.pop(0)
        answer = lines(to.take(line))
        said += answer
        queue += [(origin, to, reply) for reply in answer]
    return said


def mirrored(one: Handshake, other: Handshake) -> bool:
    """Each shows what is due at the other."""
    if one.codes is None or other.codes is None:
        return one.codes is other.codes
    return (one.codes.shown, one.codes.due) == (other.codes.due, other.codes.shown)


def yes(one: Handshake) -> bytes:
    """Its person's, signed."""
    return one.confirm(one.sign())


def hear(one: Handshake, line: bytes) -> None:
    """The other end's yes, and the proof of it looked at."""
    one.take(line)
    one.judge(one.proven())


PORTS = iter(random.sample(range(20_000, 32_000), 12_000))


def free_port() -> int:
    """Below those that the kernel gives to connections, and never the same again: who has it may bind it later."""
    for port in PORTS:
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("", port))
            return port
    raise OSError("no port is free")


class Console:
    """A service with all that it told, and a state folder of its own for what it stores."""

    def __init__(self, name: str, port: int, **options: Any) -> None:
        self.service = PairingService(name=name, port=port, bind="127.0.0.1", discover=False, **options)
        self.told: list[say.Event] = []
        self._task: asyncio.Task[None] | None = None

    async def open(self, minutes: float = 1.0) -> Console:
        await self.service.open(minutes)
        self._task = asyncio.create_task(self._hear())
        return self

    async def _hear(self) -> None:
        async for event in self.service.events():
            self.told.append(event)

    async def wait(self, kind: type[Any], count: int = 1, seconds: float = 40.0) -> Any:
        async with asyncio.timeout(seconds):
            while len(found := [e for e in self.told if isinstance(e, kind)]) < count:
                await asyncio.sleep(0.005)
        return found[-1]

    def saw(self, kind: type[Any]) -> list[Any]:
        return [e for e in self.told if isinstance(e, kind)]


async def read_off(one: Console, other: Console) -> None:
    """One's person types what the other's screen shows."""
    assert await one.service.answer(other.saw(say.CodeReady)[-1].code)


def stored(folder: Path) -> str:
    path = folder / "peers.json"
    return path.read_text() if path.exists() else ""


THIS_END: contextvars.ContextVar[str] = contextvars.ContextVar("end", default="alpha")  # whose task is it?


async def console(name: str, port: int, **options: object) -> Console:
    """A console whose own tasks see its own state folder."""

    async def make() -> Console:
        THIS_END.set(name)
        return await Console(name, port, **options).open()

    return await asyncio.create_task(make())


async def two(**options: object) -> tuple[Console, Console]:
    ports = free_port(), free_port()
    return await console("alpha", ports[0], **options), await console("beta", ports[1], **options)


async def call(one: Console, other: Console) -> None:
    async def dial() -> None:
        THIS_END.set(one.service.name)
        await one.service.dial("127.0.0.1", other.service.port)

    one.call = asyncio.create_task(dial())  # type: ignore[attr-defined]


@pytest.fixture
def two_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Both ends run in this process; the context of the task that asks tells whose state folder is meant."""
    folders = {name: tmp_path / name for name in ("alpha", "beta")}
    for one in folders.values():
        one.mkdir(mode=0o700)

    def folder() -> Path:
        return folders[THIS_END.get()]

    monkeypatch.setattr(state, "folder", folder)
    return folders
