"""What is given up half-way leaves no socket open, and no file of one."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import tempfile
from pathlib import Path
from typing import Any

import pytest

from linkladder.engine import Controls
from linkladder.errors import LinkladderError
from linkladder.pairing import connection, handoff
from linkladder.pairing.connection import Connection
from linkladder.pairing.messages import Role
from linkladder.pairing.service import PairingService
from linkladder.run import orders
from pairing_ends import end, free_port


async def given_up(work: asyncio.Task[Any], moment: int) -> None:
    """Cancel this at its first step, its second, and so on; what comes to its end before that is done."""
    for _ in range(moment):
        await asyncio.sleep(0)
    work.cancel()
    await asyncio.wait([work])


def listens(where: Any, family: socket.AddressFamily = socket.AF_INET) -> bool:
    with socket.socket(family) as caller:
        return caller.connect_ex(where) == 0


@pytest.mark.parametrize("moment", range(5))
async def test_a_pairing_window_that_is_given_up_as_it_opens_listens_no_more(moment: int) -> None:
    port = free_port()
    work = asyncio.create_task(connection.listen(lambda *_: None, "127.0.0.1", port))
    await given_up(work, moment)
    if not work.cancelled():
        work.result().close()
    assert not listens(("127.0.0.1", port))


async def test_a_window_that_cannot_send_beacons_leaves_no_port_taken() -> None:
    port = free_port()
    window = PairingService(port=port, bind="127.0.0.1")
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.bind(("::", port))
        with pytest.raises(LinkladderError, match="open here already"):
            await window.open()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("0.0.0.0", port))
    assert not listens(("127.0.0.1", port)) and not window.is_open


@pytest.mark.parametrize("moment", range(8))
async def test_who_calls_as_the_window_closes_is_not_left_hanging(moment: int) -> None:
    port = free_port()
    window = PairingService(port=port, bind="127.0.0.1", discover=False)
    await window.open()
    with socket.socket() as caller:
        caller.setblocking(False)
        caller.connect_ex(("127.0.0.1", port))
        for _ in range(moment):
            await asyncio.sleep(0)
        await window.close()
        await asyncio.sleep(0)
        gc.collect()  # Python 3.11 itself forgets one whose server is closed between two steps of taking it
        async with asyncio.timeout(20):
            with contextlib.suppress(ConnectionError):
                while await asyncio.get_running_loop().sock_recv(caller, 4096):
                    pass


async def test_a_connection_that_is_broken_when_it_is_taken_is_closed_like_any_other() -> None:
    """FreeBSD refuses options of a connection that the other end has reset, as any system does of another socket."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    link = Connection(end(Role.RESPONDER), reader, writer)
    theirs.close()
    with pytest.raises(ConnectionError):
        await link.receive()
    await link.close()


async def test_a_connection_whose_closing_is_not_waited_for_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        reader, writer = await asyncio.open_connection(sock=ours)
        writer.write(bytes(8 << 20))  # more than is taken unread
        link = Connection(end(Role.RESPONDER), reader, writer)
        await given_up(asyncio.create_task(link.close()), 1)
        await asyncio.sleep(0)
        assert ours.fileno() == -1


async def entered(opening: contextlib.AbstractAsyncContextManager[Any]) -> None:
    async with opening:
        await asyncio.Event().wait()


@pytest.mark.parametrize("moment", range(5))
async def test_orders_that_are_given_up_leave_no_socket_and_no_folder(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path / ("x" * 100)  # too long a name for a socket
    short = tmp_path / "t"
    for folder in (far, short):
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    mask = os.umask(0o022)
    try:
        for folder in (tmp_path, far):
            work = asyncio.create_task(entered(orders.listening(folder, Controls())))
            for _ in range(moment):
                await asyncio.sleep(0)
                seen = os.umask(0o022)
                assert seen == 0o022  # what others write meanwhile has their own mask
            await given_up(work, 0)
            assert not (folder / "run.sock").exists()
    finally:
        os.umask(mask)
    assert not list(short.iterdir())


@pytest.mark.parametrize("moment", range(12))
async def test_a_window_for_codes_that_is_given_up_listens_no_more(
    moment: int, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = own_state / "kept"
    monkeypatch.setattr(os, "chmod", lambda path, mode: os.link(path, kept))  # so that it can be called afterwards
    work = asyncio.create_task(entered(handoff.serve(PairingService())))
    async with asyncio.timeout(20):
        while not kept.exists():
            await asyncio.sleep(0)
    await given_up(work, moment)
    assert not listens(str(kept), socket.AF_UNIX)
