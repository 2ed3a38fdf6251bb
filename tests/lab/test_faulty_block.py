"""A disk that takes no more blocks in mid-run: the run ends with the reason, and what was kept is there.

The disk is a file in memory, and the memory that it may take is used up: the kernel then answers every write of a new
block with an input/output error, as it does for a worn-out drive.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import mischief
from linkladder.store import Store
from network import GENTLE
from test_failures import LabWorld
from world import Lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]
SIZE, MEMORY = "512M", "48M"  # the first is what the file system believes
KEPT = 2  # trials before the disk fails
REASONS = "the disk cannot be written|the disk is full"  # the kernel passes on what the memory below it says, or not


class Disk:
    """A file system at `place`, with what was there before in it; whose blocks can be used up, and be had again."""

    def __init__(self, place: Path, folder: Path) -> None:
        self.place, self._memory = place, folder / "memory"
        self._memory.mkdir()
        _do("mount", "-t", "tmpfs", "-o", f"size={MEMORY}", "tmpfs", str(self._memory))
        self._file, self._rest = self._memory / "disk", self._memory / "rest"
        _do("truncate", "-s", SIZE, str(self._file))
        whole = "lazy_journal_init=0,lazy_itable_init=0"  # a journal of good blocks, and few files
        _do("mkfs.ext4", "-q", "-N", "2000", "-J", "size=4", "-E", whole, str(self._file))
        self._devices = [_do("losetup", "-f", "--show", str(self._file)).strip()]
        inside = folder / "new"
        inside.mkdir()
        _do("mount", self._devices[0], str(inside))
        _do("cp", "-a", f"{place}/.", str(inside))
        _do("sync", "-f", str(inside))
        _do("mount", "--move", str(inside), str(place))

    def fail(self) -> None:
        """No new block can be written from now on."""
        with self._rest.open("wb", buffering=0) as rest:
            try:
                while rest.write(b"\0" * 2**20):
                    pass
            except OSError:
                return

    def repair(self) -> None:
        """As a person does it: what the drive holds is copied to a good one, checked, and the machine started from it.

        Other tests' namespaces may hold the old file system still; it is left to them.
        """
        self._rest.unlink()
        _do("umount", "--lazy", str(self.place))
        good = self._memory / "good"
        _do("cp", "--sparse=always", str(self._file), str(good))
        checked = subprocess.run(["e2fsck", "-y", "-f", str(good)], capture_output=True, text=True, check=False)
        assert checked.returncode in (0, 1), checked.stdout  # whole, or mended
        self._devices.append(_do("losetup", "-f", "--show", str(good)).strip())
        _do("mount", self._devices[-1], str(self.place))

    def close(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.place)], capture_output=True, check=False)
        for device in self._devices:
            subprocess.run(["losetup", "-d", device], capture_output=True, check=False)
        subprocess.run(["umount", "--lazy", str(self._memory)], capture_output=True, check=False)


def _do(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout


@pytest.fixture
def world(tmp_path: Path) -> Iterator[LabWorld]:
    with Lab("llfb", inside=GENTLE).paired() as lab:
        yield LabWorld(lab, tmp_path)


@pytest.fixture
def disk(world: LabWorld, tmp_path: Path) -> Iterator[Disk]:
    assert shutil.which("mkfs.ext4") and shutil.which("losetup")
    made = Disk(world.lab.state("alpha"), tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_a_disk_that_fails_in_mid_run(world: LabWorld, disk: Disk) -> None:
    run = mischief.Run(world, mischief.plan_text(world, duration=2, repeats=6))
    mischief.until(lambda: True if _stored(world) >= KEPT else None, 60, "no trials were stored")
    disk.fail()
    _, errors = run.process.communicate(timeout=60)
    assert run.process.returncode == 3, errors
    assert re.search(f"incomplete: ({REASONS})", errors) and "Traceback" not in errors, errors
    mischief.no_tool_left(world)
    reads_all_the_same(world)
    disk.repair()
    listed = said(world, 0, "runs")
    assert "damaged" not in listed, listed
    document, kept = run.document(), run.trials()
    assert document.run.state == "incomplete" and len(kept) >= KEPT and all(t.ok for t in kept), document.run
    again = world.linkladder("run", "--resume", "last")
    _, errors = again.communicate(timeout=90)
    assert again.returncode == 0, errors
    assert [t.ok for t in run.trials()] == [True] * 6


def reads_all_the_same(world: LabWorld) -> None:
    """What was measured is told and reported by such a disk, a new run is refused, and the doctor names the disk."""
    assert "tcp-2s" in said(world, 0, "show", "last")
    assert "trials" in said(world, 0, "runs")
    assert "wrote" in said(world, 0, "report", "last", "--html", f"{world.folder}/r.html")
    assert "the disk" in said(world, 3, "run", "--plan", "quick", "--peer", "beta")
    assert "cannot be written" in said(world, 1, "doctor")


def said(world: LabWorld, status: int, *words: str) -> str:
    """Both its outputs."""
    command = world.linkladder(*words)
    out, errors = command.communicate(timeout=60)
    assert command.returncode == status and "Traceback" not in errors, (words, out, errors)
    return out + errors


def _stored(world: LabWorld) -> int:
    """Trials of the run under way that are in the store: looked at there, as a command takes long on a busy machine."""
    found = Store(world.lab.state("alpha"))
    try:
        newest = found.runs()[:1]
        return newest[0].trials if newest else 0
    finally:
        found.close()
