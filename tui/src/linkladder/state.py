"""Where this appliance keeps what it knows; every file of it lies under one folder."""

from __future__ import annotations

import os
import pwd
from collections.abc import Sequence
from pathlib import Path

APPLIANCE = Path("/var/db/linkladder")
MEASURING = Path("/var/db/linkladder-measure")  # the measuring user's own, which all may look into
TRUSTED = Path("/var/db/linkladder-trusted")  # what the measuring user may know of whom this end believes
IN_MEMORY = Path("/state/in-memory")  # says why, where an appliance could not keep its state on a disk
OPERATOR = "admin"  # who comes in by ssh; the appliance's own folder is not his to read
DOAS, PROGRAM = "/usr/local/bin/doas", "/usr/local/bin/linkladder"


def folder() -> Path:
    """LINKLADDER_STATE, else the appliance's own partition, else the user's state folder."""
    if named := os.environ.get("LINKLADDER_STATE"):
        return Path(named)
    if APPLIANCE.is_dir() and os.access(APPLIANCE, os.W_OK):
        return APPLIANCE
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "linkladder"


def lost_at_power_off() -> str:
    """Why the state of this appliance is in memory alone; '' where it is kept."""
    try:
        return IN_MEMORY.read_text(encoding="utf-8", errors="replace").strip()[:300] or "it is not known why"
    except OSError:
        return ""


def measuring() -> Path:
    """Where agents say that they run, reserve the appliance and note what a setting was; LINKLADDER_MEASURING."""
    return _apart("LINKLADDER_MEASURING", MEASURING) or folder()


def trusted(base: Path | None = None) -> Path:
    """The list of keys that may start an agent here, and no more; LINKLADDER_TRUSTED, else with the state in `base`."""
    return _apart("LINKLADDER_TRUSTED", TRUSTED) or ensure((base or folder()) / "sshd")


def _apart(name: str, appliances: Path) -> Path | None:
    """A folder beside the state's own, where agents are another user's."""
    if named := os.environ.get(name):
        return Path(named)
    return appliances if appliances.is_dir() and folder() == APPLIANCE else None


def hand_over(arguments: Sequence[str]) -> None:
    """The operator gets the appliance's own linkladder, with its peers and runs, and not an empty one of his."""
    if os.environ.get("LINKLADDER_STATE") or not os.access(DOAS, os.X_OK) or not APPLIANCE.is_dir():
        return
    if not os.access(APPLIANCE, os.W_OK) and pwd.getpwuid(os.getuid()).pw_name == OPERATOR:
        os.execv(DOAS, [DOAS, "-n", "-u", "linkladder", PROGRAM, *arguments])


def ensure(path: Path) -> Path:
    """The folder, made 0700 if it is not there, and so is what is missing above it."""
    if not path.parent.exists():
        ensure(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    return path
