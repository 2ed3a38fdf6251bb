"""Rings, queues and their first core on loan at two FreeBSD machines: in force in the card itself, then put back.

Their test cards are Intel's, which FreeBSD bears to attach anew: em0 an 82540EM (QEMU's e1000), which carries trials
and has a single queue, em1 an 82574L (e1000e) with two, lent to a process of the machine itself. QEMU 7.2's e1000e does
not clear what it told by an interrupt (ICR), so that FreeBSD seeks a link again and again; with a later QEMU
LINKLADDER_INTEL=e1000e or igb (an 82576, which QEMU 8 brought) makes such a card carry the trials, with its queues on
loan. Each card is made unlike what rc.conf says and what a card has that was just attached, so that whatever does not
come back shows.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief

from .conftest import Machines
from .machine import SLOW
from .network import Network
from .pair import USER, Pair
from .test_failures import VmWorld
from .test_loans import JOURNAL, LONG, RUN, TIMES, UNDO, find, kill, stop

SITES = ("alpha", "beta")
MODEL = os.environ.get("LINKLADDER_INTEL", "e1000")
DRIVER = "igb" if MODEL == "igb" else "em"
CARD, TWO = f"{DRIVER}0", f"{DRIVER}1"  # the one that carries the trials, and one with two queues in any case
SEVERAL = MODEL != "e1000"  # the one that carries the trials has two queues, too
LOANS = {"ring": "512", "queues": "1", "queue-core": "1"} if SEVERAL else {"ring": "512"}
HELPER = r"linkladder\.priv measure (ring|queues|queue-core)"
READY = "! [ -e /var/run/linkladder-attaching.{} ]"  # else its sysctls use what it has not got, and FreeBSD panics
OURS = "/var/run/linkladder-atta*"  # records of cards that are not back yet, and what devd is to pass over
TWO_QUEUES = {"rxq0", "rxq1", "txq0", "txq1"}
PLAIN_RING = 1024  # descriptors that if_em.c takes by itself (EM_DEFAULT_RXD)
DESCRIPTOR = 16  # bytes
PASSING = r" tentative| scopeid \S+|DRV_OACTIVE,|flags=[0-9a-f]+"  # of what ifconfig prints
LENT = """
import asyncio, sys
from pathlib import Path
from linkladder.settings import Change, Lease, Undo

