"""This appliance's own ed25519 keys: one for its control sshd, one to reach others with."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from linkladder import state
from linkladder.errors import EnvironmentFault


def folder(base: Path | None = None) -> Path:
    return state.ensure((base or state.folder()) / "keys")


def host_key(base: Path | None = None) -> Path:
    """The control sshd's private key, made on first use."""
    return _key(folder(base) / "host_ed25519")


def user_key(base: Path | None = None) -> Path:
    """The private key with which this appliance opens channels, made on first use."""
    return _key(folder(base) / "user_ed25519")


def public(key: Path) -> str:
    """'ssh-ed25519 AAAA...' without the comment."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def _key(path: Path) -> Path:
    if not path.exists():
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "linkladder", "-f", str(path)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise EnvironmentFault("the appliance's key cannot be made", done.stderr.strip(), "linkladder doctor")
    check_private(path)
    return path


def check_private(path: Path) -> None:
    """Refuse key files that others could read."""
    for one, allowed in ((path, 0o600), (path.parent, 0o700)):
        mode = stat.S_IMODE(os.stat(one).st_mode)
        if mode & ~allowed:
            raise EnvironmentFault(
                f"{one} can be read by others (mode {mode:04o})",
                "keys must be their owner's alone",
                f"chmod {allowed:o} {one}; if somebody else had access, remove the folder and pair again",
            )
