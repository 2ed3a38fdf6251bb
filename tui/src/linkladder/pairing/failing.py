"""Sources whose attempts at a window come to nothing: after some they get no hearing for a while."""

from __future__ import annotations

import time

BARRED = 60.0  # seconds without a hearing
REMEMBERED = 1024  # sources


class Failing:
    """Failed attempts by source address: how many, and when the last was."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: dict[str, tuple[int, float]] = {}  # the one that failed last comes last

    def failed(self, address: str) -> None:
        source = _plain(address)
        count, _ = self._seen.pop(source, (0, 0.0))
        self._seen[source] = (count + 1, time.monotonic())
        for old in list(self._seen)[:-REMEMBERED]:
            del self._seen[old]

    def barred(self, address: str) -> bool:
        source = _plain(address)
        count, last = self._seen.get(source, (0, 0.0))
        if count and time.monotonic() - last > BARRED:
            del self._seen[source]
            return False
        return count >= self._most


def _plain(address: str) -> str:
    return address.removeprefix("::ffff:").partition("%")[0]
