"""Settings on loan between two real ends: in force while a trial runs, and put back whatever is killed meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
from network import GENTLE
from test_failures import LabWorld
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]

NINE = 'settings = [{kind = "mtu", value = 9000, ends = "both"}, {kind = "tso", value = false, ends = "far"}]'
SITES = ("alpha", "beta")
INSIDE = {"alpha": ("9000", "on"), "beta": ("9000", "off")}
TIMES = range(3)
UNDOING = re.compile(r"linkladder\.(priv \w+ undo|settings )")


class LoanWorld(LabWorld):
    """The lab, and how its machines were before any loan."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        super().__init__(lab, folder)
        self.before = now(self)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoanWorld]:
    with Lab("lls", inside=GENTLE).paired() as lab:
        yield LoanWorld(lab, tmp_path_factory.mktemp("settings"))


def now(world: LabWorld) -> dict[str, str]:
    """The MTU and every offload of the path's adapters and the congestion control, as the system itself tells them."""
    mtu, congestion = "cat /sys/class/net/sh0/mtu", "cat /proc/sys/net/ipv4/tcp_congestion_control"
    return {site: world.run(site, f"{mtu} && ethtool -k sh0 && {congestion}") for site in SITES}


def lent(world: LabWorld) -> dict[str, tuple[str, str]]:
    """MTU and TSO of them."""
    tso = re.compile(r"^tcp-segmentation-offload: (\w+)", re.MULTILINE)
    return {site: (told.split()[0], tso.findall(told)[0]) for site, told in now(world).items()}


def until(world: LoanWorld, seconds: float, *sites: str) -> float:
    """How long it took until these sites were as before."""
    began = time.monotonic()
    as_before = lambda: True if all(now(world)[site] == world.before[site] for site in sites) else None  # noqa: E731
    mischief.until(as_before, seconds, f"{sites} are not as before")
    return time.monotonic() - began


@contextlib.contextmanager
def no_control(world: LoanWorld) -> Iterator[None]:
    world.run("alpha", "ip link set mg0 down")
    try:
        yield
    finally:
        world.run("alpha", "ip link set mg0 up")


def started(world: LoanWorld, duration: int = 8) -> mischief.Run:
    """A run whose settings are in force and whose client runs."""
    run = mischief.Run(world, mischief.plan_text(world, duration=duration, more=NINE))

    def inside() -> bool | None:
        if run.process.poll() is not None:
            raise AssertionError(f"it ended: {run.process.communicate()} {[t.reason for t in run.trials()]}")
        return lent(world) == INSIDE or None

    mischief.until(inside, mischief.PATIENCE, "the settings did not come into force")
    mischief.tool(world, "alpha", "-c")
    return run


def process(world: LoanWorld, site: str, *words: str) -> int:
    def find() -> int | None:
        lines = world.processes(site).items()
        return next((pid for pid, line in lines if set(words) <= set(line.split())), None)

    found: int = mischief.until(find, mischief.PATIENCE, f"no {words} on {site}")
    return found


def undo(world: LoanWorld, site: str) -> int:
    return process(world, site, "linkladder.priv", "undo")


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def journal(world: LoanWorld, site: str) -> str:
    path = world.lab.state(site) / "settings.journal"
    return path.read_text() if path.exists() else ""


def left(world: LoanWorld) -> list[str]:
    lines = [line for site in SITES for line in world.processes(site).values() if UNDOING.search(line)]
    return lines + [text for site in SITES if (text := journal(world, site))]


def nothing_is_left(world: LoanWorld) -> None:
    until(world, 20, *SITES)
    mischief.until(lambda: True if not left(world) else None, 5, "an undo process or a journal is left")


