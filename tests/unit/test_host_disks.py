"""Disks to install onto: found in what the kernel tells, named with size and content, asked about twice."""

from __future__ import annotations

import sys

import pytest

from linkladder import cli, privilege
from linkladder.host import disks
from linkladder.host.disks import Disk, Part, disks_of
from test_host_switches import MESH

LABELS = """ <class id="30"><name>LABEL</name>
  <geom id="31"><name>da0p1</name><provider id="32"><name>gptid/8a1</name></provider></geom>
  <geom id="33"><name>da3p1</name><provider id="34"><name>ufs/backup</name></provider></geom>
  <geom id="35"><name>da2</name><provider id="36"><name>msdosfs/CAMERA</name></provider></geom>
 </class>
</mesh>"""
GB = 1 << 30
EMPTY, TAKEN = Disk("vtbd0", 12 * GB), Disk("da0", 8 * GB, "VMware Virtual disk", (Part("efi", 32 << 20),), True)
OLD = Disk("ada1", 40 * GB, "QEMU HARDDISK", (Part("efi", 32 << 20), Part("freebsd-ufs", 3 * GB, "linkladder")))


def test_disks_with_what_is_on_them() -> None:
    first, stick, camera, backup = disks_of(MESH.replace("</mesh>", LABELS), {"da0"})
    assert (first.name, first.used, first.parts) == ("da0", True, (Part("efi", 272629760, device="da0p1"),))
    assert not stick.used and stick.title == "da1, 29.3 GB, SanDisk Ultra Fit"
    assert stick.content == "partitions fat32lba 29.3 GB"
    assert [d.partitioned for d in (first, stick, camera, backup)] == [True, True, False, True]
    assert camera.content == "a file system on the whole disk, 3.75 GB (CAMERA)"
    assert backup.content == "partitions freebsd-ufs 3.73 GB (backup)"
    wide = MESH.replace(
        "</mediasize>\n   <config><descr>San", "</mediasize><sectorsize>4096</sectorsize><config><descr>San"
    )
    assert disks_of(wide, set())[1].title == "da1, 29.3 GB, SanDisk Ultra Fit, sectors of 4096 bytes"
    assert EMPTY.content == "no partitions and no label" and EMPTY.title == "vtbd0, 12.0 GB"


@pytest.mark.parametrize("name", ["mfid0", "mfisyspd0", "xbd0", "aacd0", "ipsd0", "idad0", "mlxd0"])
def test_a_controllers_own_volumes_are_disks_too(name: str) -> None:
    mesh = MESH.replace("da0", name).replace("VMware Virtual disk", "PERC H730")
    volume = disks_of(mesh, {name})[-1]
    assert (volume.name, volume.maker, volume.used) == (name, "PERC H730", True)
    assert volume.parts == (Part("efi", 272629760, device=f"{name}p1"),)


def test_a_description_that_cannot_be_read_has_no_disks() -> None:
    assert disks_of("", set()) == disks_of("<mesh>", set()) == ()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What reached the helper, from a terminal on a live medium."""
    calls: list[tuple[str, ...]] = []

    async def run(verb: str, *words: str, **_: object) -> privilege.Completed:
        calls.append((verb, *words))
        return privilege.Completed(0, "done: take the medium out and reboot", "")

    monkeypatch.setattr(privilege, "run", run)
    monkeypatch.setattr(disks, "disks", lambda: (EMPTY, TAKEN, OLD))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    return calls


@pytest.mark.parametrize(
    ("answers", "done"),
    [(["yes", "ada1"], True), (["yes", "yes"], False), (["no"], False), (["ada1"], False)],
)
def test_installing_asks_twice_with_name_size_and_content(
    called: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, answers: list[str], done: bool
) -> None:
    asked: list[str] = []
    given = iter(answers)
    monkeypatch.setattr("builtins.input", lambda question: (asked.append(question), next(given))[1])
    assert cli.main(["system", "install", "ada1"]) == (0 if done else 2)
    assert called == ([("install", "ada1")] if done else [])
    assert len(asked) == len(answers)
    for question in asked:
        for words in ("ada1", "40.0 GB", "QEMU HARDDISK", "efi 32.0 MB", "freebsd-ufs 3.00 GB (linkladder)"):
            assert words in question


def test_what_cannot_be_installed_onto_is_refused_unasked(
    called: list[tuple[str, ...]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["system", "install", "da0"]) == 2 and "da0 is in use" in capsys.readouterr().err
    assert cli.main(["system", "install", "da9", "--yes"]) == 2 and "there is no disk da9" in capsys.readouterr().err
    assert cli.main(["system", "install"]) == 0
    assert "vtbd0, 12.0 GB\n    no partitions and no label\nda0, 8.00 GB" in capsys.readouterr().out
    monkeypatch.setattr(disks, "disks", lambda: ())
    assert cli.main(["system", "install", "ada1", "--yes"]) == 3
    assert "no installation set" in capsys.readouterr().err
    assert called == []
