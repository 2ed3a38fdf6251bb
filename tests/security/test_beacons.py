"""A segment full of forged beacons: whoever really is there is found all the same, and stays."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from segment import Segment, segment

from linkladder.pairing import discovery, sieve

PORT = discovery.PORT
SEARCH = """
import asyncio, sys, time
from linkladder.pairing import discovery
from linkladder.trust import keys
name, number = sys.argv[1], sys.argv[2]
mine = discovery.Beacon(1, number * 32, name, "1", (), 8623, "SHA256:" + "A" * 43)
async def main():
    there = set()
    def changed(found, here):
        if found.name in ("alpha", "beta"):
            known = bool(here and found.rtt_ms is not None)
            print(found.name, "there" if known else "gone" if not here else "heard", len(one.heard()), flush=True)
    one = discovery.Discovery(mine, changed)
    await one.open()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print("cpu", time.process_time(), flush=True)
    await one.close()
asyncio.run(main())
"""
FLOOD = """
import json, os, random, socket, struct, sys, time
from linkladder.pairing import discovery
kind, port, rate = sys.argv[1], int(sys.argv[2]), 10_000
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind(("te0", 0))
six = kind == "6"

def frame():
    number = os.urandom(16).hex()
    beacon = discovery.Beacon(1, number, "x" + number[:8], "1", (), 8623, "SHA256:" + "A" * 43, ask=number[:16])
    data = discovery.encode(beacon)
    udp = struct.pack("!HHHH", port, port, 8 + len(data), 0)
    sender = bytes([2]) + os.urandom(5)
    if six:
        source = socket.inet_pton(socket.AF_INET6, "fe80::") [:8] + b"\\0\\0\\xff\\xff" * 2
        to = socket.inet_pton(socket.AF_INET6, "ff02::1")
        udp = udp[:6] + checksum(source + to + struct.pack("!IxxxB", 8 + len(data), 17) + udp + data)
        head = struct.pack("!IHBB", 6 << 28, 8 + len(data), 17, 1) + source + to
        return bytearray(b"33\\0\\0\\0\\1" + sender + b"\\x86\\xdd" + head + udp + data)
    source = bytes([10, 94, 0, random.randrange(1, 255)])  # the real ones' addresses too
    to = bytes([10, 94, 0, 255])
    head = struct.pack("!BBHHHBBH", 69, 0, 28 + len(data), 1, 0, 64, 17, 0) + source + to
    head = head[:10] + checksum(head) + head[12:]
    return bytearray(b"\\xff" * 6 + sender + b"\\x08\\x00" + head + udp + data)

def checksum(data):
    data += b"\\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 65535) + (total >> 16)
    return struct.pack("!H", ~total & 65535 or 65535)

frames = [frame() for _ in range(rate)]
print("ready", flush=True)
began, sent = time.monotonic(), 0
while True:
    one = frames[sent % rate]
    if six:  # an address that was never there; each pair of its words has the same sum
        words = random.randrange(65536), random.randrange(65536)
        one[30:38] = struct.pack("!HHHH", words[0], 65535 - words[0], words[1], 65535 - words[1])
    wire.send(one)
    sent += 1
    if sent % 100 == 0:
        ahead = sent / rate - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(ahead)
        if sent % rate == 0:
            print(sent, time.monotonic() - began, flush=True)
"""


def end_all(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()


@pytest.fixture
def net() -> Iterator[Segment]:
    with segment("alpha", "beta", "eve") as made:
        yield made


def test_one_call_that_is_heard_makes_both_known_to_each_other_in_a_full_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """The question that came with the first answer was put off as one too many of a stranger's, for ten seconds."""
    monkeypatch.setattr(discovery, "interface_of", lambda source: "te0")
    ends: dict[str, discovery.Discovery] = {}
    said: list[tuple[bytes, str, str]] = []
    for name, address in (("alpha", "10.94.0.1"), ("beta", "10.94.0.2")):
        mine = discovery.Beacon(1, name[0] * 32, name, "1", (), PORT, "SHA256:" + "A" * 43)
        ends[address] = one = discovery.Discovery(mine, lambda found, there: None)
        for number in range(discovery.MOST):
            forged = discovery.Beacon(1, f"{number:032x}", f"x{number}", "1", (), PORT, "SHA256:" + "A" * 43)
            one._take(discovery.encode(forged), (f"10.94.1.{number}", PORT))
            one._sent = {4: 0, 6: 0}  # as after each choice
    for address, one in ends.items():
        monkeypatch.setattr(one, "_send", lambda data, target, mine=address: said.append((data, mine, target[0])))
    said.append((ends["10.94.0.1"]._question(), "10.94.0.1", "10.94.0.2"))
    for data, sender, receiver in said:  # which grows meanwhile
        assert len(said) < 10, "it comes to an end"
        ends[receiver]._take(data, (sender, PORT))
    assert all(one._proven for one in ends.values())
    assert len(said) == 4, "call, answer and question, answer and question, answer"


