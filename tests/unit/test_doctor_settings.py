"""Every shipped setting with its value in force, as `linkladder doctor` prints it: a 15.1 kernel's captured values."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import cli, doctor, host
from linkladder.findings import Finding, Health
from linkladder.model import HostFacts, Nic
from linkladder.settings import tunables

MANIFEST = Path(__file__).parents[2] / "overlay/usr/local/share/linkladder/tunables.json"
OVERLAY = MANIFEST.parents[4]
FLAGS = {"tso": True, "tso6": True, "lro": False, "rxcsum": True, "txcsum": True}
FACTS = HostFacts(
    name="alpha",
    os="FreeBSD",
    cores=2,
    memory=2 << 30,
    window_limit=64 << 20,
    nics=(
        Nic("vmx0", "vmx", up=True, addresses=("10.0.0.1",), offloads=FLAGS, rx_queues=2),
        Nic("vmx1", "vmx", up=True, addresses=("10.0.1.1",), offloads={**FLAGS, "lro": True}, rx_queues=2),
    ),
)


class Kernel:
    """A stock kernel's values (nothing of ours was applied), RSS besides, and what the loader was told."""

    def __init__(self, captures: Path) -> None:
        shown = (captures / "freebsd-15.1/sysctl-net.txt").read_text()
        self.sysctls = dict(re.findall(r"^([a-z][\w.]+): (.*)$", shown, re.M))
        self.sysctls |= {"net.inet.rss.buckets": "4", "dev.vmx.0.iflib.override_nrxds": "0,2048,0"}
        self.sysctls |= {"dev.vmx.1.iflib.override_nrxds": "0,0,0"}
        told = (OVERLAY / "boot/loader.conf").read_text()
        self.kenv = dict(re.findall(r'^([\w.]+)="(.*?)"', told, re.M)) | {"autoboot_delay": "NO"}
        del self.kenv["dev.vmx.1.iflib.override_nrxds"]

    def setting(self, kind: str, target: str) -> str | None:
        return {"sysctl": self.sysctls, "kenv": self.kenv}[kind].get(target)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch, captures: Path, tmp_path: Path) -> Kernel:
    made = Kernel(captures)
    own = tmp_path / "rc.conf"
    own.write_text('hostname="linkladder-1b0900"\nsshd_enable="YES"\n')
    monkeypatch.setattr(tunables, "RC_FILES", (OVERLAY / "etc/rc.conf", tmp_path / "none", own))
    monkeypatch.setattr(host, "facts", lambda: FACTS)
    monkeypatch.setattr(host, "setting", made.setting)
    monkeypatch.setattr(doctor, "settings_in_force", lambda: tunables.settings_in_force(MANIFEST))
    for name in ("_tools", "_pings"):
        monkeypatch.setattr(doctor, name, lambda system: ())
    monkeypatch.setattr(doctor, "_helper", lambda: Finding("changing settings", Health.OK))
    return made


