"""The upgrade file, made of the raw disk and signed; and the key for it.  Standard library, xz and ssh-keygen only."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
import time
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tui/src"))  # the file's form is written down once, where it is read

from linkladder.migrations import MIGRATIONS  # noqa: E402
from linkladder.upgrade import Head, Manifest  # noqa: E402
from linkladder.upgrade.parcel import DEVELOPMENT, NAMESPACE, SIGNER  # noqa: E402

UFS = uuid.UUID("516e7cb6-6ecf-11d6-8ff8-00022d09712b")  # the type of a freebsd-ufs partition
SECTOR, BLOCK = 512, 1 << 20
SUPERBLOCK, MAGIC_AT, NAME_AT, CHECKED_AT = 65536, 1372, 680, 1308  # of UFS2 [sys/ufs/ffs/fs.h]
MAGIC = 0x19540119
SUMS = "linkladder-sums"  # what else the key signs: SHA256SUMS of the artifacts


class UpgradeError(Exception):
    """Something a person must be told; no traceback is printed for it."""


def system_place(raw: Path) -> tuple[int, int]:
    """Where the system's partition lies in a raw disk, and its length, in bytes."""
    with raw.open("rb") as file:
        file.seek(SECTOR)
        header = file.read(92)
        if header[:8] != b"EFI PART":
            raise UpgradeError(f"{raw} has no GPT")
        table, count, size = struct.unpack("<QII", header[72:88])
        file.seek(table * SECTOR)
        entries = [file.read(size) for _ in range(count)]
    found = [struct.unpack("<QQ", one[32:48]) for one in entries if one[:16] == UFS.bytes_le]
    if len(found) != 1:
        raise UpgradeError(
            f"{raw} has {len(found)} UFS partitions, where there is one on a disk that was never started"
        )
    first, last = found[0]
    return first * SECTOR, (last - first + 1) * SECTOR


def extract(raw: Path, target: Path) -> None:
    """The system's file system, its holes kept, without its name: two slots must not claim the one name for theirs."""
    place, size = system_place(raw)
    with raw.open("rb") as source, target.open("wb") as out:
        source.seek(place)
        for start in range(0, size, BLOCK):
            block = source.read(min(BLOCK, size - start))
            if block.count(0) != len(block):
                out.seek(start)
                out.write(block)
        out.truncate(size)
    with target.open("r+b") as file:
        file.seek(SUPERBLOCK)
        superblock = file.read(MAGIC_AT + 4)
        if superblock[MAGIC_AT:] != MAGIC.to_bytes(4, "little"):
            raise UpgradeError("the system's partition holds no UFS2")
        if superblock[CHECKED_AT : CHECKED_AT + 4] != bytes(4):
            raise UpgradeError("the file system's superblock has a check sum, which a change of its name would break")
        file.seek(SUPERBLOCK + NAME_AT)
        file.write(bytes(32))


def packed(system: Path, target: Path) -> None:
    """By xz, with all cores."""
    with target.open("wb") as out:
        subprocess.run(["xz", "-T0", "-3", "-c", str(system)], stdout=out, check=True)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sign(text: bytes, key: Path, purpose: str = NAMESPACE) -> bytes:
    """ssh-keygen's signature; the key may be one that an agent or a token holds, named by its public half."""
    argv = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", purpose]
    done = subprocess.run(argv, input=text, capture_output=True, check=False)
    if done.returncode:
        raise UpgradeError(f"{key} cannot sign: {done.stderr.decode().strip()}")
    return done.stdout


def make(system: Path, target: Path, version: str, arch: str, epoch: int, key: Path) -> Manifest:
    """One file with all that an appliance needs to become this system."""
    image = target.with_name(f"{target.name}.image")
    try:
        packed(system, image)
        manifest = Manifest(
            version=version,
            arch=arch,
            schema=len(MIGRATIONS),
            built=time.strftime("%Y-%m-%d %H:%M", time.gmtime(epoch)),
            image_size=system.stat().st_size,
            image_sha256=digest(system),
            packed_size=image.stat().st_size,
        )
        text = manifest.text().encode()
        head = Head(text, sign(text, key))
        with target.open("wb") as out, image.open("rb") as source:
            out.write(head.lead() + head.manifest + head.signature)
            while block := source.read(BLOCK):
                out.write(block)
    finally:
        image.unlink(missing_ok=True)
    return manifest


def development_key(folder: Path) -> Path:
    """A key of this builder's own, made once; what it signs says everywhere that it is for development."""
    key = folder / "upgrade-key"
    if not key.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", DEVELOPMENT, "-f", str(key)]
        subprocess.run(argv, check=True)
    return key


def signers(key: Path) -> str:
    """The line by which a system knows the key: ssh's allowed_signers."""
    public = key if key.suffix == ".pub" else key.with_name(f"{key.name}.pub")
    try:
        words = public.read_text(encoding="utf-8").split()
    except OSError as error:
        raise UpgradeError(f"the public half of {key} cannot be read: {error}") from None
    if len(words) < 2 or not words[0].startswith(("ssh-", "ecdsa-", "sk-")):
        raise UpgradeError(f"{public} is no public key")
    return f'{SIGNER} namespaces="{NAMESPACE},{SUMS}" {" ".join(words[:3])}\n'


def main(words: list[str]) -> int:
    """`upgrade.py signers KEY | FOLDER`: the line for the image; of a folder, by the development key in it."""
    try:
        place = Path(words[1])
        sys.stdout.write(signers(development_key(place) if place.is_dir() else place))
    except (UpgradeError, OSError, subprocess.CalledProcessError) as error:
        print(f"upgrade: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
