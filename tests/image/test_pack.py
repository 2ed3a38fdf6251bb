"""Packing, with a small dummy disk: what comes out is what went in, in the form that hypervisors take."""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import uuid
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from linkladder.upgrade import read_head, verify, writing

TOP = Path(__file__).resolve().parents[2]
PACK = TOP / "image/pack.py"
NAME = "linkladder-9.8.7-amd64"
OVF = "{http://schemas.dmtf.org/ovf/envelope/1}"
RASD = "{http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData}"
VSSD = "{http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData}"
VMW = "{http://www.vmware.com/schema/ovf}"
CAPACITY = 8 << 30

needs_qemu_img = pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img (qemu-utils) is not installed")


def pack(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PACK, *map(str, args)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A raw disk with data, zeros and a tail, and the folder it was packed into."""
    folder = tmp_path_factory.mktemp("pack")
    raw = folder / "small.raw"
    noise = random.Random(6)
    with raw.open("wb") as file:
        file.write(noise.randbytes(3 << 20))
        file.seek(40 << 20)
        file.write(b"LINKLADDER" * 1000)
        file.truncate(48 << 20)
    packages = folder / "packages.tsv"
    packages.write_text("iperf\t2.2.1\tBSD2CLAUSE\n")
    stages = folder / "stages"
    stages.write_text("jail\t12\trun\t2026-11-21T07:00:00Z\nbulk\t0\tpackages were given\t2026-11-21T07:01:00Z\n")
    out = folder / "out"
    tools = folder / "tools"
    tools.write_text("system\tFreeBSD 15.1-RELEASE\npoudriere\t3.4.4\n")
    options = [
        "--tools",
        tools,
        "--packages",
        packages,
        "--stages",
        stages,
        "--input",
        f"raw={raw}",
        "--stand-in",
        "sets: cross-built",
    ]
    done = pack(raw, "--out", out, "--version", "9.8.7", "--epoch", "1700000000", *options)
    assert done.returncode == 0, done.stderr
    return raw, out


def unpacked(out: Path, tmp_path: Path) -> dict[str, Path]:
    with tarfile.open(out / f"{NAME}.ova") as tar:
        tar.extractall(tmp_path, filter="data")
        return {Path(name).suffix: tmp_path / name for name in tar.getnames()}


def same_content(disk: Path, raw: Path) -> bool:
    """Byte for byte, then zeros to the capacity."""
    with disk.open("rb") as got, raw.open("rb") as want:
        while block := want.read(1 << 20):
            if got.read(len(block)) != block:
                return False
    # Behind the raw disk qemu-img looks for anything that is not zero, without reading 8 GB of holes.
    rest = subprocess.run(
        ["qemu-img", "compare", "-f", "raw", "-F", "raw", raw, disk], capture_output=True, check=False
    )
    return disk.stat().st_size == CAPACITY and rest.returncode == 0


@needs_qemu_img
def test_ova_is_a_plain_tar_in_the_order_that_is_streamed(packed: tuple[Path, Path]) -> None:
    ova = packed[1] / f"{NAME}.ova"
    with tarfile.open(ova) as tar:
        members = tar.getmembers()
    assert [Path(m.name).suffix for m in members] == [".ovf", ".mf", ".vmdk"]
    assert all((m.uid, m.gid, m.uname, m.mtime) == (0, 0, "", 1700000000) for m in members)
    assert ova.read_bytes()[257:263] == b"ustar\0"


@needs_qemu_img
def test_manifest_and_descriptor_agree_with_the_disk(packed: tuple[Path, Path], tmp_path: Path) -> None:
    parts = unpacked(packed[1], tmp_path)
    for line in parts[".mf"].read_text().splitlines():
        name, digest = line.removeprefix("SHA256(").split(")= ")
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    root = ElementTree.fromstring(parts[".ovf"].read_text())
    file = root.find(f"{OVF}References/{OVF}File")
    disk = root.find(f"{OVF}DiskSection/{OVF}Disk")
    assert file is not None and disk is not None
    assert file.get(f"{OVF}href") == parts[".vmdk"].name
    assert int(file.get(f"{OVF}size", "0")) == parts[".vmdk"].stat().st_size
    assert disk.get(f"{OVF}fileRef") == file.get(f"{OVF}id")
    assert disk.get(f"{OVF}format", "").endswith("#streamOptimized")
    assert int(disk.get(f"{OVF}capacity", "0")) == CAPACITY
    assert "$" not in parts[".ovf"].read_text()


@needs_qemu_img
def test_machine_is_the_one_promised(packed: tuple[Path, Path], tmp_path: Path) -> None:
    root = ElementTree.fromstring(unpacked(packed[1], tmp_path)[".ovf"].read_text())
    hardware = root.find(f".//{OVF}VirtualHardwareSection")
    assert hardware is not None and hardware.get(f"{OVF}transport") == "com.vmware.guestInfo"
    assert hardware.findtext(f"{OVF}System/{VSSD}VirtualSystemType") == "vmx-17"
    items = hardware.findall(f"{OVF}Item")

    def of(kind: str) -> list[ElementTree.Element]:
        return [item for item in items if item.findtext(f"{RASD}ResourceType") == kind]

    assert [i.findtext(f"{RASD}VirtualQuantity") for i in (*of("3"), *of("4"))] == ["8", "8192"]
    assert [i.findtext(f"{RASD}ResourceSubType") for i in of("6")] == ["VirtualSCSI"]
    assert [i.findtext(f"{RASD}ResourceSubType") for i in of("10")] == ["VmxNet3", "VmxNet3"]
    assert of("17")[0].findtext(f"{RASD}HostResource") == "ovf:/disk/vmdisk1"
    assert of("17")[0].findtext(f"{RASD}Parent") == of("6")[0].findtext(f"{RASD}InstanceID")
    networks = {n.get(f"{OVF}name") for n in root.findall(f"{OVF}NetworkSection/{OVF}Network")}
    assert {i.findtext(f"{RASD}Connection") for i in of("10")} == networks == {"Management", "Test"}
    configured = {c.get(f"{VMW}key"): c.get(f"{VMW}value") for c in hardware.findall(f"{VMW}Config")}
    assert configured["firmware"] == "efi"
    identities = [i.findtext(f"{RASD}InstanceID") for i in items]
    assert len(set(identities)) == len(identities)
    for item in items:  # the schema wants the elements of an item in alphabetical order
        tags = [child.tag for child in item]
        assert tags == sorted(tags)


@needs_qemu_img
def test_properties_are_optional_and_the_first_boot_knows_each(packed: tuple[Path, Path], tmp_path: Path) -> None:
    root = ElementTree.fromstring(unpacked(packed[1], tmp_path)[".ovf"].read_text())
    properties = root.findall(f".//{OVF}ProductSection/{OVF}Property")
    names = [p.get(f"{OVF}key", "") for p in properties]
    assert names == ["hostname", "address", "gateway", "test_address", "secret", "ssh_key", "contract"]
    assert all(p.get(f"{OVF}value") == "" for p in properties)
    reader = (TOP / "overlay/usr/local/libexec/linkladder-ovf").read_text()
    assert [name for name in names if f"accept {name} " not in reader] == []


@needs_qemu_img
def test_every_disk_reads_back_as_the_raw_one(packed: tuple[Path, Path], tmp_path: Path) -> None:
    raw, out = packed
    vmdk = unpacked(out, tmp_path)[".vmdk"]
    info = json.loads(subprocess.check_output(["qemu-img", "info", "--output=json", str(vmdk)]))
    assert info["format-specific"]["data"]["create-type"] == "streamOptimized"
    assert info["virtual-size"] == CAPACITY
    for disk in (vmdk, out / f"{NAME}.qcow2"):
        back = tmp_path / "back.raw"
        subprocess.run(["qemu-img", "convert", "-O", "raw", str(disk), str(back)], check=True)
        assert same_content(back, raw), disk.name
        back.unlink()
    assert lzma.decompress((out / f"{NAME}.img.xz").read_bytes()) == raw.read_bytes()


@needs_qemu_img
def test_sums_and_record_name_everything(packed: tuple[Path, Path]) -> None:
    raw, out = packed
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {p.name for p in out.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    record = json.loads((out / f"{NAME}-build.json").read_text())
    assert [s["stage"] for s in record["stages"]] == ["jail", "bulk", "pack"]
    assert record["stages"][1]["outcome"] == "packages were given"
    assert record["inputs"][0]["sha256"] == hashlib.sha256(raw.read_bytes()).hexdigest()
    assert record["tools"] == {"system": "FreeBSD 15.1-RELEASE", "poudriere": "3.4.4"}
    assert record["stand_ins"] == ["sets: cross-built"]
    assert "iperf\t2.2.1" in (out / f"{NAME}-packages.txt").read_text()


@needs_qemu_img
def test_packing_twice_gives_the_same_descriptor_and_nothing_half_made(
    packed: tuple[Path, Path], tmp_path: Path
) -> None:
    raw, out = packed
    done = pack(raw, "--out", tmp_path / "again", "--version", "9.8.7", "--epoch", "1700000000")
    assert done.returncode == 0, done.stderr
    assert not [p for p in (tmp_path / "again").iterdir() if not p.name.startswith((NAME, "SHA256SUMS"))]
    assert not [p for p in out.iterdir() if not p.name.startswith((NAME, "SHA256SUMS"))]


@needs_qemu_img
@pytest.mark.parametrize("words", [["--iso", "/nowhere.iso"], ["--input", "sets=/nowhere"]], ids=["iso", "record"])
def test_an_artifact_has_its_name_only_when_all_are_whole(
    packed: tuple[Path, Path], tmp_path: Path, words: list[str]
) -> None:
    raw, _ = packed
    old = tmp_path / f"{NAME}.qcow2"
    for path in (old, tmp_path / "SHA256SUMS"):
        path.write_text("of a build before")
    done = pack(raw, "--out", tmp_path, "--version", "9.8.7", *words)
    assert done.returncode == 1 and "/nowhere" in done.stderr
    # What was there is still there, whole, and nothing is beside it.
    assert {p.name for p in tmp_path.iterdir()} - {"state"} == {old.name, "SHA256SUMS"}
    assert old.read_text() == (tmp_path / "SHA256SUMS").read_text() == "of a build before"


def test_no_disk_or_a_missing_input_is_said(tmp_path: Path) -> None:
    done = pack(tmp_path / "nowhere", "--out", tmp_path / "out", "--version", "1")
    assert done.returncode == 1 and "there is no raw disk" in done.stderr and "Traceback" not in done.stderr


SUPERBLOCK = 65536


def disk_with_a_system(folder: Path, check: bytes = bytes(4)) -> tuple[Path, bytes]:
    """A raw disk as poudriere lays it out: GPT, an EFI partition, and a UFS that is named; and the UFS's bytes."""
    noise = random.Random(9)
    system = bytearray(noise.randbytes(1 << 20) + bytes(3 << 20) + noise.randbytes(1 << 20))
    system[SUPERBLOCK : SUPERBLOCK + 2048] = bytes(2048)
    system[SUPERBLOCK + 680 : SUPERBLOCK + 690] = b"linkladder"
    system[SUPERBLOCK + 1308 : SUPERBLOCK + 1312] = check
    system[SUPERBLOCK + 1372 : SUPERBLOCK + 1376] = (0x19540119).to_bytes(4, "little")
    first, sectors = 2048, len(system) // 512
    kinds = ("c12a7328-f81f-11d2-ba4b-00a0c93ec93b", "516e7cb6-6ecf-11d6-8ff8-00022d09712b")
    table = b""
    for kind, start, end in zip(kinds, (64, first), (127, first + sectors - 1), strict=True):
        table += uuid.UUID(kind).bytes_le + bytes(16) + struct.pack("<QQQ", start, end, 0) + bytes(72)
    header = b"EFI PART" + bytes(64) + struct.pack("<QII", 2, 128, 128) + bytes(4)
    raw = folder / "disk.raw"
    with raw.open("wb") as file:
        for place, data in ((512, header), (1024, table), (first * 512, bytes(system))):
            file.seek(place)
            file.write(data)
        file.truncate((first + sectors + 64) * 512)
    return raw, bytes(system)


@needs_qemu_img
def test_the_upgrade_is_the_disks_system_without_its_name_and_signed(tmp_path: Path) -> None:
    raw, system = disk_with_a_system(tmp_path)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", key], check=True)
    out = tmp_path / "out"
    packages = tmp_path / "packages.tsv"
    packages.write_text("iperf\t2.2.1\tBSD2CLAUSE\n")
    (tmp_path / "origins").write_text("ports unpinned 0123 4567\nsystem pinned 89ab cdef\n")
    done = pack(
        raw, "--out", out, "--version", "9.8.7", "--sign-key", key, "--packages", packages, "--release", "15.1",
        "--origins", tmp_path / "origins",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    slot = tmp_path / "slot"
    slot.write_bytes(b"")
    with (out / f"{NAME}.upgrade").open("rb") as file:
        manifest = verify(read_head(file), out / "signers")
        writing.write(file, manifest, slot, lambda done, total: None)
    assert (manifest.version, manifest.arch, manifest.image_size) == ("9.8.7", "amd64", len(system))
    named = SUPERBLOCK + 680
    assert slot.read_bytes() == system[:named] + bytes(32) + system[named + 32 :]
    check = ["ssh-keygen", "-Y", "verify", "-f", out / "signers", "-I", "linkladder", "-n", "linkladder-sums"]
    for sums, good in (((out / "SHA256SUMS").read_bytes(), True), (b"0" * 64 + b"  x\n", False)):
        checked = subprocess.run([*check, "-s", out / "SHA256SUMS.sig"], input=sums, capture_output=True)
        assert (checked.returncode == 0) is good
    listed = json.loads((out / f"{NAME}-sbom.spdx.json").read_text())
    assert listed["spdxVersion"] == "SPDX-2.3" and len({one["SPDXID"] for one in listed["packages"]}) == 5
    assert [(one["name"], one["versionInfo"]) for one in listed["packages"]] == [
        ("linkladder-appliance", "9.8.7"),
        ("FreeBSD", "15.1"),
        ("FreeBSD-ports", "unpinned 0123 4567"),
        ("FreeBSD-source", "pinned 89ab cdef"),
        ("iperf", "2.2.1"),
    ]
    built_of = json.loads((out / f"{NAME}-build.json").read_text())["built_of"]
    assert built_of == {"ports": "unpinned 0123 4567", "system": "pinned 89ab cdef"}


@needs_qemu_img
@pytest.mark.parametrize(
    ("spoilt", "words"), [("table", "has no GPT"), ("ufs", "holds no UFS2"), ("check", "has a check sum")]
)
def test_no_upgrade_is_made_of_what_is_no_system(tmp_path: Path, spoilt: str, words: str) -> None:
    raw, _ = disk_with_a_system(tmp_path, bytes(4) if spoilt != "check" else b"\1\0\0\0")
    with raw.open("r+b") as file:
        file.seek({"table": 512, "ufs": 2048 * 512 + SUPERBLOCK + 1372, "check": raw.stat().st_size}[spoilt])
        file.write(b"\0" * 8)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", key], check=True)
    done = pack(raw, "--out", tmp_path / "out", "--version", "9.8.7", "--sign-key", key)
    assert done.returncode == 1 and words in done.stderr
    assert not list((tmp_path / "out").iterdir())