def text(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What follows `setting NAME:` in the printed lines."""
    cli.main(["doctor"])
    return dict(re.findall(r"^\w+ +setting (.+?): (.*)$", capsys.readouterr().out, re.M))


def test_the_text_gives_the_value_in_force_and_the_one_shipped(
    kernel: Kernel, capsys: pytest.CaptureFixture[str]
) -> None:
    said, clusters = text(capsys), kernel.sysctls["kern.ipc.nmbclusters"]
    for name, start in {
        "kern.ipc.maxsockbuf": "now 8388608, shipped >=67108864: refused: the kernel would not take it, or",
        "net.inet.tcp.rfc1323": "now 1, shipped 1: in force; window scaling",
        "net.inet.tcp.cc.algorithm": "now cubic, shipped cubic: in force;",
        "net.inet.rss.buckets": "now 4, shipped >=cores: in force;",
        "kern.ipc.nmbclusters": f"now {clusters}, shipped >=500000: needs 4 GB of memory;",
        "boot_multicons": "now YES, shipped YES: in force;",
        "kernels": "now kernel kernel.GENERIC, shipped kernel kernel.GENERIC: in force;",
        "autoboot_delay": "now NO, shipped 2: refused: the loader was told NO;",
        "hw.vga.textmode": "now 0, shipped 0: given to the kernel, which does not show it;",
        "dev.vmx.0.iflib.override_nrxds": "now 0,2048,0, shipped 0,2048,0: in force;",
        "dev.vmx.1.iflib.override_nrxds": "now 0,0,0, shipped 0,2048,0: refused: the loader was not told;",
        "dev.ix.*.iflib.override_nrxds": "shipped 4096: not on this NIC;",
        "kern.coredump": "shipped 0: kernel lacks it;",
        "vmx0 lro": "now off, shipped on: refused: the driver will not, or it was switched since the boot;",
        "vmx1 lro": "now on, shipped on: in force;",
        "powerd_enable": "now NO, shipped NO: in force;",
        "hostname": "now linkladder-1b0900, shipped linkladder: this machine's own choice;",
        "sshd_enable": "now YES, shipped NO: this machine's own choice;",
    }.items():
        assert said[name].startswith(start), (name, said[name])


def test_every_shipped_setting_has_a_line(kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    said = text(capsys)
    for one in json.loads(MANIFEST.read_text())["tunables"]:
        names = [one["name"]]
        if one.get("nic") in ("*", "vmx"):
            names = [
                one["name"].replace("*", unit) if "*" in one["name"] else f"vmx{unit} {one['name']}" for unit in "01"
            ]
        assert set(names) <= set(said), one["name"]


def test_the_document_gives_value_fate_and_reason(kernel: Kernel, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "--json"])
    found = {f["setting"]["name"]: f for f in json.loads(capsys.readouterr().out) if f["setting"]}
    small = found["net.inet.tcp.sendspace"]
    assert small["state"] == "warn"
    assert small["setting"] == {
        "name": "net.inet.tcp.sendspace",
        "shipped": "262144",
        "current": "32768",
        "in_force": False,
        "status": "refused: the kernel would not take it, or it was changed since the boot",
        "why": "where a send buffer starts, default 32768",
    }
    assert (found["vmx1 lro"]["setting"]["in_force"], found["vmx1 lro"]["state"]) == (True, "ok")
    assert found["sshd_enable"]["setting"]["in_force"] is None


@pytest.mark.parametrize(
    ("gigabytes", "clusters", "ceiling"),
    [(2.0, ">=500000", ">=67108864"), (3.9, ">=500000", ">=67108864"), (7.8, ">=1000000", ">=134217728")],
)
def test_what_grows_with_memory_is_held_against_this_machines(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, gigabytes: float, clusters: str, ceiling: str
) -> None:
    monkeypatch.setattr(host, "facts", lambda: replace(FACTS, memory=int(gigabytes * (1 << 30))))
    found = tunables.settings_in_force(MANIFEST)
    (one,) = [f for f in found if f.name == "kern.ipc.nmbclusters"]
    assert one.shipped == clusters
    assert (one.status == "needs 4 GB of memory") is (gigabytes == 2.0)
    (one,) = [f for f in found if f.name == "kern.ipc.maxsockbuf"]
    assert one.shipped == ceiling and one.current == "8388608"


@pytest.mark.parametrize(("cores", "buckets", "enough"), [(4, 4, True), (8, 4, False), (192, 128, True)])
def test_buckets_are_held_against_cores(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, cores: int, buckets: int, enough: bool
) -> None:
    monkeypatch.setattr(host, "facts", lambda: replace(FACTS, cores=cores))
    kernel.sysctls["net.inet.rss.buckets"] = str(buckets)
    (one,) = [f for f in tunables.settings_in_force(MANIFEST) if f.name == "net.inet.rss.buckets"]
    assert one.in_force is enough
    del kernel.sysctls["net.inet.rss.buckets"]
    (one,) = [f for f in tunables.settings_in_force(MANIFEST) if f.name == "net.inet.rss.buckets"]
    assert one.status == "kernel lacks it"


def test_a_driver_that_took_another_value_is_told_from_a_loader_that_was_not(kernel: Kernel) -> None:
    kernel.sysctls["net.isr.bindthreads"] = "0"
    (one,) = [f for f in tunables.settings_in_force(MANIFEST) if f.name == "net.isr.bindthreads"]
    assert one.status == "refused: the kernel or the driver took another value"


def test_what_an_operator_kept_is_his_choice_and_no_refusal(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = [replace(nic, offloads={**nic.offloads, "lro": False}) if nic.name == "vmx1" else nic for nic in FACTS.nics]
    monkeypatch.setattr(host, "facts", lambda: replace(FACTS, nics=tuple(off)))
    kernel.sysctls["net.inet.tcp.cc.algorithm"] = "newreno"
    kept = tmp_path / "rc.conf"
    monkeypatch.setattr(tunables, "RC_FILES", (*tunables.RC_FILES, kept))

    def fate() -> dict[str, str]:
        return {f.name: f.status for f in tunables.settings_in_force(MANIFEST)}

    before = fate()
    assert all(before[name].startswith("refused") for name in ("vmx1 lro", tunables.CONGESTION))
    kept.write_text('linkladder_offloads_vmx1="tso -lro"\nlinkladder_congestion="newreno"\n')
    after = fate()
    assert after["vmx1 lro"] == after[tunables.CONGESTION] == tunables.CHOSEN
    assert after["vmx0 lro"] == before["vmx0 lro"]
