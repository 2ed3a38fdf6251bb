"""`./build.sh lab` as scripts use it: what stays up holds nothing of theirs, and an unpaired lab is unpaired."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import spaces
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]
NAME = "llk"  # not the lab's own name: one that a person has open is left alone
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
