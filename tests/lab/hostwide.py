"""Settings of the host that a lab must raise: shared by every lab of the machine, and put back when the last one goes.

What they were is kept in /run, which a reboot empties together with the settings themselves.  A lab counts as
there while its namespaces are, so that a crashed one is found out.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

BUFFERS = {"net.core.rmem_max": 64 << 20, "net.core.wmem_max": 64 << 20}  # as the appliance has them
ALLOWED = "net.ipv4.tcp_allowed_congestion_control"  # what a namespace may choose from
AVAILABLE = "net.ipv4.tcp_available_congestion_control"
KEPT = Path("/run/linkladder-lab.json")


def raise_for(lab: str, congestion: str) -> None:
    """Socket buffers up to 64 MB, and a congestion control that namespaces may use."""
    with _kept() as kept:
        for key, value in BUFFERS.items():
            if int(_read(key)) < value:
                kept["before"].setdefault(key, _read(key))
                _proc(key).write_text(str(value))
        allowed = _read(ALLOWED).split()
        if congestion not in allowed and congestion in _read(AVAILABLE).split():
            kept["before"].setdefault(ALLOWED, " ".join(allowed))
            _proc(ALLOWED).write_text(" ".join([*allowed, congestion]))
        kept["labs"] = sorted({*kept["labs"], lab})


def lower_after(lab: str) -> None:
    """Everything as it was, unless another lab still needs it."""
    if not KEPT.exists():
        return
    with _kept() as kept:
        here = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout.split()
        kept["labs"] = [one for one in kept["labs"] if one != lab and f"{one}-alpha" in here]
        if not kept["labs"]:
            for key, value in kept["before"].items():
                _proc(key).write_text(value)
            kept.clear()


def before(key: str) -> str:
    """A setting as the host has it when no lab is up, though one that crashed may have left it raised."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"before": {}}
    return str(kept["before"].get(key, _read(key)))


@contextmanager
def _kept() -> Iterator[dict[str, Any]]:
    """What is remembered, for one lab at a time; nothing is left of it once it is empty."""
    with _locked() as file:
        file.seek(0)
        kept: dict[str, Any] = {"before": {}, "labs": []}
        kept.update(json.loads(file.read() or "{}"))
        try:
            yield kept
        finally:
            file.truncate(0)
            if kept:
                file.write(json.dumps(kept))
            else:
                KEPT.unlink(missing_ok=True)


def _locked() -> TextIO:
    while True:
        file = KEPT.open("a+")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(
            file.fileno()
        ).st_nlink:  # else whoever had it before has removed it, and others do not see this one
            return file
        file.close()


def _read(key: str) -> str:
    return _proc(key).read_text().strip()


def _proc(key: str) -> Path:
    return Path("/proc/sys") / key.replace(".", "/")
