"""Carries a run over restarts: restarts the machine for the next boot, and checks that the planned kernel came up.

A boot with another kernel, a second restart, or one that comes too late ends the run with what it has. The kernel is
chosen for one boot only, so that any further restart brings the machine's own back.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path

from linkladder import host, phrases, privilege, state
from linkladder.engine.kernels import Boots, Kernels
from linkladder.engine.stored_run import conclude
from linkladder.events import RunFinished
from linkladder.host import switches
from linkladder.model import RunState
from linkladder.plan import ORDINARY
from linkladder.run import awaited
from linkladder.run.awaited import LATEST, Awaited
from linkladder.store import Store
from linkladder.upgrade.status import unsettled

log = logging.getLogger("linkladder.run")


def kernels() -> Kernels:
    """The kernels of this machine, and why it cannot be restarted for a run, if so."""
    seen = switches.appliance()
    kept = state.lost_at_power_off() and "a restart would lose the run: its state is only in memory"
    untold = "" if host.boot_id() else "this system does not tell one boot from another"
    return Kernels(seen.kernel, seen.kernels, seen.why_not or kept or untold or unsettled())


def take(folder: Path) -> Awaited | None:
    """Take the run up in this boot, once; None if there is nothing to take up. It says in `ended` why it cannot go on.

    The caller holds the run's lock.
    """
    found, now, seen = awaited.read(folder), host.boot_id(), kernels()
    if found is None or found.ended or now in (found.before, found.taken):
        return None
    if found.taken:
        ended = "this machine restarted again while it measured"
    elif time.time() > found.until:
        ended = f"this machine came up more than {LATEST / 60:.0f} min after it was to restart"
    elif seen.why_not:
        ended = seen.why_not
    elif seen.running != seen.folder(found.boot.kernel):
        ended = f"this machine came up with {awaited.named(seen.running)}, not with {phrases.kernel(found.boot.kernel)}"
    else:
        ended = ""
    found = replace(found, taken=now, ended=ended)
    awaited.write(folder, found)
    return found


def end(folder: Path, why: str) -> None:
    """Let the run that waits, or has gone on, stay as it is; Home tells why until another run begins."""
    found = awaited.note(folder, why)
    if found is None:
        return
    store = Store(folder)
    try:
        if any(run.id == found.run and run.state is not RunState.COMPLETE for run in store.runs()):
            conclude(store, found.run, RunState.INCOMPLETE, why, False)
    finally:
        store.close()


async def after(folder: Path, boots: Boots, last: RunFinished) -> None:
    """What follows a run that may restart the machine: the restart, or the end of the record."""
    if boots.next or boots.going_back:
        if boots.going_back:
            awaited.clear(folder)
        await restart(folder, boots)
    elif last.state is RunState.COMPLETE:
        awaited.clear(folder)
    elif last.cancelled:
        awaited.note(folder, last.reason)
    else:
        end(folder, last.reason)


async def restart(folder: Path, boots: Boots) -> None:
    """Restart this machine with the kernel that comes next; if that fails, the run stays as it is and says why."""
    kernel = boots.kernels.folder(boots.next.kernel if boots.next else ORDINARY)
    for verb, words in (("kernel-next", (kernel,)), ("reboot", ())):
        done = await privilege.run(verb, *words)
        if not done.ok:
            why = f"this machine could not be restarted: {done.reason}"
            forgotten = await privilege.run("kernel-usual")
            if not forgotten.ok:
                chosen = awaited.named(kernel)
                why += f"; its next boot, once, may be with {chosen}, as that could not be undone: {forgotten.reason}"
            end(folder, why)
            log.error("%s", why)
            return
