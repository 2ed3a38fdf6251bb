"""Remembers which addresses a peer had this end knock at in vain, so that no peer can scan networks with this end.

The memory is the peer's and not the channel's: who releases this end, or comes again by another channel, has used up as
much as before. It lasts an hour by the clock of this boot, in a file beside the list of agents.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator

from linkladder import state

SILENT = 16  # addresses that may be knocked at and have not answered
REMEMBERED = 3600.0  # seconds
LARGEST = 65536  # bytes of the file


class Knocks:
    """The addresses that have not answered yet; `peer` '' is this end's own console, which is remembered nowhere."""

    most = SILENT

    def __init__(self, peer: str = "") -> None:
        self._peer = peer
        self._own: dict[str, float] = {}

    def forget(self) -> None:
        """Forget what the console of this end knocked at."""
        self._own.clear()

    def may(self, address: str) -> bool:
        """Note a knock; False if too many other addresses have not answered."""
        with self._silent() as silent:
            if address not in silent and len(silent) >= SILENT:
                return False
            silent[address] = time.monotonic()
            return True

    def answered(self, address: str) -> None:
        with self._silent() as silent:
            silent.pop(address, None)

    @contextlib.contextmanager
    def _silent(self) -> Iterator[dict[str, float]]:
        """The silent addresses and when they were knocked at; changes are kept."""
        if not self._peer:
            yield self._own
            return
        try:
            path = state.ensure(state.measuring() / "run" / "knocks") / self._peer
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:  # there is no room: it is remembered as long as this agent runs
            yield self._own
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            silent = self._own | _recent(os.pread(file, LARGEST, 0))
            yield silent
            try:
                os.ftruncate(file, 0)
                os.pwrite(file, json.dumps(silent).encode(), 0)
                self._own = {}
            except OSError:
                self._own = silent
        finally:
            os.close(file)


def _recent(text: bytes) -> dict[str, float]:
    """Those of the last hour; times that lie ahead are of an earlier boot."""
    now = time.monotonic()
    try:
        found = json.loads(text or "{}")
        return {str(one): float(at) for one, at in found.items() if now - REMEMBERED < float(at) <= now}
    except (ValueError, TypeError, AttributeError):
        return {}
