"""The finished image, as its users will meet it: started under QEMU and asked.

LINKLADDER_IMAGE=out/linkladder-VERSION-amd64.qcow2 runs them; LINKLADDER_VM_SLOW=3 gives slow hosts more time.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from .machine import TUI, WRITTEN, Console, Machine, Shell
from .network import Network

# Settings that may not be in force, and why; every other line of the doctor must be.
PERMITTED = {
    "given to the kernel, which does not show it": re.compile(r"(hw\.vga\.textmode|vfs\.mountroot\.timeout)$"),
    "not on this NIC": re.compile(r"dev\.(ix|ixl|ice|igc|mce)\.\*\.|hw\.(ix|igc)\."),
    "needs 4 GB of memory": re.compile(r"kern\.ipc\.nmb(clusters|jumbop)$"),
    "this machine's own choice": re.compile(r"(hostname|sshd_enable)$"),
}
STATUS = re.compile("|".join(map(re.escape, PERMITTED)) + "|in force|kernel lacks it|refused: .+")
# What the doctor must say of the adapters that are here, and may not lose.
OF_VMX = {f"vmx{unit} {flag}" for unit in (0, 1) for flag in ("tso", "tso6", "lro", "rxcsum", "txcsum")}
OF_VMX |= {f"dev.vmx.{unit}.iflib.override_n{way}xds" for unit in (0, 1) for way in "rt"}
DOCTOR = (
    "/usr/local/bin/python3 -c 'import json; from linkladder.settings.tunables import settings_in_force as s; "
    'print("JSON" + json.dumps([[o.name, o.status, o.current] for o in s()]))\''
)


def test_boots_by_uefi_to_the_tui(booted: Machine) -> None:
    print(f"power on to TUI: {booted.to_tui:.1f} s")
    assert not re.search(r"^login:", booted.console.text, re.M)


def test_boots_by_bios_to_the_tui_and_six_cores_make_four_queues(image: Path, tmp_path: Path) -> None:
    machine = Machine(tmp_path, image, "bios", 9, firmware="bios", cpus=6, memory=2048)
    machine.start()
    try:
        print(f"power on to TUI by BIOS: {machine.await_tui():.1f} s")
        shell = machine.root()
        assert queues(shell) == [4, 4]
        assert shell.run("sysctl -n machdep.bootmethod")[1].strip() == "BIOS"
    finally:
        machine.cut()


def test_what_is_in_force(booted: Machine) -> None:
    lines = in_force(booted.root())
    assert len(lines) > 100
    wrong = []
    assert {name for name, _, _ in lines} >= OF_VMX
    for name, state, now in lines:
        assert STATUS.fullmatch(state), (name, state)
        assert now or state in ("not on this NIC", "kernel lacks it"), f"{name}: no value"
        permitted = state in PERMITTED and PERMITTED[state].match(name)
        if state != "in force" and not permitted:
            wrong.append((name, state, now))
        elif state != "in force":
            print(f"permitted: {name}: {state}")
    assert wrong == []


def in_force(shell: Shell) -> list[tuple[str, str, str]]:
    """Each shipped setting, its status and its value."""
    status, said = shell.run(DOCTOR, 120)
    assert status == 0, said
    return [tuple(line) for line in json.loads(said[said.index("JSON") + 4 :].replace("\n", ""))]


def test_the_network_of_a_first_boot(booted: Machine) -> None:
    """Link-local addresses everywhere; the first adapter asks for an address, the second waits for the operator."""
    shell = booted.root()
    _, said = shell.run("ifconfig -a inet6")
    found = re.findall(r"^(\w+): |inet6 (fe80:\S+)%(\w+)", said, re.M)
    assert {nic for _, address, nic in found if address} >= {"vmx0", "vmx1"}, said
    conf = shell.run("cat /state/system/rc.conf")[1]
    assert 'linkladder_management="vmx0"' in conf and 'ifconfig_vmx0="DHCP"' in conf and "vmx1" not in conf
    assert shell.run("pgrep -lf 'dhclient: vmx0'")[0] == 0
    assert shell.run("pgrep -lf 'dhclient: vmx1'")[0] == 1


@pytest.mark.parametrize(
    "verbs",
    [
        ("address vmx1 static 10.77.0.1/24", "address vmx1 none", "address vmx0 dhcp"),
        ("mtu vmx1 9000", "mtu vmx1 1500"),
        ("offloads vmx1 lro=off tso=off", "offloads vmx1 lro=on tso=on"),
        ("hostname other", "timezone Europe/Prague", "timezone UTC"),
        ("tests-on-management yes", "tests-on-management no"),
    ],
    ids=lambda verbs: str(verbs[0]).split()[0],
)
def test_every_setting_holds_after_what_the_console_offers(booted: Machine, verbs: tuple[str, ...]) -> None:
    """An adapter starts anew with an address and with its MTU, and rc.d or its driver could undo some of them then."""
    shell = booted.root()
    before = {name for name, state, _ in in_force(shell) if state == "in force"} - {"hostname"}
    named = shell.run("hostname")[1].strip()
    try:
        for verb in verbs:
            status, said = shell.run(f"su -m linkladder -c '/usr/local/bin/linkladder system {verb} --yes' 2>&1", 120)
            assert status == 0, said
            now = {name: (state, value) for name, state, value in in_force(shell)}
            if not any(other in verb for other in ("=off", "9000")):
                asked = {f"vmx1 {switch}" for switch in ("lro", "tso", "tso6")} if "=on" in verb else set()
                assert all(now[name] == ("this machine's own choice", "on") for name in asked)
                lost = {name: now[name] for name in before - asked if now[name][0] != "in force"}
                assert lost == {}, verb
            assert now["net.inet.icmp.drop_redirect"] == ("in force", "1")
    finally:
        shell.run(f"su -m linkladder -c '/usr/local/bin/linkladder system hostname {named} --yes'", 120)


def test_the_default_route_stays_when_a_test_adapter_gets_an_address(booted: Machine) -> None:
    """It goes to a router that is given and comes back from the lease; no DHCP server is here, which this pretends."""
    shell = booted.root()

    def address(words: str) -> list[str]:
        """Its default routes after that."""
        call = f"/usr/local/bin/linkladder system address {words} --yes"
        status, said = shell.run(f"su -m linkladder -c '{call}' 2>&1", 120)
        assert status == 0, said
        return shell.run("netstat -rn -f inet | awk '$1 == \"default\" { print $2, $4 }'")[1].splitlines()

    lease = "/var/db/dhclient.leases.vmx0"
    shell.run("until pgrep -qf 'dhclient: vmx0'; do sleep 1; done", 60)
    try:
        shell.run("ifconfig vmx0 inet 10.98.0.5/24; route -n add -inet default 10.98.0.254")
        shell.run(f"printf 'lease {{\\n  option routers 10.98.0.254;\\n}}\\n' >{lease}")
        for words in ("static 10.77.0.5/24", "static fd00:77::5/64", "none"):
            assert address(f"vmx1 {words}") == ["10.98.0.254 vmx0"], words
        assert address("vmx1 static 10.77.0.5/24 10.77.0.254") == ["10.77.0.254 vmx1"]
        assert 'defaultrouter="10.77.0.254"' in shell.run("cat /state/system/rc.conf")[1]
        assert address("vmx1 none") == ["10.98.0.254 vmx0"]
        conf = shell.run("cat /state/system/rc.conf")[1]
        assert "router" not in conf and "vmx1_ipv6" not in conf
        assert "fd00:77" not in shell.run("ifconfig vmx1")[1]
    finally:
        shell.run(f"rm -f {lease}")
        address("vmx0 dhcp")


def queues(shell: Shell) -> list[int]:
    """Receive and transmit queues of the test adapter."""
    _, said = shell.run("dmesg | grep 'vmx1: Using .*RX queues'")
    return [int(number) for number in re.findall(r"Using (\d+) RX queues (\d+) TX", said)[-1]]


def test_rss_and_queues(booted: Machine) -> None:
    shell = booted.root()
    _, kernel = shell.run("sysctl -n kern.ident")
    _, buckets = shell.run("sysctl -n net.inet.rss.buckets")
    assert int(buckets) >= booted.cpus, kernel
    best = 1 << (min(8, booted.cpus).bit_length() - 1)
    assert queues(shell) == [best, best]
    print(f"kernel {kernel.strip()}, {buckets.strip()} RSS buckets, {best} queues for {booted.cpus} cores")


def test_first_boot_made_what_is_unique(booted: Machine) -> None:
    shell = booted.root()
    assert shell.run("hostname")[1].strip() == f"linkladder-1b{booted.number:02x}00"
    status, said = shell.run("mount -p | awk '$2 == \"/state\"'")
    assert status == 0 and "ufs" in said and "noatime" in said
    assert shell.run("tunefs -p /state 2>&1 | grep journaling")[1].rstrip().endswith("enabled")
    assert shell.run("stat -f '%Su %Lp' /state/linkladder/.")[1].strip() == "linkladder 700"
    for key in ("/state/linkladder/keys/host_ed25519", "/state/system/ssh/ssh_host_ed25519_key"):
        assert shell.run(f"stat -f %Lp {key}")[1].strip() == "600"
    assert shell.run("date +%Z")[1].strip() == "UTC"


def test_both_file_systems_have_a_journal(booted: Machine) -> None:
    for place in ("/", "/state"):
        said = booted.root().run(f"tunefs -p {place} 2>&1 | grep 'soft update journaling'")[1]
        assert said.rstrip().endswith("enabled"), (place, said)


def test_the_screen_has_the_console_and_ordinary_logins_behind_it(booted: Machine) -> None:
    """Terminals 0 and 1 of the video console; what the kernel says goes to neither."""
    shell = booted.root()
    assert "linkladder" in shell.run("ps -t v0 -o command")[1]
    assert "getty" in shell.run("ps -t v1 -o command")[1]
    assert shell.run("sysctl -n kern.consmute")[1].strip() == "1"
    before = len(booted.console.text)
    shell.run("ifconfig vmx1 down; sleep 1; ifconfig vmx1 up; sleep 1")
    assert "vmx1: link state" in shell.run("dmesg | tail -4")[1]
    assert "vmx1: link state changed to UP" not in booted.console.text[before:].split("dmesg")[0]


def test_only_the_control_channel_listens(booted: Machine) -> None:
    shell = booted.root()
    _, said = shell.run("sockstat -46lq | awk '{ print $2, $5, $6 }'")
    tcp = [line for line in said.splitlines() if "tcp" in line]
    assert tcp and all(line.rstrip().endswith(":8622") for line in tcp), said
    others = [line for line in said.splitlines() if "udp" in line and "dhclient" not in line and "*:*" not in line]
    assert [line for line in others if not line.endswith(":68")] == [], said


def test_nothing_that_disturbs_is_running(booted: Machine) -> None:
    _, said = booted.root().run("ps -axo comm")
    running = set(said.split())
    assert not running & {"cron", "sendmail", "powerd", "ntpd", "sshd:", "moused"}, running


def test_mtu_and_offloads_take(booted: Machine) -> None:
    shell = booted.root()
    for command, wanted in (
        ("mtu 9000", "mtu 9000"),
        ("mtu 1500", "mtu 1500"),
        ("-tso", "!TSO4"),
        ("tso", "TSO4"),
        ("-lro", "!LRO"),
        ("lro", "LRO"),
    ):
        assert shell.run(f"ifconfig vmx1 {command}")[0] == 0
        _, said = shell.run("ifconfig vmx1 | head -2")
        assert (wanted.removeprefix("!") in said) != wanted.startswith("!"), (command, said)
    assert "mtu 1500" in shell.run("ifconfig vmx0 | head -1")[1]


def test_memory_when_idle(booted: Machine) -> None:
    shell = booted.root()
    _, said = shell.run("ps -axo rss,command | grep -E 'python|linkladder' | grep -v grep")
    _, vm = shell.run("sysctl -n vm.stats.vm.v_active_count vm.stats.vm.v_wire_count hw.pagesize | tr '\\n' ' '")
    active, wired, page = map(int, vm.split())
    idle = (active + wired) * page >> 20
    print(f"idle: {idle} MB active and wired; processes (KB): {said}")
    resident = [int(line.split()[0]) for line in said.splitlines() if line.strip()]
    assert resident and max(resident) < 120_000, "what the TUI may take"
    assert idle < 400, "seen at 187 MB"


def test_a_second_boot_changes_nothing(image: Path, network: Network, tmp_path: Path) -> None:
    machine = Machine(tmp_path, image, "twice", 7)
    keep = "cd /state/system && cksum rc.conf hostid ssh/*key* ../linkladder/keys/*"
    seen = []
    for _ in range(2):
        machine.start()
        machine.await_tui()
        shell = machine.root()
        seen.append(shell.run(f"{keep}; hostname")[1])
        shell.run(WRITTEN, 120)
        machine.cut()
    assert seen[0] == seen[1] and "host_ed25519" in seen[0]


def test_the_second_serial_line_has_the_tui_and_no_login_where_it_is_the_console(image: Path, tmp_path: Path) -> None:
    """As where a firmware has its serial-over-LAN there: what is at its other end is a network."""
    machine = Machine(tmp_path, image, "second", 8)
    path = machine.folder / "second"
    more = "-chardev", f"socket,id=c2,path={path},server=on,wait=off", "-serial", "chardev:c2"
    try:
        machine.start(*more)
        machine.await_tui()
        machine.root().run(f"echo 'comconsole_port=\"0x2f8\"' >>/boot/loader.conf.local; {WRITTEN}", 120)
        machine.cut()
        path.unlink()
        machine.start(*more)
        second = Console(path)
        second.expect(TUI, 300)
        assert not re.search(r"^login:", second.text, re.M)
        machine.await_tui()
        shell = machine.root()
        assert "ttyu1" in shell.run("sysctl -n kern.console")[1].partition("/")[0]
        assert "linkladder" in shell.run("ps -t u1 -o command")[1]
    finally:
        machine.cut()


def test_what_is_given_at_deployment_is_applied(booted: Machine) -> None:
    """The properties as vmtoolsd hands them over, read with this system's own sed and grep."""
    secret = "ll1-0123-4567-89ab-cdef-ghjk-mnpq-rstv-wxyz-0000"
    given = {"hostname": "dc1-ladder", "address": "192.0.2.10/24", "gateway": "192.0.2.1", "secret": secret}
    given |= {"ssh_key": "ssh-ed25519 " + "A" * 68 + " me@desk", "contract": "1G L2"}
    shell = booted.root()
    shell.run("rm -rf /tmp/ovf; mkdir -p /tmp/ovf/system/ssh /tmp/ovf/linkladder; echo '<Environment>' >/tmp/ovf/env")
    shell.run("echo 'linkladder_management=\"vmx0\"' >/tmp/ovf/system/rc.conf.new")
    for key, value in given.items():
        shell.run(f'echo \'<Property oe:key="linkladder.{key}" oe:value="{value}"/>\' >>/tmp/ovf/env')
    apply = "LINKLADDER_OVF_ENV=/tmp/ovf/env /usr/local/libexec/linkladder-ovf /tmp/ovf/system"
    status, said = shell.run(apply, 120)
    assert (status, said) == (0, "")
    _, text = shell.run("cat /tmp/ovf/system/rc.conf.new")
    for line in (
        'hostname="dc1-ladder"',
        'ifconfig_vmx0="inet 192.0.2.10/24"',
        'defaultrouter="192.0.2.1"',
        'linkladder_router_of="vmx0"',
        'sshd_enable="YES"',
    ):
        assert line in text, text
    assert secret in shell.run("cat /tmp/ovf/linkladder/site-secret")[1]
    assert shell.run("stat -f '%Su %Lp' /tmp/ovf/linkladder/site-secret")[1].strip() == "linkladder 600"
    contract = shell.run("cat /tmp/ovf/linkladder/link.toml")[1]
    assert 'rate = "1G"' in contract and 'layer = "L2"' in contract
    assert shell.run("cat /tmp/ovf/system/ssh/operator_keys")[1].strip() == given["ssh_key"]


