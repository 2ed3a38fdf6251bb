"""Carries a run over restarts: what is to be booted is on disk before, and what came up is held against it afterwards.

`restart.json` in the state folder names the run, the boot that it waits for and how many restarts may follow. It is
written before the machine restarts, and marked as taken before the run goes on. A boot with another kernel, a second
restart, or one that comes too late ends the run with what it has, and the record then says why. The kernel is chosen
for one boot only, so that any further restart brings the machine's own back.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, replace
from pathlib import Path

from linkladder import codec, damage, drafts, host, phrases, privilege, state
from linkladder.engine.boots import Boots, Kernels
from linkladder.engine.conclusion import conclude
from linkladder.events import RunFinished
from linkladder.host import switches
from linkladder.model import RunState
from linkladder.plan import ORDINARY, Boot
from linkladder.run import lock
from linkladder.store import Store
from linkladder.upgrade.status import unsettled

log = logging.getLogger("linkladder.run")
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


def kernels() -> Kernels:
    """The kernels of this machine, and why it cannot be restarted for a run, if so."""
    seen = switches.appliance()
    kept = state.lost_at_power_off() and "a restart would lose the run: its state is only in memory"
    untold = "" if host.boot_id() else "this system does not tell one boot from another"
    return Kernels(seen.kernel, seen.kernels, seen.why_not or kept or untold or unsettled())


def read(folder: Path) -> Awaited | None:
    """The record, None if there is none; one that cannot be read is set aside, which the doctor tells."""
    path = folder / NAME
    try:
        return codec.from_json(Awaited, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        damage.set_aside([path], DAMAGED)
        return None


def keep(folder: Path, run: str, boot: Boot, left: int) -> None:
    """Write down, before the machine restarts, that the run goes on in that boot."""
    _write(folder, Awaited(run, boot, left, host.boot_id(), time.time() + LATEST))


def clear(folder: Path) -> None:
    (folder / NAME).unlink(missing_ok=True)
    drafts.sync(folder)


def came_up(folder: Path) -> bool:
    """Whether the machine has restarted for a run that nobody has taken up yet."""
    found = read(folder)
    return found is not None and not found.ended and host.boot_id() not in (found.before, found.taken)


def take(folder: Path) -> Awaited | None:
    """Take the run up in this boot, once; None if there is nothing to take up. It says in `ended` why it cannot go on.

    The caller holds the run's lock.
    """
    found, now, seen = read(folder), host.boot_id(), kernels()
    if found is None or found.ended or now in (found.before, found.taken):
        return None
    if found.taken:
        ended = "this machine restarted again while it measured"
    elif time.time() > found.until:
        ended = f"this machine came up more than {LATEST / 60:.0f} min after it was to restart"
    elif seen.why_not:
        ended = seen.why_not
    elif seen.running != seen.folder(found.boot.kernel):
        ended = f"this machine came up with {_named(seen.running)}, not with {phrases.kernel(found.boot.kernel)}"
    else:
        ended = ""
    found = replace(found, taken=now, ended=ended)
    _write(folder, found)
    return found


def end(folder: Path, why: str) -> None:
    """Let the run that waits, or has gone on, stay as it is; Home tells why until another run begins."""
    found = _note(folder, why)
    if found is None:
        return
    store = Store(folder)
    try:
        if any(run.id == found.run and run.state is not RunState.COMPLETE for run in store.runs()):
            conclude(store, found.run, RunState.INCOMPLETE, why, False)
    finally:
        store.close()


def _note(folder: Path, why: str) -> Awaited | None:
    """Write into the record, if there is one, why its run does not go on."""
    found = read(folder)
    if found:
        _write(folder, replace(found, ended=why))
    return found


async def after(folder: Path, boots: Boots, last: RunFinished) -> None:
    """What follows a run that may restart the machine: the restart, or the end of the record."""
    if boots.next or boots.going_back:
        if boots.going_back:
            clear(folder)
        await restart(folder, boots)
    elif last.state is RunState.COMPLETE:
        clear(folder)
    elif last.cancelled:
        _note(folder, last.reason)
    else:
        end(folder, last.reason)


async def restart(folder: Path, boots: Boots) -> None:
    """Restart this machine with the kernel that comes next; if that fails, the run stays as it is and says why."""
    kernel = boots.kernels.folder(boots.next.kernel if boots.next else ORDINARY)
    for verb, words in (("kernel-next", (kernel,)), ("reboot", ())):
        done = await privilege.run(verb, *words)
        if not done.ok:
            why = f"this machine could not be restarted: {done.reason}"
            end(folder, why)
            log.error("%s", why)
            return


def standing(folder: Path) -> str:
    """A sentence for Home about a run that waits for a boot or was ended by one; '' if there is none."""
    found = read(folder)
    if found is None:
        return ""
    if found.ended:
        running = switches.appliance().kernel
        stays = "" if running in ("", ORDINARY) else f"; {_named(running)} runs until the next restart"
        return f"Run {found.run} did not go on: {found.ended}{stays}"
    named, now, measuring = phrases.kernel(found.boot.kernel), host.boot_id(), lock.measuring(folder)
    if now == found.before:
        if measuring:
            return f"Run {found.run}: this machine restarts now with {named}"
        return f"Run {found.run} waits for a restart with {named} that did not come"
    if now == found.taken:
        return "" if measuring else f"Run {found.run} stopped after the restart"
    return f"Run {found.run} goes on after the restart with {named}"


def _named(folder: str) -> str:
    return phrases.kernel(folder.removeprefix("kernel.")) if folder else "a kernel that it does not tell"


def _write(folder: Path, record: Awaited) -> None:
    drafts.replace(folder / NAME, json.dumps(codec.to_json(record)))
