"""Fetches an upgrade file by https, and gives up on a server that sends it too slowly, elsewhere or without end.

A thread reads, as names are looked up and TLS is spoken there; the caller watches it, and does not wait for it when it
gives up. Nothing after the head is taken before the head's signature is good.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import shutil
import socket
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkladder import units
from linkladder.errors import EnvironmentFault
from linkladder.upgrade import Manifest, read_head, verify

if TYPE_CHECKING:
    from linkladder.upgrading import Progress

SPARE = 64 << 20
BLOCK = 1 << 18
REDIRECTS = 5
SILENCE = 30.0  # seconds without a byte
MOVED = frozenset({301, 302, 303, 307, 308})
HINT = "try again, or use a stick"


@dataclass(frozen=True)
class Patience:
    """How slow a server may be."""

    head: float = 90.0  # seconds until the file's head is here, redirects and all
    least: int = 1 << 20  # bytes that must come in every `within`
    within: float = 60.0
    total: float = 4 * 3600.0


async def fetch(
    address: str, target: Path, progress: Progress, signers: Path, patience: Patience | None = None
) -> Manifest:
    """Fetch the file; after its head it is refused if it is not signed or there is no room for it."""
    bounds = patience or Patience()
    work = _Fetch(address, target, signers)
    threading.Thread(target=work.run, name="fetch", daemon=True).start()
    began = mark = time.monotonic()
    at_mark = 0
    try:
        while not work.ended.is_set():
            await asyncio.sleep(0.1)
            now = time.monotonic()
            if not work.total:
                if now - began > bounds.head:
                    raise _too_slow(f"the beginning of the file was not there after {units.duration(bounds.head)}")
                mark = now
                continue
            progress("fetching", work.done, work.total, now - began)
            if now - began > bounds.total:
                raise _too_slow(f"{units.size(work.done)} came in {units.duration(now - began)}")
            if now - mark > bounds.within:
                if work.done - at_mark < bounds.least and not work.ended.is_set():
                    raise _too_slow(f"{units.size(work.done - at_mark)} came in {units.duration(now - mark)}")
                mark, at_mark = now, work.done
    finally:
        work.give_up()
    manifest = work.result()
    progress("fetching", work.done, work.total, time.monotonic() - began)
    return manifest


def _too_slow(why: str) -> EnvironmentFault:
    return EnvironmentFault("the upgrade comes too slowly, and was given up", why, "use a stick, or another server")


class _Fetch:
    """The thread's part; `total` is 0 until the head is verified."""

    def __init__(self, address: str, target: Path, signers: Path) -> None:
        self._address, self._target, self._signers = address, target, signers
        self.done = self.total = 0
        self.ended = threading.Event()
        self._lock = threading.Lock()  # held to keep a connection, and to close it
        self._given_up = False
        self._line: socket.socket | None = None  # a second handle of the connection, whatever TLS does with the first
        self._found: Manifest | None = None
        self._fault: Exception | None = None

    def run(self) -> None:
        try:
            self._found = self._fetched()
        except Exception as error:
            self._fault = error
        finally:
            self.ended.set()
            self.give_up()

    def result(self) -> Manifest:
        if self._found:
            return self._found
        fault = self._fault or ConnectionError("given up")
        if isinstance(fault, OSError | ValueError | http.client.HTTPException):
            why = str(getattr(fault, "reason", fault))
            raise EnvironmentFault("the upgrade could not be fetched", why, HINT) from None
        raise fault

    def give_up(self) -> None:
        """Cut the connection, on which the thread may wait."""
        with self._lock:
            self._given_up = True
            self._drop()

    def hold(self, wire: socket.socket) -> None:
        with self._lock:
            self._drop()
            self._line = socket.socket(fileno=os.dup(wire.fileno()))
            if self._given_up:
                self._drop()

    def _drop(self) -> None:
        if self._line is not None:
            with contextlib.suppress(OSError):
                self._line.shutdown(socket.SHUT_RDWR)
            self._line.close()
            self._line = None

    def _fetched(self) -> Manifest:
        with self._opened() as answer:
            head = read_head(answer)
            manifest = verify(head, self._signers)
            length = answer.headers.get("Content-Length", "")
            if length.isdecimal() and int(length) != head.size + manifest.packed_size:
                raise ConnectionError(f"the server has {length} bytes, the file {head.size + manifest.packed_size}")
            if shutil.disk_usage(self._target.parent).free < manifest.packed_size + SPARE:
                raise EnvironmentFault(
                    "there is no room for the upgrade file",
                    f"it takes {units.size(manifest.packed_size)}",
                    "delete old runs, or bring it on a stick",
                )
            self.total = manifest.packed_size
            with self._target.open("wb") as out:
                out.write(head.lead() + head.manifest + head.signature)
                while self.done < self.total and not self._given_up:
                    block = answer.read1(min(BLOCK, self.total - self.done))
                    if not block:
                        raise ConnectionError(f"it ended after {self.done} of {self.total} bytes")
                    out.write(block)
                    self.done += len(block)
            return manifest

    def _opened(self) -> Any:
        """The answer, after redirects, of which nothing but the new address is read."""
        opener = urllib.request.OpenerDirector()  # urllib would follow to http, and read the whole of a redirect's body
        for handler in (urllib.request.ProxyHandler, urllib.request.HTTPDefaultErrorHandler):
            opener.add_handler(handler())
        opener.add_handler(urllib.request.HTTPErrorProcessor())
        opener.add_handler(_Https(self))
        address = self._address
        for _ in range(REDIRECTS + 1):
            if urllib.parse.urlsplit(address).scheme != "https":
                raise EnvironmentFault(
                    "the upgrade could not be fetched", f"the server sends one on to {address[:100]}, not https", HINT
                )
            try:
                return opener.open(address, timeout=SILENCE)
            except urllib.error.HTTPError as error:
                error.close()
                onward = error.headers.get("Location")
                if error.code not in MOVED or not onward:
                    raise
                address = urllib.parse.urljoin(address, onward)
        raise ConnectionError(f"the server sends one on more than {REDIRECTS} times")


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, work: _Fetch) -> None:
        super().__init__()
        self._work = work

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        def connection(host: str, **options: Any) -> _Held:
            return _Held(self._work, host, **options)

        return self.do_open(connection, request, context=ssl.create_default_context())


class _Held(http.client.HTTPSConnection):
    """Gives the fetch a hold on its connection."""

    def __init__(self, work: _Fetch, host: str, **options: Any) -> None:
        super().__init__(host, **options)
        self._work = work

    def connect(self) -> None:
        super().connect()
        self._work.hold(self.sock)
