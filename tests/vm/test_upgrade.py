"""A new system by one signed file: kept if it is healthy, gone by itself if it is not, whatever is cut.

LINKLADDER_UPGRADE names an upgrade file that is signed for the image and of a later version than the image is.
LINKLADDER_CUTS says how often the plug is pulled per firmware, LINKLADDER_CUTS_SEED and LINKLADDER_CUTS_FIRST begin the
moments, LINKLADDER_KEPT how many upgrades are left to themselves.  Every case goes on from a frozen machine
(prepared.py), which stays for the next time where LINKLADDER_CUTS_FOLDER names a place.
"""

from __future__ import annotations

import json
import os
import random
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from .machine import Machine, Shell
from .prepared import Looked, Prepared, prepare, read, settled, thawed, told

UPGRADE = os.environ.get("LINKLADDER_UPGRADE", "")
CUTS = int(os.environ.get("LINKLADDER_CUTS", "3"))
KEPT = int(os.environ.get("LINKLADDER_KEPT", "1"))
SEED = int(os.environ.get("LINKLADDER_CUTS_SEED", "1"))
FIRST = int(os.environ.get("LINKLADDER_CUTS_FIRST", "0"))
FOLDER = os.environ.get("LINKLADDER_CUTS_FOLDER", "")

pytestmark = pytest.mark.skipif(not UPGRADE, reason="LINKLADDER_UPGRADE names no upgrade file")


@pytest.fixture(scope="module", params=["bios", "efi"])
def prepared(request: pytest.FixtureRequest, image: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    firmware = str(request.param)
    folder = Path(FOLDER) / firmware if FOLDER else tmp_path_factory.mktemp(firmware)
    folder.mkdir(parents=True, exist_ok=True)
    noted = folder / "prepared.json"
    if noted.exists():
        return read(json.loads(noted.read_text()))
    made = prepare(image, folder, firmware, Path(UPGRADE))
    noted.write_text(json.dumps(asdict(made), default=str))
    told(f"{firmware} prepared", {name: f"{one.lasts:.0f} s" for name, one in made.moments.items()})
    return made


def go_on(prepared: Prepared, where: str, folder: Path, name: str) -> Machine:
    moment = prepared.moments[where]
    machine = moment.frozen.thaw(folder, name)
    if moment.begin:
        machine.console.type(f"\n{moment.begin}\n")
    return machine


def whole(prepared: Prepared, machine: Machine) -> str:
    """The system that is up in the end, with all of the state; one on trial is waited for."""
    up = machine.await_tui()
    shell = settled(machine)
    looked = Looked(shell)
    assert looked.state == prepared.look, looked.state
    assert "kept" in looked.system or "is back" in looked.system, looked.system
    return f"up after {up:.0f} s: {looked.system}"


def one_cut(prepared: Prepared, folder: Path, case: int) -> None:
    chance = random.Random(1000 * SEED + case)
    where = list(prepared.moments)[case % len(prepared.moments)]
    after = chance.uniform(0, prepared.moments[where].lasts)
    began = time.monotonic()
    machine = go_on(prepared, where, folder, f"cut-{case}")
    try:
        machine.console.pump(0.1)
        until = machine.seconds() + after
        while machine.seconds() < until:
            machine.console.pump(min(0.5, max(0.01, until - machine.seconds())))
        machine.cut()
        last = " ".join(machine.console.text.split())[-90:]
        told(machine.firmware, f"seed {1000 * SEED + case}", f"cut {after:.1f} s into {where}:", repr(last))
        machine.start()
        told("...", whole(prepared, machine), f"[{time.monotonic() - began:.0f} s]")
    finally:
        machine.cut()
    machine.disk.unlink()


def test_wherever_the_power_goes_a_system_starts_with_all_of_the_state(prepared: Prepared, tmp_path: Path) -> None:
    failed = []
    for case in range(FIRST, FIRST + CUTS):
        try:
            one_cut(prepared, tmp_path, case)
        except AssertionError as error:  # its disk stays, and the others have their turn
            told("... FAILED", error)
            failed.append(f"seed {1000 * SEED + case}: {error}")
    assert not failed, "\n".join(failed)


def test_an_upgrade_left_to_itself_is_kept(prepared: Prepared, tmp_path: Path) -> None:
    for case in range(KEPT):
        began = time.monotonic()
        machine = go_on(prepared, "starting", tmp_path, f"kept-{case}")
        try:
            end = whole(prepared, machine)
            assert prepared.old not in end and "runs and is kept" in end, end
            told(machine.firmware, f"kept {case + 1}", end, f"[{time.monotonic() - began:.0f} s]")
            # It is what starts from now on, after a power cut too.
            machine.cut()
            machine.start()
            again = whole(prepared, machine)
            assert prepared.old not in again and "runs and is kept" in again, again
            told("... after a power cut", again)
        finally:
            machine.cut()
        machine.disk.unlink()


def test_the_plug_is_pulled_while_the_boot_program_s_marks_are_on_their_way(prepared: Prepared, tmp_path: Path) -> None:
    """The boot program writes both copies of the table without asking the disk to keep them at once."""
    machine = go_on(prepared, "starting", tmp_path, "marks")
    try:
        machine.console.expect("Launching APs", 600)
        machine.cut()
        machine.start()
        told(machine.firmware, "cut after the boot program:", whole(prepared, machine))
        shell = Shell(machine.console)
        assert "CORRUPT" not in shell.run("gpart show -p", 60)[1]
    finally:
        machine.cut()
    machine.disk.unlink()


# What is done to the new system before its first start, and what the kernel or the loader then says.
SPOILT = {
    "hangs": (
        "echo 'lltrial_seconds=60' >>/mnt/etc/rc.conf && "
        "printf '#!/bin/sh\\n# PROVIDE: hang\\n# BEFORE: LOGIN\\n# REQUIRE: llstate\\nsleep 100000\\n' "
        ">/mnt/etc/rc.d/hang && chmod 755 /mnt/etc/rc.d/hang",
        r"Trying to mount root from ufs:/dev/gptid",
    ),
    "no kernel": ("rm -rf /mnt/boot/kernel /mnt/boot/kernel.GENERIC", "This system does not start"),
    "a damaged kernel": (
        "dd if=/dev/random of=/mnt/boot/kernel/kernel bs=64k count=1 conv=notrunc 2>/dev/null",
        "This system does not start",
    ),
    "no loader": ("rm -f /mnt/boot/loader /mnt/boot/loader.efi", ""),
    "no init": ("chflags noschg /mnt/sbin/init && rm -f /mnt/sbin/init /mnt/sbin/init.bak /mnt/rescue/init", "init"),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_a_start_that_fails_leads_back_by_itself(prepared: Prepared, tmp_path: Path, spoilt: str) -> None:
    spoil, seen = SPOILT[spoilt]
    began = time.monotonic()
    machine, shell = thawed(prepared.moments["starting"].frozen, tmp_path, "spoilt")
    try:
        status, said = shell.run(f"mount /dev/gpt/llroot2 /mnt && {spoil} && umount /mnt", 120)
        assert status == 0, said
        shell.console.type("shutdown -r now\n")
        if seen:
            shell.console.expect(seen, 600)
        end = whole(prepared, machine)
        assert f"the earlier system ({prepared.old}) is back" in end, end
        told(machine.firmware, spoilt, end, f"[{time.monotonic() - began:.0f} s]")
    finally:
        machine.cut()
    machine.disk.unlink()
