"""The channel to a far agent, held against ends that are slow or say no."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path as File

import pytest

from linkladder import tools, wire
from linkladder.codec import CodecError
from linkladder.errors import EnvironmentFault
from linkladder.model import End, Experiment, Path
from linkladder.peer import connector, ends
from linkladder.settings import arming
from linkladder.trust import peers

SLOW = (
    "import sys, time; sys.stdin.readline(); time.sleep(0.6); "
    'print(\'{"id": 1, "error": "not today"}\', flush=True); sys.stdin.read()'
)

SILENT = "import sys; sys.stdin.read()"

HELLO = wire.answer(1, wire.HelloReply(wire.PROTOCOL, "", "alpha", "", {}, (), None, 1)).decode()
LATER = (
    f"import json, sys, time; sys.stdin.readline(); print({HELLO!r}, end='', flush=True)\n"
    "for line in sys.stdin:\n    time.sleep(0.3)\n"
    "    print(json.dumps({'id': json.loads(line)['id'], 'error': 'not today'}), flush=True)"
)


async def test_the_start_of_an_agent_may_take_longer_than_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "ASK_TIMEOUT", 0.1)
    monkeypatch.setattr(ends.wire, "KEEPALIVE", 0.05)
    with pytest.raises(ends.Refused, match="not today"):
        await ends.FarEnd.open("beta", [sys.executable, "-c", SLOW])


async def test_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "HELLO_TIMEOUT", 0.2)
    with pytest.raises(ends.PeerLost, match=r"did not answer within 0\.2 s"):
        await ends.FarEnd.open("beta", [sys.executable, "-c", SILENT])


async def test_an_agent_of_our_own_is_slow_for_longer_than_one_across_a_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were it gone, its end would tell."""
    monkeypatch.setattr(ends, "HELLO_TIMEOUT", 0.1)
    monkeypatch.setattr(ends, "ASK_TIMEOUT", 0.1)
    with pytest.raises(ends.Refused, match="not today"):
        await ends.OwnAgent.open("near", [sys.executable, "-c", SLOW])
    agent = await ends.OwnAgent.open("near", [sys.executable, "-c", LATER])
    with pytest.raises(ends.Refused, match="not today"):
        await agent.ask(wire.Clock())
    await agent.close()
    with pytest.raises(EnvironmentFault, match="own agent ended"):
        await ends.OwnAgent.open("near", [sys.executable, "-c", "raise SystemExit('no room')"])


async def test_a_far_end_that_starts_many_tools_is_slow_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends, "ASK_TIMEOUT", 0.1)
    layout = tools.Layout(End.FAR, End.NEAR, clients=50, protocol_port="tcp")
    far = await ends.FarEnd.open("beta", [sys.executable, "-c", LATER])
    with pytest.raises(ends.Refused, match="not today"):
        await far.ask(wire.RunClient(Experiment("e"), layout, "127.0.0.1", "127.0.0.1", 5301))
    with pytest.raises(ends.PeerLost, match=r"did not answer within 0\.1 s"):
        await far.ask(wire.Clock())
    await far.close()


async def test_the_channel_is_kept_open_only_while_nothing_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: File
) -> None:
    """A question in mid-trial wakes both ends, which takes from what is measured."""
    monkeypatch.setattr(ends.wire, "KEEPALIVE", 0.4)
    heard = tmp_path / "heard"
    echo = (
        f"import json, sys; sys.stdin.readline(); print({HELLO!r}, end='', flush=True)\n"
        f"for line in sys.stdin:\n    open({str(heard)!r}, 'a').write(json.loads(line)['verb'] + ' ')\n"
        "    print(json.dumps({'id': json.loads(line)['id'], 'ok': {'now': 1.0, 'wall': 1.0}}), flush=True)"
    )
    heard.touch()
    far = await ends.FarEnd.open("beta", [sys.executable, "-c", echo])
    for _ in range(8):
        await asyncio.sleep(0.1)
        await far.ask(wire.Unlisten())
    assert set(heard.read_text().split()) == {"unlisten"}
    await asyncio.sleep(1.0)
    assert heard.read_text().split()[8:] in (["clock"], ["clock"] * 2)
    await far.close()


def answering(reply: str) -> list[str]:
    """An agent that gives this answer to the first question, and is silent then."""
    return [sys.executable, "-c", f"import sys; sys.stdin.readline(); print({reply!r}, flush=True); sys.stdin.read()"]


