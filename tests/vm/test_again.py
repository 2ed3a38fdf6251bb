"""What outlives a boot: settings, a kernel that was asked for once, a change of machine, a replaced system.

For the last LINKLADDER_RAW names the raw image, packed or not.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from .machine import WRITTEN, Machine, Shell

KEPT = "cd /state/system && cksum hostid ssh/*key* ../linkladder/keys/*"


def again(machine: Machine) -> Shell:
    """Power off without a word, once all is written, and on again."""
    machine.root().run(WRITTEN, 120)
    machine.cut()
    machine.start()
    print(f"up again after {machine.await_tui():.0f} s", flush=True)
    return machine.root()


def mtu(shell: Shell, nic: str) -> str:
    return shell.run(f"ifconfig {nic} | sed -n 's/.* mtu //p'")[1].strip()


def test_frames_a_kernel_for_one_boot_and_another_machines_adapter(image: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path, image, "again", 11)
    try:
        machine.start()
        machine.await_tui()
        shell = machine.root()
        linkladder = "su -m linkladder -c '/usr/local/bin/linkladder system "
        status, said = shell.run(f"{linkladder}mtu vmx0 9000' 2>&1", 120)
        assert status != 0 and "management adapter" in said
        assert shell.run(f"{linkladder}mtu vmx1 9000'", 120)[0] == 0
        assert mtu(shell, "vmx1") == "9000"
        status, said = shell.run(f"{linkladder}kernel generic' 2>&1", 120)
        assert status == 0, said
        # As if the stick had been carried here from a machine whose adapters have other names.
        shell.run("sysrc -f /state/system/rc.conf linkladder_management=em9")

        shell = again(machine)
        assert shell.run("sysctl -n kern.ident")[1].strip() == "GENERIC"
        assert (mtu(shell, "vmx0"), mtu(shell, "vmx1")) == ("1500", "9000")
        assert 'linkladder_management="vmx0"' in shell.run("cat /state/system/rc.conf")[1]

        shell = again(machine)
        assert shell.run("sysctl -n kern.ident")[1].strip() == "LINKLADDER", "the other one was for one boot"
        assert mtu(shell, "vmx1") == "9000"
    finally:
        machine.cut()


def test_a_replaced_system_finds_the_state_of_the_old_one(image: Path, raw: Path, tmp_path: Path) -> None:
    """A raw image written over the disk, its partition table with it: the state lies behind it and is found again."""
    machine = Machine(tmp_path, image, "replaced", 12)
    try:
        machine.start()
        machine.await_tui()
        shell = machine.root()
        shell.run("echo kept >/state/linkladder/mark; sysrc -f /state/system/rc.conf hostname=old-name")
        kept = shell.run(KEPT)[1]
        assert "hostid" in kept and "host_ed25519" in kept
        shell.run(WRITTEN, 120)
        machine.cut()

        disk = tmp_path / "disk.raw"
        subprocess.run(["qemu-img", "convert", "-O", "raw", str(machine.disk), str(disk)], check=True)
        subprocess.run(["dd", f"if={raw}", f"of={disk}", "bs=4M", "conv=notrunc", "status=none"], check=True)
        subprocess.run(["qemu-img", "convert", "-O", "qcow2", str(disk), str(machine.disk)], check=True)
        machine.start()
        machine.await_tui()
        shell = machine.root()
        assert shell.run("cat /state/linkladder/mark; hostname")[1].split() == ["kept", "old-name"]
        assert shell.run(KEPT)[1] == kept
    finally:
        machine.cut()
