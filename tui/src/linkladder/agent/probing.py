"""Is a test port reachable, and does who answers there belong to this trial?  Asked before any tool runs.

A bare listener at one end, one knock from the other.  Each sends the other a nonce and gets it back under a key that
both were told over the control channel: so each end knows that the other's address takes part of its own will, and
nobody can have test traffic sent to a third machine.  Each also says, under the key, whether it coordinates the run or
serves it for a peer, which it knows by how it was started: of two that serve, each must have agreed to introductions.
Knocks are answered side by side, whoever else may knock.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import secrets
import socket
from collections.abc import Callable

from linkladder.wire import PortState

TIMEOUT = 4.0  # seconds; a busy small machine takes two to answer, and SYNs are repeated after 1 and 3
CALLERS = 256  # callers that a listener serves at once; another one replaces the oldest
HELLO, PROOF, WELCOME = b"linkladder?", b"linkladder=", b"linkladder!"
NONCE, TAG = 16, 32  # bytes
COORDINATES, SERVES = b"c", b"s"  # what an end is in the run
Prove = Callable[[bytes, bytes], bytes]  # the proof to send for a listener's answer to our nonce
Met = Callable[[str, bytes], bool]  # takes an address and what it showed to be; whether it may be a target now
SIZE = len(HELLO) + NONCE + TAG  # questions are as long as answers, so that nobody can flood others through us


class ProbeListener:
    """Answers probes on the very address and port that the tool will use; asks `met` whether who passed is welcome."""

    def __init__(self, sock: socket.socket, udp: bool, key: bytes, role: bytes, met: Met) -> None:
        self._sock, self._key, self._role, self._met = sock, key, role, met
        self._callers: dict[asyncio.Task[None], None] = {}  # oldest first
        self._task = asyncio.create_task(self._answer_datagrams() if udp else self._accept())

    @classmethod
    async def open(cls, address: str, port: int, udp: bool, key: bytes, role: bytes, met: Met) -> ProbeListener:
        sock = _socket(address, udp)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
            if not udp:
                sock.listen(CALLERS)
        except OSError:
            sock.close()
            raise
        return cls(sock, udp, key, role, met)

    async def close(self) -> None:
        tasks = [self._task, *self._callers]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._sock.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, sender = await loop.sock_accept(self._sock)
            except OSError:  # the caller has gone, or there are too many open files; both pass
                await asyncio.sleep(0.01)
                continue
            if len(self._callers) >= CALLERS:
                next(iter(self._callers)).cancel()
            task = asyncio.create_task(self._answer(connection, sender[0]))
            self._callers[task] = None
            task.add_done_callback(lambda done: self._callers.pop(done, None))

    async def _answer(self, connection: socket.socket, sender: str) -> None:
        loop = asyncio.get_running_loop()
        with connection, contextlib.suppress(OSError, TimeoutError, _Stranger):
            connection.setblocking(False)
            async with asyncio.timeout(TIMEOUT):
                theirs = _nonce(await _receive(connection, SIZE))
                mine = secrets.token_bytes(NONCE)
                await loop.sock_sendall(connection, HELLO + mine + self._answer_to(theirs))
                self._check(await _receive(connection, SIZE), mine, sender)
                await loop.sock_sendall(connection, WELCOME)
                # the prober closes first and keeps the TIME_WAIT, so the port is free for the tool
                await loop.sock_recv(connection, 1)

    async def _answer_datagrams(self) -> None:
        """Answer each datagram with a nonce derived from its source and a secret, so no state is kept per source."""
        loop = asyncio.get_running_loop()
        secret = secrets.token_bytes(TAG)
        while True:
            with contextlib.suppress(OSError, _Stranger):
                data, sender = await loop.sock_recvfrom(self._sock, 2 * SIZE)
                mine = hmac.digest(secret, repr(sender).encode(), "sha256")[:NONCE]
                if data[: len(PROOF)] == PROOF:
                    self._check(data, mine, sender[0])
                    await loop.sock_sendto(self._sock, WELCOME, sender)
                else:
                    answer = HELLO + mine + self._answer_to(_nonce(data))
                    await loop.sock_sendto(self._sock, answer, sender)

    def _answer_to(self, nonce: bytes) -> bytes:
        return _tag(self._key, b"listener", self._role, nonce)

    def _check(self, data: bytes, mine: bytes, sender: str) -> None:
        """Check that the nonce came back with a proof, and that who sent it is welcome."""
        if data[:-TAG] != PROOF + mine or not self._met(sender, _role(data[-TAG:], self._key, b"knocker", mine)):
            raise _Stranger


async def probe(
    local: str, remote: str, port: int, udp: bool, key: bytes, role: bytes, may_meet: Callable[[bytes], bool]
) -> tuple[PortState, str]:
    """The result and the system's message.

    It is 'open' only if the other side has proved that it has the trial's key, as an end that this one may meet.
    """

    def prove(answer: bytes, mine: bytes) -> bytes:
        theirs = _nonce(answer)
        if not may_meet(_role(answer[-TAG:], key, b"listener", mine)):
            raise _Uninvited
        return PROOF + theirs + _tag(key, b"knocker", role, theirs)

    sock = _socket(local, udp)
    with sock:
        try:
            sock.bind((local, 0))
            knock = _knock_datagrams if udp else _knock
            async with asyncio.timeout(TIMEOUT):
                await knock(sock, remote, port, prove)
        except TimeoutError:
            return "filtered", f"no answer within {TIMEOUT:g} s"
        except _Uninvited:
            return "filtered", "it serves this run as well, and no introductions are taken here"
        except _Stranger:
            return "filtered", "something else listens on this port"
        except ConnectionRefusedError as error:
            return "refused", error.strerror or ""
        except OSError as error:
            unreachable = error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL)
            return ("unreachable" if unreachable else "filtered"), error.strerror or str(error)
    return "open", ""


async def _knock(sock: socket.socket, remote: str, port: int, prove: Prove) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (remote, port))
    mine = secrets.token_bytes(NONCE)
    await loop.sock_sendall(sock, _hello(mine))
    await loop.sock_sendall(sock, prove(await _receive(sock, SIZE), mine))
    if await _receive(sock, len(WELCOME)) != WELCOME:
        raise _Stranger


async def _knock_datagrams(sock: socket.socket, remote: str, port: int, prove: Prove) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (remote, port))
    mine = secrets.token_bytes(NONCE)
    proof = prove(await _exchange(sock, _hello(mine), SIZE), mine)
    while await _exchange(sock, proof, len(WELCOME)) != WELCOME:
        pass


async def _exchange(sock: socket.socket, question: bytes, size: int) -> bytes:
    """Repeat the question until an answer of that size comes, since one lost packet does not mean a filtered port."""
    loop = asyncio.get_running_loop()
    while True:
        await loop.sock_sendall(sock, question)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT / 5):
                while len(data := await loop.sock_recv(sock, 2 * SIZE)) != size:  # skips repeated answers
                    pass
                return data


class _Stranger(Exception):
    """Raised if the other side does not have the trial's key, or is not welcome."""


