"""Turn a raw disk into what people drop on hypervisors: OVA, qcow2, img.xz, checksums and the build record.

Standard library and qemu-img only; runs on FreeBSD and Linux alike.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import lzma
import platform
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template
from xml.sax.saxutils import escape

import upgrade

HERE = Path(__file__).resolve().parent
CAPACITY = 8 * 1024**3  # the disk that a virtual machine sees; state gets what the system leaves
BLOCK = 1024 * 1024
STARTED = time.monotonic()
LIMIT = 400 * 1024 * 1024  # what an OVA may weigh


class PackError(Exception):
    """Something a person must be told; no traceback is printed for it."""


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def qemu_img(*args: str | Path) -> str:
    """Run qemu-img and return what it prints; its own words are the error."""
    try:
        done = subprocess.run(["qemu-img", *map(str, args)], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise PackError("qemu-img is not installed (Debian: qemu-utils, FreeBSD: qemu-tools)") from error
    if done.returncode:
        raise PackError(f"qemu-img {args[0]}: {done.stderr.strip()}")
    return done.stdout


def grown(raw: Path, folder: Path) -> Path:
    """A sparse copy of the raw disk at the full capacity; the image itself stays small for USB sticks."""
    if raw.stat().st_size > CAPACITY:
        raise PackError(f"{raw} is larger than the {CAPACITY >> 30} GB disk it must fit")
    copy = folder / "disk.raw"
    qemu_img("convert", "-f", "raw", "-O", "raw", raw, copy)
    with copy.open("r+b") as file:
        file.truncate(CAPACITY)
    return copy


def vmdk(disk: Path, target: Path) -> None:
    """The one VMDK form that ESXi imports from an OVA."""
    options = "adapter_type=lsilogic,subformat=streamOptimized,compat6"
    qemu_img("convert", "-f", "raw", "-O", "vmdk", "-o", options, disk, target)


def descriptor(name: str, version: str, disk: Path, populated: int) -> str:
    """The OVF descriptor for one disk."""
    template = Template((HERE / "template.ovf").read_text(encoding="utf-8"))
    return template.substitute(
        name=escape(name),
        version=escape(version),
        disk=escape(disk.name),
        size=disk.stat().st_size,
        capacity=CAPACITY,
        populated=populated,
    )


def member(tar: tarfile.TarFile, path: Path, epoch: int) -> None:
    """Add a file with nothing of the builder's machine in its header."""
    info = tarfile.TarInfo(path.name)
    info.size = path.stat().st_size
    info.mtime = epoch
    info.mode = 0o644
    with path.open("rb") as file:
        tar.addfile(info, file)


def ova(disk: Path, target: Path, name: str, version: str, epoch: int) -> None:
    """Descriptor first, then manifest, then disk: hypervisors read the tar as a stream."""
    folder = target.parent / f"{target.name}.parts"
    folder.mkdir(exist_ok=True)
    try:
        image = folder / f"{name}-disk1.vmdk"
        vmdk(disk, image)
        ovf = folder / f"{name}.ovf"
        populated = disk.stat().st_blocks * 512
        ovf.write_text(descriptor(name, version, image, populated), encoding="utf-8")
        manifest = folder / f"{name}.mf"
        lines = [f"SHA256({path.name})= {digest(path)}\n" for path in (ovf, image)]
        manifest.write_text("".join(lines), encoding="utf-8")
        with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as tar:
            for path in (ovf, manifest, image):
                member(tar, path, epoch)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compress(raw: Path, target: Path) -> None:
    """raw → .xz; all cores through xz where it is, else in Python."""
    if shutil.which("xz"):
        with target.open("wb") as out:
            subprocess.run(["xz", "-T0", "-3", "-c", str(raw)], stdout=out, check=True)
    else:
        with raw.open("rb") as source, lzma.open(target, "wb", preset=3) as out:
            shutil.copyfileobj(source, out, BLOCK)


def software_list(args: argparse.Namespace) -> str:
    """Every package with its version and licence, in SPDX 2.3, for whoever must know what is on a machine."""
    made = datetime.datetime.fromtimestamp(args.epoch, datetime.UTC).isoformat(timespec="seconds")
    name = f"linkladder-{args.version}-{args.arch}"
    system: list[list[str]] = [["linkladder-appliance", args.version, "BSD-2-Clause"]]
    system += [["FreeBSD", args.release, "BSD-2-Clause"]] if args.release else []
    # The word before the commit tells whether anything held the build to it.
    names = {"ports": "FreeBSD-ports", "system": "FreeBSD-source"}
    system += [[names[what], told, "BSD-2-Clause"] for what, told in origins(args.origins).items()]
    packages = [
        {
            "SPDXID": f"SPDXRef-{number}",
            "name": package,
            "versionInfo": version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION",
            # The ports' own words for licences are not all SPDX's.
            "licenseComments": licence,
        }
        for number, (package, version, licence) in enumerate([*system, *rows(args.packages)])
    ]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": f"https://example.org/linkladder/{name}-{digest(args.packages)[:16]}",
        "creationInfo": {"created": made.replace("+00:00", "Z"), "creators": ["Tool: linkladder-build"]},
        "packages": packages,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-0"},
            *(
                {"spdxElementId": "SPDXRef-0", "relationshipType": "CONTAINS", "relatedSpdxElement": one["SPDXID"]}
                for one in packages[1:]
            ),
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def upgrade_file(args: argparse.Namespace, raw: Path, target: Path) -> None:
    """The system of the raw disk, for the second slot of a disk that has one already."""
    system = target.with_name(f"{target.name}.system")
    try:
        upgrade.extract(raw, system)
        upgrade.make(system, target, args.version, args.arch, args.epoch, args.sign_key)
    finally:
        system.unlink(missing_ok=True)


