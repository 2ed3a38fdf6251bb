"""Two test cards of each of two machines as one bundle (lagg) on loan: measured over, and put back card by card.

Two machines that run already and are paired are used instead where LINKLADDER_ALPHA and LINKLADDER_BETA are commands
that run their last argument as root there: each then has vmx1 at 10.77.1.N and vmx2 at 10.77.2.N.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
from linkladder.model import Document, TrialResult
from two_cards import PATHS

from .machine import SLOW, Network
from .pair import PROGRAM, USER, Pair, Site
from .test_failures import GIVEN, VmWorld
from .test_loans import JOURNAL, RUN, UNDO, find, kill

SITES = ("alpha", "beta")
CARDS = ("vmx1", "vmx2")
RECORD = "/var/run/linkladder-lagg"
PLAN = """name = "bundle-on-loan"
[contract]
port = "10G"
[[experiment]]
rungs = "dc-link"
streams = {streams}
client_port = 20000
duration = {duration}
warmup = 1
settings = [[{kinds}]]
"""


def plan(*kinds: str, streams: str = "1", duration: int = 8) -> str:
    tables = "], [".join(f'{{kind = "lagg", value = "{kind}"}}' for kind in kinds)
    return PLAN.format(streams=streams, duration=duration, kinds=tables) + PATHS


class ThreeCards(Network):
    """A second network for tests, and a card in it for each machine."""

    def __init__(self) -> None:
        super().__init__()
        self.inside("link", "add", "test2", "type", "bridge")
        self.inside("link", "set", "test2", "mtu", "9000", "up")

    def taps(self, number: int) -> tuple[str, ...]:
        more = f"u{number}"
        self.inside("tuntap", "add", "dev", more, "mode", "tap", "vnet_hdr")
        self.inside("link", "set", more, "mtu", "9000", "master", "test2", "up")
        return (*super().taps(number), more)


def addressed(site: Site) -> None:
    for n, card in enumerate(CARDS, 1):
        site.ssh(f"{PROGRAM} system address {card} static 10.77.{n}.{site.machine.number}/24")


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VmWorld]:
    """vmx2 has another MTU and one offload less than vmx1: what joining changes shows."""
    if all(GIVEN.values()):
        made = VmWorld({k: shlex.split(v) for k, v in GIVEN.items()}, os.environ.get("LINKLADDER_USER", ""))
        unlike(made)
        yield made
        return
    request.getfixturevalue("machines").end_pair()
    image: Path = request.getfixturevalue("image")
    network = ThreeCards()
    pair = Pair(image, network, tmp_path_factory.mktemp("bundle"), first=1)
    try:
        pair.start()
        pair.paired()
        addressed(pair.alpha)
        addressed(pair.beta)
        made = VmWorld({"alpha": pair.alpha.command(), "beta": pair.beta.command()}, USER)
        unlike(made)
        yield made
    finally:
        pair.close()
        network.close()


def unlike(world: VmWorld) -> None:
    for site in SITES:
        world.run(site, "ifconfig vmx2 mtu 4000; ifconfig vmx2 -tso4")


def shown(world: VmWorld, site: str) -> list[str]:
    """Each card as the system tells of it: flags, MTU, offloads, MAC, addresses with their prefixes, media, status."""
    said = world.run(site, "; ".join(f"ifconfig -f inet:cidr,inet6:cidr {card}" for card in CARDS))
    return [re.sub(r" tentative| scopeid \S+|DRV_OACTIVE,|flags=[0-9a-f]+", "", line) for line in said.splitlines()]


def bundle(world: VmWorld, site: str) -> str:
    found = re.search(r"laggproto (\w+)", world.run(site, "ifconfig -g lagg | xargs -n 1 ifconfig", check=False))
    return found[1] if found else ""


def put_back(world: VmWorld, before: dict[str, list[str]], within: float) -> None:
    """Every line of ifconfig as before, no bundle, no record, no journal, no undo process."""

    def left() -> bool | None:
        wrong = [site for site in SITES if shown(world, site) != before[site] or bundle(world, site)]
        kept = [world.run(site, f"cat {JOURNAL} {RECORD} 2>/dev/null", check=False) for site in SITES]
        undoing = [line for site in SITES for line in world.processes(site).values() if re.search(UNDO, line)]
        return None if wrong or any(kept) or undoing else True

    try:
        mischief.until(left, within, "not everything was put back")
    except AssertionError:
        raise AssertionError({site: (before[site], shown(world, site)) for site in SITES}) from None


def measured(document: Document, kind: str, streams: int) -> TrialResult:
    every = [e for r in document.rungs for e in r.experiments]
    return next(e.trials[0] for e in every if e.parameters.bundled == kind and e.parameters.streams == streams)


def test_one_and_eight_flows_over_round_robin_and_load_balance(world: VmWorld) -> None:
    before = {site: shown(world, site) for site in SITES}
    run = mischief.Run(world, plan("roundrobin", "loadbalance", streams="[1, 8]"))
    run.wait(600)
    put_back(world, before, 20)
    document = run.document()
    for kind in ("roundrobin", "loadbalance"):
        for streams in (1, 8):
            trial = measured(document, kind, streams)
            assert trial.ok, (kind, streams, trial.reason)
            sent = {m.name: m.tx_bytes for m in trial.ends[0].members}
            assert set(sent) == set(CARDS) and sum(sent.values()) > 0
            share = max(sent.values()) / sum(sent.values())
            print(f"{kind}, {streams} flows: {trial.goodput_bps / 1e6:.0f} Mb/s, {share:.0%} by the fuller card")
            if kind == "roundrobin":
                assert share < 0.6, "each in turn"
            elif streams == 1:
                assert share > 0.95, "one flow has one card"
            told = [(str(c.end), " ".join(c.argv)) for leg in trial.legs for c in leg.commands if c.role == "setting"]
            assert [end for end, _ in told] == ["far", "near"]
            assert all(words.endswith(f"-> {kind}") and "mtu 4000" in words for _, words in told)


def test_lacp_in_a_guest_is_left_out_and_told(world: VmWorld) -> None:
    before = {site: shown(world, site) for site in SITES}
    run = mischief.Run(world, plan("lacp"))
    run.wait(300)
    put_back(world, before, 20)
    document = run.document()
    assert not [t for r in document.rungs for e in r.experiments for t in e.trials]
    assert any("speaks no LACP with its guests" in note for note in document.run.notes), document.run.notes


@pytest.mark.parametrize("time_of", range(2))
def test_kill_9_of_the_run(world: VmWorld, time_of: int) -> None:
    before = {site: shown(world, site) for site in SITES}
    run = mischief.Run(world, plan("roundrobin", duration=120))

    def inside() -> bool | None:
        assert run.process.poll() is None, run.process.communicate()
        return True if all(bundle(world, site) == "roundrobin" for site in SITES) else None

    mischief.until(inside, 120, "no bundle was made at both ends")
    mischief.tool(world, "alpha", "-c")
    assert find(world, "alpha", UNDO)
    began = time.monotonic()
    kill(world, "alpha", RUN)
    put_back(world, before, 40)
    print(f"put back after {time.monotonic() - began:.0f} s")
    run.process.communicate(timeout=60 * SLOW)
    mischief.no_tool_left(world)
