"""Settings on loan between two appliances: in force while a trial runs, and put back whatever is killed meanwhile.

What tests/lab/test_leases.py tries on Linux, on the adapters, the helper and the processes of the image.
LINKLADDER_LOAN_FAILURES says how often each of them is caused.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator

import pytest

import mischief

from .machine import SLOW
from .pair import Pair
from .test_failures import VmWorld, world

__all__ = ["world"]

LOAN = """settings = [
  {kind = "mtu", value = 9000, ends = "both"},
  {kind = "tso", value = false, ends = "both"},
]"""
SITES = ("alpha", "beta")
BEFORE, INSIDE = ("1500", "on"), ("9000", "off")
JOURNAL = "/var/db/linkladder-measure/settings.journal"
UNDO = r"python.* -m linkladder\.(priv \w+ undo|settings )"
NEAR, FAR, RUN = r"linkladder agent --near", r"linkladder agent --peer", r"linkladder run --plan"
HELPER = r"linkladder\.priv measure (mtu|iface-flags)"
LONG = 120  # seconds of a trial: what is killed is killed in the middle of it
TIMES = range(int(os.environ.get("LINKLADDER_LOAN_FAILURES", "2")))
# What the ends talk by, cut on the way between them; the tests' own way in goes on.
CUT = """table bridge cut {
  chain forward { type filter hook forward priority 0; tcp dport 8622 drop; tcp sport 8622 drop; }
}"""


def now(world: VmWorld, site: str) -> tuple[str, str]:
    """MTU and TSO of the path's adapter, as the system's own program tells."""
    said = world.run(site, f"ifconfig {world.path_interface(site)}")
    found = re.search(r"mtu (\d+)", said)
    assert found, said
    flags = re.search(r"options=[0-9a-f]+<([^>]*)>", said)
    return found[1], "on" if flags and "TSO4" in flags[1].split(",") else "off"


def card(world: VmWorld, site: str) -> list[str]:
    """The path's adapter's lines with its MTU and with every option, as the system's own program tells."""
    said = world.run(site, f"ifconfig {world.path_interface(site)}")
    return re.findall(r" mtu \d+$|^\toptions=.*$", said, re.MULTILINE)


@pytest.fixture(autouse=True)
def as_before(world: VmWorld) -> Iterator[None]:
    """Whatever a test does, in the end both cards are as they were, option by option."""
    before = {site: card(world, site) for site in SITES}
    assert all(before.values()), before
    yield
    now_again = lambda: True if {site: card(world, site) for site in SITES} == before else None  # noqa: E731
    mischief.until(now_again, 20, f"the cards are not as before, {before}")


def put_back(world: VmWorld, *sites: str, within: float) -> float:
    """How long it took until these sites were as before; the limit is multiplied where machines are slow."""
    began = time.monotonic()
    as_before = lambda: True if all(now(world, site) == BEFORE for site in sites) else None  # noqa: E731
    mischief.until(as_before, within, f"{sites} are not as before")
    return time.monotonic() - began


def nothing_is_left(world: VmWorld) -> None:
    """Values read back, no undo process, no journal."""
    put_back(world, *SITES, within=20)

    def left() -> bool | None:
        undoing = [line for site in SITES for line in world.processes(site).values() if re.search(UNDO, line)]
        kept = [world.run(site, f"cat {JOURNAL} 2>/dev/null", check=False) for site in SITES]
        return None if undoing or any(kept) else True

    mischief.until(left, 10, "an undo process or a journal is left")


def find(world: VmWorld, site: str, pattern: str) -> int | None:
    """The process itself, not the doors it came through."""
    lines = world.processes(site).items()
    return next((pid for pid, line in lines if re.search(pattern, line) and re.match(r"\S*python", line)), None)


def process(world: VmWorld, site: str, pattern: str) -> int:
    return mischief.until(lambda: find(world, site, pattern), 30, f"no {pattern} on {site}")


def kill(world: VmWorld, site: str, *patterns: str) -> None:
    """All of them by one command, so that none sees the other go."""
    pids = [process(world, site, pattern) for pattern in patterns]
    world.run(site, f"kill -9 {' '.join(map(str, pids))}")