def test_who_answers_stays_where_a_flood_hides_two_beacons_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked every two seconds alone, one of three was forgotten within 21 s, as nine answers of ten never came."""
    lost, gone, clock = random.Random(1), list[float](), SimpleNamespace(now=0.0)
    for module in (discovery, sieve):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(discovery, "interface_of", lambda source: "te0")
    monkeypatch.setattr(discovery, "targets", lambda port: [])
    pause = asyncio.sleep

    async def virtual(seconds: float) -> None:
        until = clock.now + seconds
        while clock.now < until:
            await pause(0)

    async def ten_minutes() -> None:
        ends: dict[str, discovery.Discovery] = {}
        for name, address in (("alpha", "10.94.0.1"), ("beta", "10.94.0.2")):
            mine = discovery.Beacon(1, name[0] * 32, name, "1", (), PORT, "SHA256:" + "A" * 43)
            ends[address] = discovery.Discovery(mine, lambda found, there: None if there else gone.append(clock.now))

        def send(data: bytes, sender: str, target: str) -> None:
            if clock.now == 0 or lost.random() < 1 / 3:
                ends[target]._take(data, (sender, PORT))

        for at, one in ends.items():
            monkeypatch.setattr(one, "_send", lambda data, target, at=at: send(data, at, target[0]))
        (here, alpha), (_, beta) = ends.items()
        beta._take(alpha._question(), (here, PORT))
        assert alpha._proven and beta._proven
        monkeypatch.setattr(discovery.asyncio, "sleep", virtual)
        calls = [asyncio.create_task(one._call()) for one in ends.values()]
        while clock.now < 600:
            clock.now += 0.05
            await pause(0)
        for call in calls:
            call.cancel()
        assert not any(call.done() for call in calls)

    asyncio.run(ten_minutes())
    assert gone == []


@pytest.mark.parametrize("flood", [False, True])
def test_all_are_asked_more_often_while_beacons_are_left_unread(monkeypatch: pytest.MonkeyPatch, flood: bool) -> None:
    """Asked every two seconds, of which a flood leaves one in many to be read, who was there was found after 18 s."""
    mine = discovery.Beacon(1, "a" * 32, "alpha", "1", (), PORT, "SHA256:" + "A" * 43)
    one, calls = discovery.Discovery(mine, lambda found, there: None), list[bytes]()
    monkeypatch.setattr(discovery, "interface_of", lambda source: "te0")
    monkeypatch.setattr(discovery, "targets", lambda port: [("10.94.0.255", port)])
    monkeypatch.setattr(one, "_send", lambda data, target: calls.append(data) if target[0] == "10.94.0.255" else None)
    for number in range(3 * discovery.MOST if flood else 1):
        source = f"10.94.1.{number}", PORT
        if one._sieves[4].add(discovery.encode(mine), source):
            one._take(discovery.encode(mine), source)

    async def for_one_period() -> None:
        one._choose()
        call = asyncio.create_task(one._call())
        await asyncio.sleep(discovery.EVERY - 0.1)
        call.cancel()

    asyncio.run(for_one_period())
    assert len(calls) == (discovery.ASKED if flood else 1)
    assert len(set(calls)) == len(calls), "each can be told from the others by its answer"


@pytest.mark.lab
@pytest.mark.parametrize("families", ["4", "6", "46"])
def test_who_is_there_is_found_amid_forged_beacons(net: Segment, families: str) -> None:
    """Ten thousand a second: by IPv4 from every address of the segment, those of both included; by IPv6 from any."""
    pipe = subprocess.PIPE
    floods = [net.start("eve", sys.executable, "-c", FLOOD, one, str(PORT), stdout=pipe) for one in families]
    for flood in floods:
        assert flood.stdout and flood.stdout.readline() == "ready\n"
    for flood in floods:
        assert flood.stdout and flood.stdout.readline()  # the first second's worth is out: lists will be full at once
    ends = {
        name: net.start(name, sys.executable, "-c", SEARCH, name, name[0], stdin=pipe, stdout=pipe)
        for name in ("alpha", "beta")
    }
    began, found = time.monotonic(), []
    patience = threading.Timer(180, end_all, [list(ends.values())])
    patience.start()
    try:
        for name, other in (("alpha", "beta"), ("beta", "alpha")):
            out = ends[name].stdout
            assert out
            seen = []
            while not seen or seen[-1].split()[:2] != [other, "there"]:
                seen.append(out.readline())
                assert seen[-1], seen
            assert int(seen[-1].split()[2]) <= discovery.MOST
            found.append(time.monotonic() - began)
        time.sleep(2 * discovery.FORGET)  # in which who is not heard any more is forgotten
    finally:
        patience.cancel()
        said = {}
        for name, end in ends.items():
            said[name] = end.communicate("")[0]
        rates = []
        for flood in floods:
            flood.kill()
            sent, seconds = flood.communicate()[0].splitlines()[-1].split()
            rates.append(int(sent) / float(seconds))
    print(rates, found, said)
    assert min(rates) > 2 * sieve.PER_SECOND, "a flood"
    assert all("gone" not in text for text in said.values()), said