def test_a_trial_is_measured_under_its_settings_and_they_are_put_back(world: LoanWorld) -> None:
    run = started(world, duration=4)
    assert all(UNDOING.search(" ".join(world.processes(site).values())) for site in SITES)
    assert json.loads(journal(world, "beta"))["entries"][0]["old"] == "1500"
    assert run.wait() == 0, run.said
    nothing_is_left(world)
    (trial,) = run.trials()
    assert trial.ok, trial.reason
    seen = trial.ends[0].sockets
    assert seen and max(s.mss or 0 for s in seen.sockets) > 8000  # the frames were as large as was asked
    changed = [(str(c.end), " ".join(c.argv)) for leg in trial.legs for c in leg.commands if c.role == "setting"]
    assert changed == [
        ("far", "mtu sh0: 1500 -> 9000"), ("far", "flag sh0:tso: on -> off"), ("near", "mtu sh0: 1500 -> 9000"),
    ]  # fmt: skip


def test_settings_of_the_kernel_are_in_force_for_the_trial_alone(world: LoanWorld) -> None:
    name = "/proc/sys/net/ipv4/tcp_congestion_control"
    before = [world.run(site, f"cat {name}").strip() for site in SITES]
    other = "reno" if before[0] != "reno" else "cubic"
    more = (
        f'settings = [{{kind = "congestion", value = "{other}"}}, {{kind = "sack", value = false}}, '
        '{kind = "ecn", value = true}, {kind = "receive-buffer", value = 2097152}, '
        '{kind = "send-default", value = 262144}]\n'
    )
    run = mischief.Run(world, mischief.plan_text(world, duration=3, more=more))
    assert run.wait() == 0, run.said
    nothing_is_left(world)
    (trial,) = run.trials()
    seen = trial.ends[0].sockets
    assert trial.ok and seen and {s.congestion for s in seen.sockets if s.congestion} == {other}
    assert [world.run(site, f"cat {name}").strip() for site in SITES] == before
    changed = [(str(c.end), " ".join(c.argv)) for leg in trial.legs for c in leg.commands if c.role == "setting"]
    assert {("far", "sysctl net.ipv4.tcp_sack: 1 -> 0"), ("near", "sysctl net.ipv4.tcp_sack: 1 -> 0")} < set(changed)
    assert sum(one.endswith(" 2097152") and "tcp_rmem" in one for _, one in changed) == 2
    assert sum(f"4096 262144 {16 << 20}" in one and "tcp_wmem" in one for _, one in changed) == 2
    assert {("far", "sysctl net.ipv4.tcp_ecn: 2 -> 1"), ("near", "sysctl net.ipv4.tcp_ecn: 2 -> 1")} < set(changed)
    for name, value in (("tcp_sack", "1"), ("tcp_ecn", "2"), ("tcp_wmem", f"4096\t16384\t{16 << 20}")):
        assert [world.run(site, f"cat /proc/sys/net/ipv4/{name}").strip() for site in SITES] == [value, value]


@pytest.mark.parametrize("site", SITES)
def test_a_setting_that_somebody_changes_meanwhile_spoils_the_trial_and_is_told(world: LoanWorld, site: str) -> None:
    run = started(world, duration=4)
    world.run(site, "ip link set sh0 mtu 8000")
    assert run.wait() == 1, run.said
    nothing_is_left(world)
    (trial,) = run.trials()
    said = "mtu sh0 was changed by something else while it was on loan: it is 8000 and not 9000"
    assert not trial.ok and said in trial.reason, trial.reason


def test_what_somebody_changed_before_the_holder_died_is_put_back_and_told(world: LoanWorld) -> None:
    for site in SITES:  # of the tests before
        (world.lab.state(site) / "settings.notice").unlink(missing_ok=True)
    run = started(world)
    measuring = process(world, "alpha", "linkladder", "run")
    os.kill(measuring, signal.SIGSTOP)  # so that it does not look itself
    world.run("alpha", "ip link set sh0 mtu 8000")
    kill(measuring)
    run.process.communicate(timeout=20)
    nothing_is_left(world)
    notice = world.lab.state("alpha") / "settings.notice"
    said = "mtu sh0 was changed to 8000 by something else while it was on loan as 9000; it went back to 1500"
    assert said in notice.read_text()
    assert not (world.lab.state("beta") / "settings.notice").exists(), "what was as it was left is put back in silence"
    notice.unlink()


