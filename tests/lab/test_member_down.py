"""A member of a bundle goes down in mid-trial and comes back: told with figures, and put back whatever dies."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator

import pytest

import mischief
from linkladder.judge import judge_document
from linkladder.judge.member_down import members_down
from linkladder.verdicts import Verdict
from network import Link
from spread import CARDS, Spread
from test_failures import LabWorld
from test_leases import UNDOING

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]
SINCE = 3  # seconds after the warm-up
PLAN = """name = "member"
[[experiment]]
rungs = "dc-link"
streams = 8
client_port = 20000
duration = {duration}
warmup = 1
settings = [{{kind = "member", value = 2, from = {since}, until = {until}, ends = "{ends}"}}]
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabWorld]:
    with Spread("llmd", Link(rate=5e7)).paired() as lab:
        yield LabWorld(lab, tmp_path_factory.mktemp("member"))


def plan(lab: Spread, away: int = 4, ends: str = "near") -> str:
    path = f'[[path.dc-link]]\nlocal = "{lab.address("alpha", "dc-link")}"\n'
    path += f'remote = "{lab.address("beta", "dc-link")}"\npeer = "beta"\n'
    return PLAN.format(ends=ends, since=SINCE, until=SINCE + away, duration=SINCE + 2 * away + 3) + path


def spread(world: LabWorld) -> Spread:
    assert isinstance(world.lab, Spread)
    return world.lab


def down(world: LabWorld) -> set[tuple[str, str]]:
    lab = spread(world)
    return {(site, card) for site in lab.sites for card in CARDS if not lab.card_up(site, card)}


def nothing_is_left(world: LabWorld, seconds: float = 25) -> None:
    def left() -> bool | None:
        lines = [line for site in ("alpha", "beta") for line in world.processes(site).values()]
        kept = [site for site in ("alpha", "beta") if (world.lab.state(site) / "settings.journal").exists()]
        return None if down(world) or kept or any(UNDOING.search(line) for line in lines) else True

    mischief.until(left, seconds, "not everything was put back")


def test_it_goes_down_at_its_moment_and_comes_back(world: LabWorld) -> None:
    run = mischief.Run(world, plan(spread(world)))
    run.wait(120)
    nothing_is_left(world)
    document = run.document()
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    (away,) = trial.ends[0].away
    assert away.name == "m1" and trial.ends[1].away == ()
    assert 1 + SINCE <= away.since < away.until and away.until >= 1 + SINCE + 4
    sent = {m.name: m.tx_bytes for m in trial.ends[0].members}
    assert set(sent) == set(CARDS) and min(sent.values()) > 0
    assert trial.ends[0].nics[0].tx_bytes == pytest.approx(sum(sent.values())), "the address's own card is both"
    assert len(trial.ends[0].samples) > 2 * (1 + SINCE + 4 * 2 + 3), "more than one a second"
    (rung,) = document.rungs
    (seen,) = members_down(rung)
    assert seen.believed, seen.sentences
    assert seen.share_before and seen.share_without is not None and seen.share_after
    assert seen.share_without < 0.02 < 0.2 < seen.share_before, "the other one had all"
    assert seen.share_after > seen.share_before / 2 and "flows came back to it" in seen.sentences[-1]
    assert seen.not_back == 0 and seen.resolution_s and seen.resolution_s < 0.5
    judged = judge_document(document).rungs[0]
    assert judged.members == (seen,) and set(seen.sentences) <= set(judged.judgement.findings)
    assert judged.verdict is Verdict.INCOMPLETE, "nothing was measured of the bundle as it is"
    assert not trial.carriers_lost, "the bundle itself kept its link"
    print(*seen.sentences, sep="\n")


def test_a_dry_run_tells_the_change_and_its_undo(world: LabWorld) -> None:
    world.write("alpha", f"{world.folder}/dry.toml", plan(spread(world)))
    shown, _ = world.linkladder("run", "--plan", f"{world.folder}/dry.toml", "--dry-run").communicate(timeout=60)
    assert re.search(r"near: switch member 2 of the bundle down 4 s after .* undo: switch it up", shown), shown
    assert "far: switch" not in shown


@pytest.mark.parametrize("ends", ["near", "far", "both"])
def test_kill_9_of_the_run_while_it_is_down(world: LabWorld, ends: str) -> None:
    """What is down at either end comes up by the undo that was armed before."""
    run = mischief.Run(world, plan(spread(world), away=40, ends=ends))
    sites = {"near": {"alpha"}, "far": {"beta"}, "both": {"alpha", "beta"}}[ends]
    gone = {(site, "m1") for site in sites}
    mischief.until(lambda: True if down(world) == gone else None, 60, f"{gone} did not go down")
    lines = world.processes("alpha").items()
    os.kill(next(pid for pid, line in lines if {"linkladder", "run"} <= set(line.split())), signal.SIGKILL)
    run.process.communicate(timeout=20)
    nothing_is_left(world)
    mischief.no_tool_left(world)


def test_loss_of_the_peer_while_it_is_down(world: LabWorld) -> None:
    """Each end brings its own up without a word from the other."""
    run = mischief.Run(world, plan(spread(world), away=60, ends="both"))
    gone = {(site, "m1") for site in ("alpha", "beta")}
    mischief.until(lambda: True if down(world) == gone else None, 60, f"{gone} did not go down")
    world.run("alpha", "ip link set mg0 down")
    try:
        mischief.until(lambda: True if not down(world) else None, 50, "it stayed down")
        run.process.terminate()
        run.process.communicate(timeout=30)
    finally:
        world.run("alpha", "ip link set mg0 up")
    nothing_is_left(world)
