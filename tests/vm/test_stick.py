"""A report leaves the appliance on a USB stick: by keys on the console, onto a stick as people have them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .machine import Machine
from .screen import Screen
from .test_power import PLAN, put

RUN = "su -m linkladder -c '/usr/local/bin/linkladder run --plan /state/one.toml'"


def test_a_report_is_written_to_a_usb_stick(image: Path, tmp_path: Path) -> None:
    stick = tmp_path / "stick.qcow2"
    subprocess.run(["qemu-img", "create", "-qf", "qcow2", str(stick), "1G"], check=True)
    machine = Machine(tmp_path, image, "usb", 11, stick=stick)
    machine.start()
    screen = Screen(machine, Path(os.environ.get("LINKLADDER_ARTIFACTS", tmp_path)) / "vm")
    try:
        machine.await_tui()
        shell = machine.root()
        # One partition with FAT and somebody's file, as sticks come out of their box.
        made = "gpart create -s mbr da0 && gpart add -t fat32 da0 && newfs_msdos -F 32 -c 1 -L FIELD /dev/da0s1"
        status, said = shell.run(f"{made} && mount_msdosfs /dev/da0s1 /mnt && echo mine >/mnt/other.txt", 120)
        assert status == 0, said
        assert shell.run("umount /mnt")[0] == 0
        put(shell, "/state/one.toml", PLAN.replace("repeats = 100", "repeats = 1"))
        _, said = shell.run(RUN, 300)
        assert "tcp-1s" in said, said
        shell.console.type("exit\n")
        machine.rooted = None
        screen.until("checks are right", 120)
        screen.keys("Down", "Down", "Enter")  # open pairing, climb, read the report
        screen.until("localhost")
        screen.keys("x")
        screen.until("HTML report")
        screen.keys("Down", "Enter")
        screen.until("Write to this stick?")
        question = " ".join(screen.until("What is on it stays").split())
        assert "1020 MB (da0s1)" in question, question
        screen.keys("Enter")
        said = screen.until("It is unmounted: pull it out.", 120)
        assert "Written to the stick: " in said and ".html" in "".join(said.split()), said
        screen.keys("Escape", "Escape")
        screen.until("Next step")
        shell = machine.root()
        assert "msdosfs" not in shell.run("mount")[1], "left mounted"
        status, listed = shell.run("mount_msdosfs -o ro /dev/da0s1 /mnt && ls -l /mnt && cat /mnt/other.txt", 120)
        assert status == 0 and "mine" in listed, listed
        page = shell.run("cat /mnt/*.html | wc -c; head -c 15 /mnt/*.html; echo; tail -c 8 /mnt/*.html", 120)[1].split()
        assert int(page[0]) > 10_000 and page[1:] == ["<!DOCTYPE", "html>", "</html>"], page
    finally:
        screen.close()
        machine.cut()