async def lent():
    changes = [Change(kind, sys.argv[1], value) for kind, _, value in (word.partition("=") for word in sys.argv[2:])]
    async with Lease(changes, Undo(60.0), Path("/tmp/lent")):
        print("lent", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(lent())
"""


class Intel(Network):
    """Whose machines have two test cards of Intel's, on one segment."""

    intel = (MODEL, "igb" if MODEL == "igb" else "e1000e")

    def taps(self, number: int) -> tuple[str, ...]:
        more = f"u{number}"
        self.tap(more, "test")
        return (*super().taps(number), more)


class EmWorld(VmWorld):
    """Whose paths are over these."""

    def path_interface(self, site: str) -> str:
        return CARD


@pytest.fixture(scope="module")
def world(machines: Machines, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VmWorld]:
    machines.end_pair()
    network = Intel()
    pair = Pair(image, network, tmp_path_factory.mktemp("rings"))
    try:
        pair.start()
        pair.paired()
        pair.describe()
        made = EmWorld({"alpha": pair.alpha.command(), "beta": pair.beta.command()}, USER)
        for number, site in enumerate(SITES, 1):
            made.run(site, "pgrep -x devd && ls /usr/local/etc/devd/linkladder.conf")
            for card, address in ((CARD, f"10.79.0.{number}"), (TWO, f"10.80.0.{number}")):
                for line in ("mtu 4000", "-txcsum -rxcsum", f"inet {address}/24 alias"):
                    made.run(site, f"ifconfig {card} {line}")
                made.run(site, f"sysctl dev.{DRIVER}.{card[-1]}.iflib.rx_budget=16")
            made.run(site, f"ifconfig {TWO} down")  # or its interrupts take half of an emulated machine
        for site in SITES:
            await_link(made, site)
        yield made
    finally:
        pair.close()
        network.close()


def await_link(world: VmWorld, site: str) -> None:
    deadline = time.monotonic() + 30 * SLOW
    while "status: active" not in world.run(site, f"ifconfig {CARD}"):
        assert time.monotonic() < deadline, (site, world.run(site, f"ifconfig {CARD}; dmesg | grep {CARD}"))
        time.sleep(0.5)


def shown(world: VmWorld, site: str, card: str = CARD) -> dict[str, list[str]]:
    """All that there is to tell of the card: by ifconfig, by its sysctls, its routes, the kernel's environment.

    A link-local address comes at any time, so it stands last. The boot is among it, as a machine that has panicked
    comes up with a card as good as new.
    """
    device = f"dev.{DRIVER}.{card[-1]}"
    world.run(site, READY.format(card))
    wanted = {
        "ifconfig": f"ifconfig -f inet:cidr,inet6:cidr {card}",
        "sysctls": f"sysctl -eW {device} | grep -v override",
        "attached": f"sysctl -e {device}.iflib | grep -E 'override|core_offset|separate|[rt]xq[0-9]+[.]cpu'",
        "routes": f"netstat -rn | grep -w {card} | sort",
        "kernel": f"kenv | grep '^dev[.]{DRIVER}' || true",
        "boot": "sysctl -nx kern.boot_id",
    }
    found = {name: world.run(site, line).splitlines() for name, line in wanted.items()}
    return {
        name: sorted((re.sub(PASSING, "", line) for line in lines), key=lambda line: line.startswith("\tinet6"))
        for name, lines in found.items()
    }


def ring(world: VmWorld, site: str) -> int:
    """How many receive descriptors the card itself was given, by its register; no sysctl of iflib's tells that."""
    read = f"{READY.format(CARD)} && sysctl -n dev.{DRIVER}.0.reg_dump"
    register = re.search(r"RDLEN\s+([0-9a-f]{8})", world.run(site, read, check=False))
    return int(register[1], 16) // DESCRIPTOR if register else 0


def queues(world: VmWorld, site: str, card: str = CARD) -> dict[str, int]:
    """The core of each queue that the card has."""
    said = world.run(site, f"{READY.format(card)} && sysctl -e dev.{DRIVER}.{card[-1]}.iflib", check=False)
    return {name: int(core) for name, core in re.findall(r"\.([rt]xq\d+)\.cpu=(\d+)", said)}


def inside(world: VmWorld, site: str, kind: str) -> bool:
    """Whether the change is in force, and not the others with it."""
    served = queues(world, site)
    if kind == "ring":
        return ring(world, site) == 512 and (not SEVERAL or set(served) == TWO_QUEUES)
    as_asked = set(served) == {"rxq0", "txq0"} if kind == "queues" else served.get("rxq0") == 1
    return as_asked and ring(world, site) == PLAIN_RING


def loan(kind: str) -> str:
    return f'settings = [{{kind = "{kind}", value = {LOANS[kind]}, ends = "both"}}]'


def before(world: VmWorld) -> dict[str, dict[str, list[str]]]:
    """Both ends as they are, which is as the fixture has made them."""
    found = {site: shown(world, site) for site in SITES}
    for number, site in enumerate(SITES, 1):
        lines = " ".join(found[site]["ifconfig"])
        on = re.findall(r"options=\w+<([^>]*)>", lines)[0].split(",")
        assert "mtu 4000" in lines and not {"RXCSUM", "TXCSUM"} & set(on), lines
        assert f"inet 10.77.0.{number}/24" in lines and f"inet 10.79.0.{number}/24" in lines and "inet6 fe80" in lines
        assert f"dev.{DRIVER}.0.iflib.rx_budget=16" in found[site]["sysctls"]
        assert f"dev.{DRIVER}.0.iflib.override_nrxds=0" in found[site]["attached"]
        assert not found[site]["kernel"] and ring(world, site) == PLAIN_RING
        assert not SEVERAL or (set(queues(world, site)) == TWO_QUEUES and queues(world, site)["rxq0"] == 0)
    return found


def put_back(world: VmWorld, was: dict[str, dict[str, list[str]]], within: float) -> float:
    """Every line as before, no journal, no record, no undo process; how long that took."""

    def left() -> list[object]:
        unlike = [
            (site, name, sorted({*was[site][name]} ^ {*lines}))
            for site in SITES
            for name, lines in shown_if_there(world, site).items()
            if lines != was[site][name]
        ]
        files = f"ls {JOURNAL} {OURS} 2>/dev/null | grep -v lock$"
        kept = [(site, text) for site in SITES if (text := world.run(site, files, check=False))]
        undoing = [line for site in SITES for line in world.processes(site).values() if re.search(UNDO, line)]
        return [*unlike, *kept, *undoing]

    began = time.monotonic()
    while found := left():
        assert time.monotonic() < began + within * SLOW, found
        time.sleep(0.5)
    assert all(ring(world, site) == PLAIN_RING for site in SITES)
    return time.monotonic() - began


def shown_if_there(world: VmWorld, site: str) -> dict[str, list[str]]:
    """While it is being attached its programs fail, which is as unlike as can be."""
    try:
        return shown(world, site)
    except AssertionError:
        return {"ifconfig": []}


@pytest.mark.parametrize("kind", LOANS)
def test_a_trial_is_measured_under_it_and_it_is_put_back(world: VmWorld, kind: str) -> None:
    was = before(world)
    run = mischief.Run(world, mischief.plan_text(world, duration=10, more=loan(kind)))

    def both() -> bool | None:
        return True if all(inside(world, site, kind) for site in SITES) else None

    mischief.until(both, 90, f"{kind} did not come into force at both ends")
    mischief.tool(world, "alpha", "-c")
    assert both(), "it was not in force while the trial ran"
    assert run.wait(300) == 0, run.said
    print(f"{kind} put back {put_back(world, was, 30):.0f} s after the run")
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    told = [(str(c.end), " ".join(c.argv)) for leg in trial.legs for c in leg.commands if c.role == "setting"]
    changed = f"{'0' if kind == 'queue-core' else 'default'} -> {LOANS[kind]}"
    assert told == [(end, f"{kind} {CARD}: {changed}") for end in ("far", "near")]


def started(world: VmWorld, kind: str) -> mischief.Run:
    """A run whose change is in force at both ends, and whose client runs."""
    run = mischief.Run(world, mischief.plan_text(world, duration=LONG // mischief.LONGER, more=loan(kind)))

    def both() -> bool | None:
        assert run.process.poll() is None, (run.process.communicate(), [t.reason for t in run.trials()])
        return True if all(inside(world, site, kind) for site in SITES) else None

    mischief.until(both, 90, f"{kind} did not come into force at both ends")
    mischief.tool(world, "alpha", "-c")
    return run


@pytest.mark.parametrize("time_of", TIMES)
@pytest.mark.parametrize("kind", LOANS)
def test_kill_9_of_the_run(world: VmWorld, kind: str, time_of: int) -> None:
    was = before(world)
    run = started(world, kind)
    assert all(find(world, site, UNDO) for site in SITES)
    kill(world, "alpha", RUN)
    print(f"{kind} put back {put_back(world, was, 60):.0f} s after the kill")
    run.process.communicate(timeout=60 * SLOW)
    mischief.no_tool_left(world)


def kill_helper(world: VmWorld, site: str, after: float) -> subprocess.Popen[bytes]:
    """Kill the next helper that changes such a thing, so many seconds after it was first seen."""
    seen = f"i=0; until pgrep -f '{HELPER}'; do sleep 0.05; i=$((i + 1)); [ $i -lt 6000 ] || exit 1; done"
    line = f"{seen}; sleep {after}; pkill -9 -f '{HELPER}'"
    return subprocess.Popen([*world.commands[site], line], stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("site", SITES)
def test_kill_9_of_the_helper_as_soon_as_the_card_is_gone(world: VmWorld, site: str) -> None:
    """Then nobody is there any more who knows what it had, but for the record."""
    was = before(world)
    # By what the kernel has said: asked for by ifconfig while it goes, a card makes FreeBSD panic in if_detach.
    gone = f"count() {{ dmesg | grep -c '{CARD}: detached'; }}; was=$(count); i=0"
    gone += "; while [ $(count) -le $was ]; do i=$((i + 1)); [ $i -lt 100000 ] || exit 1; done"
    waiting = subprocess.Popen([*world.commands[site], f"{gone}; pkill -9 -f '{HELPER}'"], stdin=subprocess.DEVNULL)
    run = mischief.Run(world, mischief.plan_text(world, duration=2, more=loan("ring")))
    assert waiting.wait(300 * SLOW) == 0, "the card was never gone, or its helper was not"
    assert run.wait(300) == 1, run.said
    put_back(world, was, 60)
    (trial,) = run.trials()
    assert not trial.ok and "could not be set" in trial.reason, trial.reason


@pytest.mark.parametrize("after", [0.0, 1.0, 3.0])
def test_kill_9_of_the_helper_while_it_is_put_back(world: VmWorld, after: float) -> None:
    was = before(world)
    run = started(world, "ring")
    waiting = kill_helper(world, "beta", after)
    stop(world, run)
    waiting.wait(300 * SLOW)  # it may have been quicker than its killer
    put_back(world, was, 60)


@contextlib.contextmanager
def lent(
    world: VmWorld, was: dict[str, list[str]], in_force: dict[str, str], *changes: str
) -> Iterator[subprocess.Popen[str]]:
    """A process on alpha that has these changes of the second card on loan; nothing else of the card is changed."""
    world.write("alpha", "/tmp/lent.py", LENT)
    process = subprocess.Popen(
        [*world.commands["alpha"], f"mkdir -p /tmp/lent && exec {world.python} /tmp/lent.py {TWO} {' '.join(changes)}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout and process.stdout.readline() == "lent\n"
    now = shown(world, "alpha", TWO)
    assert {name for name in was if now[name] != was[name]} == {"attached"}, (was, now)
    asked = dict(line.removeprefix(f"dev.{DRIVER}.1.iflib.").split("=") for line in now["attached"])
    assert asked | in_force == asked, asked
    yield process
    process.communicate("\n", timeout=120 * SLOW)


def as_attached(world: VmWorld) -> dict[str, list[str]]:
    was = shown(world, "alpha", TWO)
    assert set(queues(world, "alpha", TWO)) == TWO_QUEUES and not was["kernel"]
    lines = " ".join(was["ifconfig"])
    assert "mtu 4000" in lines and "inet 10.80.0.1/24" in lines and "<UP" not in lines, lines
    return was


def await_back(world: VmWorld, was: dict[str, list[str]]) -> None:
    files = f"ls /tmp/lent/settings.journal {OURS} 2>/dev/null | grep -v lock$"

    def back() -> bool | None:
        there = TWO in world.run("alpha", "ifconfig -l").split() and not world.run("alpha", files, check=False)
        return True if there and shown(world, "alpha", TWO) == was else None

    mischief.until(back, 60, f"{TWO} is not as before")


ONE_QUEUE = {f"override_n{way}xqs": "1" for way in "rt"} | {f"override_n{way}xds": "512" for way in "rt"}


def test_two_queues_are_one_on_loan_and_two_again(world: VmWorld) -> None:
    was = as_attached(world)
    with lent(world, was, ONE_QUEUE, "queues=1", "ring=512"):
        assert set(queues(world, "alpha", TWO)) == {"rxq0", "txq0"}
    await_back(world, was)


def test_two_queues_are_two_again_after_kill_9_of_who_lent_them(world: VmWorld) -> None:
    was = as_attached(world)
    with lent(world, was, ONE_QUEUE, "queues=1", "ring=512"):
        world.run("alpha", "pkill -9 -f '[/]tmp/lent.py'")
    await_back(world, was)


def test_the_queues_go_to_other_cores_on_loan_and_back(world: VmWorld) -> None:
    was = as_attached(world)
    first = queues(world, "alpha", TWO)
    other = 1 - first["rxq0"]
    in_force = {"core_offset": str(other), "rxq0.cpu": str(other), "rxq1.cpu": str(1 - other)}
    with lent(world, was, in_force, f"queue-core={other}"):
        pass
    await_back(world, was)
    assert queues(world, "alpha", TWO) == first


def test_a_driver_that_does_not_bear_it_is_refused(world: VmWorld) -> None:
    said = world.run("alpha", "/usr/local/libexec/linkladder-measure ring vmx0 512 2>&1; echo $?")
    assert "which may stop the kernel: set it at boot" in said and said.split()[-1] == "2", said
