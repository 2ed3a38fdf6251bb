"""Every failure that linkladder promises to survive, caused between two real ends in namespaces."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

import mischief
import spaces
from linkladder import host, judge
from linkladder.agent.sampling import LATER, SHORTEST
from linkladder.model import SCHEMA, EndRecord
from linkladder.tools.netperf.argv import WAIT
from network import GENTLE
from under_way import counted_seconds
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]
LONGEST_FIRST = SHORTEST + LATER  # seconds that the first sample spans at most: of a line sooner it waits for the next


class LabWorld:
    """The lab as a mischief.World."""

    rung = "same-host"
    python = sys.executable

    def __init__(self, lab: Lab, folder: Path) -> None:
        self.lab = lab
        self.folder = str(folder)

    def run(self, site: str, script: str, check: bool = True) -> str:
        argv = ["ip", "netns", "exec", self.lab.space(site), "sh", "-c", script]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def linkladder(self, *args: str, env: dict[str, str] | None = None, site: str = "alpha") -> subprocess.Popen[str]:
        argv = self.lab.command(site, [sys.executable, "-m", "linkladder", *args], env)
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True)

    def write(self, site: str, path: str, text: str, mode: int = 0o644) -> None:
        Path(path).write_text(text)
        Path(path).chmod(mode)

    def processes(self, site: str) -> dict[int, str]:
        return spaces.processes(self.lab.space(site))

    def path_interface(self, site: str) -> str:
        return "sh0"

    @contextmanager
    def false_iperf(self, site: str, script: str) -> Iterator[dict[str, str]]:
        folder = Path(self.folder) / f"false-{site}"
        folder.mkdir(exist_ok=True)
        self.write(site, str(folder / "iperf"), script, 0o755)
        if site == "alpha":
            yield {"LINKLADDER_TOOLS_PATH": str(folder)}
            return
        self.lab.environment(site, LINKLADDER_TOOLS_PATH=str(folder))
        try:
            yield {}
        finally:
            self.lab.environment(site)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabWorld]:
    with Lab("llf", inside=GENTLE).paired() as lab:
        yield LabWorld(lab, tmp_path_factory.mktemp("mischief"))


@pytest.mark.parametrize("failure", mischief.ALL, ids=lambda f: f.__name__)
def test_failure(world: LabWorld, failure: Callable[[mischief.World], None]) -> None:
    failure(world)


def test_busy_names_who_holds_it(world: LabWorld) -> None:
    first = mischief.Run(world, mischief.plan_text(world, duration=30))  # while two more start, on a busy machine
    mischief.tool(world, "alpha", "-c")
    here = world.linkladder("run", "--plan", f"{world.folder}/trial.toml", "--peer", "beta")
    there = world.linkladder("run", "--plan", f"{world.folder}/trial.toml", "--peer", "alpha", site="beta")
    _, own = here.communicate(timeout=30)
    _, errors = there.communicate(timeout=30)
    assert (here.returncode, there.returncode) == (3, 3)
    assert "a run is going on already" in own and "linkladder watch" in own
    assert "this appliance is busy" in errors and "why: alpha, run " in errors
    assert world.linkladder("runs", site="beta").communicate(timeout=30)[0].count("alpha") == 0, "a run was stored"
    assert first.wait() == 0


def test_the_peer_is_named_when_there_is_none(world: LabWorld) -> None:
    lost = world.linkladder("run", "--plan", "quick", "--rung", "same-host", "--peer", "gamma")
    _, errors = lost.communicate(timeout=30)
    assert lost.returncode == 3
    assert "gamma" in errors


def test_json_on_standard_output_is_all_there_is(world: LabWorld) -> None:
    world.write("alpha", f"{world.folder}/one.toml", mischief.plan_text(world, duration=2))
    run = world.linkladder("run", "--plan", f"{world.folder}/one.toml", "--peer", "beta", "--json", "-")
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert json.loads(out)["schema"] == SCHEMA


def test_what_the_ends_saw_is_told_in_the_tool_s_seconds(world: LabWorld) -> None:
    """A tool that takes three seconds to begin, as on a busy machine: its end's samples count from its first second."""
    with mischief.false_iperf(world, "alpha", f'sleep 3; exec {shutil.which("iperf")} "$@"') as env:
        run = mischief.Run(world, mischief.plan_text(world, duration=3), env=env)
        assert run.wait(60) == 0, run.said
    (trial,) = run.trials()
    for end in trial.ends:
        assert end.samples[0].t < LONGEST_FIRST - 3, end.samples[0]
        sent = [(s.t, sum(nic.tx_bytes + nic.rx_bytes for nic in s.nics)) for s in end.samples]
        waited = [b - a for (_, a), (t, b) in pairwise(sent) if t < -0.5]
        loaded = [b - a for (t, a), (until, b) in pairwise(sent) if t > 0.5 and until < 3.5]
        assert waited and loaded and max(waited) < min(loaded) / 2, (end.name, sent)
        assert abs(end.samples[-1].t - 4) < 1.5, end.samples[-1]
        in_counted_seconds(end, 1, 4)


