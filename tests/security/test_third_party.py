"""A paired peer that turns on others: whatever it asks, this appliance sends nothing to a machine that did not agree.

Three machines on one segment: the appliance, its peer (which is hostile, and speaks to the appliance's agent), and a
victim that has nothing to do with either.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from segment import HostileAgent, Segment, segment

from linkladder.codec import to_json
from linkladder.model import End, Experiment, Protocol
from linkladder.tools import Layout
from linkladder.trust import peers
from pairing_ends import a_key

pytestmark = pytest.mark.lab
KEY = "0123456789abcdef" * 2
KNOCKS = 12  # packets, at most, that reach somebody who is knocked at
ANSWERS = """
import asyncio, sys
from linkladder.agent.probing import COORDINATES, ProbeListener
address, port, udp, key = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "udp", bytes.fromhex(sys.argv[4])
async def main():
    listener = await ProbeListener.open(address, port, udp, key, COORDINATES, lambda who, role: who in sys.argv[5:])
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await listener.close()
asyncio.run(main())
"""
ECHOES = """
import socket, sys, threading
address, port = sys.argv[1], int(sys.argv[2])
tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
for one in (tcp, udp):
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((address, port))
tcp.listen(9)
def datagrams():
    while True:
        data, who = udp.recvfrom(65536)
        udp.sendto(data, who)
def serve(connection):
    while data := connection.recv(65536):
        connection.sendall(data)
def accept():
    while True:
        threading.Thread(target=serve, args=(tcp.accept()[0],), daemon=True).start()