@pytest.mark.parametrize("time", TIMES)
def test_kill_9_of_the_agent(world: LoanWorld, time: int) -> None:
    run = started(world)
    with no_control(world):  # so that no new agent does it
        kill(mischief.agent(world))
        assert until(world, 10, "beta") < 10
    assert run.wait() == 0, run.said  # it is reached again, and the trial done again under the same settings
    nothing_is_left(world)


@pytest.mark.parametrize("time", TIMES)
def test_kill_9_of_the_run(world: LoanWorld, time: int) -> None:
    run = started(world)
    kill(process(world, "alpha", "linkladder", "run"))
    run.process.communicate(timeout=20)
    assert until(world, 10, *SITES) < 10
    nothing_is_left(world)
    mischief.no_tool_left(world)


@pytest.mark.parametrize("time", TIMES)
def test_kill_9_of_the_undo_processes(world: LoanWorld, time: int) -> None:
    """Others take their places at once, so that a kill of their holders after it leaves nothing changed."""
    run = started(world)
    first = {site: undo(world, site) for site in SITES}
    kill(*first.values())
    for site in SITES:
        mischief.until(lambda site=site: undo(world, site) != first[site] or None, 5, "nobody took its place")
    with no_control(world):
        kill(mischief.agent(world), process(world, "alpha", "linkladder", "run"))
        run.process.communicate(timeout=20)
        assert until(world, 10, *SITES) < 10
    nothing_is_left(world)


def test_kill_9_of_the_agent_and_its_undo_at_once_is_put_back_by_the_next_channel(world: LoanWorld) -> None:
    run = started(world)
    kill(undo(world, "beta"), mischief.agent(world))
    assert run.wait() == 0, run.said
    nothing_is_left(world)


def test_loss_of_the_peer(world: LoanWorld) -> None:
    """Neither end hears the other: each puts back by itself, the far one when nobody has renewed for 15 s."""
    run = started(world, duration=60)
    with no_control(world):
        until(world, 45, *SITES)  # before the trial would have come to its end
        assert run.process.poll() is None, "it seeks the peer"
        run.process.terminate()  # before the peer is there again, and the trial done again
        run.process.communicate(timeout=30)
    nothing_is_left(world)


HANGS = """
import asyncio, sys
from linkladder import cli
from linkladder.engine import leases, leg

leases.SECONDS, leases.RENEWAL, leases.STEP = 4.0, 1.0, 6.0

waits = leg.RunningLeg._wait

async def for_ever(self, clients, limit):
    await (asyncio.Event().wait() if self.exp.settings else waits(self, clients, limit))

leg.RunningLeg._wait = for_ever
sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_run_that_hangs_while_its_clock_goes_on_keeps_no_settings(world: LoanWorld) -> None:
    """What waits for the tools waits for ever; renewing is a task of its own in the same process, and goes on."""
    plan = f"{world.folder}/hangs.toml"
    world.write("alpha", plan, mischief.plan_text(world, duration=4, more=NINE))
    mischief.until(lambda: None if mischief.serving(world) else True, 60, "an earlier run holds the far end")
    argv = world.lab.command("alpha", [sys.executable, "-c", HANGS, "run", "--plan", plan, "--peer", "beta"])
    run = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        mischief.until(lambda: True if lent(world) == INSIDE else None, 60, "the settings did not come into force")
        until(world, 60, *SITES)
        assert run.poll() is None, "it still hangs"
    finally:
        run.kill()
        print(run.communicate()[0])
    nothing_is_left(world)
    mischief.no_tool_left(world)


def failed(world: LoanWorld, plan: str) -> str:
    run = mischief.Run(world, plan)
    run.wait()
    nothing_is_left(world)
    (trial,) = run.trials()
    assert not trial.ok and trial.fault == "tool"
    return trial.reason


def test_the_adapter_that_carries_control_stays_as_it_is(world: LoanWorld) -> None:
    control = [world.lab.address(site, "control") for site in SITES]
    path = f'[path.same-host]\nlocal = "{control[0]}"\nremote = "{control[1]}"\npeer = "beta"\n'
    text = mischief.plan_text(world, duration=2, more=f"{NINE}\n{path}")
    assert "mg0 carries control" in failed(world, text)


def test_what_a_machine_refuses_fails_the_trial_and_says_so(world: LoanWorld) -> None:
    """The ceilings of what a program may ask for are the whole machine's, and no namespace may write them."""
    text = mischief.plan_text(world, duration=2, more='settings = [{kind = "send-ceiling", value = 1048576}]')
    assert "net.core.wmem_max" in failed(world, text)


