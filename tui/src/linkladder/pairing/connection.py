"""A pairing connection: does a handshake over a socket, with limits on size and time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import time
from collections.abc import Callable
from typing import Any

from linkladder.errors import EnvironmentFault, LinkladderError
from linkladder.pairing.messages import LIMIT, ProtocolError, Reason
from linkladder.pairing.protocol import Handshake

STEP_TIME = 5.0
CONNECT_TIME = 5.0
GREETING_TIME = 2.0
PATIENCE = 3.0  # seconds for which a closed window is called again
CONTROL = 8622


# an end that lost power does not close its connection; some ten seconds of silence end it and free its place
ALIVE = (("TCP_KEEPIDLE", 4), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 10_000))


class WindowShut(EnvironmentFault):
    """The other appliance answers, but its pairing window is closed."""


class Connection:
    """Messages to and from the other end of `session`."""

    def __init__(self, session: Handshake, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.session, self._reader, self._writer = session, reader, writer
        name: tuple[Any, ...] = writer.get_extra_info("peername") or ("?",)
        address = str(name[0])
        if address.startswith("::ffff:"):
            address = address.removeprefix("::ffff:")
        if len(name) == 4 and name[3] and "%" not in address:
            with contextlib.suppress(OSError):
                address += f"%{socket.if_indextoname(name[3])}"
        self.address = address
        wire = writer.get_extra_info("socket")
        with contextlib.suppress(OSError):  # of a connection that is broken already, its next message says so
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in ALIVE:
                if number := getattr(socket, option, None):
                    wire.setsockopt(socket.IPPROTO_TCP, number, value)

    async def send(self, data: bytes) -> None:
        if data:
            self._writer.write(data)
            async with asyncio.timeout(STEP_TIME):
                await self._writer.drain()

    async def receive(self, seconds: float = STEP_TIME) -> bytes:
        """The next line of at most LIMIT bytes; ProtocolError if it is longer, ConnectionError after the last one."""
        try:
            async with asyncio.timeout(seconds):
                return await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise ProtocolError(Reason.FORMAT, f"a message is at most {LIMIT} bytes long") from None
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("it closed the connection" if not error.partial else "it broke off") from None

    async def step(self, seconds: float = STEP_TIME) -> None:
        """Read one message and send the answer to it; the signatures of a yes are checked first, in a thread."""
        session = self.session
        answer = session.take(await self.receive(seconds))
        if session.claim and not session.peer_confirmed:
            session.judge(await asyncio.to_thread(session.proven))
        await self.send(answer)

    async def close(self) -> None:
        self._writer.close()
        try:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(1.0):
                    await self._writer.wait_closed()
        finally:
            self.abort()  # the other end may not read what was sent

    def abort(self) -> None:
        self._writer.transport.abort()


async def listen(
    accepted: Callable[[asyncio.StreamReader, asyncio.StreamWriter], None], address: str, port: int
) -> asyncio.Server:
    """Take calls at this address, or at all if it is ''."""
    try:
        server = await asyncio.start_server(
            accepted, address or None, port, limit=LIMIT, backlog=512, start_serving=False
        )
        try:
            for one in server.sockets:  # so that callers cannot fill memory here
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * LIMIT)
            await server.start_serving()
        except BaseException:  # nobody else knows of it yet
            server.close()
            raise
    except OSError as error:
        raise EnvironmentFault(
            "the pairing window cannot be opened", str(error), "another linkladder here may have it open: use that"
        ) from None
    return server


async def connect(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a pairing window, or raise the reason; a silent address of a name does not delay its others."""
    try:
        async with asyncio.timeout(CONNECT_TIME):
            return await asyncio.open_connection(address, port, limit=LIMIT, happy_eyeballs_delay=0.5)
    except TimeoutError:
        raise EnvironmentFault(
            f"{address} does not answer",
            "it is off, unplugged, has another address, or a firewall drops the packets",
            f"check the address; a firewall in between must let TCP {port} and 8622 through",
        ) from None
    except socket.gaierror as error:
        if ":" in address or address.replace(".", "").isdigit():
            cause = "it looks like one, and some part of it is missing or too large"
            raise EnvironmentFault(f"{address} is no address", cause, "type it as the other console shows it") from None
        cause = f"the name does not resolve ({error.strerror})"
        raise EnvironmentFault(f"{address} is not known", cause, "type its address instead") from None
    except (OSError, UnicodeError, ValueError) as error:
        raise _explained(address, port, error) from None


async def connect_patiently(
    address: str, port: int, engaged: Callable[[], bool]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, and try again for a while if the window is closed, as two persons never open theirs at exactly the same
    time; not once this end is engaged in another exchange."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return await connect(address, port)
        except WindowShut as error:
            if time.monotonic() > until or engaged():
                raise await why_shut(address, error) from None
            await asyncio.sleep(0.25)


async def why_shut(address: str, error: WindowShut) -> LinkladderError:
    """The error for a closed window; says so if an appliance greets on its control port, else `error` as it is."""
    try:
        async with asyncio.timeout(GREETING_TIME):
            reader, writer = await asyncio.open_connection(address, CONTROL, limit=LIMIT)
            greeting = await reader.readexactly(8)
            writer.close()
    except (OSError, EOFError):
        return error
    if greeting != b"SSH-2.0-":
        return error
    return WindowShut(
        f"{address} has its pairing window closed",
        "an appliance is there, but no pairing window is open on it",
        "open pairing on the other console, then try again",
    )


def _explained(address: str, port: int, error: Exception) -> LinkladderError:
    """Why there is no connection, and what to do; asyncio gives only text if several addresses of a name failed."""
    number, text = getattr(error, "errno", None), str(error)
    if address.lower().startswith("fe80:") and "%" not in address:
        cause = "a link-local address is reached over one interface, and none is named"
        return EnvironmentFault(f"{address} cannot be reached", cause, f"type it with the interface: {address}%vmx0")
    if number == errno.ECONNREFUSED or "refused" in text:
        cause = f"it is there, but neither a pairing window (TCP {port}) nor a control channel ({CONTROL}) is open"
        return WindowShut(f"{address} refused", cause, "is it the right address? If so, open pairing on its console")
    if number in (errno.ENETUNREACH, errno.EHOSTUNREACH) or "unreachable" in text or "No route" in text:
        cause = f"there is no route to it ({text})"
        hint = "check addresses, netmask, router and cable; a firewall that rejects may sound the same"
        return EnvironmentFault(f"{address} cannot be reached", cause, hint)
    if number in (errno.EACCES, errno.EPERM):
        return EnvironmentFault(f"{address} is filtered", text, f"a firewall must let TCP {port} and 8622 through")
    return EnvironmentFault(f"{address} cannot be reached", text, "check the address")
