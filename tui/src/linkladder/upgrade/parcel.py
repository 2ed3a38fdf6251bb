"""The file of an upgrade: a line that names its form, a signed manifest, and the packed image of the system.

    linkladder upgrade 1
    MANIFEST-BYTES SIGNATURE-BYTES
    the manifest, in JSON; the signature over it, by ssh-keygen -Y; the image, packed by xz

The manifest has the image's size and digest, so its signature covers every byte; as it comes first, it is verified
before the image is read. Only the standard library is used, as both the image's build and root run this module.
"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from linkladder.errors import EnvironmentFault

FIRST = b"linkladder upgrade 1\n"
NAMESPACE = "linkladder-upgrade"
SIGNERS = Path("/usr/local/etc/linkladder/upgrade_signers")  # ssh's allowed_signers file, built into the image
SIGNER = "linkladder"
DEVELOPMENT = "development"  # the comment of a key that somebody made for their own build
MANIFEST_MOST, SIGNATURE_MOST = 65536, 16384
IMAGE_MOST = 64 << 30
_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:\.dev(\d{1,6}))?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class UpgradeFault(EnvironmentFault):
    """The file was refused, or its system was not written completely; the running system is unchanged."""


@dataclass(frozen=True)
class Manifest:
    """What a file says about its system; trusted only after its signature has been verified."""

    version: str
    arch: str  # such as amd64
    schema: int  # the version of the store's tables in this system
    built: str  # the date of the build, for people
    image_size: int  # bytes of the unpacked image
    image_sha256: str
    packed_size: int  # bytes of the packed image, the rest of the file

    def text(self) -> str:
        return json.dumps({"linkladder": "upgrade", **asdict(self)}, indent=1) + "\n"


@dataclass(frozen=True)
class Head:
    """The part of a file before its image."""

    manifest: bytes
    signature: bytes

    @property
    def size(self) -> int:
        return len(self.lead()) + len(self.manifest) + len(self.signature)

    def lead(self) -> bytes:
        return FIRST + f"{len(self.manifest)} {len(self.signature)}\n".encode()


def read_head(file: BinaryIO) -> Head:
    """Read the file up to its image, where the stream then stands."""
    if file.read(len(FIRST)) != FIRST:
        raise UpgradeFault("this is no upgrade file", "it does not begin as one", "take the file that ends in .upgrade")
    line = file.readline(40)
    sizes = line.removesuffix(b"\n").split(b" ")
    if not line.endswith(b"\n") or len(sizes) != 2 or not all(re.fullmatch(rb"[1-9]\d{0,5}", one) for one in sizes):
        raise damaged("its sizes cannot be read")
    manifest, signature = (int(one) for one in sizes)
    if manifest > MANIFEST_MOST or signature > SIGNATURE_MOST:
        raise damaged("its sizes are impossible")
    head = Head(file.read(manifest), file.read(signature))
    if len(head.manifest) != manifest or len(head.signature) != signature:
        raise damaged("it ends before its image begins")
    return head


def damaged(why: str) -> UpgradeFault:
    return UpgradeFault("the upgrade file is damaged", why, "fetch or copy it again, and compare its SHA-256")


def verify(head: Head, signers: Path = SIGNERS) -> Manifest:
    """The manifest, after checking that a key which this system trusts signed it; raises UpgradeFault if not."""
    if not signers.is_file():
        raise UpgradeFault(
            "upgrades cannot be verified here", f"this system has no {signers}", "install a new image instead"
        )
    done = None
    for place in (None, Path.home()):  # anybody can fill /tmp
        try:
            with tempfile.TemporaryDirectory(prefix="linkladder-", dir=place) as folder:
                done = _asked(head, signers, Path(folder) / "sig")
            break
        except OSError as error:
            said = str(error)
    if done is None:
        raise UpgradeFault("the signature cannot be verified", said, "linkladder doctor")
    if done.returncode != 0:
        raise UpgradeFault(
            "the upgrade file is not signed for this system",
            "no key that this system was built with signed it, or it was changed since",
            "take the file from whoever built this system's image",
        )
    return _parsed(head.manifest)


def _asked(head: Head, signers: Path, signature: Path) -> subprocess.CompletedProcess[bytes]:
    signature.write_bytes(head.signature)
    argv = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", SIGNER, "-n", NAMESPACE, "-s", str(signature)]
    try:
        return subprocess.run(argv, input=head.manifest, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(str(error)) from None


def _parsed(text: bytes) -> Manifest:
    """Parse the manifest and check every field, although it is signed."""
    try:
        fields = json.loads(text)
        if not isinstance(fields, dict) or fields.pop("linkladder", "") != "upgrade":
            raise ValueError("it is not of an upgrade")
        made = Manifest(**fields)
        for name, kind in (("schema", int), ("image_size", int), ("packed_size", int)):
            if type(getattr(made, name)) is not kind or getattr(made, name) < 1:
                raise ValueError(f"{name} is no number above zero")
        if made.image_size > IMAGE_MOST or made.image_size % 512:
            raise ValueError("image_size is impossible")
        if not _VERSION.fullmatch(made.version) or not _DIGEST.fullmatch(made.image_sha256):
            raise ValueError("version or image_sha256 is not in its form")
        if not re.fullmatch(r"[a-z0-9]{3,16}", made.arch) or not re.fullmatch(r"[0-9TZ: -]{0,32}", made.built):
            raise ValueError("arch or built is not in its form")
    except (ValueError, TypeError, RecursionError) as error:
        raise UpgradeFault(
            "the upgrade file's manifest cannot be understood", str(error), "this system may be too old"
        ) from None
    return made


def admit(manifest: Manifest, running: str, slot_size: int, *, downgrade: bool = False, arch: str = "") -> None:
    """Check that the running system may be replaced by this one; raises UpgradeFault with the reason if not."""
    here = arch or platform.machine()
    if manifest.arch != here:
        raise UpgradeFault(
            f"the upgrade is for {manifest.arch}", f"this machine is {here}", f"take the file for {here}"
        )
    if manifest.image_size > slot_size:
        raise UpgradeFault(
            "the new system is too large for this disk's slot",
            f"it has {manifest.image_size} bytes, the slot {slot_size}",
            "write the image to the disk anew; the state is kept (docs/image.md)",
        )
    if order(manifest.version) < order(running) and not downgrade:
        raise UpgradeFault(
            f"{manifest.version} is older than what runs ({running})",
            "an older system may have faults that were mended since, and may not read newer runs",
            "--downgrade does it all the same",
        )


def order(version: str) -> tuple[int, int, int, int]:
    """A key for sorting versions: 0.2.0.dev3 comes before 0.2.0, and other forms come before everything."""
    found = _VERSION.fullmatch(version)
    if not found:
        return (0, 0, 0, 0)
    return (int(found[1]), int(found[2]), int(found[3]), int(found[4]) if found[4] else 10**6)


def development(signers: Path = SIGNERS) -> bool | None:
    """Whether this system accepts upgrades by a development key, which anybody may have made; None without any key."""
    try:
        lines = signers.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    keys: Sequence[str] = [line for line in lines if line.strip() and not line.startswith("#")]
    return any(line.split()[-1] == DEVELOPMENT for line in keys) if keys else None