def test_what_cannot_be_put_back_blocks_the_next_run_and_says_so(world: LoanWorld) -> None:
    run = started(world)
    with_undo, measuring = undo(world, "alpha"), process(world, "alpha", "linkladder", "run")
    os.kill(measuring, signal.SIGSTOP)  # so that it starts no other in the killed one's place
    kill(with_undo, measuring)
    run.process.communicate(timeout=20)
    path = world.lab.state("alpha") / "settings.journal"
    kept = path.read_text()
    path.write_text(kept.replace('"1500"', '"70000"'))  # no adapter takes that
    blocked = mischief.Run(world, mischief.plan_text(world, duration=2), name="blocked")
    _, errors = blocked.process.communicate(timeout=30)
    assert blocked.process.returncode != 0
    assert "could not be put back" in errors and "mtu sh0" in errors
    path.write_text(kept)
    free = mischief.Run(world, mischief.plan_text(world, duration=2), name="free")
    assert free.wait() == 0
    nothing_is_left(world)


TRYING = """
import asyncio, sys
from linkladder import keeping
from linkladder.model import End, Path, Setting, SettingKind

keeping.SECONDS = float(sys.argv[1])
wanted = (Setting(SettingKind.MTU, "9000", (End.NEAR,)),)

async def asked(changes, seconds):
    print(*changes, flush=True)
    return (await asyncio.to_thread(sys.stdin.readline)).strip() == "yes"

print(asyncio.run(keeping.tried(keeping.Winners(wanted, (Path(sys.argv[2], sys.argv[3], "beta"),), ()), asked)))
"""


def trying(world: LoanWorld, seconds: float) -> subprocess.Popen[str]:
    """What won is in force on alpha, and a person is asked whether to keep it."""
    here, there = (world.lab.address(site, "same-host") for site in SITES)
    argv = world.lab.command("alpha", [sys.executable, "-c", TRYING, f"{seconds:g}", here, there])
    pipe = subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert process.stdout
    assert process.stdout.readline() == "mtu sh0: 1500 -> 9000\n", process.communicate()
    assert lent(world)["alpha"][0] == "9000"
    return process


@pytest.mark.parametrize(("typed", "answer"), [("yes", "True"), ("no", "False")])
def test_what_is_tried_before_it_is_kept_is_put_back_with_the_answer(world: LoanWorld, typed: str, answer: str) -> None:
    process = trying(world, 60)
    assert process.communicate(f"{typed}\n", 20)[0] == f"{answer}\n"
    nothing_is_left(world)


def test_who_is_cut_off_by_what_is_tried_has_it_put_back_when_time_is_up(world: LoanWorld) -> None:
    process = trying(world, 2)
    until(world, 15, "alpha")
    assert process.poll() is None, "nobody has answered"
    process.communicate("no\n", 20)
    nothing_is_left(world)


def test_what_is_tried_is_put_back_when_the_one_who_asks_is_killed(world: LoanWorld) -> None:
    process = trying(world, 60)
    process.kill()
    process.communicate()
    nothing_is_left(world)


def test_a_bundle_that_linux_does_not_lend_is_told_and_left_out(world: LoanWorld) -> None:
    lagg = 'settings = [{kind = "lagg", value = "roundrobin"}]'
    run = mischief.Run(world, mischief.plan_text(world, duration=2, more=lagg))
    told = run.process.communicate(timeout=60)
    assert run.process.returncode == 0, told
    document = run.document()
    assert not [t for r in document.rungs for e in r.experiments for t in e.trials]
    notes = [note for note in document.run.notes if "left out" in note]
    assert any("runs Linux, and bundles are made on loan by FreeBSD's lagg alone" in note for note in notes), notes
    assert now(world) == world.before
