"""A dry run shows the command that confines or pins each tool, as the ends will run it."""

from __future__ import annotations

import os

import pytest

from linkladder.engine.command_lines import planned
from linkladder.model import Affinity, End, Experiment, HostFacts, Nic, Path
from linkladder.tools import ToolVersions

PATH = Path("10.0.0.1", "10.0.0.2", "beta")
FOUND = {"iperf": "2.1.8", "ping": "present"}
KNOWN = {End.NEAR: ToolVersions(FOUND, "Linux"), End.FAR: ToolVersions(FOUND, "FreeBSD")}
FAR = HostFacts(
    "beta", "FreeBSD", cores=4, threads=((0, 1), (2, 3)),
    nics=(Nic("vmx1", addresses=("10.0.0.2",), queue_cores=(1, 3)),),
)  # fmt: skip


def shown(exp: Experiment, facts: dict[str, HostFacts] | None = None) -> list[str]:
    return [line for line in planned(exp, [PATH], [KNOWN], [5301], "", facts) if "iperf" in line or "ping" in line]


def test_confined_and_named_cores_stand_before_every_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LINKLADDER_CORES", raising=False)
    one = shown(Experiment("e", cores=1, ping_under_load=True))
    assert one[0].startswith("far: cpuset -l 0 iperf -s") and one[1].startswith("near: taskset -c 0 iperf -c")
    assert [line.split()[1] for line in one[2:]] == ["ping", "ping"], "what is beside the load runs where it likes"
    named = shown(Experiment("e", on_cores=(0,)))
    assert [line.split()[:4] for line in named] == [
        ["far:", "cpuset", "-l", "0"],
        ["near:", "taskset", "-c", "0"],
    ]
    assert [line.split()[1] for line in shown(Experiment("e"))] == ["iperf", "iperf"]


def test_an_end_counts_from_the_cores_that_are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    last = str((os.cpu_count() or 1) - 1)
    monkeypatch.setenv("LINKLADDER_CORES", last)
    assert shown(Experiment("e", cores=1))[1].startswith(f"near: taskset -c {last} iperf")


@pytest.mark.parametrize(
    ("affinity", "cores"), [(Affinity.BESIDE, "1,3"), (Affinity.AWAY, "0,2"), (Affinity.SIBLINGS_IDLE, "0,2")]
)
def test_pinned_cores_are_those_of_the_other_end_where_it_is_known(affinity: Affinity, cores: str) -> None:
    exp = Experiment("e", affinity=affinity)
    assert shown(exp, {"beta": FAR})[0].startswith(f"far: cpuset -l {cores} iperf -s")
    assert shown(exp)[0].startswith("far: (") and " iperf -s" in shown(exp)[0], "in words where it is not"