def started(world: VmWorld) -> mischief.Run:
    """A run whose settings are in force at both ends, and whose client runs."""
    run = mischief.Run(world, mischief.plan_text(world, duration=LONG // mischief.LONGER, more=LOAN))

    def inside() -> bool | None:
        if run.process.poll() is not None:
            raise AssertionError(f"it ended: {run.process.communicate()} {[t.reason for t in run.trials()]}")
        return True if all(now(world, site) == INSIDE for site in SITES) else None

    try:
        mischief.until(inside, 60, "the settings did not come into force")
    except AssertionError as late:
        said = stop(world, run)  # the next test must not meet it
        raise AssertionError(f"{late}; the run said {said}") from None
    mischief.tool(world, "alpha", "-c")
    return run


def stop(world: VmWorld, run: mischief.Run) -> tuple[str, str]:
    """A run that is still under way has shown what it had to; what it said."""
    if (pid := find(world, "alpha", RUN)) is not None:
        world.run("alpha", f"kill -INT {pid}", check=False)
    return run.process.communicate(timeout=120 * SLOW)


def ended(world: VmWorld, run: mischief.Run, cut: str) -> None:
    """A run that went with the machine that it was ordered on, or is stopped there."""
    if cut == "alpha":
        run.process.communicate(timeout=120 * SLOW)
    else:
        stop(world, run)


@contextlib.contextmanager
def no_control(pair: Pair) -> Iterator[None]:
    nft = ["ip", "netns", "exec", pair.alpha.space, "nft"]
    subprocess.run([*nft, CUT], check=True)
    try:
        yield
    finally:
        subprocess.run([*nft, "delete table bridge cut"], check=True)


def test_a_trial_is_measured_under_its_settings_and_they_are_put_back(world: VmWorld) -> None:
    nothing_is_left(world)
    run = mischief.Run(world, mischief.plan_text(world, duration=10, more=LOAN))
    mischief.until(
        lambda: True if all(now(world, site) == INSIDE for site in SITES) else None, 60, "not both ends took it"
    )
    assert all(process(world, site, UNDO) for site in SITES)
    assert all('"1500"' in world.run(site, f"cat {JOURNAL}") for site in SITES)
    assert run.wait(180) == 0, run.said
    nothing_is_left(world)
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    sent = trial.ends[0].nics[0]
    assert sent.tx_bytes > 8000 * sent.tx_packets, sent  # the frames were as large as was asked
    changed = [(str(c.end), " ".join(c.argv)) for leg in trial.legs for c in leg.commands if c.role == "setting"]
    assert changed == [
        ("far", "mtu vmx1: 1500 -> 9000"), ("far", "flag vmx1:tso: on -> off"),
        ("near", "mtu vmx1: 1500 -> 9000"), ("near", "flag vmx1:tso: on -> off"),
    ]  # fmt: skip


@pytest.mark.parametrize("time", TIMES)
def test_kill_9_of_the_run(world: VmWorld, time: int) -> None:
    run = started(world)
    kill(world, "alpha", RUN)
    print(f"put back after {put_back(world, *SITES, within=20):.0f} s")
    run.process.communicate(timeout=60 * SLOW)
    nothing_is_left(world)
    mischief.no_tool_left(world)


@pytest.mark.parametrize("time", TIMES)
@pytest.mark.parametrize(("site", "agent"), [("alpha", NEAR), ("beta", FAR)], ids=SITES)
def test_kill_9_of_an_agent(world: VmWorld, pair: Pair, site: str, agent: str, time: int) -> None:
    run = started(world)
    with no_control(pair):  # so that no new agent does it
        kill(world, site, agent)
        print(f"put back after {put_back(world, site, within=20):.0f} s")
    stop(world, run)
    nothing_is_left(world)


@pytest.mark.parametrize("time", TIMES)
def test_kill_9_of_the_undo_processes(world: VmWorld, pair: Pair, time: int) -> None:
    """Others take their places at once, so that a kill of their holders after it leaves nothing changed."""
    run = started(world)
    first = {site: process(world, site, UNDO) for site in SITES}
    for site in SITES:
        kill(world, site, UNDO)

    def another(site: str) -> int | None:
        pid = find(world, site, UNDO)
        return None if pid in (None, first[site]) else pid

    for site in SITES:
        mischief.until(lambda site=site: another(site), 20, "nobody took its place")
    with no_control(pair):
        kill(world, "beta", FAR)
        kill(world, "alpha", RUN, NEAR)
        print(f"put back after {put_back(world, *SITES, within=20):.0f} s")
    run.process.communicate(timeout=60 * SLOW)
    nothing_is_left(world)


@pytest.mark.parametrize("time", TIMES)
def test_kill_9_of_an_agent_and_its_undo_at_once_is_put_back_by_the_next_channel(world: VmWorld, time: int) -> None:
    run = started(world)
    kill(world, "beta", UNDO, FAR)
    print(f"put back after {put_back(world, 'beta', within=60):.0f} s")
    stop(world, run)
    nothing_is_left(world)


@pytest.mark.parametrize("site", SITES)
def test_kill_9_of_the_helper_while_settings_are_taken(world: VmWorld, site: str) -> None:
    """Where the first change is killed half way, none holds, and the trial says so."""
    killed = f"i=0; until pkill -9 -f '{HELPER}'; do sleep 0.05; i=$((i + 1)); [ $i -lt 6000 ] || exit 1; done"
    waiting = subprocess.Popen([*world.commands[site], killed], stdin=subprocess.DEVNULL)
    run = mischief.Run(world, mischief.plan_text(world, duration=2, more=LOAN))
    assert waiting.wait(300 * SLOW) == 0, "no helper was seen"
    assert run.wait(180) == 1, run.said
    nothing_is_left(world)
    (trial,) = run.trials()
    assert not trial.ok and "could not be set" in trial.reason, trial.reason


@pytest.mark.parametrize("site", SITES)
def test_kill_9_of_the_helper_while_settings_are_put_back(world: VmWorld, site: str) -> None:
    run = started(world)
    killed = f"i=0; until pkill -9 -f '{HELPER}'; do sleep 0.05; i=$((i + 1)); [ $i -lt 6000 ] || exit 1; done"
    waiting = subprocess.Popen([*world.commands[site], killed], stdin=subprocess.DEVNULL)
    stop(world, run)
    assert waiting.wait(300 * SLOW) == 0, "no helper was seen"
    nothing_is_left(world)


def test_loss_of_the_peer(world: VmWorld, pair: Pair) -> None:
    """Neither end hears the other: each puts back by itself, the far one when nobody has renewed for 15 s."""
    run = started(world)
    with no_control(pair):
        print(f"both put back after {put_back(world, *SITES, within=45):.0f} s")
        stop(world, run)  # before the peer is there again, and the trial done again
    nothing_is_left(world)


def let_in_again(pair: Pair, site: str) -> None:
    """A machine that was powered on: up by itself, and the tests let in anew."""
    one = pair.site(site)
    one.machine.await_tui()
    one.open_way_in()


@pytest.mark.parametrize("time_of", TIMES)
def test_a_power_cut_during_a_loan(world: VmWorld, pair: Pair, time_of: int) -> None:
    """The other end puts back by itself; the one that was off is as it was configured, and lends again."""
    cut, other = SITES[:: 1 if time_of % 2 else -1]
    run = started(world)
    moment = random.Random(time_of).uniform(0, 20)
    time.sleep(moment)
    assert [now(world, site) for site in SITES] == [INSIDE, INSIDE]
    pair.site(cut).unplug()
    print(f"{cut} cut {moment:.0f} s into the loan: {other} put back after {put_back(world, other, within=90):.0f} s")
    pair.site(cut).machine.start()
    ended(world, run, cut)
    let_in_again(pair, cut)
    assert now(world, cut) == BEFORE
    pair.describe()  # what was written just before the cut, by the tests, may be gone
    if time_of == TIMES[-1]:  # before, the next cut's own run shows it
        again = mischief.Run(world, mischief.plan_text(world, duration=2, more=LOAN), name="again")
        assert again.wait(180) == 0, [trial.reason for trial in again.trials()]
    nothing_is_left(world)
