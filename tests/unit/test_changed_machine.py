"""What a run notes of a machine that is not as it was before an interruption, and what two runs name as a cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from judge_documents import F, document, rung, tcp, trial, with_facts
from linkladder.engine.stored_run import keep_host
from linkladder.judge import compare
from linkladder.model import Experiment, HostFacts, Nic, Plan, Rung, RungName
from linkladder.store import Store

RSS = HostFacts(
    "alpha",
    kernel="LINKLADDER",
    memory=1027674112,
    nics=(Nic("vmx0", mtu=1500),),
    sysctls={"net.inet.rss.bits": "2", "kern.ipc.nmbclusters": "61303"},
)
NEXT_BOOT = replace(RSS, memory=1027665920, sysctls={**RSS.sysctls, "kern.ipc.nmbclusters": "61302"})
GENERIC = replace(NEXT_BOOT, kernel="GENERIC", sysctls={"kern.ipc.nmbclusters": "61302"})
BY_KERNEL = (Experiment("a", kernel="generic", begins=True), Experiment("b", kernel="kernel", baseline="a"))


def noted(folder: Path, *asked: Experiment, name: str = "near", before: HostFacts = RSS, after: HostFacts) -> str:
    store = Store(folder)
    run = store.begin(Plan("p", rungs=(Rung(RungName.LOCALHOST, experiments=asked),)), "")
    for facts in (before, after):
        keep_host(store, run, name, facts)
    return " ".join(store.load(run).run.notes)


def test_what_changed_while_a_run_was_interrupted_is_noted(tmp_path: Path) -> None:
    larger = replace(NEXT_BOOT, memory=2 * RSS.memory, nics=(Nic("vmx0", mtu=9000),))
    said = noted(tmp_path, Experiment("a"), after=larger)
    assert said.startswith("changed while the run was interrupted: near memory: 1027674112 / 2055348224; ")
    assert said.endswith("near vmx0 mtu: 1500 / 9000")


def test_a_boot_that_leaves_a_little_less_memory_is_no_change(tmp_path: Path) -> None:
    assert noted(tmp_path, Experiment("a"), after=NEXT_BOOT) == ""


def test_a_kernel_that_the_plan_starts_is_no_change(tmp_path: Path) -> None:
    assert noted(tmp_path, *BY_KERNEL, after=GENERIC) == ""


@pytest.mark.parametrize(
    ("asked", "name"), [((Experiment("a"),), "near"), (BY_KERNEL, "beta")], ids=["another plan", "another machine"]
)
def test_any_other_kernel_is_one(tmp_path: Path, asked: tuple[Experiment, ...], name: str) -> None:
    said = noted(tmp_path, *asked, name=name, after=GENERIC)
    assert f"{name} kernel: LINKLADDER / GENERIC; {name} sysctl net.inet.rss.bits: 2 / none" in said


def test_a_plan_of_kernels_notes_what_else_has_changed(tmp_path: Path) -> None:
    said = noted(tmp_path, *BY_KERNEL, after=replace(GENERIC, nics=(Nic("vmx0", mtu=9000),)))
    assert said == "changed while the run was interrupted: near vmx0 mtu: 1500 / 9000"


def test_a_plan_of_kernels_notes_a_limit_that_changed_while_the_kernel_did_not(tmp_path: Path) -> None:
    fewer = replace(NEXT_BOOT, sysctls={**RSS.sysctls, "net.inet.rss.bits": "1"})
    said = noted(tmp_path, *BY_KERNEL, after=fewer)
    assert said == "changed while the run was interrupted: near sysctl net.inet.rss.bits: 2 / 1"


def test_a_small_change_of_what_does_not_vary_by_itself_is_noted(tmp_path: Path) -> None:
    """9000 and 8996: less than a thousandth, and a tunnel somewhere."""
    cards = [replace(RSS, nics=(Nic("vmx0", mtu=mtu),)) for mtu in (9000, 8996)]
    said = noted(tmp_path, Experiment("a"), before=cards[0], after=cards[1])
    assert said == "changed while the run was interrupted: near vmx0 mtu: 9000 / 8996"


def test_two_boots_of_one_machine_are_not_why_runs_differ() -> None:
    slow, fast = (
        document(rung(RungName.SAME_VLAN, tcp(F, tuple(trial(bps, F, n) for n in range(3))))) for bps in (500e6, 900e6)
    )
    said = compare(with_facts(slow, "beta", RSS), with_facts(fast, "beta", NEXT_BOOT))
    assert "differ beyond the noise" in said.sentence and "nmbclusters" not in said.sentence
    assert not any("nmbclusters" in line or "memory" in line for line in said.environment)


def test_a_number_that_no_machine_has_is_a_change_like_any_other(tmp_path: Path) -> None:
    told = replace(RSS, sysctls={**RSS.sysctls, "kern.ipc.nmbclusters": "9" * 5000})
    assert "near sysctl kern.ipc.nmbclusters: 61303 / 999" in noted(tmp_path, Experiment("a"), after=told)
