"""A new system by one signed file, in a machine: kept if it is healthy, gone by itself if it is not, whatever is cut.

LINKLADDER_UPGRADE names an upgrade file that is signed for the image and of a later version than the image is.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

from .machine import SLOW, WRITTEN, Machine, Shell

UPGRADE = os.environ.get("LINKLADDER_UPGRADE", "")
CUTS = int(os.environ.get("LINKLADDER_UPGRADE_CUTS", "5"))
FILE = "/state/export/new.upgrade"
STATUS = "su -m linkladder -c '/usr/local/bin/linkladder system upgrade --status'"
APPLY = f"su -m linkladder -c '/usr/local/bin/linkladder system upgrade {FILE} --yes'"
LONG = 900.0  # seconds, before emulation multiplies them

pytestmark = pytest.mark.skipif(not UPGRADE, reason="LINKLADDER_UPGRADE names no upgrade file")


def bring(machine: Machine, shell: Shell, file: Path, tmp_path: Path) -> None:
    """The file into the machine, as the content of a disk that is plugged in and out."""
    assert file.is_file(), file
    size = file.stat().st_size
    disk = tmp_path / "carrier"
    disk.write_bytes(file.read_bytes() + bytes(-size % 512))
    machine.monitor(f"drive_add 0 file={disk},if=none,id=carrier,format=raw")
    machine.monitor("device_add scsi-hd,drive=carrier,bus=scsi0.0,id=carried,scsi-id=5,serial=carrier")
    find = "sh -c 'camcontrol rescan all >/dev/null; sleep 2; for d in /dev/da?; do echo $d; done | tail -1'"
    status, said = shell.run(find, 120)
    assert status == 0 and "/dev/da" in said, said
    copy = f"dd if={said.strip()} of={FILE} bs=1m 2>&1; truncate -s {size} {FILE}; ls -l {FILE}"
    status, said = shell.run(copy, 300)
    assert status == 0 and str(size) in said, said
    machine.monitor("device_del carried")


def up(machine: Machine) -> tuple[Shell, str]:
    """A shell on a machine that has started, and the status there."""
    machine.rooted = None
    machine.await_tui()
    shell = machine.root()
    return shell, shell.run(STATUS, 120)[1]


def kept(shell: Shell) -> str:
    """The status once the system is kept."""
    for _ in range(60):
        said = shell.run(f"sleep 5; {STATUS}; cat /state/system/upgrade.why", 120)[1]
        if "runs and is kept" in said:
            return said
    raise AssertionError(said)


def version(said: str) -> str:
    found = re.search(r"(\d+\.\d+\.\d+) (?:runs|is on trial)", said)
    assert found, said
    return found[1]


@pytest.mark.parametrize("firmware", ["bios", "efi"])
def test_a_healthy_upgrade_is_kept_with_all_of_the_state(image: Path, tmp_path: Path, firmware: str) -> None:
    machine = Machine(tmp_path, image, f"upgrade-{firmware}", 11, firmware=firmware)
    machine.start()
    try:
        shell, said = up(machine)
        old = version(said)
        keys = "cat /state/system/hostid /state/system/ssh/*.pub; ls -lR /state/linkladder"
        hostid = shell.run("cat /state/system/hostid /state/system/ssh/*.pub")[1]
        assert shell.run("echo mine >/state/linkladder/mine; sync")[0] == 0, keys
        bring(machine, shell, Path(UPGRADE), tmp_path)
        status, said = shell.run(APPLY, LONG)
        assert status == 0 and "starts once" in said, said
        assert "starts at the next boot, once" in shell.run(STATUS, 120)[1]
        # An emulated machine takes many times as long for everything; its own agent alone may take two minutes.
        patient = f"echo lltrial_seconds={900 * SLOW:.0f} >>/mnt/etc/rc.conf"
        assert shell.run(f"mount /dev/gpt/llroot2 /mnt && {patient} && umount /mnt", 120)[0] == 0
        shell.console.type("shutdown -r now\n")
        shell, said = up(machine)
        assert version(said) != old
        kept(shell)
        assert shell.run("cat /state/system/hostid /state/system/ssh/*.pub")[1] == hostid
        assert shell.run("cat /state/linkladder/mine")[1] == "mine"
        # It is what starts from now on, after a power cut too.
        shell.run(WRITTEN, 120)
        machine.cut()
        machine.start()
        assert version(up(machine)[1]) != old
    finally:
        machine.cut()


HANGS = (
    "echo 'lltrial_seconds=60' >>/mnt/etc/rc.conf && "
    "printf '#!/bin/sh\\n# PROVIDE: hang\\n# BEFORE: LOGIN\\n# REQUIRE: llstate\\nsleep 100000\\n' "
    ">/mnt/etc/rc.d/hang && chmod 755 /mnt/etc/rc.d/hang"
)
NO_KERNEL = "rm -rf /mnt/boot/kernel /mnt/boot/kernel.GENERIC"


@pytest.mark.parametrize(
    ("firmware", "spoil", "seen"),
    [("efi", HANGS, "This system is on trial"), ("bios", NO_KERNEL, "This system does not start")],
    ids=["hangs", "no kernel"],
)
def test_a_start_that_fails_leads_back_by_itself(
    image: Path, tmp_path: Path, firmware: str, spoil: str, seen: str
) -> None:
    machine = Machine(tmp_path, image, f"hang-{firmware}", 12, firmware=firmware)
    machine.start()
    try:
        shell, said = up(machine)
        old = version(said)
        bring(machine, shell, Path(UPGRADE), tmp_path)
        status, said = shell.run(APPLY, LONG)
        assert status == 0, said
        status, said = shell.run(f"mount /dev/gpt/llroot2 /mnt && {spoil} && umount /mnt", 120)
        assert status == 0, said
        shell.console.type("shutdown -r now\n")
        shell.console.expect(seen, 600)
        shell, said = up(machine)
        assert version(said) == old and "did not start" in said and "is back" in said, said
    finally:
        machine.cut()


def test_cut_at_random_moments_the_old_system_starts(image: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path, image, "cut", 13, firmware="bios")
    machine.start()
    chance = random.Random(20)
    try:
        shell, said = up(machine)
        old = version(said)
        bring(machine, shell, Path(UPGRADE), tmp_path)
        shell.run(f"echo mine >/state/linkladder/mine; {WRITTEN}", 120)
        for cut in range(CUTS):
            shell.console.type(f"{APPLY}\n")
            until = machine.seconds() + chance.uniform(1, 120)
            while machine.seconds() < until:
                machine.console.pump(0.5)
            machine.cut()
            machine.start()
            shell, said = up(machine)
            assert version(said) == old or "is on trial" in said or "is kept" in said, said
            assert shell.run("cat /state/linkladder/mine")[1] == "mine"
            print(f"cut {cut + 1}: {said}", flush=True)
            if version(said) != old:  # it was all written before the cut, and is a good one
                break
    finally:
        machine.cut()
