"""Network namespaces: whether one is there, what runs in it, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from taken import LabError


def processes(name: str) -> dict[int, str]:
    """The command lines of those that live in a namespace."""
    found = {}
    for pid in _pids(name):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
            if line and state != "Z":
                found[pid] = line
    return found


def remove(*names: str) -> None:
    """None of them is left, nor a process in one."""
    there = ip("netns", "list").split()
    for name in (one for one in names if one in there):
        try:
            for pid in _pids(name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            ip("netns", "delete", name)
        except (LabError, FileNotFoundError):
            if name in ip("netns", "list").split():
                raise  # else somebody else has taken it away meanwhile


def _pids(name: str) -> list[int]:
    """As `ip netns pids` tells, but without starting a process each time that somebody waits for one."""
    here = Path(f"/run/netns/{name}").stat().st_ino
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if entry.isdigit() and os.stat(f"/proc/{entry}/ns/net").st_ino == here:
                found.append(int(entry))
    return found


def ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