OLD = {"protocol": wire.PROTOCOL - 1, "version": "0.0.9\x1b[2J", "name": "beta", "os": "", "tools": {}, "addresses": [],
       "window_limit": None, "cores": 1}  # fmt: skip


@pytest.mark.parametrize(
    "hello", [OLD, {k: v for k, v in OLD.items() if k != "cores"}, {**OLD, "more": 1}, {}], ids=str
)
async def test_an_end_of_another_protocol_is_named_whatever_form_its_answer_has(hello: dict[str, object]) -> None:
    with pytest.raises(EnvironmentFault, match="beta speaks another protocol") as seen:
        await ends.FarEnd.open("beta", answering(json.dumps({"id": 1, "ok": hello})))
    assert "\x1b" not in seen.value.cause and ("0.0.9" in seen.value.cause) == bool(hello)


async def test_what_a_peer_says_does_not_steer_the_terminal() -> None:
    with pytest.raises(ends.Refused, match=r"beta: not .today") as seen:
        await ends.FarEnd.open("beta", answering('{"id": 1, "error": "not \\u001btoday", "holder": "a\\u009b"}'))
    assert seen.value.holder == "a\ufffd"
    with pytest.raises(ends.PeerLost, match=r"no .room"):
        await ends.FarEnd.open("beta", [sys.executable, "-c", "raise SystemExit('no \\x1broom')"])


NEW = {**OLD, "protocol": wire.PROTOCOL, "cores": 1}


@pytest.mark.parametrize("address", ["x", "", "10.0.0.1.2", "10.0.0.1/24"])
async def test_an_end_that_announces_what_is_no_address_is_given_up(address: str) -> None:
    """By these addresses a run lays its paths."""
    with pytest.raises(ends.PeerLost, match="which is no address"):
        await ends.FarEnd.open("beta", answering(json.dumps({"id": 1, "ok": {**NEW, "addresses": [address]}})))


def test_an_answer_has_no_halves_of_characters_that_no_file_takes() -> None:
    answer = wire.read_answer(b'{"id": 1, "ok": {"argv": ["iperf", "\\uD800-", "\\ud83d\\ude00"]}}')
    assert isinstance(answer, wire.Answer)
    assert str(answer.value).encode() and answer.value["argv"][2] == "\N{GRINNING FACE}"
    assert "?" in answer.value["argv"][1]


def test_of_a_port_only_what_has_a_meaning_is_taken() -> None:
    answer = wire.read_answer(b'{"id": 1, "ok": {"state": "x", "detail": ""}}')
    assert isinstance(answer, wire.Answer)
    with pytest.raises(CodecError):
        answer.reply_to(wire.Probe("10.0.0.1", "10.0.0.2", 5201, "00" * 16, False))


def test_a_peer_waits_longer_for_a_lease_than_its_undo_may_take_to_start() -> None:
    assert arming.START_LIMIT < ends.HELLO_TIMEOUT and wire.TakeLease.slow


@pytest.mark.parametrize("order", [("10.0.0.1", "10.0.0.2"), ("10.0.0.2", "10.0.0.1")])
async def test_what_the_peer_said_wins_over_addresses_that_are_shut(
    monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...]
) -> None:
    said = {"10.0.0.1": "Permission denied (publickey).", "10.0.0.2": "connect to host: Connection refused"}

    def command(_: peers.Peer, address: str) -> list[str]:
        return [sys.executable, "-c", f"import sys; sys.exit({said[address]!r})"]

    peer = peers.Peer("beta", order, "", "")
    monkeypatch.setattr(connector.peers, "find", lambda name: peer)
    monkeypatch.setattr(connector.peers, "ssh_command", command)
    with pytest.raises(EnvironmentFault, match="does not know this appliance"):
        await connector.connect("beta")


STARTED = "import os, sys; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"


async def test_a_channel_that_was_begun_is_the_one_that_is_had_and_one_that_nobody_asks_for_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: File
) -> None:
    started = tmp_path / "started"
    monkeypatch.setattr(connector.peers, "find", lambda name: peers.Peer(name, (), "", ""))
    monkeypatch.setattr(
        connector.peers, "ssh_command", lambda *_: [sys.executable, "-c", f"{STARTED}{LATER}", str(started)]
    )
    to_peers = connector.Connector()
    to_peers.begin(("beta", "gamma"))
    beta = await to_peers("beta")
    while len(started.read_text().splitlines()) < 2:
        await asyncio.sleep(0.01)
    await to_peers.close()
    assert not beta.lost
    await beta.close()
    pids = started.read_text().split()
    assert len(pids) == 2
    async with asyncio.timeout(30):  # one that was still starting is told to end, and takes its time
        while any(File(f"/proc/{pid}").exists() for pid in pids):
            await asyncio.sleep(0.01)


