"""What tells a machine from its copy at boot: the real script, with stand-ins for the programs that it asks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
SCRIPT = TOP / "overlay/usr/local/libexec/linkladder-machine"
UUID, OTHER = "564d5d5e-6f2a-9b1c-3c4d-0c29aabbccdd", "564d1111-2222-3333-4444-0c29aabbccdd"
KEPT = {"hostid", "ssh_host_ed25519_key", "ssh_host_ed25519_key.pub", "operator_keys"}


def stand_in(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).write_text(f"#!/bin/sh\n[ -n '{says}' ] && echo '{says}'\n")
    (tmp_path / name).chmod(0o755)


def boots(tmp_path: Path, uuid: str, serial: str) -> tuple[set[str], str]:
    """What is there after the script of a boot on such a machine, and what it said."""
    stand_in(tmp_path, "kenv", uuid)
    stand_in(tmp_path, "diskinfo", serial)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", SCRIPT, tmp_path / "system", "da0"], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return {p.name for p in (tmp_path / "system").rglob("*") if p.is_file()} - {"machine"}, done.stdout


def booted(tmp_path: Path, uuid: str, serial: str) -> None:
    (tmp_path / "system/ssh").mkdir(parents=True)
    assert boots(tmp_path, uuid, serial) == (set(), "")
    for name in KEPT:
        (tmp_path / "system" / ("" if name == "hostid" else "ssh") / name).write_text("x\n")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ((UUID, "6000C29a1"), (UUID, "6000C29a1")),
        ((UUID, ""), (UUID.upper(), "")),
        ((UUID, ""), (UUID, "QM00001")),  # another controller tells the number
        ((UUID, "QM00001"), (UUID, "")),
        (("", "WD-WX41A"), ("", "WD-WX41A")),
        (("00000000-0000-0000-0000-000000000000", ""), (UUID, "")),  # nobody's, and then its own
        (("Not Settable", "To Be Filled By O.E.M."), ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "00000000")),
        (("", ""), ("", "")),
    ],
)
def test_the_same_machine_stays_itself(tmp_path: Path, before: tuple[str, str], now: tuple[str, str]) -> None:
    booted(tmp_path, *before)
    for _ in range(2):
        assert boots(tmp_path, *now) == (KEPT, "")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ((UUID, "6000C29a1"), (OTHER, "6000C29b2")),
        ((UUID, "6000C29a1"), (OTHER, "6000C29a1")),
        ((UUID, ""), (OTHER, "")),
        ((UUID, "WD-WX41A"), (UUID, "WD-WX41B")),
        (("", "WD-WX41A"), (UUID, "WD-WX41B")),
    ],
)
def test_a_copy_is_another_machine_once(tmp_path: Path, before: tuple[str, str], now: tuple[str, str]) -> None:
    booted(tmp_path, *before)
    left, said = boots(tmp_path, *now)
    assert left == {"operator_keys"} and "another machine" in said
    (tmp_path / "system/hostid").write_text("new\n")
    assert boots(tmp_path, *now) == ({"operator_keys", "hostid"}, "")


def test_what_was_once_told_is_remembered_over_a_boot_that_did_not_tell(tmp_path: Path) -> None:
    booted(tmp_path, UUID, "")
    boots(tmp_path, "", "")
    assert "another machine" in boots(tmp_path, OTHER, "")[1]


def test_by_hand(tmp_path: Path) -> None:
    booted(tmp_path, UUID, "")
    subprocess.run(["sh", SCRIPT, "--forget", tmp_path / "system"], check=True)
    assert boots(tmp_path, UUID, "") == ({"operator_keys"}, "")
