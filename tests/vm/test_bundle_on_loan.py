"""Two test cards of each of two machines as one bundle (lagg) on loan: measured over, and put back card by card.

Two machines that run already and are paired are used instead where LINKLADDER_ALPHA and LINKLADDER_BETA are commands
that run their last argument as root there: each then has vmx1 at 10.77.1.N and vmx2 at 10.77.2.N.
"""

from __future__ import annotations

import os
import random
import re
import shlex
import time
from collections.abc import Iterator
from importlib import resources

import pytest

import mischief
from linkladder.model import Document, TrialResult
from two_cards import PATHS

from .machine import SLOW
from .pair import CARDS, USER, Pair, addressed
from .test_failures import GIVEN, VmWorld
from .test_loans import JOURNAL, RUN, TIMES, UNDO, ended, find, kill, let_in_again

SITES = ("alpha", "beta")
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


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[VmWorld]:
    """vmx2 has another MTU and one offload less than vmx1: what joining changes shows."""
    if all(GIVEN.values()):
        made = VmWorld({k: shlex.split(v) for k, v in GIVEN.items()}, os.environ.get("LINKLADDER_USER", ""))
        unlike(made)
        yield made
        return
    pair: Pair = request.getfixturevalue("two_cards")
    made = VmWorld({"alpha": pair.alpha.command(), "beta": pair.beta.command()}, USER)
    unlike(made)
    yield made


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

    def left() -> list[object]:
        cards = [(site, before[site], now) for site in before if (now := shown(world, site)) != before[site]]
        bundles = [(site, made) for site in before if (made := bundle(world, site))]
        cat = f"cat {JOURNAL} {RECORD} 2>/dev/null"
        kept = [(site, text) for site in before if (text := world.run(site, cat, check=False))]
        undoing = [line for site in before for line in world.processes(site).values() if re.search(UNDO, line)]
        return [*cards, *bundles, *kept, *undoing]

    deadline = time.monotonic() + within * SLOW
    while found := left():
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


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


def test_the_far_end_sends_over_its_bundle_alike(world: VmWorld) -> None:
    before = {site: shown(world, site) for site in SITES}
    text = plan("roundrobin", "loadbalance", duration=3).replace("streams = ", 'direction = "reverse"\nstreams = ')
    run = mischief.Run(world, text)
    run.wait(600)
    put_back(world, before, 20)
    for kind in ("roundrobin", "loadbalance"):
        trial = measured(run.document(), kind, 1)
        assert trial.ok, (kind, trial.reason)
        sent = {m.name: m.tx_bytes for m in trial.ends[1].members}
        assert set(sent) == set(CARDS) and sum(sent.values()) > trial.goodput_bps / 8
        share = max(sent.values()) / sum(sent.values())
        print(f"{kind}, reverse: {trial.goodput_bps / 1e6:.0f} Mb/s, {share:.0%} by the far end's fuller card")
        assert share < 0.6 if kind == "roundrobin" else share > 0.95


def the_built_in_plan() -> str:
    """With short trials, one port to begin at, and where a card goes down a load that leaves time to switch it."""
    text = (resources.files("linkladder") / "plan/builtin/lagg.toml").read_text()
    for was, becomes in (
        ("duration = 10", "duration = 3"),
        ("client_port = [20000, 30001]", "client_port = 20000"),
        ("streams = 8\nclient_port = 20000", 'streams = 4\nwindow = "16K"\nclient_port = 20000'),
    ):
        assert was in text, was
        text = text.replace(was, becomes)
    return text + PATHS


def test_the_built_in_plan_to_its_end_both_ways(world: VmWorld) -> None:
    before = {site: shown(world, site) for site in SITES}
    began = time.monotonic()
    run = mischief.Run(world, the_built_in_plan(), name="lagg")
    run.wait(3600 / SLOW)
    put_back(world, before, 20)
    (rung,) = run.document().rungs
    trials = [(arm.parameters, trial) for arm in rung.experiments for trial in arm.trials]
    print(f"{len(trials)} trials in {time.monotonic() - began:.0f} s")
    print(world.run("alpha", world.as_user(f"{world.program} judge last"), check=False))
    shares = {}
    for exp, trial in trials:
        assert trial.ok, (exp.id, trial.reason)
        if exp.bundled and not exp.member_down:
            sender = trial.sender(exp.direction)
            assert sender, exp.id
            members = {m.name: m.tx_bytes for m in sender.members}
            assert set(members) == set(CARDS), exp.id
            shares[exp.id] = share = max(members.values()) / sum(members.values())
            print(f"{exp.id}: {trial.goodput_bps / 1e6:.0f} Mb/s, {share:.0%} by the sender's fuller card")
            if exp.bundled == "roundrobin":
                assert share < 0.6, (exp.id, "each in turn")
            elif exp.streams == 1:
                assert share > 0.95, (exp.id, "one flow has one card")
    assert len(shares) == 12, "three settings, one flow and eight, both ways"


def started(world: VmWorld) -> mischief.Run:
    """A run whose bundle is there at both ends, and whose client runs."""
    run = mischief.Run(world, plan("roundrobin", duration=120))

    def inside() -> bool | None:
        assert run.process.poll() is None, run.process.communicate()
        return True if all(bundle(world, site) == "roundrobin" for site in SITES) else None

    mischief.until(inside, 120, "no bundle was made at both ends")
    mischief.tool(world, "alpha", "-c")
    return run


@pytest.mark.parametrize("time_of", TIMES)
def test_kill_9_of_the_run(world: VmWorld, time_of: int) -> None:
    before = {site: shown(world, site) for site in SITES}
    run = started(world)
    assert find(world, "alpha", UNDO)
    began = time.monotonic()
    kill(world, "alpha", RUN)
    put_back(world, before, 40)
    print(f"put back after {time.monotonic() - began:.0f} s")
    run.process.communicate(timeout=60 * SLOW)
    mischief.no_tool_left(world)


@pytest.mark.parametrize("time_of", TIMES)
def test_a_power_cut_of_an_end(world: VmWorld, two_cards: Pair, time_of: int) -> None:
    """The other end puts its cards back by itself; the one that was off has no bundle and no record of one."""
    before = {site: shown(world, site) for site in SITES}
    cut, other = SITES[:: 1 if time_of % 2 else -1]
    run = started(world)
    time.sleep(random.Random(time_of).uniform(0, 20))
    assert all(bundle(world, site) == "roundrobin" for site in SITES)
    two_cards.site(cut).unplug()
    began = time.monotonic()
    put_back(world, {other: before[other]}, 90)
    print(f"{cut} cut, {other} put back after {time.monotonic() - began:.0f} s")
    two_cards.site(cut).machine.start()
    ended(world, run, cut)
    let_in_again(two_cards, cut)
    addressed(two_cards.site(cut))  # the tests' way in gives it the address of a machine with one card
    unlike(world)
    put_back(world, before, 20)
