"""From the installer ISO and from the live stick onto an empty disk, which then boots by itself with all that it needs.

LINKLADDER_ISO=out/linkladder-VERSION-amd64.iso and LINKLADDER_RAW=out/linkladder-VERSION-amd64.img.xz (or the unpacked
image) run them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .machine import Machine, Shell
from .screen import Screen

ISO = os.environ.get("LINKLADDER_ISO", "")
ENDED = "done: take the medium out and reboot"


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    disk = tmp_path / "empty.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(disk), "8G"], check=True)
    return disk


def boots_alone(machine: Machine, firmware: str) -> str:
    """The disk without the medium: at the TUI, state on a partition of its own, keys made; its identity."""
    machine.cdrom = machine.stick = None
    machine.firmware = firmware
    machine.start()
    try:
        print(f"installed disk by {firmware}: power on to TUI {machine.await_tui():.0f} s")
        shell = machine.root()
        said = shell.run("mount -p | awk '{ print $1, $2, $3 }'; gpart show -l; cat /etc/fstab", 120)[1]
        assert "/dev/gpt/llroot / ufs" in said and " /state ufs" in said, said
        assert shell.run("ls /state/old 2>&1")[0] != 0, "all was to be lost"
        assert shell.run("sysctl -n kern.ident kern.bootfile")[1].split() == ["LINKLADDER", "/boot/kernel/kernel"]
        for key in ("/state/linkladder/keys/host_ed25519", "/state/system/ssh/ssh_host_ed25519_key"):
            assert shell.run(f"stat -f %Lp {key}")[1].strip() == "600"
        assert shell.run("cmp /etc/rc.conf /usr/local/share/linkladder/system/rc.conf")[0] == 0
        said = shell.run("hostname; cd /state; cat system/hostid; cksum linkladder/keys/* system/ssh/*key*")[1]
        shell.run("sync; sync")
        return said
    finally:
        machine.cut()


def answered(shell: Shell, disk: str) -> str:
    """`linkladder system install DISK` with a person at it; what it said."""
    console = shell.console
    place = console.read_to
    console.type(f"linkladder system install {disk}; echo ended with $?\n")
    console.expect(r"\[type yes\] ", 120)
    console.type("yes\n")
    console.expect(rf"\[type {disk}\] ", 60)
    console.type(f"{disk}\n")
    console.expect(r"ended with \d+\s", 1800)
    return " ".join(console.text[place : console.read_to].split())


@pytest.mark.skipif(not ISO, reason="LINKLADDER_ISO names no installer")
def test_the_iso_installs_onto_an_empty_disk_that_boots(tmp_path: Path, empty: Path) -> None:
    machine = Machine(tmp_path, empty, "install", 6, cdrom=Path(ISO).resolve(), memory=2048)
    machine.start()
    try:
        print(f"ISO: power on to TUI {machine.await_tui():.0f} s")
        shell = machine.root()
        mounts = shell.run("mount -p | awk '{ print $2, $3, $4 }'")[1]
        assert (
            "/ cd9660 ro" in mounts and "/var tmpfs" in mounts and "/etc tmpfs" in mounts and "/state tmpfs" in mounts
        )
        # The medium is not among the disks; where the empty one hangs depends on the firmware.
        (disk,) = [n for n in shell.run("sysctl -n kern.disks")[1].split() if not n.startswith("cd")]
        # The state of an installation that was here before must not come back to life.
        status, said = shell.run(
            f"gpart create -s gpt {disk} && gpart add -t freebsd-ufs -b 4g {disk} && newfs -U -L llstate {disk}p1 && "
            f"mount /dev/{disk}p1 /mnt && touch /mnt/old && umount /mnt && gpart destroy -F {disk}",
            300,
        )
        assert status == 0, said
        listed = shell.run("linkladder system install", 120)[1]
        assert f"{disk}, 8.00 GB" in listed and "no partitions" in listed and "cd0" not in listed, listed
        for wrong in ("cd0", "da77"):
            status, said = shell.run(f"linkladder system install {wrong} --yes 2>&1", 120)
            assert status == 2 and f"there is no disk {wrong}" in said, said
        said = answered(shell, disk)
        print(f"installed after {machine.seconds():.0f} s")
        assert ENDED in said and "ended with 0" in said, said
        assert said.count(f"{disk}, 8.00 GB") == 2 and said.count("no partitions and no label") == 2, said
    finally:
        machine.cut()
    seen = boots_alone(machine, "efi")
    # Another controller, hence another name for the disk: the same system and the same state.
    assert boots_alone(machine, "efi, AHCI") == seen
    assert boots_alone(machine, "bios") == seen, "whatever firmware it was installed under"


def test_the_live_stick_offers_its_installation_in_the_tui(
    tmp_path: Path, raw: Path, empty: Path, drawn: list[Screen]
) -> None:
    stick = tmp_path / "stick.qcow2"
    subprocess.run(["qemu-img", "create", "-qf", "qcow2", "-b", str(raw), "-F", "raw", str(stick), "8G"], check=True)
    machine = Machine(tmp_path, empty, "stick", 7, stick=stick, memory=2048)
    machine.start()
    try:
        print(f"stick: power on to TUI {machine.await_tui():.0f} s")
        keep = Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path)) / "vm"
        screen = Screen(machine, keep)
        drawn.append(screen)
        screen.until("> Open pairing", 180)
        screen.keys("s")
        screen.until("put this system onto a disk", 120)
        screen.keys("End", "Enter")
        screen.until("Install onto a disk")
        text = screen.until("[ Go on ]")
        assert "vtbd0, 8.00 GB" in text and "da0" not in text, "the stick itself is not offered"
        screen.keys("Enter", "Enter")
        for question in ("Erase vtbd0?", "Really erase vtbd0?"):
            text = screen.until(question)
            assert "8.00 GB" in text and "no partitions" in text, text
            screen.keys("Left", "Enter")
        screen.until("Installing onto vtbd0")
        screen.until("Installed. Start anew now?", 1800)
        print(f"installed after {machine.seconds():.0f} s")
        screen.keys("Enter")
        shell = machine.root()
        status, said = shell.run("linkladder system install da0 --yes 2>&1", 120)
        assert status == 2 and "da0 is in use" in said, said
        assert "done" not in shell.run("/usr/local/libexec/linkladder-install da0 2>&1", 120)[1]
    finally:
        machine.cut()
    boots_alone(machine, "efi")


@pytest.fixture
def drawn() -> Iterator[list[Screen]]:
    """Screens that are ended with the test."""
    made: list[Screen] = []
    yield made
    for screen in made:
        screen.close()
