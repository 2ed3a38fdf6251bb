"""The properties of a deployment, applied by the first boot of a machine that takes itself for VMware's.

The hypervisor's own tool cannot answer here: a stand-in of one line, put in its place, prints what ESXi would.
"""

from __future__ import annotations

import random
from pathlib import Path

from .machine import SLOW, WRITTEN, Machine
from .test_power import put

SECRET = "ll1-0123-4567-89ab-cdef-ghjk-mnpq-rstv-wxyz-0000"
GIVEN = {
    "hostname": "dc1-ladder",
    "address": "192.0.2.10/24",
    "gateway": "192.0.2.1",
    "test_address": "198.51.100.1/30",
    "secret": SECRET,
    "ssh_key": "ssh-ed25519 " + "A" * 68 + " me@desk",
    "contract": "1G L2",
}
TOOL = """\
#!/bin/sh
[ "$*" = "--cmd info-get guestinfo.ovfEnv" ] || exit 1
cat <<'DOCUMENT'
<?xml version="1.0" encoding="UTF-8"?>
<Environment xmlns="http://schemas.dmtf.org/ovf/environment/1" xmlns:oe="http://schemas.dmtf.org/ovf/environment/1">
 <PropertySection>
{properties}
 </PropertySection>
</Environment>
DOCUMENT
"""
FIRST = 6.0 * SLOW  # seconds that the scripts of a first boot take
FORGET = f"rm -rf /state/system/* /state/linkladder/* /etc/hostid; {WRITTEN}"


def tool(given: dict[str, str]) -> str:
    lines = [f'  <Property oe:key="linkladder.{key}" oe:value="{value}"/>' for key, value in given.items()]
    return TOOL.format(properties="\n".join(lines))


def given(machine: Machine) -> None:
    """Powered on, told what a deployment gives, and off again with no memory of having booted."""
    machine.start()
    machine.await_tui()
    shell = machine.root()
    assert shell.run("sysctl -n kern.vm_guest")[1].strip() == "vmware"
    own = f"linkladder-1b{machine.number:02x}00"
    assert shell.run("hostname")[1].strip() == own, "without properties, a name of its own"
    put(shell, "/usr/local/bin/vmtoolsd", tool(GIVEN))
    shell.run(f"chmod 755 /usr/local/bin/vmtoolsd; {FORGET}", 120)
    machine.cut()


def test_a_first_boot_that_is_cut_off_is_done_again(image: Path, tmp_path: Path) -> None:
    """Wherever the plug is pulled: what was given at deployment is all there in the end, and identity is whole."""
    machine = Machine(tmp_path, image, "cut-off", 13, vmware=True)
    try:
        given(machine)
        chance = random.Random(3)
        for part in range(4):  # of the time between the kernel's last word and the adapters' first
            machine.start().expect("Dual Console", 300)
            end = machine.seconds() + (part + chance.random()) * FIRST / 4
            while machine.seconds() < end:
                machine.console.pump(0.1)
            machine.cut()
            print(f"the first boot cut off {machine.lasted:.0f} s after power on", flush=True)
        machine.start()
        machine.await_tui()
        shell = machine.root()
        assert shell.run("hostname")[1].strip() == "dc1-ladder"
        assert "inet 192.0.2.10 " in shell.run("ifconfig vmx0")[1]
        assert shell.run("cat /state/linkladder/site-secret")[1].strip() == SECRET
        assert shell.run("cat /state/system/ssh/operator_keys")[1].strip() == GIVEN["ssh_key"]
        assert shell.run("cd /state/system && test -s hostid -a -s ssh/ssh_host_ed25519_key")[0] == 0
        assert shell.run("ls /state/system /state/system/ssh | grep new")[0] == 1, "half of something was left"
    finally:
        machine.cut()


def test_the_first_boot_applies_what_was_given_at_deployment(image: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path, image, "deployed", 10, vmware=True)
    try:
        given(machine)
        seen = []
        for _ in range(2):
            machine.start()
            print(f"with properties: power on to TUI {machine.await_tui():.0f} s")
            shell = machine.root()
            assert shell.run("hostname")[1].strip() == "dc1-ladder"
            assert "inet 192.0.2.10 netmask 0xffffff00" in shell.run("ifconfig vmx0")[1]
            assert "inet 198.51.100.1 netmask 0xfffffffc" in shell.run("ifconfig vmx1")[1]
            assert "192.0.2.1 " in shell.run("netstat -rn4 | grep default")[1]
            listening = shell.run("sockstat -46lqP tcp | awk '{ print $6 }'")[1].split()
            assert "*:22" in listening and "*:8622" in listening, "a key was given, so that the operator may come in"
            assert shell.run("cat /state/system/ssh/operator_keys")[1].strip() == GIVEN["ssh_key"]
            assert shell.run("cat /state/linkladder/site-secret")[1].strip() == SECRET
            assert shell.run("stat -f '%Su %Lp' /state/linkladder/site-secret")[1].strip() == "linkladder 600"
            contract = shell.run("cat /state/linkladder/link.toml")[1]
            assert 'rate = "1G"' in contract and 'layer = "L2"' in contract
            seen.append(shell.run("cd /state/system && cksum rc.conf hostid ssh/*key* ../linkladder/keys/*")[1])
            # What is given to a machine that has booted before changes nothing.
            put(shell, "/usr/local/bin/vmtoolsd", tool(GIVEN | {"hostname": "another", "address": "198.51.100.7/24"}))
            shell.run(WRITTEN, 120)
            machine.cut()
        assert seen[0] == seen[1]
    finally:
        machine.cut()