def test_a_full_disk_is_said_before_a_run_and_ends_it_cleanly(booted: Machine) -> None:
    shell = booted.root()
    run = "env LINKLADDER_STATE=/tmp/small /usr/local/bin/linkladder"
    experiment = '[[experiment]]\\nrungs = ["localhost"]\\nstreams = 1\\nduration = 3\\nwarmup = 1\\nrepeats = 40\\n'
    shell.run(f"printf 'name = \"small\"\\n{experiment}' >/tmp/small.toml; mkdir -p /tmp/small")
    shell.run("mount -t tmpfs -o size=96m tmpfs /tmp/small; chown linkladder:linkladder /tmp/small")
    assert shell.run(f"su -m linkladder -c '{run} runs'", 120)[0] == 0
    shell.run("dd if=/dev/zero of=/tmp/small/fill bs=64k 2>/dev/null")
    status, said = shell.run(f"su -m linkladder -c '{run} run --plan /tmp/small.toml' 2>&1", 300)
    assert status == 3 and "full" in said, said
    # Room for a run, taken away while it goes on.
    shell.run("rm /tmp/small/fill")
    fill = "while ! pgrep -q iperf; do sleep 1; done; sleep 6; dd if=/dev/zero of=/tmp/small/fill bs=64k"
    shell.run(f"{{ sh -c '{fill}' >/dev/null 2>&1 & }}", 30)
    status, said = shell.run(f"su -m linkladder -c '{run} run --plan /tmp/small.toml' 2>&1", 600)
    assert status == 3 and "full" in said, (status, said)
    print(said[-400:])
    assert shell.run("pgrep -l iperf")[0] == 1, "a tool was left"
    shell.run("rm /tmp/small/fill")
    opened = 'sqlite3.connect("/tmp/small/linkladder.db")'
    check = f'import sqlite3; print({opened}.execute("pragma integrity_check").fetchone()[0])'
    assert shell.run(f"/usr/local/bin/python3 -c '{check}'", 120)[1].strip() == "ok"
    shell.run("umount /tmp/small")
