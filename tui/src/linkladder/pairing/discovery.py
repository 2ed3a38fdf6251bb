"""Sends and receives beacons on the segment while a pairing window is open: IPv4 broadcast, IPv6 link-local multicast.

Beacons only save typing an address; nothing is trusted because of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import json
import random
import re
import secrets
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import psutil

from linkladder.codec import CodecError, from_json, to_json
from linkladder.errors import EnvironmentFault
from linkladder.host import addresses as own_addresses
from linkladder.host.addresses import Source, host_of, version_of
from linkladder.pairing.window_events import Appliance
from linkladder.trust.peers import NAME

if TYPE_CHECKING:
    from linkladder.pairing.sieve import Sieve

PORT = 8623
LIMIT = 1200  # bytes of a beacon
EVERY, FORGET = 2.0, 7.0  # seconds between beacons, and until a silent appliance is forgotten
ASKED = 8  # the most times in EVERY that who has answered before is asked, until he answers; and all, amid a flood
MOST, OF_ONE_HOST = 64, 4  # the most appliances that are listed, in all and of one address that answers
GROUP = "ff02::1"
TICK = 0.1  # seconds in which one choice is made among the beacons
SENT, AGAIN = 2, 10.0  # strangers that are answered in a tick, as what nobody takes fills the buffer; seconds between
TRIED = 1024  # the most strangers that are remembered for that


@dataclass(frozen=True)
class Beacon:
    """What an appliance sends to its segment while its window is open."""

    linkladder: int  # the version of beacons, 1
    id: str
    name: str
    version: str
    addresses: tuple[str, ...]
    port: int
    fingerprint: str
    ask: str = ""  # a token that the receiver sends back in `echo`, to time the round trip
    echo: str = ""


def encode(beacon: Beacon) -> bytes:
    return json.dumps(to_json(beacon), separators=(",", ":")).encode()


def decode(data: bytes) -> Beacon | None:
    """The beacon in these bytes; None if it is not a valid one."""
    if len(data) > LIMIT:
        return None
    try:
        found = from_json(Beacon, json.loads(data))
        sound = (
            found.linkladder == 1
            and re.fullmatch(r"[0-9a-f]{32}", found.id)
            and NAME.fullmatch(found.name)
            and re.fullmatch(r"[0-9A-Za-z.+-]{1,40}", found.version)
            and re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", found.fingerprint)
            and all(re.fullmatch(r"[0-9a-f]{0,16}", token) for token in (found.ask, found.echo))
            and len(found.addresses) <= 16
            and 0 < found.port < 65536
            and all(ipaddress.ip_address(a) and "%" not in a for a in found.addresses)
        )
    except (ValueError, CodecError, RecursionError, TypeError):
        return None
    return found if sound else None


class Discovery:
    """Sends and receives beacons until closed; calls `changed` with an appliance and whether it is there."""

    def __init__(self, mine: Beacon, changed: Callable[[Appliance, bool], None], port: int = PORT) -> None:
        from linkladder.pairing.sieve import Sieve, Tokens  # imported late, as only a window that opens needs it

        self._mine, self._changed, self._port = mine, changed, port
        self._heard: dict[str, Appliance] = {}
        self._proven: dict[str, Source] = {}  # where those are that have answered a question to their address
        self._tokens = Tokens()
        # One for each IP version, so that a flood by one leaves the other free.
        self._sieves: dict[int, Sieve] = {4: Sieve(self._tokens), 6: Sieve(self._tokens)}
        self._tried: dict[str, float] = {}
        self._sent = {4: 0, 6: 0}  # to strangers, since the last choice
        self._flooded = -EVERY  # when beacons were left unread the last time
        self._choice: asyncio.TimerHandle | None = None
        self._sockets: list[socket.socket] = []
        self._asked: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._sockets.append(self._bind(socket.AF_INET, "0.0.0.0"))
        with contextlib.suppress(OSError):  # a system without IPv6 uses IPv4 only
            self._sockets.append(self._bind(socket.AF_INET6, "::"))
        loop = asyncio.get_running_loop()
        for one in self._sockets:
            loop.add_reader(one, self._read, one)
        self._task = asyncio.create_task(self._call())

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        if self._choice:
            self._choice.cancel()
        for one in self._sockets:
            loop.remove_reader(one)
            one.close()
        self._sockets.clear()
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def heard(self) -> tuple[Appliance, ...]:
        names = [a.name for a in self._heard.values()] + [self._mine.name]
        listed = sorted(self._heard.values(), key=lambda a: (not a.answers, a.name, a.fingerprint))
        return tuple(replace(a, same_name=names.count(a.name) > 1) for a in listed)

    def _bind(self, family: int, address: str) -> socket.socket:
        one = socket.socket(family, socket.SOCK_DGRAM)
        one.setblocking(False)
        if family == socket.AF_INET:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        else:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 1)
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
            for number, _ in socket.if_nameindex():
                with contextlib.suppress(OSError):  # every host is a member of this group anyway
                    group = socket.inet_pton(socket.AF_INET6, GROUP) + struct.pack("@I", number)
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group)
        try:
            one.bind((address, self._port))
        except OSError as error:
            one.close()
            if error.errno == errno.EADDRINUSE:
                raise EnvironmentFault(
                    "a pairing window is open here already",
                    "another linkladder on this appliance has it",
                    "use that one",
                ) from None
            raise
        return one

    async def _call(self) -> None:
        while True:
            now = time.monotonic()
            self._asked = {t: at for t, at in self._asked.items() if now - at < 5}
            self._ask_all()
            for one in tuple(self._heard.values()):
                if now - one.heard > FORGET * (3 if one.id in self._proven else 1):
                    self._forget(one)
            for again in range(ASKED):
                if again and time.monotonic() - self._flooded < EVERY:
                    self._ask_all()  # one of many is read
                for number, where in self._proven.items():
                    if self._heard[number].heard < now:
                        self._ask(where)  # of its other beacons a flood may hide all, and of answers most
                await asyncio.sleep(EVERY / ASKED)

    def _ask_all(self) -> None:
        asking = self._question()
        for target in targets(self._port):
            self._send(asking, target)

    def _question(self) -> bytes:
        token = secrets.token_hex(8)
        self._asked[token] = time.monotonic()
        return encode(replace(self._mine, ask=token))

    def _ask(self, source: Source) -> None:
        self._send(encode(replace(self._mine, ask=self._tokens.make(source))), source)

    def _answer(self, beacon: Beacon, source: Source, answers: bool) -> None:
        """Answer a question, and ask who has not proven itself; strangers seldom, as most are nobody in a flood.

        Both in one beacon: so whoever was heard once is known to both ends by answers alone, which a flood hides least.
        """
        host, now = host_of(source), time.monotonic()
        called, token = beacon.echo in self._asked, ""  # called: it has read our last call
        if beacon.id not in self._proven:
            again = not called and now - self._tried.get(host, -AGAIN) < AGAIN
            if self._sent[version_of(source)] >= SENT or (again and len(self._heard) >= MOST):
                return
            self._sent[version_of(source)] += 1
            self._tried[host] = now
            if len(self._tried) > TRIED:
                del self._tried[next(iter(self._tried))]
            token = "" if again else self._tokens.make(source)
        echo = beacon.ask if called or answers or not beacon.echo else ""
        if token or echo:
            self._send(encode(replace(self._mine, ask=token, echo=echo)), source)

    def _forget(self, gone: Appliance) -> None:
        del self._heard[gone.id]
        self._proven.pop(gone.id, None)
        self._changed(gone, False)

    def _send(self, data: bytes, target: Source) -> None:
        for one in self._sockets:
            if (one.family == socket.AF_INET6) == (len(target) == 4):
                with contextlib.suppress(OSError):  # such as an interface that just went down
                    one.sendto(data, target)

    def _read(self, one: socket.socket) -> None:
        for _ in range(64):
            try:
                data, source = one.recvfrom(LIMIT + 1)
            except OSError:
                return
            if self._sieves[version_of(source)].add(data, source):
                self._take(data, source)
            if self._choice is None:
                self._choice = asyncio.get_running_loop().call_later(TICK, self._choose)

    def _choose(self) -> None:
        self._choice, self._sent = None, {4: 0, 6: 0}
        proven = {host_of(where) for where in self._proven.values()}
        for sieve in self._sieves.values():
            came, chosen = sieve.waiting, sieve.chosen(proven, self._asked, TICK)
            if len(chosen) < came:
                self._flooded = time.monotonic()
            for data, source in chosen:
                self._take(data, source)

    def _take(self, data: bytes, source: Source) -> None:
        beacon = decode(data)
        where = interface_of(source)
        if beacon is None or beacon.id == self._mine.id or not where:
            return
        trip = self._tokens.trip(source, beacon.echo)
        known = self._heard.get(beacon.id)
        if trip is not None and not self._admit(beacon.id, source):
            return
        self._answer(beacon, source, trip is not None)
        if trip is None and (beacon.id in self._proven or (known is None and len(self._heard) >= MOST)):
            return  # what anybody may have said changes nothing about who answers; who does comes in
        now = time.monotonic()
        asked = self._asked.get(beacon.echo)
        if trip is None and asked is not None:
            trip = now - asked
        found = self._appliance(beacon, source, where, now, trip * 1e3 if trip is not None else None)
        self._heard[beacon.id] = found
        if known is None or (known.rtt_ms is None, known.answers) != (found.rtt_ms is None, found.answers):
            self._changed(found, True)

    def _appliance(self, beacon: Beacon, source: Source, where: str, now: float, trip: float | None) -> Appliance:
        known = self._heard.get(beacon.id)
        if trip is None and known:
            trip = known.rtt_ms
        first = _with_zone(source, where)
        if known and known.addresses and ":" not in known.addresses[0] and ":" in first:
            first, where = known.addresses[0], known.interface  # an IPv4 address is easier to read
        rest = tuple(a for a in beacon.addresses if a != first)
        return Appliance(beacon.id, beacon.name, beacon.version, (first, *rest), where, beacon.fingerprint,
                         beacon.port, now, trip, answers=beacon.id in self._proven)  # fmt: skip

    def _admit(self, number: str, source: Source) -> bool:
        """Whether there is a place on the list for who answered; one who has not gives way."""
        others = [one for one, place in self._proven.items() if host_of(place) == host_of(source) and one != number]
        if len(others) >= OF_ONE_HOST:
            return False
        if number not in self._heard and len(self._heard) >= MOST:
            unproven = [one for one in self._heard if one not in self._proven]
            if not unproven:
                return False
            self._forget(self._heard[random.choice(unproven)])
        if number not in self._proven or ":" in str(self._proven[number][0]):
            self._proven[number] = source
        return True


def targets(port: int) -> list[Source]:
    """The targets of beacons: each interface's broadcast address and its all-nodes multicast group."""
    found: list[Source] = []
    up = {name for name, stats in psutil.net_if_stats().items() if stats.isup}
    numbers = {name: number for number, name in socket.if_nameindex()}
    linked: set[str] = set()
    for name, interface in own_addresses.own():
        if name not in up or interface.ip.is_loopback:
            continue
        if interface.version == 4 and interface.network.prefixlen < 31:
            found.append((str(interface.network.broadcast_address), port))
        elif interface.version == 6 and interface.ip.is_link_local and name in numbers and name not in linked:
            linked.add(name)
            found.append((GROUP, port, 0, numbers[name]))
    return found


@lru_cache(maxsize=1)
def _own(second: int) -> tuple[tuple[str, own_addresses.Interface], ...]:
    """This host's addresses, looked up once a second."""
    return tuple(own_addresses.own())


def interface_of(source: Source) -> str:
    """The interface whose segment the sender is on; '' if the sender is not on one of this host's segments."""
    with contextlib.suppress(OSError, ValueError):
        if len(source) == 4 and source[3]:
            return socket.if_indextoname(int(source[3]))
        address = ipaddress.ip_address(str(source[0]).partition("%")[0])
        for name, interface in _own(int(time.monotonic())):
            if address.version == interface.version and address in interface.network and not interface.ip.is_loopback:
                return name
    return ""


def _with_zone(source: Source, interface: str) -> str:
    address = str(source[0]).partition("%")[0]
    return f"{address}%{interface}" if ipaddress.ip_address(address).is_link_local and ":" in address else address


def own_name(given: str = "") -> str:
    """This appliance's name, with other characters than names may have replaced by dashes."""
    text = re.sub(r"[^A-Za-z0-9._-]", "-", given or socket.gethostname().partition(".")[0])
    return text.lstrip("._-")[:63] or "appliance"
