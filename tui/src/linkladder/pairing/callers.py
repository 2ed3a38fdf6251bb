"""Those who have called a pairing window and are not done: bounded in all and by source, with room for new sources."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Collection

from linkladder.pairing.connection import Connection

WAITING, PER_SOURCE = 256, 4  # the most connections, in all and from one address
BARRED = 60.0  # seconds since the last failure for which a source is barred
REMEMBERED = 1024  # the most sources that are remembered


class Failing:
    """The number of failed attempts of each source address, and the time of the last one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[str, tuple[int, float]] = {}  # in the order of their last failure

    def failed(self, address: str) -> None:
        source = _plain(address)
        count, _ = self._seen.pop(source, (0, 0.0))
        self._seen[source] = (count + 1, time.monotonic())
        for old in list(self._seen)[:-REMEMBERED]:
            del self._seen[old]

    def knows(self, address: str) -> bool:
        """Whether an attempt from there has failed, as far as it is remembered."""
        return _plain(address) in self._seen

    def barred(self, address: str) -> bool:
        source = _plain(address)
        count, last = self._seen.get(source, (0, 0.0))
        if count and time.monotonic() - last > BARRED:
            del self._seen[source]
            return False
        return count >= self._most


class Callers:
    """The connections that were accepted, the oldest first.

    If there are too many, one is dropped: of a source that has failed before, else of one with several connections,
    else one that has said nothing. Never one whose code is on the screen, nor one that has shown the secret.
    """

    def __init__(self, failing: Failing, by_secret: bool) -> None:
        self._failing, self._by_secret = failing, by_secret
        self._all: dict[asyncio.Task[None], tuple[str, Connection]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def admits(self, source: str, kept: Collection[Connection]) -> bool:
        """Whether another one may come in from there; for that another one may have been dropped, but for `kept`."""
        alike = sum(one == source for one, _ in self._all.values())
        if alike >= PER_SOURCE or self._failing.barred(source):
            return False
        return len(self._all) < WAITING or self._drop(kept)

    def add(self, task: asyncio.Task[None], source: str, link: Connection) -> None:
        self._all[task] = (source, link)
        task.add_done_callback(lambda done: self._all.pop(done, None))

    def have(self, tie: str) -> bool:
        """Whether one of them says that it is the end with this tie."""
        return any(one.session.peer_hello and one.session.peer_hello.tie == tie for _, one in self._all.values())

    def _drop(self, kept: Collection[Connection]) -> bool:
        several = Counter(source for source, _ in self._all.values())

        def worth(task: asyncio.Task[None]) -> tuple[bool, bool, bool]:
            source, link = self._all[task]
            return not self._failing.knows(source), several[source] == 1, link.session.peer_hello is not None

        droppable = [task for task, (_, one) in self._all.items() if one not in kept and not one.session.claim]
        if not droppable:
            return False
        least = min(map(worth, droppable))
        alike = [task for task in droppable if worth(task) == least]
        # Of many sources at once the oldest would always go before it is done; by chance somebody comes through.
        task = secrets.choice(alike) if self._by_secret else alike[0]
        self._all.pop(task)[1].abort()
        task.cancel()
        return True


def _plain(address: str) -> str:
    return address.removeprefix("::ffff:").partition("%")[0]
