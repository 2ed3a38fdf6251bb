"""A member of a bundle (lagg) on loan goes down in mid-trial and comes back: seen in ifconfig, measured, and put back.

Two machines that run already and are paired are used instead, as in test_bundle_on_loan.py.
"""

from __future__ import annotations

import re
import time

import pytest

import mischief
from linkladder.judge.member_down import members_down
from two_cards import PATHS

from .machine import SLOW
from .pair import CARDS
from .test_bundle_on_loan import SITES, bundle, put_back, shown, world
from .test_failures import VmWorld
from .test_loans import RUN, UNDO, find, kill

__all__ = ["world"]

SINCE, AWAY = 4, 10  # seconds after the warm-up, and for how long
PLAN = """name = "member-on-loan"
[contract]
port = "10G"
[[experiment]]
rungs = "dc-link"
{load}
streams = 4
client_port = 20000
duration = {duration}
warmup = 1
settings = [[{{kind = "lagg", value = "{kind}"}}, {member}]]
"""


# All that TCP can leaves an emulated machine no time to switch a card at its moment.
LIGHT = 'window = "16K"'


def plan(kind: str, ends: str, goes: str, away: int = AWAY, load: str = "") -> str:
    number = 1 + CARDS.index(goes)
    member = f'{{kind = "member", value = {number}, from = {SINCE}, until = {SINCE + away}, ends = "{ends}"}}'
    return PLAN.format(load=load, kind=kind, member=member, duration=SINCE + 2 * away + 4) + PATHS


def down(world: VmWorld, site: str, goes: str) -> bool:
    """Switched off, while the bundle that it is in is there and goes on with the other card."""
    (other,) = set(CARDS) - {goes}
    said = world.run(site, f"ifconfig {goes}; ifconfig -g lagg | xargs -n 1 ifconfig", check=False)
    head = re.search(rf"^{goes}: flags=\w+<([^>]*)>", said, re.MULTILINE)
    flags = head[1].split(",") if head else ["UP"]
    ports = dict(re.findall(r"laggport: (\S+) flags=\w+<([^>]*)>", said))
    return "UP" not in flags and set(ports) == set(CARDS) and "ACTIVE" in ports[other]


def until_down(world: VmWorld, run: mischief.Run, gone: set[str], goes: str) -> None:
    seen: set[str] = set()  # one look at both takes an emulated machine seconds

    def all_of_them() -> bool | None:
        assert run.process.poll() is None, (seen, run.process.communicate(), [t.reason for t in run.trials()])
        seen.update(site for site in SITES if down(world, site, goes))
        return True if seen == gone else None

    mischief.until(all_of_them, 120, f"{goes} did not go down at {gone} alone")


@pytest.mark.parametrize(
    ("kind", "goes", "load"),
    [("failover", "vmx1", LIGHT), ("loadbalance", "vmx2", LIGHT), ("roundrobin", "vmx2", "")],
    ids=["failover", "loadbalance", "roundrobin"],
)
def test_it_goes_down_at_its_moment_and_comes_back(world: VmWorld, kind: str, goes: str, load: str) -> None:
    before = {site: shown(world, site) for site in SITES}
    run = mischief.Run(world, plan(kind, "both", goes, load=load))
    until_down(world, run, set(SITES), goes)
    run.wait(300)
    put_back(world, before, 20)
    document = run.document()
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    for end in trial.ends:
        (away,) = end.away
        assert away.name == goes and 1 + SINCE <= away.since < away.until and away.until >= 1 + SINCE + AWAY
        assert {m.name for m in end.members} == set(CARDS)
    (rung,) = document.rungs
    found = members_down(rung)
    for seen in found:
        print(*seen.sentences, sep="\n")
    assert len(found) == 2 and all(seen.believed and seen.not_back == 0 for seen in found), found
    sending = next(seen for seen in found if seen.sends)
    assert sending.without_bps, "traffic went on by the other card"
    assert sending.share_before and sending.share_without is not None and sending.share_after is not None
    if kind == "failover":
        assert sending.share_before > 0.98 and sending.share_without < 0.02, "the other one stood in for it"
    else:
        assert sending.share_after
        assert sending.share_without < 0.02 < 0.2 < sending.share_before, "the other one had all"


@pytest.mark.parametrize("ends", ["near", "far", "both"])
def test_kill_9_of_the_run_while_it_is_down(world: VmWorld, ends: str) -> None:
    before = {site: shown(world, site) for site in SITES}
    run = mischief.Run(world, plan("loadbalance", ends, "vmx2", away=60))
    gone = {"near": {"alpha"}, "far": {"beta"}, "both": set(SITES)}[ends]
    until_down(world, run, gone, "vmx2")
    assert all(bundle(world, site) == "loadbalance" for site in SITES) and find(world, "alpha", UNDO)
    began = time.monotonic()
    kill(world, "alpha", RUN)
    put_back(world, before, 40)
    print(f"put back after {time.monotonic() - began:.0f} s")
    run.process.communicate(timeout=60 * SLOW)
    mischief.no_tool_left(world)
