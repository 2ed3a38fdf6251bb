"""The doctor's findings, and what has become of shipped settings."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import doctor, host, privilege
from linkladder.app.live_backend import LiveBackend
from linkladder.findings import Finding, Health
from linkladder.host import programs
from linkladder.model import Bundle, HostFacts, Member, Nic
from linkladder.settings import tunables
from linkladder.tools import ping_argv
from linkladder.upgrade import status as upgrade_status

FACTS = HostFacts(
    name="alpha",
    os="FreeBSD",
    cores=4,
    window_limit=64 << 20,
    nics=(
        Nic("lo0", "lo", up=True, loopback=True, addresses=("127.0.0.1",)),
        Nic(
            "vmx0", "vmx", mtu=1500, up=True, addresses=("10.0.0.1",), offloads={"tso": True, "lro": False}, rx_queues=4
        ),
        Nic("ix1", "ix", mtu=9000, up=True, addresses=("10.0.1.1",), offloads={"tso": True}, rx_queues=8),
    ),
)
KERNEL = {
    ("sysctl", "kern.ipc.maxsockbuf"): "67108864",
    ("sysctl", "net.inet.tcp.sendspace"): "32768",
    ("sysctl", "dev.vmx.0.iflib.tx_abdicate"): "1",
    ("sysctl", "hw.pci.honor_msi_blacklist"): "0",
    ("kenv", "hw.vga.textmode"): "0",
}
SHIPPED = [
    {"name": "kern.ipc.maxsockbuf", "kind": "sysctl", "value": ">=67108864", "why": "100 Gb/s"},
    {"name": "net.inet.tcp.sendspace", "kind": "sysctl", "value": 262144, "why": "a quick start"},
    {"name": "net.inet.rss.bits", "kind": "loader", "value": "3"},
    {"name": "hw.pci.honor_msi_blacklist", "kind": "loader", "value": "0"},
    {"name": "hw.vga.textmode", "kind": "loader", "value": "0"},
    {"name": "dev.ix.7.fc", "kind": "loader", "nic": "ix", "value": "0"},
    {"name": "dev.vmx.*.iflib.tx_abdicate", "kind": "sysctl", "nic": "vmx", "value": "1"},
    {"name": "dev.ixl.*.fc", "kind": "sysctl", "nic": "ixl", "value": "0"},
    {"name": "tso4", "kind": "ifconfig", "nic": "*", "value": "on"},
    {"name": "lro", "kind": "ifconfig", "nic": "*", "value": "on"},
    {"name": "mtu", "kind": "ifconfig", "nic": "ix", "value": "9000", "later": "ignored"},
]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "facts", lambda: FACTS)
    monkeypatch.setattr(host, "setting", lambda kind, target: KERNEL.get((kind, target)))


def write(folder: Path, entries: object, schema: str = tunables.SCHEMA) -> Path:
    path = folder / "tunables.json"
    path.write_text(json.dumps({"schema": schema, "tunables": entries}))
    return path


def test_each_shipped_setting_has_a_fate(machine: None, tmp_path: Path) -> None:
    found = {one.name: one.status for one in tunables.settings_in_force(write(tmp_path, SHIPPED))}
    assert found == {
        "kern.ipc.maxsockbuf": "in force",
        "net.inet.tcp.sendspace": "refused: the kernel would not take it, or it was changed since the boot",
        "net.inet.rss.bits": "kernel lacks it",
        "hw.pci.honor_msi_blacklist": "in force",
        "hw.vga.textmode": "given to the kernel, which does not show it",
        "dev.ix.7.fc": "not on this NIC",
        "dev.vmx.0.iflib.tx_abdicate": "in force",
        "dev.ixl.*.fc": "not on this NIC",
        "vmx0 tso4": "in force",
        "ix1 tso4": "in force",
        "vmx0 lro": "refused: the driver will not, or it was switched since the boot",
        "ix1 lro": "not on this NIC",
        "ix1 mtu": "in force",
    }


def test_a_missing_file_ships_nothing_and_a_wrong_one_is_told(machine: None, tmp_path: Path) -> None:
    assert tunables.settings_in_force(tmp_path / "none") == ()
    for wrong in (write(tmp_path, SHIPPED, "other/1"), write(tmp_path, [{"kind": "sysctl"}]), write(tmp_path, ["x"])):
        (one,) = tunables.settings_in_force(wrong)
        assert one.in_force is False
        assert one.status.startswith("refused: ")
    (tmp_path / "tunables.json").write_text("{")
    assert tunables.settings_in_force(tmp_path / "tunables.json")[0].in_force is False


def test_windows_cores_and_adapters_are_judged() -> None:
    assert doctor._window(FACTS).state == Health.OK
    small = doctor._window(replace(FACTS, window_limit=4 << 20))
    assert small.state == Health.WARN and "kern.ipc.maxsockbuf" in small.remedy
    assert "net.core.rmem_max" in doctor._window(replace(FACTS, window_limit=4 << 20, os="Linux")).remedy
    assert doctor._cores(replace(FACTS, cores=1)).state == Health.WARN
    assert list(doctor._adapters(FACTS)) == []
    single = replace(FACTS, nics=(*FACTS.nics[:1], replace(FACTS.nics[1], rx_queues=1)))
    assert [f.state for f in doctor._adapters(single)] == [Health.WARN]
    assert [f.state for f in doctor._adapters(replace(FACTS, nics=FACTS.nics[:1]))] == [Health.BAD]
    for os, words in (("FreeBSD", ("linkladder system", "vmstat")), ("Linux", ("ip address", "ethtool"))):
        (none,) = doctor._adapters(replace(FACTS, nics=FACTS.nics[:1], os=os))
        (few,) = doctor._adapters(replace(single, os=os))
        assert words[0] in none.remedy and words[1] in few.remedy, "what that system has"
    loose = replace(FACTS, nics=(*FACTS.nics[:1], replace(FACTS.nics[1], carrier=False)))
    (told,) = doctor._adapters(loose)
    assert told.state is Health.WARN and "no carrier" in told.detail and "cable" in told.remedy


def bundled(protocol: str, *members: Member, driver: str = "vmx", virtual: str = "") -> list[Finding]:
    cards = tuple(Nic(member.name, driver) for member in members)
    lagg = Nic("lagg0", "lagg", up=True, addresses=("10.0.0.1",), bundle=Bundle(protocol, members=members))
    return list(doctor._bundles(replace(FACTS, virtual=virtual, nics=(*cards, lagg))))


def test_lacp_in_a_guest_is_told_with_what_to_do_instead() -> None:
    up = Member("vmx1", ("ACTIVE",), partner="00:11:22:33:44:55")
    (told,) = bundled("lacp", up, virtual="VMware")
    assert told.state is Health.WARN and "a virtual switch does not speak it" in told.detail
    assert "plan cards" in told.remedy and "forged transmits" in told.remedy
    assert bundled("lacp", up, driver="ix", virtual="VMware") == [], "a card that was passed through"
    assert bundled("lacp", up) == [] == bundled("loadbalance", up, virtual="VMware")


def test_a_bundle_s_cards_that_do_nothing_are_named() -> None:
    good, mute = Member("ix0", ("ACTIVE",), partner="00:11:22:33:44:55"), Member("ix1", ("ACTIVE",), ("DEFAULTED",))
    (told,) = bundled("lacp", good, mute, driver="ix")
    assert told.detail == "nobody answers LACP on ix1"
    (told,) = bundled("802.3ad", good, mute, driver="ix")
    assert told.detail == "nobody answers LACP on ix1", "whatever the system calls it"
    down = Member("ix1")
    (told,) = bundled("loadbalance", good, down, driver="ix")
    assert told.detail == "ix1 not at work" and "the other end may still send to it" in told.remedy
    assert bundled("failover", good, down, driver="ix") == [], "it waits for its turn"
    assert len(bundled("failover", down, driver="ix")) == 1


def test_a_full_or_forbidden_disk_is_bad(monkeypatch: pytest.MonkeyPatch, own_state: Path) -> None:
    assert doctor._space().state == Health.OK
    usage = shutil.disk_usage(own_state)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    assert doctor._space().state == Health.BAD
    assert "1.00 MB" in doctor._space().detail


def test_missing_and_old_tools_are_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"iperf": "2.0.5", "iperf3": "", "netperf": "", "ping": "present"}
    monkeypatch.setattr(doctor, "tool_version", lambda tool: versions[tool])
    found = {f.title: f for f in doctor._tools("FreeBSD")}
    assert (found["iperf"].state, found["netperf"].state, found["ping"].state) == (Health.BAD, Health.WARN, Health.OK)
    assert found["iperf"].remedy.startswith("pkg install iperf")
    assert "iperf3" not in found, "only plans that name it want it"
    versions["iperf3"] = "3.9"
    assert {f.title: f for f in doctor._tools("Linux")}["iperf3"].state == Health.BAD
    versions["iperf"] = ""
    assert {f.title: f for f in doctor._tools("Linux")}["iperf"].remedy == "apt install iperf"


@pytest.mark.parametrize(("code", "state"), [(2, Health.OK), (1, Health.WARN), (0, Health.WARN)])
def test_a_helper_that_refuses_is_there_whatever_its_words(
    monkeypatch: pytest.MonkeyPatch, code: int, state: Health
) -> None:
    monkeypatch.setattr(doctor.os, "geteuid", lambda: 1001)
    monkeypatch.setattr(privilege, "available", lambda: "")
    said = f"import sys; print('there is no interface, and no words', file=sys.stderr); sys.exit({code})"
    monkeypatch.setattr(privilege, "command", lambda *_: [sys.executable, "-c", said])
    assert doctor._helper().state is state


@pytest.mark.parametrize(("code", "state"), [(0, Health.OK), (1, Health.WARN)])
def test_pings_are_tried_as_a_trial_sends_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, state: Health
) -> None:
    """Whether they were answered is told by ping's exit status, and not by its words."""
    program = tmp_path / "ping"
    program.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\necho "1 received, not permitted"\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = list(doctor._pings("Linux"))
    assert [(one.title, one.state) for one in found] == [("fast pings", state), ("DF pings", state)]
    assert code == 0 or "not permitted" in found[0].detail
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [" ".join(ping_argv("Linux", "127.0.0.1", "127.0.0.1", 2, 0.05, mtu)[1:]) for mtu in (None, 1428)]


