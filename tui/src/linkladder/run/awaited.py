"""The record of a run that goes on over a restart, on disk before the machine restarts.

`restart.json` in the state folder names the run, the boot that it waits for and how many restarts may follow. It is
marked as taken before the run goes on, so that each record is used once, and says in the end why a run did not go on.
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

from linkladder import atomic_files, codec, damage, host, phrases
from linkladder.host import switches
from linkladder.plan import ORDINARY, Boot
from linkladder.run import lock

NAME = "restart.json"
LATEST = 1800.0  # seconds in which the machine has to come up again
DAMAGED = "it cannot be read which run was to go on after a restart; that run did not, and can be taken up by hand"


@dataclass(frozen=True)
class Awaited:
    """A run that waits for a boot, goes on in it, or has ended because of one."""

    run: str
    boot: Boot
    left: int  # restarts that may follow this one
    before: str  # the id of the boot in which this was written
    until: float  # by the clock: a later boot is not this one
    taken: str = ""  # the id of the boot in which the run has gone on
    ended: str = ""  # why it does not go on, for people


def read(folder: Path) -> Awaited | None:
    """The record, None if there is none; one that cannot be read is set aside, which the doctor tells."""
    path = folder / NAME
    try:
        return codec.from_json(Awaited, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        with contextlib.suppress(OSError):  # on a disk that cannot be written nothing restarts anyway
            damage.set_aside([path], DAMAGED)
        return None


def keep(folder: Path, run: str, boot: Boot, left: int) -> None:
    """Write down, before the machine restarts, that the run goes on in that boot."""
    write(folder, Awaited(run, boot, left, host.boot_id(), time.time() + LATEST))


def clear(folder: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        (folder / NAME).unlink()
        atomic_files.sync(folder)


def came_up(folder: Path) -> bool:
    """Whether the machine has restarted for a run that nobody has taken up yet."""
    found = read(folder)
    return found is not None and not found.ended and host.boot_id() not in (found.before, found.taken)


def note(folder: Path, why: str) -> Awaited | None:
    """Write into the record, if there is one, why its run does not go on."""
    found = read(folder)
    if found:
        write(folder, replace(found, ended=why))
    return found


def sentence(folder: Path) -> str:
    """A sentence for Home about a run that waits for a boot or was ended by one; '' if there is none."""
    found = read(folder)
    if found is None:
        return ""
    if found.ended:
        running = switches.appliance().kernel
        stays = "" if running in ("", ORDINARY) else f"; {named(running)} runs until the next restart"
        return f"Run {found.run} did not go on: {found.ended}{stays}"
    kernel, now, measuring = phrases.kernel(found.boot.kernel), host.boot_id(), lock.measuring(folder)
    if now == found.before:
        if measuring:
            return f"Run {found.run}: this machine restarts now with {kernel}"
        return f"Run {found.run} waits for a restart with {kernel} that did not come"
    if now == found.taken:
        return "" if measuring else f"Run {found.run} stopped after the restart"
    return f"Run {found.run} goes on after the restart with {kernel}"


def named(folder: str) -> str:
    """A kernel by its folder below /boot, in words."""
    return phrases.kernel(folder.removeprefix("kernel.")) if folder else "a kernel that it does not tell"


def write(folder: Path, record: Awaited) -> None:
    """Replace the record; it is on disk when this returns."""
    atomic_files.replace(folder / NAME, json.dumps(codec.to_json(record)))