async def test_a_channel_is_closed_if_it_is_not_wanted_while_its_card_is_looked_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: File
) -> None:
    started, looked_up, go_on = tmp_path / "started", threading.Event(), threading.Event()

    def route_interface(_: str) -> str:
        looked_up.set()
        go_on.wait()
        return "em0"

    monkeypatch.setattr(connector.host, "route_interface", route_interface)
    monkeypatch.setattr(connector.peers, "find", lambda name: peers.Peer(name, (), "", ""))
    monkeypatch.setattr(
        connector.peers, "ssh_command", lambda *_: [sys.executable, "-c", f"{STARTED}{LATER}", str(started)]
    )
    to_peers = connector.Connector()
    to_peers.begin(("beta",))
    await asyncio.to_thread(looked_up.wait)
    await to_peers.close()
    go_on.set()
    assert not File(f"/proc/{started.read_text().strip()}").exists()


async def test_a_peer_that_did_not_answer_when_its_channel_was_begun_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = [[sys.executable, "-c", LATER], [sys.executable, "-c", "raise SystemExit('Connection refused')"]]
    monkeypatch.setattr(connector.peers, "find", lambda name: peers.Peer(name, (), "", ""))
    monkeypatch.setattr(connector.peers, "ssh_command", lambda *_: commands.pop())
    to_peers = connector.Connector()
    to_peers.begin(("beta",))
    with pytest.raises(EnvironmentFault, match="nothing listens"):
        await to_peers("beta")
    far = await to_peers("beta")
    await far.close()
    await to_peers.close()


CARDS = {"10.9.0.2": "mgmt", "10.0.0.2": "test", "10.0.0.9": "test", "192.0.2.7": ""}


@pytest.mark.parametrize(
    "addresses,silent,first",
    [
        (("10.0.0.2", "10.9.0.2"), (), "10.9.0.2"),  # paired over the card that is tested
        (("10.0.0.9", "10.9.0.2"), (), "10.9.0.2"),  # by this end's card it is the same one
        (("10.9.0.2", "10.0.0.2"), (), "10.9.0.2"),
        (("10.0.0.2", "10.9.0.2"), ("10.9.0.2",), "10.0.0.2"),  # nobody was met there
        (("10.0.0.2", "10.9.0.2"), ("10.9.0.2", "10.0.0.2"), "10.9.0.2"),
        (("10.0.0.2", "10.0.0.9"), (), "10.0.0.2"),  # there is none besides
        ((), (), ""),
    ],
)
def test_control_prefers_a_card_that_no_test_loads(
    addresses: tuple[str, ...], silent: tuple[str, ...], first: str
) -> None:
    paths = (Path("10.0.0.1", "10.0.0.2", "beta", local_interface="test"),)
    order = tuple(connector.in_order(addresses, "beta", paths, silent, lambda address: CARDS[address]))
    assert sorted(order) == sorted(addresses) and (order or ("",))[0] == first
    assert tuple(connector.in_order(addresses, "beta", ())) == addresses, "nothing is tested, so the order is as it was"


def test_the_near_side_of_a_pair_of_others_is_not_this_machine() -> None:
    paths = (Path("10.0.0.2", "10.0.0.3", "gamma", origin="beta"),)
    order = tuple(connector.in_order(("10.0.0.2", "10.9.0.2"), "beta", paths, (), lambda address: CARDS[address]))
    assert order == ("10.9.0.2", "10.0.0.2")


def test_no_route_is_looked_up_that_is_not_needed() -> None:
    asked: list[str] = []

    def card(address: str) -> str:
        asked.append(address)
        return CARDS[address]

    paths = (Path("10.0.0.1", "10.0.0.2", "beta", local_interface="test"),)
    assert next(connector.in_order(("10.9.0.2", "10.0.0.9", "192.0.2.7"), "beta", paths, (), card)) == "10.9.0.2"
    assert asked == ["10.9.0.2"], "the others are looked up when this one does not answer"
