"""What a build left in LINKLADDER_OUT (out/ by itself is not looked at: an old build must not fail a new tree)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from linkladder.upgrade import read_head, verify, writing

TOP = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("LINKLADDER_OUT", "/nonexistent"))
OVERLAY = TOP / "overlay"
OVF = "{http://schemas.dmtf.org/ovf/envelope/1}"
LIMIT = 400 * 1024 * 1024
CAPACITY = 8 << 30

pytestmark = pytest.mark.skipif(not OUT.is_dir(), reason="LINKLADDER_OUT names no folder of artifacts")


def artifact(suffix: str) -> Path:
    found = list(OUT.glob(f"linkladder-*{suffix}"))
    assert len(found) == 1, f"{OUT} holds {len(found)} files *{suffix}"
    return found[0]


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def test_every_artifact_is_there_and_has_its_sum() -> None:
    sums = dict(reversed(line.split("  ")) for line in (OUT / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in OUT.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig", "signers"}
    for suffix in (".ova", ".img.xz", ".qcow2", ".iso", ".upgrade", "-sbom.spdx.json", "-packages.txt", "-build.json"):
        path = artifact(suffix)
        assert sha256(path) == sums[path.name], path.name


def test_the_record_names_every_stage_and_every_stand_in() -> None:
    record = json.loads(artifact("-build.json").read_text())
    print(*(f"stand-in: {text}" for text in record["stand_ins"]), sep="\n")
    assert [entry["stage"] for entry in record["stages"]] == ["jail", "kernel", "ports", "bulk", "image", "pack"]
    assert all(entry["ended"] and entry["outcome"] for entry in record["stages"])
    assert all(len(entry["sha256"]) == 64 for entry in record["inputs"])
    named = {entry["input"] for entry in record["inputs"]}
    assert "bulk/packagesite" in named
    assert "source" in named or {"sets/MANIFEST", "sets/base.txz", "sets/kernel.txz"} <= named
    assert "builder" in named or record["packed_on"] == "FreeBSD"
    assert record["tools"]["poudriere"] and record["tools"]["system"].startswith("FreeBSD ")
    words = " ".join(record["stand_ins"])
    for entry in record["stages"]:
        if entry["stage"] == "kernel" and entry["outcome"] != "run":
            assert "kernel LINKLADDER" in words
        if entry["stage"] == "bulk" and entry["outcome"] != "run":
            assert "packages: " in words and any(name.startswith("packages/py3") for name in named)
        if entry["stage"] == "bulk" and entry["outcome"] == "run":
            assert "ports" in named


def test_the_manifest_lists_what_was_asked_for_with_its_licence() -> None:
    rows = [line.split("\t") for line in artifact("-packages.txt").read_text().splitlines()]
    assert all(len(row) == 3 and all(row) for row in rows)
    names = {row[0].lower() for row in rows}
    for origin in (TOP / "ports/pkglist").read_text().split():
        port = origin.split("/")[1].split("@")[0].lower()
        wanted = port.removeprefix("py-")
        assert any(name == port or name.endswith(f"-{wanted}") or name.startswith(f"{port}-") for name in names), origin
    heavy = ("rust", "numpy", "llvm", "perl", "xorg")
    assert not [name for name in names if any(word in name for word in heavy)]


def test_the_upgrade_and_the_sums_are_signed_by_the_key_that_the_image_knows(tmp_path: Path) -> None:
    signers = OUT / "signers"
    with artifact(".upgrade").open("rb") as file:
        manifest = verify(read_head(file), signers)
        target = tmp_path / "slot"
        target.write_bytes(b"")
        writing.write(file, manifest, target, lambda done, total: None)
    assert manifest.version in artifact(".upgrade").name and target.stat().st_size == manifest.image_size
    argv = ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", "linkladder", "-n", "linkladder-sums"]
    with (OUT / "SHA256SUMS").open("rb") as sums:
        done = subprocess.run([*argv, "-s", OUT / "SHA256SUMS.sig"], stdin=sums, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ova_is_light_and_whole(tmp_path: Path) -> None:
    ova = artifact(".ova")
    assert ova.stat().st_size <= LIMIT
    with tarfile.open(ova) as tar:
        assert [Path(name).suffix for name in tar.getnames()] == [".ovf", ".mf", ".vmdk"]
        tar.extractall(tmp_path, filter="data")
    ovf, manifest, disk = (next(tmp_path.glob(f"*{suffix}")) for suffix in (".ovf", ".mf", ".vmdk"))
    for line in manifest.read_text().splitlines():
        name, digest = line.removeprefix("SHA256(").split(")= ")
        assert sha256(tmp_path / name) == digest
    file = ElementTree.fromstring(ovf.read_text()).find(f"{OVF}References/{OVF}File")
    assert file is not None and file.get(f"{OVF}size") == str(disk.stat().st_size)


@pytest.mark.skipif(shutil.which("qemu-img") is None, reason="qemu-img (qemu-utils) is not installed")
def test_vmdk_and_qcow2_are_the_raw_disk_byte_for_byte(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    with raw.open("wb") as file:
        subprocess.run(["xz", "-dc", artifact(".img.xz")], stdout=file, check=True)
    # qemu-img compares every byte of the shorter one and wants zeros behind it.
    with tarfile.open(artifact(".ova")) as tar:
        disk = next(member for member in tar.getmembers() if member.name.endswith(".vmdk"))
        tar.extract(disk, tmp_path, filter="data")
    for path, form in ((tmp_path / disk.name, "vmdk"), (artifact(".qcow2"), "qcow2")):
        info = json.loads(subprocess.check_output(["qemu-img", "info", "--output=json", "-f", form, str(path)]))
        assert info["virtual-size"] == CAPACITY
        done = subprocess.run(
            ["qemu-img", "compare", "-f", "raw", "-F", form, raw, path], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("xorriso") is None, reason="xorriso is not installed")
def test_iso_boots_both_ways_and_carries_the_installation_set() -> None:
    iso = str(artifact(".iso"))
    boot = subprocess.run(["xorriso", "-indev", iso, "-report_el_torito", "plain"], capture_output=True, text=True)
    assert "BIOS" in boot.stdout and "UEFI" in boot.stdout, boot.stdout + boot.stderr
    listed = subprocess.run(["xorriso", "-indev", iso, "-find", "/usr/freebsd-dist"], capture_output=True, text=True)
    assert "/usr/freebsd-dist/linkladder.tzst" in listed.stdout and "/usr/freebsd-dist/MANIFEST" in listed.stdout
    kernels = subprocess.run(
        ["xorriso", "-indev", iso, "-find", "/boot", "-name", "kernel"], capture_output=True, text=True
    )
    assert "/boot/kernel/kernel" in kernels.stdout and "/boot/kernel.GENERIC/kernel" in kernels.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tarfile.TarInfo]:
    """Every file of the system that the ISO installs, which is the one of the disk images."""
    if shutil.which("xorriso") is None or shutil.which("zstd") is None:
        pytest.skip("xorriso or zstd is not installed")
    folder = tmp_path_factory.mktemp("installed")
    packed, plain = folder / "linkladder.tzst", folder / "linkladder.tar"
    words = ["-osirrox", "on", "-indev", str(artifact(".iso")), "-extract", "/usr/freebsd-dist", str(folder)]
    subprocess.run(["xorriso", *words], check=True, capture_output=True)
    name, digest = (folder / "MANIFEST").read_text().split("\t")[:2]
    assert (name, digest) == (packed.name, sha256(packed))
    subprocess.run(["zstd", "-q", "-d", packed, "-o", plain], check=True)
    with tarfile.open(plain) as tar:
        members = {member.name.removeprefix("./"): member for member in tar}
    plain.unlink()
    return members


def test_what_is_installed_has_its_folders_and_no_devices(installed: dict[str, tarfile.TarInfo]) -> None:
    members = installed
    # bsdinstall works in /tmp of the new system, and cannot write where its devices are.
    assert members["tmp"].mode & 0o7777 == 0o1777 and members["var/tmp"].linkname == "/tmp"
    assert not [path for path in members if path.startswith("dev/")]
    # bsdinstall puts empty files in the place of these two.
    kept = "usr/local/share/linkladder/system"
    assert members[f"{kept}/rc.conf"].size == members["etc/rc.conf"].size > 0
    assert members[f"{kept}/loader.conf"].size == members["boot/loader.conf"].size > 0
    assert members["boot/kernel/kernel"].isfile() and members["usr/local/bin/linkladder"].isfile()
    assert not [path for path in members if "ssh_host_" in path]
    assert not {"etc/hostid", "etc/machine-id", "etc/resolv.conf", "boot/entropy", "entropy"} & set(members)
    assert not [path for path in members if path.startswith(("root/.ssh", "usr/freebsd-dist/", "var/cache/pkg/"))]


# Closed further than the rest: what runs as root may do is nobody's business.
CLOSED = {"usr/local/etc/doas.conf": 0o600}
USED_UP = {"etc/gettytab.ladder", "etc/login.conf.ladder"}  # they have become part of etc/gettytab and etc/login.conf


def test_the_overlay_belongs_to_root_and_only_root_writes(installed: dict[str, tarfile.TarInfo]) -> None:
    wrong = []
    for path in [OVERLAY, *OVERLAY.rglob("*")]:
        name = str(path.relative_to(OVERLAY))
        if name in USED_UP:
            continue
        member = installed[name]
        runs = path.is_dir() or path.stat().st_mode & 0o100
        want = CLOSED.get(name, 0o755 if runs else 0o644)
        if (member.uid, member.gid, member.mode & 0o7777) != (0, 0, want):
            wrong.append(f"{name}: {member.uid}:{member.gid} {member.mode:o} instead of 0:0 {want:o}")
    assert wrong == []