SESSIONS = """
name = "sessions"
[[experiment]]
rungs = ["same-host"]
tool = "netperf"
protocol = "rr"
sessions = 3
duration = 3
warmup = 1
"""


def test_sessions_that_wait_for_each_other_count_from_when_the_last_one_asks(world: LabWorld) -> None:
    run = mischief.Run(world, SESSIONS)
    assert run.wait(60) == 0, run.said
    (trial,) = run.trials()
    for end in trial.ends:
        assert end.samples[0].t < LONGEST_FIRST - WAIT, "the sampling does not begin two seconds before"
        in_counted_seconds(end, 1, 4)


def in_counted_seconds(end: EndRecord, start: float, until: float) -> None:
    """Its CPU is that of these of its samples."""
    use, _ = host.summarise(end.samples, 0, start, until)
    assert end.cpu and end.cpu.per_core == pytest.approx(use.per_core, abs=0.5), (end.cpu, use)


STANDING = """
name = "standing"
[[experiment]]
rungs = ["dc-link"]
streams = 2
duration = 12
warmup = 1
"""


@pytest.mark.parametrize("seconds", [0, 2], ids=["from the beginning", "after two seconds"])
def test_an_end_that_stands_still_is_not_taken_for_an_outage_of_the_link(world: LabWorld, seconds: int) -> None:
    """Far tool and agent are stopped for some seconds, as an overloaded machine or a hypervisor does it."""
    run = mischief.Run(world, STANDING)
    stopped = [mischief.tool(world, "beta", "-s"), mischief.agent(world)]
    mischief.tool(world, "alpha", "-c")
    mischief.until(lambda: counted_seconds(world.lab) >= seconds or None, mischief.PATIENCE, "no second was counted")
    world.run("beta", f"kill -STOP {' '.join(map(str, stopped))}")
    try:
        time.sleep(5)  # what is tried: an end that stands for longer than a second may go without any bytes
    finally:
        world.run("beta", f"kill -CONT {' '.join(map(str, stopped))}")
    assert run.wait() == 0, run.said
    (trial,) = run.trials()
    assert [one.seconds for end in trial.ends if end.name == "far" for one in end.held_up if one.seconds > 4], (
        trial.ends
    )
    judged = world.linkladder("judge", "last", "--json").communicate(timeout=60)[0]
    (found,) = [c for r in json.loads(judged)["rungs"] for c in r["judgement"]["concerns"] if c["cause"] == "outage"]
    assert found["best"] == "CANNOT JUDGE" and "stood still itself" in found["sentence"], found


PAIRED = "baseline = {streams = 1}\n"


def test_a_pair_that_a_killed_tool_voided_is_measured_once_more(world: LabWorld) -> None:
    run = mischief.Run(world, mischief.plan_text(world, duration=1, repeats=4, more=PAIRED))
    world.run("alpha", f"kill -9 {mischief.under_way(world)}")
    assert run.wait() == 1, run.said
    assert "1 pair is void" in run.said
    document = run.document()
    (rung,) = document.rungs
    oks = sorted([t.ok for t in e.trials] for e in rung.experiments)
    assert oks == [[False, *[True] * 4], [True] * 5], run.said
    (change,) = next(j for j in judge.judge_document(document).rungs if j.changes).changes
    assert (change.pairs, change.void, change.planned) == (4, 1, 5)
    assert sum("1 pair is void" in note for note in document.run.notes) == 1, document.run.notes
