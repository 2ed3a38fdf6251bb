"""The folders in which this appliance keeps its state."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

APPLIANCE = Path("/var/db/linkladder")
MEASURING = Path("/var/db/linkladder-measure")  # owned by the measuring user, readable by all
TRUSTED = Path("/var/db/linkladder-trusted")  # the trusted keys, for the measuring user to read
IN_MEMORY = Path("/state/in-memory")  # exists if an appliance cannot keep its state on a disk, and says why
GENERATORS = "generators.json"  # in the state folder: what was found of the generator's strength, if anything was
OPERATOR = "admin"  # the user who logs in by ssh, who cannot read the appliance's own folder
DOAS, PROGRAM = "/usr/local/bin/doas", "/usr/local/bin/linkladder"


def folder() -> Path:
    """The state folder: LINKLADDER_STATE, else the appliance's own partition, else the user's state folder."""
    if named := os.environ.get("LINKLADDER_STATE"):
        return Path(named)
    if APPLIANCE.is_dir() and os.access(APPLIANCE, os.W_OK):
        return APPLIANCE
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "linkladder"


def lost_at_power_off() -> str:
    """Why the state of this appliance is only in memory; '' if it is on a disk."""
    try:
        return IN_MEMORY.read_text(encoding="utf-8", errors="replace").strip()[:300] or "it is not known why"
    except OSError:
        return ""


def measuring() -> Path:
    """The folder where agents register, reserve the appliance and keep the settings' journal; LINKLADDER_MEASURING."""
    return _apart("LINKLADDER_MEASURING", MEASURING) or folder()


def trusted(base: Path | None = None) -> Path:
    """The folder with the keys that may start an agent here; LINKLADDER_TRUSTED, else in the state folder `base`."""
    return _apart("LINKLADDER_TRUSTED", TRUSTED) or ensure((base or folder()) / "sshd")


def _apart(name: str, appliances: Path) -> Path | None:
    """A folder outside the state folder, if agents run as another user; else None."""
    if named := os.environ.get(name):
        return Path(named)
    return appliances if appliances.is_dir() and folder() == APPLIANCE else None


def hand_over(arguments: Sequence[str]) -> None:
    """Restart as the appliance's own user if the operator runs this, to use the appliance's peers and runs."""
    if os.environ.get("LINKLADDER_STATE") or not os.access(DOAS, os.X_OK) or not APPLIANCE.is_dir():
        return
    if not os.access(APPLIANCE, os.W_OK) and pwd.getpwuid(os.getuid()).pw_name == OPERATOR:
        os.execv(DOAS, [DOAS, "-n", "-u", "linkladder", PROGRAM, *arguments])


def ensure(path: Path) -> Path:
    """The folder, after making it and missing folders above it with mode 0700."""
    if not path.parent.exists():
        ensure(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return path
