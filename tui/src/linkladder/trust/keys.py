"""This appliance's own ed25519 keys: one for its control sshd, one with which it reaches other appliances.

OpenSSH signs and verifies; there is no cryptography in this module.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
from pathlib import Path

from linkladder import atomic_files, state
from linkladder.errors import EnvironmentFault
from linkladder.trust import files

KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]{68}")
NAMESPACE = "linkladder-pairing"


def folder(base: Path | None = None) -> Path:
    return state.ensure((base or state.folder()) / "keys")


def host_key(base: Path | None = None) -> Path:
    """The control sshd's private key, made on first use."""
    return _key(folder(base) / "host_ed25519")


def user_key(base: Path | None = None) -> Path:
    """The private key with which this appliance opens channels and signs reports, made on first use."""
    return _key(folder(base) / "user_ed25519")


def public(key: Path) -> str:
    """The public key of a private key's file, 'ssh-ed25519 AAAA...' without the comment."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def well_formed(key: str) -> bool:
    """Whether this is exactly an ed25519 public key in OpenSSH's one-line form."""
    if not KEY.fullmatch(key):
        return False
    blob = base64.b64decode(key.split()[1])
    return len(blob) == 51 and blob.startswith(b"\0\0\0\x0bssh-ed25519\0\0\0 ")


def fingerprint(key: str) -> str:
    """The key's fingerprint 'SHA256:...' as OpenSSH writes it; '' if this is not a key."""
    if not well_formed(key):
        return ""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def sign(data: bytes, key: Path, namespace: str = NAMESPACE) -> str:
    """An OpenSSH signature of the data, made with the private key; it is valid in that namespace alone."""
    done = ssh_keygen(["-Y", "sign", "-q", "-f", str(key), "-n", namespace], data)
    if done.returncode:
        raise EnvironmentFault("the appliance's key cannot sign", done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()


def signed(data: bytes, signature: str, key: str, namespace: str = NAMESPACE) -> bool:
    """Whether the owner of the public key signed the data."""
    if not well_formed(key):
        return False
    with atomic_files.written_for_a_program({"allowed": f"end {key}\n", "signature": signature}) as where:
        given = ["-f", str(where / "allowed"), "-I", "end", "-n", namespace, "-s", str(where / "signature")]
        done = ssh_keygen(["-Y", "verify", *given], data)
    return done.returncode == 0


def _key(path: Path) -> Path:
    if not path.exists() or not Path(f"{path}.pub").exists():
        _make(path)
    files.check_private(path)
    return path


def _make(path: Path) -> None:
    """Make a key under another name first, so that an interruption leaves no half-written key."""
    with files.locked(path.parent):
        if path.exists() and Path(f"{path}.pub").exists():
            return
        draft = path.with_name(f".{path.name}.new")
        for stale in (draft, Path(f"{draft}.pub")):
            stale.unlink(missing_ok=True)
        done = ssh_keygen(["-q", "-t", "ed25519", "-N", "", "-C", "linkladder", "-f", str(draft)])
        if done.returncode:
            why = done.stderr.decode(errors="replace").strip()
            remedy = "make room there; a report is written without a key by --unsigned"
            raise EnvironmentFault("the appliance's key cannot be made", why, remedy)
        for made, final in ((Path(f"{draft}.pub"), Path(f"{path}.pub")), (draft, path)):
            text = made.read_text()
            made.unlink()
            files.write(final, text)


def ssh_keygen(words: list[str], data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen to its end with the data as its input."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/nonexistent"}  # no ssh agent, no user files
    try:
        return subprocess.run(
            ["ssh-keygen", *words], input=data, capture_output=True, check=False, timeout=20, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFault("ssh-keygen cannot be run", str(error), "install OpenSSH") from error
