"""Loans where an adapter vanishes or a disk is full: nothing stays changed, and what cannot be told is not claimed."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
from network import GENTLE
from spaces import ip
from test_leases import NINE, SITES, LoanWorld, journal, nothing_is_left, now, started
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(240)]
ROOM = "48m"  # of each end's disk


@contextlib.contextmanager
def on_small_disks(lab: Lab) -> Iterator[None]:
    """Each end's state lies on a file system of its own, which is quickly full."""
    with contextlib.ExitStack() as mounted:
        for site in SITES:
            state = lab.state(site)
            beside = Path(mounted.enter_context(tempfile.TemporaryDirectory())) / "state"
            shutil.copytree(state, beside, symlinks=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=700", "none", state], check=True)
            mounted.callback(subprocess.run, ["umount", "-l", state], check=True)
            shutil.copytree(beside, state, symlinks=True, dirs_exist_ok=True)
        yield


@contextlib.contextmanager
def full_disk(world: LoanWorld, site: str) -> Iterator[None]:
    filler = world.lab.state(site) / "filler"
    fill(filler)
    try:
        yield
    finally:
        filler.unlink()


def fill(filler: Path) -> None:
    with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def vanish(world: LoanWorld) -> None:
    """The path's adapter is gone, at both ends as it is a pair."""
    ip("-n", world.lab.space("beta"), "link", "delete", "sh0")


def plug_in(world: LoanWorld) -> None:
    world.lab._pair("sh0", "same-host")
    world.lab.pace("sh0", world.lab.inside or 0.0)


def another(world: LoanWorld) -> tuple[int, str]:
    """A further run: what it returns, and what it says."""
    run = mischief.Run(world, mischief.plan_text(world, duration=1), name="next")
    said = "".join(run.process.communicate(timeout=60))
    return run.process.returncode, said


def none_in_force(world: LoanWorld) -> None:
    assert now(world) == world.before


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoanWorld]:
    with Lab("lxn", inside=GENTLE).paired() as lab, on_small_disks(lab):
        yield LoanWorld(lab, tmp_path_factory.mktemp("need"))


def test_an_adapter_that_vanishes_is_not_taken_for_put_back(world: LoanWorld) -> None:
    run = started(world)
    vanish(world)
    _, told = run.process.communicate(timeout=90)
    assert run.process.returncode != 0 and "settings were not put back" in told, told
    assert "sh0 is not there, so nobody can tell what its settings are" in told, told
    assert all("sh0 is not there" in journal(world, site) for site in SITES)
    for site in SITES:
        doctor = world.linkladder("doctor", site=site).communicate(timeout=60)[0]
        assert "sh0 is not there" in doctor and "accept-settings" in doctor, doctor
    code, told = another(world)
    assert code != 0 and "settings could not be put back: sh0 is not there" in told, told
    plug_in(world)
    assert another(world)[0] == 0
    none_in_force(world)
    nothing_is_left(world)


@pytest.mark.parametrize("site", SITES)
def test_on_a_full_disk_nothing_is_lent(world: LoanWorld, site: str) -> None:
    """What was before could not be remembered."""
    with full_disk(world, site):
        run = mischief.Run(world, mischief.plan_text(world, duration=2, more=NINE))
        told = "".join(run.process.communicate(timeout=90))
        none_in_force(world)
        nothing_is_left(world)
    assert run.process.returncode != 0
    reasons = [trial.reason for trial in run.trials() if not trial.ok] if site == "beta" else [told]
    assert any("No space left on device" in one or "full" in one for one in reasons), reasons
    if site == "beta":  # where alpha's own disk is full its run does not even begin
        assert any("nothing was changed, as the old values cannot be remembered" in one for one in reasons), reasons
    assert another(world)[0] == 0


@pytest.mark.parametrize("site", SITES)
def test_on_a_full_disk_everything_is_put_back(world: LoanWorld, site: str) -> None:
    run = started(world)
    with full_disk(world, site):
        run.process.communicate(timeout=90)
        none_in_force(world)
        nothing_is_left(world)
    assert another(world)[0] == 0