class _Uninvited(Exception):
    """Raised if the other side has the key, but this end may not measure with it."""


def _hello(nonce: bytes) -> bytes:
    return HELLO + nonce + bytes(TAG)


def _nonce(data: bytes) -> bytes:
    """The nonce in a hello or in the answer to one."""
    if len(data) != SIZE or data[: len(HELLO)] != HELLO:
        raise _Stranger
    return data[len(HELLO) : len(HELLO) + NONCE]


def _role(tag: bytes, key: bytes, side: bytes, mine: bytes) -> bytes:
    """What the other side is in the run; _Stranger if it did not return our nonce tagged with the key."""
    for role in (COORDINATES, SERVES):
        if hmac.compare_digest(tag, _tag(key, side, role, mine)):
            return role
    raise _Stranger


def _tag(key: bytes, side: bytes, role: bytes, nonce: bytes) -> bytes:
    """A tag over a nonce that needs the key. It differs by side, so that no tag can be sent back as one's own."""
    return hmac.digest(key, side + role + nonce, "sha256")


async def _receive(sock: socket.socket, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = b""
    while len(data) < size:
        part = await loop.sock_recv(sock, size - len(data))
        if not part:
            raise _Stranger
        data += part
    return data


def _socket(address: str, udp: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
    sock.setblocking(False)
    return sock
