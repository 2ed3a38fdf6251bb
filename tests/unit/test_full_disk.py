"""A disk without a single free block is no dead end: runs are listed and deleted, as every message of it advises."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkladder import cli
from linkladder.store import DiskFull, Store, reserve
from test_damage import stored

pytestmark = pytest.mark.lab


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    disk = tmp_path / "small"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", str(disk)], check=True)
    monkeypatch.setenv("LINKLADDER_STATE", str(disk))
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> None:
    with (disk / "others").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def measured(disk: Path) -> None:
    store = Store(disk)
    store.check_space(3)  # as each run does before it begins
    store.close()
    stored(disk)


def test_a_run_is_listed_and_deleted(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured(small)
    fill(small)
    for left in (2, 1, 0):
        assert cli.main(["runs", "--delete", "last", "--yes"]) == 0
        capsys.readouterr()
        assert cli.main(["runs"]) == 0
        assert capsys.readouterr().out.count("quick") == left
        fill(small)  # somebody else takes what was freed, as logs do


def test_a_console_that_has_the_runs_open_deletes_one(small: Path) -> None:
    measured(small)
    store = Store(small)
    fill(small)
    store.delete("last")
    assert len(store.runs()) == 2
    store.close()


def test_the_next_run_keeps_the_room_again(small: Path) -> None:
    measured(small)
    assert reserve.give_up(small) and not reserve.give_up(small)
    fill(small)
    with pytest.raises(DiskFull, match="the disk is full"):
        Store(small)
    (small / "others").unlink()
    measured(small)
    assert reserve.give_up(small)
