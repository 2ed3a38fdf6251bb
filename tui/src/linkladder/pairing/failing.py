"""Bars source addresses for a while after several failed attempts at a pairing window."""

from __future__ import annotations

import time

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


def _plain(address: str) -> str:
    return address.removeprefix("::ffff:").partition("%")[0]