def test_this_machine_can_be_examined() -> None:
    found = doctor.examine()
    titles = [f.title for f in found]
    assert {"iperf", "ping", "changing settings", "socket buffers", "cores", "storage"} <= set(titles)
    assert all(f.remedy or f.detail for f in found if f.state != Health.OK)


def test_patch_level_and_packages_are_told(machine: None, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {
        "freebsd-version": "15.1-RELEASE-p4\n15.1-RELEASE-p3\n15.1-RELEASE-p4\n",
        "pkg": "iperf-2.2.1\nca_root_nss-3.1\n",
    }
    monkeypatch.setattr(programs, "output", lambda argv, timeout=5.0: said.get(argv[0], ""))
    found = {one.title: one for one in doctor.examine()}
    told = found["patch level"].detail
    assert "userland 15.1-RELEASE-p4, kernel 15.1-RELEASE-p3" in told and "runs after a reboot" in told
    assert found["packages"].detail == "2: ca_root_nss-3.1 iperf-2.2.1"
    said["freebsd-version"] = "15.1-RELEASE-p4\n" * 3
    said["pkg"] = ""
    found = {one.title: one for one in doctor.examine()}
    assert found["patch level"].detail.endswith("kernel 15.1-RELEASE-p4") and "packages" not in found


@pytest.mark.parametrize("what", ["ports", "system"])
@pytest.mark.parametrize(
    ("origin", "state", "words"),
    [
        (f"pinned {'c' * 40} {'d' * 64}", Health.OK, f"pinned: commit {'c' * 40}, files {'d' * 64}"),
        (f"unpinned {'c' * 40} {'d' * 64}", Health.WARN, f"not pinned: built of commit {'c' * 40}"),
        ("unpinned unknown", Health.WARN, "not pinned: built of a tree of unknown commit"),
        ("of a build that says more than we read", Health.WARN, "not pinned: built of commit a"),
        ("given as packages", Health.WARN, "not pinned: built of given sets or packages"),
        ("released 15.1-RELEASE", Health.WARN, "FreeBSD 15.1-RELEASE as it was released, without the security patches"),
    ],
)
def test_an_image_tells_what_it_was_built_of_and_whether_that_was_pinned(
    what: str, origin: str, state: Health, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(doctor, "ORIGINS", tmp_path / "origins")
    assert not list(doctor._origins())
    (tmp_path / "origins").write_text(f"of-a-later-build x\n{what} {origin}\n")
    (found,) = doctor._origins()
    assert found.state is state and found.detail.startswith(words)
    assert found.title == {"ports": "ports tree", "system": "system's source"}[what]


def test_a_development_key_and_an_upgrade_that_failed_are_told(
    machine: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(upgrade_status, "status", lambda: upgrade_status.Status("0.1.0 runs and is kept", "da0p3"))
    monkeypatch.setattr(doctor, "development", lambda: False)
    found = {one.title: one for one in doctor.examine()}
    assert (found["system"].state, found["upgrade key"].state) == (Health.OK, Health.OK)
    failed = upgrade_status.Status("the upgrade to 0.2.0 did not start", "da0p3", trouble=True)
    monkeypatch.setattr(upgrade_status, "status", lambda: failed)
    monkeypatch.setattr(doctor, "development", lambda: True)
    found = {one.title: one for one in doctor.examine()}
    assert (found["system"].state, found["upgrade key"].state) == (Health.WARN, Health.WARN)
    assert "did not start" in found["system"].detail


def test_state_in_memory_alone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.state, "IN_MEMORY", tmp_path / "in-memory")
    assert not list(doctor._kept())
    (tmp_path / "in-memory").write_text("the state partition /dev/da0p4 cannot be mounted, and is left as it is\n")
    (found,) = doctor._kept()
    assert found.state is Health.WARN and "lost at power off" in found.detail and "da0p4" in found.detail
    assert found.remedy


def test_screens_show_what_the_doctor_found_and_no_copy_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Finding("storage", Health.BAD, "no room", "delete old runs")
    monkeypatch.setattr(doctor, "examine", lambda: (found,))
    assert LiveBackend().findings()[0] is found
