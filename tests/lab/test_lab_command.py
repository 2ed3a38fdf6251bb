"""`./build.sh lab` as scripts use it: what stays up holds nothing of theirs, what goes leaves nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hostwide
import spaces
from world import TOP, Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]
NAME = "llo"  # not the lab's own name: one that a person has open is left alone
HERE = str(Path(__file__).parent)
OPEN = f"import sys; sys.path.insert(0, {HERE!r}); import lab; lab.PREFIX = {NAME!r}; sys.exit(lab.main())"
PLAN = """
name = "short"
[[experiment]]
rungs = ["same-host"]
tool = "ping"
protocol = "echo"
count = 3
"""


@pytest.fixture
def lab() -> Iterator[Lab]:
    made = Lab(NAME)
    yield made
    made.down(forget=True)


def command(*options: str) -> subprocess.CompletedProcess[str]:
    """All three of its streams are pipes, read to their ends, as `build.sh lab ... | tail` does."""
    argv = [sys.executable, "-c", OPEN, "--headless", *options]
    return subprocess.run(argv, input="", capture_output=True, text=True, check=False, timeout=90)


def test_what_stays_up_holds_no_pipe_and_the_next_unpaired_lab_is_unpaired(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, document = tmp_path / "short.toml", tmp_path / "run.json"
    plan.write_text(PLAN)
    kept = command("--keep", "--dc-delay", "4", "--plan", str(plan), "--json", str(document))
    assert kept.returncode == 0, kept.stderr
    assert json.loads(document.read_text())["run"]["state"] == "complete"
    assert any("sshd" in line for line in spaces.processes(lab.space("beta")).values()), "it is up"
    alone = command("--unpaired", "--plan", str(plan))
    said = "alpha and beta knew the other from an earlier lab: that is forgotten, the runs are kept"
    assert said in alone.stderr.splitlines(), alone.stderr
    assert alone.returncode == 3 and "paired are: none" in alone.stderr, alone.stderr
    monkeypatch.setenv("LINKLADDER_STATE", str(lab.state("alpha")))
    shown = subprocess.run([sys.executable, "-m", "linkladder", "runs", "--json"], capture_output=True, check=True)
    assert "complete" in [run["state"] for run in json.loads(shown.stdout)], "that of the paired lab"


def test_a_plan_that_cannot_be_read_leaves_no_earlier_run_in_its_place(lab: Lab, tmp_path: Path) -> None:
    plan, first, second = tmp_path / "short.toml", tmp_path / "first.json", tmp_path / "second.json"
    plan.write_text(PLAN)
    assert command("--keep", "--plan", str(plan), "--json", str(first)).returncode == 0 and first.exists()
    refused = command("--plan", "shrot", "--json", str(second), "--html", str(second))
    assert refused.returncode == 2 and "there is no plan 'shrot'" in refused.stderr
    assert not second.exists()


@pytest.mark.alone  # what others hold raised would stay, and its loopback takes all the cores
def test_the_lab_leaves_nothing_behind(tmp_path: Path) -> None:
    """As a person would: up, a short plan, down; then no namespace, no process, no raised ceiling is left."""
    before = hostwide.before("net.core.rmem_max")
    one, plan = TOP / "tests" / "lab" / "lab.py", tmp_path / "short.toml"
    plan.write_text('name = "short"\n[[experiment]]\nrungs = ["localhost", "same-host"]\nduration = 2\nwarmup = 1\n')
    done = subprocess.run(
        [sys.executable, str(one), "--headless", "--plan", str(plan), "--rung", "localhost"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    verdict = done.stderr.strip().splitlines()[-1]
    assert re.match(r"INCOMPLETE: only the generator was measured, no link\. The generator .*b/s", verdict), verdict
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.split()
    assert not {"ll-alpha", "ll-beta", "ll-net"} & set(names)
    if not any(name.endswith("-alpha") for name in names):
        assert Path("/proc/sys/net/core/rmem_max").read_text().strip() == before
