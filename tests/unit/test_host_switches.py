"""What the console may change, read from an appliance's files; sticks found in what the kernel tells of disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder.host import switches
from linkladder.host.disks import disks_of
from linkladder.host.switches import Stick, sticks_of

# The form of sysctl kern.geom.confxml, less what is not read.
MESH = """<mesh>
 <class id="1"><name>DISK</name>
  <geom id="2"><name>da0</name><provider id="3"><name>da0</name><mediasize>8589934592</mediasize>
   <config><descr>VMware Virtual disk</descr></config></provider></geom>
  <geom id="4"><name>da1</name><provider id="5"><name>da1</name><mediasize>31457280000</mediasize>
   <config><descr>SanDisk  Ultra Fit</descr></config></provider></geom>
  <geom id="6"><name>da2</name><provider id="7"><name>da2</name><mediasize>4026531840</mediasize>
   <config><descr>Kingston</descr></config></provider></geom>
  <geom id="8"><name>da3</name><provider id="9"><name>da3</name><mediasize>4026531840</mediasize>
    <config/></provider></geom>
  <geom id="10"><name>cd0</name></geom>
  <geom id="11"><name>da4</name><provider id="12"><name>da4</name><mediasize>0</mediasize><config/></provider></geom>
 </class>
 <class id="20"><name>PART</name>
  <geom id="21"><name>da0</name><config><scheme>GPT</scheme></config>
   <provider id="22"><name>da0p1</name><mediasize>272629760</mediasize>
    <config><type>efi</type></config></provider></geom>
  <geom id="23"><name>da1</name><config><scheme>MBR</scheme></config>
   <provider id="24"><name>da1s1</name><mediasize>31456231424</mediasize>
    <config><type>fat32lba</type></config></provider>
  </geom>
  <geom id="25"><name>da3</name><config><scheme>GPT</scheme></config>
   <provider id="26"><name>da3p1</name><mediasize>4000000000</mediasize>
    <config><type>freebsd-ufs</type></config></provider>
  </geom>
 </class>
</mesh>
"""


def test_sticks_are_fat_and_not_in_use() -> None:
    assert sticks_of(disks_of(MESH, {"da0"})) == (
        Stick("da1s1", 31456231424, "SanDisk Ultra Fit"),
        Stick("da2", 4026531840, "Kingston"),  # no partition table: the whole of it may be FAT
    )
    assert sticks_of(disks_of(f"{MESH}\0", {"da0", "da1", "da2"})) == ()
    bare = '<geom id="27"><name>da2</name><config><scheme>MBR</scheme></config></geom></class></mesh>'
    found = sticks_of(disks_of(MESH.replace("</class>\n</mesh>", bare), {"da0"}))
    assert [one.device for one in found] == ["da1s1"]  # a table without a partition leaves nothing to mount


def test_the_switches_of_an_appliance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FreeBSD:
        name = "FreeBSD"

    monkeypatch.setattr(switches, "backend", FreeBSD)
    monkeypatch.setattr(switches, "SYSTEM", tmp_path / "system")
    monkeypatch.setattr(switches, "output", lambda _: "/boot/kernel.GENERIC/kernel\n")
    assert "no appliance" in switches.appliance().why_not
    (tmp_path / "system" / "ssh").mkdir(parents=True)
    (tmp_path / "system" / "rc.conf").write_text('hostname="alpha"\nsshd_enable="NO"\nsshd_enable="YES"\n')
    (tmp_path / "system" / "ssh" / "operator_keys").write_text("ssh-ed25519 AAAA me@desk\n\n")
    found = switches.appliance()
    assert (found.why_not, found.ssh, found.keys, found.password) == ("", True, 1, False)
    assert found.kernel == "kernel.GENERIC"


def test_a_kernel_chosen_for_one_boot_is_told_until_that_boot() -> None:
    assert switches.next_kernel('nextboot_enable="YES"\nkernel="kernel.GENERIC"\n') == "kernel.GENERIC"
    assert switches.next_kernel('nextboot_enable="NO "\nkernel="kernel.GENERIC"\n') == ""
    assert switches.next_kernel("") == ""


def test_where_nothing_can_be_changed_the_reason_is_told() -> None:
    assert switches.backend().name == "FreeBSD" or "Linux, which its owner sets up" in switches.appliance().why_not