def rows(file: Path | None) -> list[list[str]]:
    """The lines of a file of fields with tabs between; none when there is no file."""
    if file is None or not file.is_file():
        return []
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]


def origins(file: Path | None) -> dict[str, str]:
    """What the ports and the system were built of, as the build wrote it."""
    return {what: told for what, _, told in (line[0].partition(" ") for line in rows(file))}


def record(args: argparse.Namespace) -> str:
    """What was really run and from what, so that a reader can tell an official build from a stand-in."""
    ran: list[dict[str, str | int]] = []
    for stage, seconds, outcome, ended in rows(args.stages):
        ran.append({"stage": stage, "seconds": int(seconds), "outcome": outcome, "ended": ended})
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    ran.append({"stage": "pack", "seconds": round(time.monotonic() - STARTED), "outcome": "run", "ended": now})
    made: list[dict[str, str]] = []
    for entry in args.input:
        name, _, place = entry.partition("=")
        path = Path(place)
        if not path.is_file():
            raise PackError(f"the input {name} is not at {place}")
        made.append({"input": name, "file": path.name, "sha256": digest(path)})
    document = {
        "linkladder": args.version,
        "source_date": datetime.datetime.fromtimestamp(args.epoch, datetime.UTC).isoformat(),
        "packed_on": platform.system(),
        "tools": dict(rows(args.tools)),
        "stages": ran,
        "built_of": {"ports": "not recorded", "system": "not recorded"} | origins(args.origins),
        "inputs": made,
        "stand_ins": list(args.stand_in),
    }
    return json.dumps(document, indent=2) + "\n"


def pack(args: argparse.Namespace) -> None:
    """Make every artifact under another name; they take their own together, when all of them are whole."""
    raw: Path = args.raw
    out: Path = args.out
    if not raw.is_file() or not raw.stat().st_size:
        raise PackError(f"there is no raw disk at {raw}")
    room = out / ".packing"
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(parents=True)
    try:
        make(args, raw, room)
        # The sums of before must not be taken for those of what now comes.
        for name in ("SHA256SUMS", "SHA256SUMS.sig"):
            (out / name).unlink(missing_ok=True)
        for file in sorted(room.iterdir(), key=lambda path: path.name.startswith("SHA256SUMS")):
            file.replace(out / file.name)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def make(args: argparse.Namespace, raw: Path, room: Path) -> None:
    """Every artifact, and the sums of them all."""
    name = f"linkladder-{args.version}-{args.arch}"

    def step(suffix: str, write: Callable[[Path], object]) -> Path:
        target = room / f"{name}{suffix}"
        print(f"pack: {target.name}", flush=True)
        write(target)
        return target

    disk = grown(raw, room)
    try:
        weight = step(".ova", lambda target: ova(disk, target, name, args.version, args.epoch)).stat().st_size
        print(f"pack: the OVA weighs {weight / 1e6:.0f} MB")
        if weight > LIMIT:
            raise PackError(f"the OVA weighs {weight} bytes, more than the {LIMIT} it may")
        step(".qcow2", lambda target: qemu_img("convert", "-c", "-f", "raw", "-O", "qcow2", disk, target))
    finally:
        disk.unlink()
    step(".img.xz", lambda target: compress(raw, target))
    if args.iso is not None:
        step(".iso", lambda target: shutil.copyfile(args.iso, target))
    if args.packages is not None:
        step("-packages.txt", lambda target: shutil.copyfile(args.packages, target))
        step("-sbom.spdx.json", lambda target: target.write_text(software_list(args), encoding="utf-8"))
    if args.sign_key is not None:
        step(".upgrade", lambda target: upgrade_file(args, raw, target))
    step("-build.json", lambda target: target.write_text(record(args), encoding="utf-8"))
    lines = [f"{digest(path)}  {path.name}\n" for path in sorted(room.iterdir())]
    (room / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    if args.sign_key is not None:
        sums = (room / "SHA256SUMS").read_bytes()
        (room / "SHA256SUMS.sig").write_bytes(upgrade.sign(sums, args.sign_key, upgrade.SUMS))
        (room / "signers").write_text(upgrade.signers(args.sign_key), encoding="utf-8")
    for text in args.stand_in:
        print(f"pack: stand-in: {text}")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="pack.py", description=__doc__)
    parser.add_argument("raw", type=Path, help="the raw disk")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--arch", default="amd64")
    parser.add_argument("--iso", type=Path, help="the installer ISO, if it was made")
    parser.add_argument("--sign-key", type=Path, help="the ssh key for the upgrade file and the sums")
    parser.add_argument("--packages", type=Path, help="the package manifest")
    parser.add_argument("--stages", type=Path, help="stage, seconds, outcome and end, one line each, tabs between")
    parser.add_argument("--tools", type=Path, help="tool and version, one line each, tabs between")
    parser.add_argument("--origins", type=Path, help="what ports and system were built of, and whether that is pinned")
    parser.add_argument("--release", help="FreeBSD's, for the software list")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE", help="an input to record")
    parser.add_argument(
        "--stand-in", action="append", default=[], metavar="TEXT", help="what replaced an official input"
    )
    parser.add_argument("--epoch", type=int, default=0, help="seconds; the date in the artifacts")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 packed, 1 not, with the reason."""
    try:
        pack(parser().parse_args(argv))
    except (PackError, upgrade.UpgradeError, OSError, subprocess.CalledProcessError) as error:
        print(f"pack: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
