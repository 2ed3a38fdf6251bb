"""Chooses which beacons are read when strangers send more than can be: who answers where he says he is comes first.

A question to one address carries a token that only whoever receives there can send back. Of all else a fixed number is
read: the first of each moment at once, so that nobody waits where there is no flood; of the others, of each source one,
shares of who answered, of who was heard before, and of all.
"""

from __future__ import annotations

import hashlib
import random
import re
import secrets
import time
from collections.abc import Collection

from linkladder.host.addresses import Source, host_of

Datagram = tuple[bytes, Source]

PER_SECOND = 1000  # beacons without proof that are read
KEPT = 2048  # the most sources among which one choice is made
BITS = 1 << 23  # of what is remembered of sources: 1 MB, twice
AGE = 3.0  # seconds for which a source is remembered, at least
ANSWERED_IN = 5.0  # seconds after which a token proves nothing
UNIT = 1e-5  # seconds
FIRST = 20  # beacons that are read at once between two choices, whoever sends them
AT_ONCE = 0.1  # seconds after which a host that answers is read at once again
_ECHO = re.compile(rb'"echo":"([0-9a-f]{16})"')


class Tokens:
    """Tokens of the time and of the address that one was sent to, which nobody else can make: none is remembered."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def make(self, source: Source) -> str:
        return self._of(source, int(time.monotonic() / UNIT) % (1 << 28))

    def trip(self, source: Source, token: str) -> float | None:
        """Seconds since this token was sent to this address; None if it was not, or too long ago."""
        try:
            sent = int(token[:7], 16)
        except ValueError:
            return None
        if not secrets.compare_digest(token.encode(), self._of(source, sent).encode()):
            return None
        passed = (int(time.monotonic() / UNIT) - sent) % (1 << 28) * UNIT
        return passed if passed < ANSWERED_IN else None

    def _of(self, source: Source, sent: int) -> str:
        text = f"{sent:07x} {host_of(source)}"
        return f"{sent:07x}{hashlib.blake2s(text.encode(), key=self._key).hexdigest()[:9]}"


class Sieve:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._salt = secrets.randbits(60)
        self._first = 0  # read at once since the last choice
        self._read: dict[str, float] = {}  # the hosts that were read at once, and when the last time
        self._waiting: dict[str, tuple[Datagram, int, str]] = {}  # of each source one, how many came, and its `echo`
        self._before, self._now, self._turned = bytearray(BITS // 8), bytearray(BITS // 8), time.monotonic()

    def add(self, data: bytes, source: Source) -> bool:
        """Whether it is to be read at once; else it waits for the next choice."""
        found, host = _ECHO.search(data), host_of(source)
        echo = found[1].decode() if found else ""
        if echo and self._tokens.trip(source, echo) is not None and self._at_once(host):
            return True
        if self._first < FIRST:
            self._first += 1
            return True
        kept = self._waiting.get(host)
        if kept is None:
            if len(self._waiting) < KEPT:  # the first of a moment that nobody chooses are as good as any
                self._waiting[host] = (data, source), 1, echo
        elif random.random() * (kept[1] + 1) < 1:
            self._waiting[host] = (data, source), kept[1] + 1, echo
        else:
            self._waiting[host] = kept[0], kept[1] + 1, kept[2]
        return False

    @property
    def waiting(self) -> int:
        """How many came since the last choice that were not read at once."""
        return sum(count for _, count, _ in self._waiting.values())

    def _at_once(self, host: str) -> bool:
        """Whether this host may be read at once: its token is good for seconds, in which it could send any number."""
        now = time.monotonic()
        if now - self._read.get(host, -AT_ONCE) < AT_ONCE:
            return False
        if len(self._read) >= KEPT:
            self._read.clear()
        self._read[host] = now
        return True

    def chosen(self, proven: Collection[str], called: Collection[str], seconds: float) -> list[Datagram]:
        """Those of the last `seconds` that are read; `proven` hosts answered, `called`: tokens of calls to all."""
        most = int(PER_SECOND * seconds) - self._first
        share = 2 * most // 5
        ranks: tuple[list[str], ...] = ([], [], [])
        for host, (_, _, echo) in self._waiting.items():
            seen = self._remember(host)
            ranks[0 if host in proven or echo in called else 1 if seen else 2].append(host)
        drawn = [random.sample(rank, min(most, len(rank))) for rank in ranks]
        shares = [host for rank in drawn for host in rank[:share]]
        hosts = (shares + [host for rank in drawn for host in rank[share:]])[:most]
        found = [self._waiting[host][0] for host in hosts]
        self._waiting.clear()
        self._turn()
        self._first = 0
        return found

    def _remember(self, host: str) -> bool:
        """Whether this host was heard before; it has been from now on."""
        place = hash((self._salt, host)) % BITS
        number, bit = place >> 3, 1 << (place & 7)
        seen = (self._before[number] | self._now[number]) & bit
        self._now[number] |= bit
        return bool(seen)

    def _turn(self) -> None:
        now = time.monotonic()
        if now - self._turned > AGE:
            self._before, self._now, self._turned = self._now, bytearray(BITS // 8), now
