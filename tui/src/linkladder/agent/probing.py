"""Is a test port reachable: a bare listener at one end, one knock from the other, before any tool runs."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket

KNOCK = b"linkladder?"
ANSWER = b"linkladder!"
TIMEOUT = 4.0  # a busy small machine takes two over a first answer; SYNs are sent again after 1 and 3


class ProbeListener:
    """Answers one knock with ANSWER, on exactly the address and port that the tool will use."""

    def __init__(self, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._sock = sock
        self._task = task

    @classmethod
    async def open(cls, address: str, port: int, udp: bool) -> ProbeListener:
        sock = _socket(address, udp)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((address, port))
            if not udp:
                sock.listen(4)
        except OSError:
            sock.close()
            raise
        return cls(sock, asyncio.create_task(_answer_udp(sock) if udp else _answer_tcp(sock)))

    async def close(self) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError, OSError):
            await self._task
        self._sock.close()


async def _answer_tcp(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(sock)
        with connection:
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                await loop.sock_sendall(connection, ANSWER)
                # the knocker closes first, so that TIME_WAIT stays at its end and the port is free for the tool
                await asyncio.wait_for(loop.sock_recv(connection, 1), TIMEOUT)


async def _answer_udp(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        data, sender = await loop.sock_recvfrom(sock, 64)
        if data == KNOCK:
            with contextlib.suppress(OSError):
                await loop.sock_sendto(sock, ANSWER, sender)


async def probe(local: str, remote: str, port: int, udp: bool) -> tuple[str, str]:
    """('open' | 'refused' | 'filtered' | 'unreachable', the system's words)."""
    sock = _socket(local, udp)
    with sock:
        try:
            sock.bind((local, 0))
            await asyncio.wait_for(_knock(sock, remote, port, udp), TIMEOUT)
        except TimeoutError:
            return "filtered", f"no answer within {TIMEOUT:g} s"
        except ConnectionRefusedError as error:
            return "refused", error.strerror or ""
        except OSError as error:
            unreachable = error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL)
            return ("unreachable" if unreachable else "filtered"), error.strerror or str(error)
    return "open", ""


async def _knock(sock: socket.socket, remote: str, port: int, udp: bool) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (remote, port))
    if not udp:
        if await loop.sock_recv(sock, 64) != ANSWER:
            raise OSError(errno.EPROTO, "something else listens on this port")
        return
    for _ in range(4):  # a lost knock is not yet a filtered port
        await loop.sock_sendall(sock, KNOCK)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(loop.sock_recv(sock, 64), TIMEOUT / 5)
            return
    raise TimeoutError


def _socket(address: str, udp: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_DGRAM if udp else socket.SOCK_STREAM)
    sock.setblocking(False)
    return sock
