"""Loans while something fails at a random moment: whatever it is, and whenever, both ends end up as they were.

Two of them in a suite, as test_leases and test_loans_in_need have the rest at a fixed moment.
LINKLADDER_LOAN_FAILURES=50 causes each kind fifty times (a third of a minute each time); each test is a kind of its
own (-k), and those that are run at the same time need labs of their own, by LINKLADDER_LOAN_LAB=1, 2, ...
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

import mischief
from network import GENTLE
from test_leases import SITES, UNDOING, LoanWorld, journal, no_control, nothing_is_left, now
from test_loans_in_need import another, full_disk, none_in_force, on_small_disks, plug_in, vanish
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]

MANY = int(os.environ.get("LINKLADDER_LOAN_FAILURES", "0"))
SPAN = 7.0  # seconds from the first change to the last, with a trial of two seconds between them
HELPER = re.compile(r"linkladder\.priv \w+ (mtu|iface-flags|sysctl)")
LENT = """settings = [
  {kind = "mtu", value = 9000, ends = "both"},
  {kind = "tso", value = false, ends = "far"},
  {kind = "congestion", value = "reno", ends = "both"},
]"""
Failure = Callable[[LoanWorld, mischief.Run], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoanWorld]:
    name = f"llr{os.environ.get('LINKLADDER_LOAN_LAB', '')}"
    with Lab(name, inside=GENTLE).paired() as lab, on_small_disks(lab):
        yield LoanWorld(lab, tmp_path_factory.mktemp("random"))


def running(world: LoanWorld, site: str, what: re.Pattern[str]) -> list[int]:
    return [pid for pid, line in world.processes(site).items() if what.search(line)]


THE_RUN = ("alpha", re.compile(r"linkladder run "))
THE_AGENT = ("beta", re.compile(r"agent .*--peer"))
NEAR_UNDO, FAR_UNDO = (("alpha", UNDOING), ("beta", UNDOING))


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # an agent ends when its run does
            os.kill(pid, 9)


def killed(*victims: tuple[str, re.Pattern[str]]) -> Failure:
    @contextlib.contextmanager
    def failure(world: LoanWorld, run: mischief.Run) -> Iterator[None]:
        pids = [pid for site, what in victims for pid in running(world, site, what)]
        print(f"killed {len(pids)}")
        kill(pids)
        yield

    return failure


@contextlib.contextmanager
def helper_killed(world: LoanWorld, run: mischief.Run) -> Iterator[None]:
    """The next one that is seen at either end, while it makes a change or puts one back."""
    while run.process.poll() is None:
        if pids := [pid for site in SITES for pid in running(world, site, HELPER)]:
            print(f"killed {len(pids)}")
            kill(pids)
            break
    yield


@contextlib.contextmanager
def peer_lost(world: LoanWorld, run: mischief.Run) -> Iterator[None]:
    """For long enough that the far end puts back by itself, or for less."""
    with no_control(world):
        time.sleep(random.uniform(0, 20))
        if random.random() < 0.5:
            mischief.until(lambda: True if now(world)["beta"] == world.before["beta"] else None, 45, "beta kept them")
    yield


@contextlib.contextmanager
def disk_full(world: LoanWorld, run: mischief.Run) -> Iterator[None]:
    with full_disk(world, random.choice(SITES)):
        yield
        none_in_force(world)


@contextlib.contextmanager
def adapter_vanished(world: LoanWorld, run: mischief.Run) -> Iterator[None]:
    """What is not known to be put back is said, and keeps a run from starting until the adapter is there again."""
    vanish(world)
    yield
    mischief.until(lambda: True if not running(world, "beta", UNDOING) else None, 30, "beta's undo did not end")
    kept = [site for site in SITES if journal(world, site)]
    print(f"not known: {kept}")
    if kept:
        code, told = another(world)
        assert code != 0 and "sh0 is not there" in told, told
    plug_in(world)


KINDS: dict[str, Failure] = {
    "the run": killed(THE_RUN),
    "the agent": killed(THE_AGENT),
    "this end's undo": killed(NEAR_UNDO),
    "the far end's undo": killed(FAR_UNDO),
    "the run and its undo": killed(THE_RUN, NEAR_UNDO),
    "the agent and its undo": killed(THE_AGENT, FAR_UNDO),
    "everything here": killed(THE_RUN, THE_AGENT, NEAR_UNDO, FAR_UNDO),
    "a helper": helper_killed,
    "the peer lost": peer_lost,
    "a full disk": disk_full,
    "an adapter gone": adapter_vanished,
}
# Nobody is left who knows, or has room to note it: the next start puts back what the journal says.
BY_THE_NEXT = ("the run and its undo", "the agent and its undo", "everything here", "a full disk", "an adapter gone")


@pytest.mark.parametrize("draw", range(max(1, MANY)))
@pytest.mark.parametrize("kind", KINDS if MANY else ["everything here", "an adapter gone"])
def test_a_failure_at_a_random_moment(world: LoanWorld, kind: str, draw: int) -> None:
    run = mischief.Run(world, mischief.plan_text(world, duration=2, more=LENT))
    lent = mischief.until(lambda: [s for s in SITES if running(world, s, UNDOING)] or None, 30, "nothing was changed")
    moment = random.uniform(0, SPAN)
    time.sleep(moment)
    print(f"{kind}, draw {draw}: {moment:.2f} s after the first change, at {lent}")
    with KINDS[kind](world, run):
        run.wait()
    if kind in BY_THE_NEXT:
        code, told = another(world)
        assert code == 0, told
    nothing_is_left(world)
