"""Test ports are open to the peers of the trial that runs, and to nobody who took part in an earlier one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from segment import HostileAgent, Segment, segment

from linkladder.agent import firewall
from linkladder.codec import to_json
from linkladder.model import End, Experiment
from linkladder.priv import firewall as helper
from linkladder.priv import verbs
from linkladder.privilege import Completed
from linkladder.tools import Layout
from linkladder.trust import peers
from pairing_ends import a_key
from world import wait_for

TOP = Path(__file__).resolve().parents[2]
KEY = "0123456789abcdef" * 2
PEERS = tuple(f"10.94.0.{number}" for number in range(101, 121))
ANSWERS = """
import asyncio, sys
from linkladder.agent.probing import COORDINATES, ProbeListener
async def main():
    listener = await ProbeListener.open("0.0.0.0", 5301, False, bytes.fromhex(sys.argv[1]), COORDINATES, lambda *who: True)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await listener.close()
asyncio.run(main())
"""  # noqa: E501


class Rules:
    """A firewall that notes what it was told, as the helper would tell pf."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.text, self.at_end, self.calls = "", (), 0
        monkeypatch.setattr(firewall, "active", lambda: True)
        monkeypatch.setattr(firewall.host, "interface_of", lambda address: "lo")
        monkeypatch.setattr(firewall.privilege, "run", self.run)
        monkeypatch.setattr(helper, "feed", self.feed)

    def feed(self, argv: list[str], text: str) -> None:
        self.text = text

    async def run(self, verb: str, *words: str) -> Completed:
        self.calls += 1
        for step in verbs.build("measure", verb, list(words), "FreeBSD"):
            if callable(step):
                step()
            else:
                assert step[-2:] == ["-F", "rules"]
                self.text = ""
        return Completed(0, "", "")

    @property
    def peers(self) -> set[str]:
        return {line.split(" from ")[1].split()[0] for line in self.text.splitlines()[::4]}


async def test_the_anchor_names_the_peers_of_one_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, last = Rules(monkeypatch), list[list[str]]()
    made = firewall.Firewall(lambda argv: last.append(list(argv)))
    for peer in PEERS:
        await made.open("10.94.0.1", peer)
        assert rules.peers == {peer}
        assert last[-1][-1] == "trial-close"  # what is done should this agent be killed now
        made.trial_over()
    await made.open("10.94.0.1", PEERS[0])
    await made.open("10.94.0.1", PEERS[1])
    assert rules.peers == set(PEERS[:2]), "two peers of the same trial"
    made.trial_over()
    calls = rules.calls
    await made.open("10.94.0.1", PEERS[0])
    await made.shut("10.94.0.1", PEERS[1])
    assert rules.peers == {PEERS[0]} and rules.calls == calls + 1
    await made.close()
    assert not rules.text and last[-1] == []


@pytest.fixture
def world() -> Iterator[Segment]:
    with segment("ladder", "eve") as made:
        for address in PEERS:
            made.run("eve", "ip", "addr", "add", f"{address}/24", "dev", "te0", check=True)
        made.run("ladder", "nft", "-f", TOP / "tests/lab/firewall.nft", check=True)
        yield made


def open_to(world: Segment) -> set[str]:
    rules = world.run("ladder", "nft", "list", "chain", "inet", "linkladder", "trial", check=True).stdout
    return {line.split("saddr ")[1].split()[0] for line in rules.splitlines() if "saddr" in line}


@pytest.mark.lab
def test_twenty_peers_in_turn(world: Segment, own_state: Path) -> None:
    peers.add(peers.Peer("eve", ("192.0.2.9",), a_key(), a_key()))
    agent = HostileAgent(world, "ladder", own_state, LINKLADDER_FIREWALL="nft")
    here, there = world.address("ladder"), world.python("eve", ANSWERS, KEY)
    exp = to_json(Experiment("e", duration=5.0))
    try:
        assert "ok" in agent.ask("reserve", holder="eve")
        for peer in PEERS:
            said = agent.ask("probe", local=here, remote=peer, port=5301, key=KEY)
            assert said["ok"]["state"] == "open", said
            started = agent.ask("serve", experiment=exp, bind=here, port=5302, peer=peer, key=KEY)
            assert open_to(world) == {peer}
            assert "ok" in agent.ask("stop", process=started["ok"]["process"], at_once=True)
        wait_for(lambda: not open_to(world), 5, "the ports stayed open after the last trial")
        # one that is announced and does not come; one whose trial its agent does not survive
        agent.ask("listen", address=here, port=5301, peer="10.94.0.99", key=KEY)
        assert open_to(world) == {"10.94.0.99"}
        agent.ask("unlisten")
        assert not open_to(world)
        where = to_json(Layout(End.FAR, End.NEAR, protocol_port="tcp"))
        flow = {"experiment": exp, "layout": where, "local": here, "remote": PEERS[0], "port": 5301, "key": KEY}
        assert "ok" in agent.ask("client", **flow)
        assert open_to(world) == {PEERS[0]}
        for process in psutil.Process(agent.process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess):  # one that has ended since they were listed
                if "linkladder" in process.cmdline():
                    process.kill()
        agent.process.kill()
        wait_for(lambda: not open_to(world), 10, "the ports stayed open after the agent was killed")
    finally:
        there.communicate()
        agent.process.kill()
        agent.process.wait()


def test_the_helper_takes_as_many_peers_as_a_trial_can_have() -> None:
    words = [word for number in range(helper.MOST) for word in ("lo", f"10.1.0.{number}")]
    assert len(verbs.build("measure", "trial-open", words, "FreeBSD")) == 1