for one in (datagrams, accept):
    threading.Thread(target=one, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def world() -> Iterator[Segment]:
    # The crowd is a machine of its own: what its connections leave behind is not counted as sent to the victim.
    with segment("ladder", "eve", "victim", "crowd") as made:
        yield made


@pytest.fixture
def agent(world: Segment, own_state: Path) -> Iterator[HostileAgent]:
    peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
    made = HostileAgent(world, "ladder", own_state)
    assert "ok" in made.ask("reserve", holder="eve")
    yield made
    made.close()


def answering(world: Segment, name: str, udp: bool, key: str = KEY, to: str = "ladder") -> subprocess.Popen[str]:
    """An appliance's own end, whose console measures with the appliance `to`."""
    words = (world.address(name), "5301", "udp" if udp else "tcp", key, world.address(to))
    return world.python(name, ANSWERS, *words)


def asked(world: Segment, target: str) -> list[tuple[str, dict[str, Any]]]:
    """Everything that sends test traffic to the target."""
    here = world.address("ladder")
    flood = Experiment("e", protocol=Protocol.UDP, udp_rate_bps=1e9, duration=2, warmup=0)
    tcp = Experiment("e", duration=2, warmup=0)
    ping = Experiment("e", "ping", Protocol.ECHO, count=1000, interval=0.01)
    probe = Experiment("e", "ping", Protocol.DF, sizes=(1500,))
    both = {"local": here, "remote": target, "index": 0, "key": KEY}
    forward = {tool: to_json(Layout(End.FAR, End.NEAR, protocol_port=tool)) for tool in ("tcp", "udp")}
    alone = to_json(Layout(None, End.NEAR))
    return [
        ("client", {**both, "experiment": to_json(flood), "layout": forward["udp"], "port": 5301}),
        ("client", {**both, "experiment": to_json(tcp), "layout": forward["tcp"], "port": 5301}),
        ("client", {**both, "experiment": to_json(ping), "layout": alone, "port": 0}),
        ("client", {**both, "experiment": to_json(probe), "layout": alone, "port": 0}),
        ("serve", {"experiment": to_json(flood), "bind": here, "port": 5301, "peer": target, "key": KEY}),
    ]


def knock(agent: HostileAgent, world: Segment, target: str, udp: bool, key: str = KEY) -> str:
    here = world.address("ladder")
    said = agent.ask("probe", local=here, remote=target, port=5301, key=key, udp=udp)
    return str(said["ok"]["state"] if "ok" in said else said["error"])


def refused_everything(
    agent: HostileAgent, world: Segment, target: str, reason: str = "has not shown in this run that it takes part"
) -> None:
    for verb, args in asked(world, target):
        said = agent.ask(verb, **args)
        assert reason in said.get("error", ""), (verb, args, said)


@pytest.mark.parametrize("udp", [False, True])
def test_a_machine_that_takes_no_part_is_never_sent_to(agent: HostileAgent, world: Segment, udp: bool) -> None:
    victim = world.address("victim")
    before = world.received("victim")
    refused_everything(agent, world, victim)
    assert world.received("victim") == before
    assert knock(agent, world, victim, udp) == "refused"
    refused_everything(agent, world, victim)
    assert world.received("victim") - before <= KNOCKS


@pytest.mark.parametrize("udp", [False, True])
def test_one_that_sends_back_what_it_gets_has_not_agreed(agent: HostileAgent, world: Segment, udp: bool) -> None:
    victim = world.address("victim")
    echo = world.python("victim", ECHOES, victim, "5301")
    try:
        before = world.received("victim")
        assert knock(agent, world, victim, udp) == "filtered"
        refused_everything(agent, world, victim)
        assert world.received("victim") - before <= KNOCKS
    finally:
        echo.kill()
        echo.communicate()


def test_one_that_waits_for_somebody_elses_knock_has_not_agreed(agent: HostileAgent, world: Segment) -> None:
    """Another appliance on the segment, listening for a peer of its own: the key is another."""
    other = answering(world, "victim", False, secrets.token_hex(16))
    try:
        assert knock(agent, world, world.address("victim"), False) == "filtered"
        refused_everything(agent, world, world.address("victim"))
    finally:
        other.communicate()


@pytest.mark.parametrize("udp", [False, True])
def test_the_peer_proves_itself_and_nobody_else(agent: HostileAgent, world: Segment, udp: bool) -> None:
    eve, victim = world.address("eve"), world.address("victim")
    there = answering(world, "eve", udp)
    try:
        assert knock(agent, world, eve, udp) == "open"
    finally:
        there.communicate()
    assert agent.ask("known", address=eve)["ok"] == {"known": True}
    assert agent.ask("known", address=victim)["ok"] == {"known": False}
    refused_everything(agent, world, victim)
    agent.ask("release")  # what was proved in a run is over with it
    assert agent.ask("known", address=eve)["ok"] == {"known": False}


@pytest.mark.parametrize("udp", [False, True])
def test_who_knocks_with_the_key_is_known_and_no_other(agent: HostileAgent, world: Segment, udp: bool) -> None:
    """A server sends to its client: the client's address has answered too, before the server starts."""
    here, eve = world.address("ladder"), world.address("eve")
    script = """
import asyncio, sys
from linkladder.agent.probing import COORDINATES, probe
local, remote, udp, key = sys.argv[1], sys.argv[2], sys.argv[3] == "udp", bytes.fromhex(sys.argv[4])
print("ready", flush=True)
print(asyncio.run(probe(local, remote, 5301, udp, key, COORDINATES, lambda role: True))[0], flush=True)
"""
    assert "ok" in agent.ask("listen", address=here, port=5301, peer=eve, key=KEY, udp=udp)
    for key, state in ((secrets.token_hex(16), "filtered"), (KEY, "open")):
        there = world.python("eve", script, eve, here, "udp" if udp else "tcp", key)
        assert there.stdout and there.stdout.read().strip() == state
        assert agent.ask("known", address=eve)["ok"] == {"known": state == "open"}


def agents_of(world: Segment, folder: Path, allowed: bool, other_allowed: bool) -> Iterator[tuple[str, HostileAgent]]:
    """Two appliances that are both paired with eve and serve her, by their machines."""
    for name, introduced in (("ladder", allowed), ("victim", other_allowed)):
        state = folder / name
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LINKLADDER_STATE", str(state))
            peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
        made = HostileAgent(world, name, state, *(["--introduced"] if introduced else []))
        assert "ok" in made.ask("reserve", holder="eve")
        yield name, made


@pytest.mark.parametrize("udp", [False, True])
@pytest.mark.parametrize("allowed", [(False, False), (True, False), (False, True), (True, True)])
def test_two_appliances_meet_only_when_both_have_agreed(
    world: Segment, tmp_path: Path, udp: bool, allowed: tuple[bool, bool]
) -> None:
    """Their common peer tells both the trial's key, and leaves out to ask whether they take introductions."""
    both = dict(agents_of(world, tmp_path, *allowed))
    where = {name: world.address(name) for name in both}
    try:
        for knocks, listens in (("ladder", "victim"), ("victim", "ladder")):
            waits = {"address": where[listens], "port": 5301, "peer": where[knocks], "key": KEY, "udp": udp}
            assert "ok" in both[listens].ask("listen", **waits)
            calls = {"local": where[knocks], "remote": where[listens], "port": 5301, "key": KEY, "udp": udp}
            said = both[knocks].ask("probe", **calls)["ok"]
            both[listens].ask("unlisten")
            assert (said["state"] == "open") == all(allowed), said
            if not allowed[knocks == "victim"]:
                assert "no introductions are taken here" in said["detail"]
        for name, target in (("ladder", where["victim"]), ("victim", where["ladder"])):
            assert both[name].ask("known", address=target)["ok"] == {"known": all(allowed)}
        if not all(allowed):
            before = world.received("victim")
            refused_everything(both["ladder"], world, where["victim"])
            assert world.received("victim") == before
    finally:
        for agent in both.values():
            agent.close()


@pytest.mark.parametrize("udp", [False, True])
def test_who_measures_with_a_common_peer_has_not_agreed(agent: HostileAgent, world: Segment, udp: bool) -> None:
    """The victim's console measures with eve, and waits for her knock; she sends the ladder there with the same key."""
    waiting = answering(world, "victim", udp, to="eve")
    try:
        assert knock(agent, world, world.address("victim"), udp) == "filtered"
        refused_everything(agent, world, world.address("victim"))
    finally:
        waiting.communicate()


def test_broadcast_and_multicast_are_nobodys_address(agent: HostileAgent, world: Segment) -> None:
    here = world.address("ladder")
    before = world.received("victim")
    for udp in (False, True):
        said = agent.ask("probe", local=here, remote="10.94.0.255", port=5301, key=KEY, udp=udp)
        assert said.get("ok", {"state": ""})["state"] != "open", said
    refused_everything(agent, world, "10.94.0.255")
    refused_everything(agent, world, "255.255.255.255", "expected an IP address")
    for target in ("224.0.0.1", "ff02::1", "0.0.0.0", "255.255.255.255", "::ffff:224.0.0.1"):
        assert "expected an IP address" in agent.ask("probe", local=here, remote=target, port=5301, key=KEY)["error"]
    assert world.received("victim") == before


def test_an_end_is_no_scanner_of_its_networks(agent: HostileAgent, world: Segment, own_state: Path) -> None:
    here = world.address("ladder")
    states = [agent.ask("probe", local=here, remote=f"203.0.113.{n}", port=5301, key=KEY) for n in range(1, 31)]
    assert sum("ok" in said for said in states) == 16
    assert all("all in vain" in said["error"] for said in states[16:])
    agent.ask("release")
    assert "ok" in agent.ask("reserve", holder="eve")
    other = {"local": here, "remote": "203.0.113.40", "port": 5301, "key": KEY}
    assert "all in vain" in agent.ask("probe", **other)["error"], "another run brings no other sixteen"
    agent.close()
    again = HostileAgent(world, "ladder", own_state)
    try:
        assert "ok" in again.ask("reserve", holder="eve")
        assert "all in vain" in again.ask("probe", **other)["error"], "nor does another channel"
        assert "ok" in again.ask("probe", **{**other, "remote": "203.0.113.7"}), "the same one again is no other one"
    finally:
        again.close()


def test_strangers_that_only_stand_there_keep_nobody_out(agent: HostileAgent, world: Segment) -> None:
    """Three silent connections made a healthy link "filtered"; three hundred do not."""
    here, eve = world.address("ladder"), world.address("eve")
    assert "ok" in agent.ask("listen", address=here, port=5301, peer=eve, key=KEY, udp=False)
    silent = f"""
import socket, sys
held = []
for n in range(300):
    held.append(socket.create_connection(("{here}", 5301)))
print("ready", flush=True)
sys.stdin.read()
"""
    crowd = world.python("crowd", silent)
    script = """
import asyncio, sys
from linkladder.agent.probing import COORDINATES, probe
local, remote, key = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3])
print("ready", flush=True)
print(asyncio.run(probe(local, remote, 5301, False, key, COORDINATES, lambda role: True))[0], flush=True)
"""
    try:
        began = time.monotonic()
        there = world.python("eve", script, eve, here, KEY)
        assert (
            there.stdout and there.stdout.read().strip() == "open"
        )  # not communicate: it passes by what was read ahead
        assert time.monotonic() - began < 5
    finally:
        crowd.communicate()


def test_without_a_reservation_nothing_is_knocked_at(world: Segment, own_state: Path) -> None:
    peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
    made = HostileAgent(world, "ladder", own_state)
    here, victim = world.address("ladder"), world.address("victim")
    before = world.received("victim")
    for verb, args in (
        ("probe", {"local": here, "remote": victim, "port": 5301, "key": KEY}),
        ("listen", {"address": here, "port": 5301, "peer": victim, "key": KEY}),
        *asked(world, victim),
    ):
        assert "reserve this appliance first" in made.ask(verb, **args)["error"]
    made.close()
    assert world.received("victim") == before
