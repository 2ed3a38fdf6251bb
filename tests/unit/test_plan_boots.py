"""Kernels as arms in a plan: what is refused, in which boots they are measured, and what is told before."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path as FilePath

import pytest

from linkladder import cli, host, phrases
from linkladder import plan as plans
from linkladder.app.experiment_text import about
from linkladder.engine.kernels import Boots, Kernels
from linkladder.host import switches
from linkladder.host.switches import Appliance
from linkladder.model import Path, Protocol, Rung
from linkladder.plan import Boot, PlanError, builtin, read_plan
from linkladder.run import process
from linkladder.upgrade import as_root, status
from linkladder.upgrade.slots import Slot, Slots

BOTH = ("kernel", "kernel.GENERIC")
HERE = Appliance(kernel="kernel", kernels=BOTH)
KERNEL = 'kernel = "generic"\nbaseline = {kernel = "kernel"}\n'


def rung(*tables: str) -> Rung:
    written = "".join(f"[[experiment]]\n{table}\n" for table in tables)
    (made,) = read_plan(f'name = "p"\nrung = "same-vlan"\n{written}').rungs
    return made


@pytest.mark.parametrize(
    "table",
    [
        'kernel = "generic"',
        'kernel = "generic"\nbaseline = true',
        'kernel = "generic"\nbaseline = {streams = 2}',
        'kernel = "kernel"\nbaseline = {kernel = "Kernel"}',
        'baseline = {kernel = "kernel"}',
        f"{KERNEL}control = true",
        f'{KERNEL}settings = [{{kind = "tso", value = "off"}}]',
        'kernel = "generic"\nbaseline = {kernel = "kernel", streams = 2}',
        f"{KERNEL}repeats = 2",
        'kernel = "../x"\nbaseline = {kernel = "kernel"}',
        'steps = [{kernel = ["generic"]}]',
    ],
)
def test_what_cannot_be_told_from_boots_is_refused(table: str) -> None:
    with pytest.raises(PlanError):
        rung(table)


def test_all_loads_of_a_kernel_share_a_boot_and_the_pairs_are_mirrored() -> None:
    made = rung("streams = 2", f"streams = [1, 4]\nrepeats = 4\n{KERNEL}", f'tool = "ping"\nrepeats = 5\n{KERNEL}')
    # The coins of the loads fell differently.
    began = {e.id: (e.kernel == "generic") == (e.protocol is Protocol.TCP) for e in made.experiments}
    made = replace(made, experiments=tuple(replace(e, begins=began[e.id]) for e in made.experiments))
    order = [(e.kernel, repeat, e.id) for e, repeat in plans.order(made)]
    assert order[0][0] == "", "what needs no boot is measured first"
    assert len(order) == len(set(order)) == plans.trials(made)
    booted = [key for key, _ in itertools.groupby(order[1:], key=lambda one: one[:2])]
    assert booted == [(b.kernel, b.repeat) for b in plans.boots(made)], "no boot is needed twice"
    first, second = booted[0][0], booted[1][0]
    assert [kernel for kernel, _ in booted] == [first, second, second, first] * 2 + [first, second]


def test_the_time_counts_every_restart_and_what_is_over_counts_no_more() -> None:
    made = rung(f"duration = 5\nrepeats = 4\n{KERNEL}")
    own = sum(plans.trial_seconds(e) * e.repeats for e in made.experiments)
    last = plans.boots(made)[-1]
    assert plans.restarts(made) == 8 + (last.kernel == "generic")
    assert plans.seconds(made) == plans.longest(made) == own + plans.BOOT * plans.restarts(made)
    e, repeat = next(iter(plans.order(made)))
    done = {(made.name.value, e.id, repeat)}
    assert plans.measured(made, done) == (1, plans.trial_seconds(e) + plans.BOOT)
    assert plans.restarts(rung("streams = 2")) == 0


def test_the_names_of_kernels_are_those_of_their_folders() -> None:
    known = Kernels("kernel", ("kernel", "kernel.GENERIC", "kernel.old"), "")
    assert [known.folder(n) for n in ("kernel", "generic", "GENERIC", "old", "rss")] == [
        "kernel", "kernel.GENERIC", "kernel.GENERIC", "kernel.old", ""
    ]  # fmt: skip


def test_a_machine_without_the_kernel_leaves_both_arms_out() -> None:
    made = rung(KERNEL)
    both = {e.id for e in made.experiments}
    lacking = Boots(Kernels("kernel", ("kernel",), "")).lacking(made)
    assert set(lacking) == both and "this machine has no kernel GENERIC (no RSS)" in lacking.values()
    assert set(Boots().lacking(made)) == both, "whoever cannot restart the machine measures neither"
    assert Boots(Kernels("kernel", BOTH, "")).lacking(made) == {}
    assert Boots().lacking(rung("streams = 2")) == {}


def test_the_words_of_an_arm_say_its_kernel() -> None:
    made = rung(KERNEL)
    plain, changed = made.experiments
    assert phrases.difference(changed, plain) == "kernel GENERIC (no RSS) instead of the appliance's kernel (RSS)"
    assert "kernel GENERIC (no RSS)" in phrases.arm(changed)
    assert plain.id != changed.id


def test_the_built_in_plan_says_that_it_restarts_and_what_it_can_tell() -> None:
    made = builtin("rss")
    made = replace(made, rungs=tuple(replace(r, paths=(Path("192.0.2.1", "192.0.2.2"),)) for r in made.rungs))
    told, count = " ".join(about(made)), plans.restarts(made)
    assert f"Restarts this machine, and no other, up to {count} times" in told
    assert "only a large difference can be told from chance" in told and "Changes nothing" not in told


@pytest.fixture
def appliance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switches, "appliance", lambda: HERE)
    monkeypatch.setattr(host, "boot_id", lambda: "1")


def test_dry_run_prints_the_boots_their_time_and_the_undo(
    appliance: None, tmp_path: FilePath, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'name = "mine"\nrung = "same-vlan"\n[[experiment]]\n{KERNEL}repeats = 4\n')
    for command in (["plan", "check", str(file)], ["run", "--plan", str(file), "--dry-run"]):
        assert cli.main(command) == 0
        said = capsys.readouterr().out
        assert " times, 1 min 30 s each: " in said and said.count("generic, ") >= 3
        assert "kernel-next NAME, then reboot, before each; undo: none is needed" in said
        assert "left out" not in said


def test_dry_run_says_on_a_machine_without_kernels_that_they_are_left_out(
    tmp_path: FilePath, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(switches, "appliance", lambda: Appliance("this is Linux, which its owner sets up"))
    assert cli.main(["plan", "show", "rss"]) == 0
    said = capsys.readouterr().out
    assert "restarts this machine" not in said.partition("\n")[2] and "this is Linux" in said


def test_nobody_to_ask_is_no_yes(
    appliance: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "measure", lambda *_, **__: pytest.fail("it was begun"))
    assert cli.main(["run", "--plan", "rss"]) == 2
    said = capsys.readouterr().err
    assert "restarts this machine, and there is nobody to ask" in said and "--restart" in said


@pytest.mark.parametrize(
    ("own", "other", "word"),
    [
        (("bootonce",), ("bootme",), "on trial"),
        (("bootme",), ("bootme", "bootonce"), "an upgrade is written"),
        (("bootme",), (), ""),
    ],
)
def test_an_upgrade_that_is_not_settled_keeps_the_machine_from_restarting(
    monkeypatch: pytest.MonkeyPatch, own: tuple[str, ...], other: tuple[str, ...], word: str
) -> None:
    running, beside = (
        Slot(f"vtbd0p{n}", n, 1 << 32, "", label, frozenset(marks))
        for n, label, marks in ((3, "llroot", own), (4, "llroot2", other))
    )
    slots = Slots("vtbd0", running, beside)
    monkeypatch.setattr(as_root, "here", lambda: slots)
    assert word in status.unsettled() and bool(status.unsettled()) == bool(word)


def test_a_boot_is_named_by_its_rung_kernel_and_repeat() -> None:
    made = rung(f"repeats = 4\n{KERNEL}")
    assert {type(b) for b in plans.boots(made)} == {Boot} and len(set(plans.boots(made))) == 8
    assert made.path == Path()
