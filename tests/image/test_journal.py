"""The journal that a first boot gives the root file system: the real script, with stand-ins for the programs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "overlay/etc/rc.d/lljournal"
WITHOUT = "the root file system stays without a journal; fsck repairs it after a power cut\n"
JOURNALLED = ["tunefs -n enable /", "tunefs -j enable -S 4194304 /"]
LAID_OUT_BY_THE_KERNEL = ["mount -uw /", "mount -ur /"]

# Of an image that poudriere made, as dumpfs(8) tells of it; tunefs made an end of 128 of its files.
DUMPFS = """magic\t19540119 (UFS2)
nbfree\t69765\tndir\t666\tnifree\t391807\tnffree\t6
bpg\t20042\tfpg\t160336\tipg\t80256\tunrefs\t0
nindir\t4096\tinopb\t128\tmaxfilesize\t2252349704110079

cg 0:
magic\t90255\ttell\t20000\ttime\tSat Nov 28 23:09:25 2026
cgx\t0\tndblk\t160336\tniblk\t80256\tinitiblk {laid_out}\tunrefs 0
nbfree\t549\tndir\t666\tnifree\t{left}\tnffree\t6
rotor\t155936\tirotor\t0\tfrotor\t155936
inodes used:\t{used}
blks free:\t155938-160335

cg 1:
magic\t90255\ttell\t27270000\ttime\tSat Nov 28 23:09:25 2026
cgx\t1\tndblk\t160336\tniblk\t80256\tinitiblk 256\tunrefs 0
nbfree\t17491\tndir\t0\tnifree\t80256\tnffree\t0
inodes used:\t
blks free:\t0-7, 20416-160335
"""
STAND_INS = {
    "mount": """[ "$1" = -p ] && { echo "/dev/ufs/linkladder / ufs ro 1 1"; exit; }
echo "mount $*" >>"$MADE/done"
[ ! -e "$MADE/after-$1" ] || cp "$MADE/after-$1" "$MADE/told"
""",
    "dumpfs": 'cat "$MADE/told"',
    "tunefs": """[ "$1" = -p ] && { echo "tunefs: soft update journaling: (-j) disabled" >&2; exit; }
echo "tunefs $*" >>"$MADE/done"
""",
    "touch": '[ "$1" = /.lljournal ] && : >"$MADE/made"',
    "rm": '[ "$1" = /.lljournal ] && mv "$MADE/made" "$MADE/removed"',
}


def told(used: str, laid_out: int, left: int = 70783) -> str:
    return DUMPFS.format(used=used, laid_out=laid_out, left=left)


def boot(tmp_path: Path, now: str, after: str = "") -> tuple[list[str], str]:
    """What was done to the file system, and what was said; `after`: what dumpfs tells once the kernel has written."""
    (tmp_path / "told").write_text(now)
    if after:
        (tmp_path / "after--ur").write_text(after)
    for name, text in STAND_INS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    functions = "".join(
        line
        for line in SCRIPT.read_text().splitlines(keepends=True)
        if not line.startswith((". /etc/rc.subr", "load_rc_config", "run_rc_command"))
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "MADE": str(tmp_path)}
    done = subprocess.run(
        ["sh", "-eu", "-c", f"{functions}\nlljournal_start"], capture_output=True, text=True, env=env, check=True
    )
    assert not done.stderr
    list_of_it = tmp_path / "done"
    return list_of_it.read_text().splitlines() if list_of_it.exists() else [], done.stdout


@pytest.mark.parametrize(
    ("used", "laid_out"),
    [
        ("0-9471", 9600),
        ("0-9473", 9728),
        ("0-2", 256),
        ("0, 2-127", 256),
        ("2-9472", 9600),
        ("", 256),
        ("0-80200", 80256),
    ],
)
def test_where_inodes_are_laid_out_tunefs_takes_one(tmp_path: Path, used: str, laid_out: int) -> None:
    assert boot(tmp_path, told(used, laid_out)) == (JOURNALLED, "")


@pytest.mark.parametrize(
    ("used", "laid_out"), [("0-9472", 9600), ("0-128", 256), ("0-9599", 9600), ("0-9472, 9474", 9600)]
)
def test_where_none_is_the_kernel_lays_out_more_first(tmp_path: Path, used: str, laid_out: int) -> None:
    done = boot(tmp_path, told(used, laid_out), told(used, laid_out + 128))
    assert done == (LAID_OUT_BY_THE_KERNEL + JOURNALLED, "")
    assert (tmp_path / "removed").exists(), "the file that made the kernel do so is left"


def test_where_the_kernel_laid_out_none_there_is_no_journal(tmp_path: Path) -> None:
    assert boot(tmp_path, told("0-9472", 9600)) == (LAID_OUT_BY_THE_KERNEL, WITHOUT)


@pytest.mark.parametrize("now", ["", "dumpfs: /: could not find superblock\n"])
def test_where_nothing_can_be_told_of_it_there_is_no_journal(tmp_path: Path, now: str) -> None:
    assert boot(tmp_path, now) == (LAID_OUT_BY_THE_KERNEL, WITHOUT)


def test_a_full_group_is_passed_over_as_tunefs_does(tmp_path: Path) -> None:
    assert boot(tmp_path, told("0-80255", 80256, left=0)) == (JOURNALLED, "")
