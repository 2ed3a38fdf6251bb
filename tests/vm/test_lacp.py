"""A bundle by LACP between two FreeBSD machines, made by hand: known with its partner, measured and left as it is.

Its cards are virtio's: FreeBSD speaks LACP over a card that tells of full duplex alone, and vmxnet3 tells of none.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
from linkladder.model import Bundle, Document

from .conftest import Machines
from .network import Network
from .pair import USER, Pair
from .test_failures import VmWorld

SITES = ("alpha", "beta")
CARDS = ("vtnet0", "vtnet1")
PLAN = """name = "lacp"
[contract]
port = "10G"
[[path.dc-link]]
local = "10.77.9.1"
remote = "10.77.9.2"
peer = "beta"
interface = "lagg0"
[[experiment]]
rungs = "dc-link"
streams = [1, 8]
client_port = 20000
duration = 5
warmup = 1
"""


class Cables(Network):
    """Two more cards for each machine, each joined to the other's as by a cable: a bridge passes no LACP on."""

    virtio = len(CARDS)

    def taps(self, number: int) -> tuple[str, ...]:
        more = (f"u{number}", f"v{number}")
        for tap in more:
            self.inside("tuntap", "add", "dev", tap, "mode", "tap", "vnet_hdr")
            self.inside("link", "set", tap, "mtu", "9000", "up")
        return (*super().taps(number), *more)

    def plug(self) -> None:
        for near, far in (("u1", "u2"), ("u2", "u1"), ("v1", "v2"), ("v2", "v1")):
            self._tc("qdisc", "add", "dev", near, "ingress")
            every = ("protocol", "all", "u32", "match", "u32", "0", "0")
            self._tc("filter", "add", "dev", near, "parent", "ffff:", *every,
                     "action", "mirred", "egress", "redirect", "dev", far)  # fmt: skip

    def _tc(self, *words: str) -> None:
        subprocess.run(["tc", "-n", self.name, *words], check=True, capture_output=True)


@pytest.fixture
def world(machines: Machines, image: Path, tmp_path: Path) -> Iterator[VmWorld]:
    machines.end_pair()
    network = Cables()
    pair = Pair(image, network, tmp_path)
    network.plug()
    try:
        pair.start()
        pair.paired()
        made = VmWorld({"alpha": pair.alpha.command(), "beta": pair.beta.command()}, USER)
        ports = " ".join(f"laggport {card}" for card in CARDS)
        for number, site in enumerate(SITES, 1):
            made.run(site, f"kldload -n if_lagg && ifconfig lagg0 create laggproto lacp {ports}")
            made.run(site, f"ifconfig lagg0 inet 10.77.9.{number}/24 up")
        yield made
    finally:
        pair.close()
        network.close()


def lacp(document: Document, end: str) -> Bundle:
    facts = document.run.facts(end)
    assert facts is not None
    found = next(nic.bundle for nic in facts.nics if nic.name == "lagg0")
    assert found is not None
    return found


def shown(world: VmWorld, site: str) -> str:
    return world.run(site, "ifconfig -v lagg0")


def test_one_and_eight_flows_over_a_bundle_that_both_ends_agreed_on(world: VmWorld) -> None:
    def agreed() -> bool | None:
        return all(shown(world, site).count("COLLECTING,DISTRIBUTING") >= len(CARDS) for site in SITES) or None

    mischief.until(agreed, 90, "the two ends did not agree on the bundle")
    before = {site: shown(world, site) for site in SITES}
    run = mischief.Run(world, PLAN, name="lacp")
    assert run.wait(600) == 0, run.said
    document = run.document()
    for end in ("near", "beta"):
        found = lacp(document, end)
        assert found.protocol == "lacp" and not found.unanswered, found
        assert [m.name for m in found.members] == list(CARDS) and all(m.active and m.partner for m in found.members)
    (rung,) = document.rungs
    assert sorted(arm.parameters.streams for arm in rung.experiments) == [1, 8]
    for arm in rung.experiments:
        for trial in arm.trials:
            assert trial.ok, trial.reason
            sent = {m.name: m.tx_bytes for m in trial.ends[0].members}
            got = {m.name: m.rx_bytes for m in trial.ends[1].members}
            print(f"{arm.parameters.streams} flows: {trial.goodput_bps / 1e6:.0f} Mb/s, sent {sent}, received {got}")
            moved = sum(flow.total_bytes for flow in trial.flows)
            assert set(sent) == set(got) == set(CARDS) and min(sum(sent.values()), sum(got.values())) > 0.95 * moved
            fuller = max(sent.values()) / sum(sent.values())
            assert fuller > 0.95 if arm.parameters.streams == 1 else fuller < 0.95, "one flow has one card, eight both"
    print(world.run("alpha", world.as_user(f"{world.program} judge last"), check=False))
    assert {site: shown(world, site) for site in SITES} == before, "it is not linkladder's, and was left as it is"
