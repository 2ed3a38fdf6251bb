"""Whether a new system is kept on trial is decided by root and the console's user: nothing of the measuring user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkladder import doctor, upgrading
from linkladder.findings import Health
from linkladder.settings.journal import NAME

MINUTE = 60


@pytest.fixture
def measuring(tmp_path: Path) -> Path:
    folder = tmp_path / "measuring"
    folder.mkdir()
    return folder


def healthy(measuring: Path, *before: str, **more: str) -> str:
    """What the script that keeps a new system is told; what is wrong with this machine anyway was so before."""
    upgrading.note_red(one.title for one in doctor.examine() if one.state == Health.BAD)
    environment = {**os.environ, "LINKLADDER_MEASURING": str(measuring), **more}
    argv = [*before, sys.executable, "-m", "linkladder", "system", "upgrade", "--healthy"]
    return subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=MINUTE).stdout.strip()


def test_a_record_that_the_measuring_user_left_brings_no_earlier_system_back(measuring: Path) -> None:
    (measuring / NAME).write_text("no record")
    assert healthy(measuring) == "healthy"


def test_nor_do_agents_that_are_killed(measuring: Path) -> None:
    killed = measuring / "agent"
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    assert healthy(measuring, LINKLADDER_AGENT=str(killed)) == "healthy"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a disk that can be filled")
def test_nor_does_a_disk_that_is_filled(measuring: Path, own_state: Path) -> None:
    fill = """mount -t tmpfs -o size=2m tmpfs "$LINKLADDER_STATE"; cp "$1/red" "$LINKLADDER_STATE/upgrade-red.json"
mkdir "$LINKLADDER_STATE/measuring"; head -c 4m /dev/zero >"$LINKLADDER_STATE/measuring/much" 2>/dev/null
shift; exec "$@" """
    upgrading.note_red(one.title for one in doctor.examine() if one.state == Health.BAD)
    (own_state / upgrading.RED).rename(measuring / "red")
    assert healthy(measuring, "unshare", "-m", "sh", "-c", fill, "sh", str(measuring)) == "healthy"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a disk that cannot be written to")
def test_what_is_wrong_with_the_system_itself_counts_as_ever(measuring: Path, own_state: Path) -> None:
    closed = 'mount -t tmpfs -o ro tmpfs "$LINKLADDER_STATE"; exec "$@"'
    said = healthy(measuring, "unshare", "-m", "sh", "-c", closed, "sh")
    assert "healthy" not in said.splitlines() and str(own_state) in said, said
