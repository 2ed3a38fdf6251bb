"""The measuring process on a machine that a folder stands in for: its kernel, its boot, and what its next boot takes.

    python restarted.py MACHINE DIE ARGUMENTS...

Everything is real but what the folder says, and the orders to the privileged helper. DIE names a step after which the
process is killed at once, as by a power cut; '-' for none; CALLED_OFF's end the run after a count-down.
"""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkladder import host, privilege
from linkladder.engine import Controls, kernels
from linkladder.host import switches
from linkladder.privilege import Completed
from linkladder.run import awaited, process, restarting
from linkladder.store import Store

KERNELS = ("kernel", "kernel.GENERIC")


class Machine:
    """A folder with `boot`, `kernel`, `next` (for one boot) and `asked`, the restarts that were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> str:
        file = self.folder / name
        return file.read_text() if file.exists() else ""

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def boot(self) -> None:
        """Start: with the kernel that was asked for once, else with its own."""
        self.write("kernel", self.read("next") or "kernel")
        self.write("next", "")
        self.write("boot", uuid.uuid4().hex)

    @property
    def asked(self) -> list[str]:
        """The kernel of each restart that was asked for."""
        return self.read("asked").split()


def stand_in(machine: Machine) -> None:
    """Let this process believe that it runs on that machine."""

    async def helper(verb: str, *words: str, **_: Any) -> Completed:
        if why := machine.read(f"refuses-{verb}"):
            return Completed(1, "", why)
        if verb == "kernel-next":
            machine.write("next", words[0])
        elif verb == "kernel-usual":
            machine.write("next", "")
        elif verb == "reboot":
            machine.write("asked", f"{machine.read('asked')} {machine.read('next')}")
        else:
            raise AssertionError(verb)
        return Completed(0, "", "")

    switches.appliance = lambda: switches.Appliance(kernel=machine.read("kernel"), kernels=KERNELS)
    host.boot_id = lambda: machine.read("boot")
    privilege.run = helper


def killed_after(owner: Any, name: str) -> None:
    real: Callable[..., Any] = getattr(owner, name)

    def then_die(*args: Any, **more: Any) -> Any:
        real(*args, **more)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, then_die)


DEATHS: dict[str, tuple[Any, str]] = {
    "kept": (awaited, "keep"),  # the record is on disk, and the kernel is not yet chosen
    "taken": (restarting, "take"),  # the run was taken up, and nothing is measured yet
    "measured": (Store, "keep_trial"),  # a trial is stored, and the next boot not yet asked for
}


CALLED_OFF = {"cancelled": "", "ended": "the system ended it"}  # by a person, or with this reason


def called_off(name: str, why: str) -> None:
    """Let an order to end the run come after this count-down, while its ends are left."""
    real: Callable[..., Any] = getattr(kernels.Boots, name)

    async def then_cancel(boots: kernels.Boots, *more: Any) -> None:
        try:
            await real(boots, *more)
        finally:
            if boots.next or boots.going_back:
                next(one for one in more if isinstance(one, Controls)).cancel(why)

    setattr(kernels.Boots, name, then_cancel)


def main() -> int:
    machine = Machine(Path(sys.argv[1]))
    stand_in(machine)
    kernels.COUNT = float(machine.read("count") or 0.01)
    if sys.argv[2] in DEATHS:
        killed_after(*DEATHS[sys.argv[2]])
    elif sys.argv[2] in CALLED_OFF:
        for name in ("reach", "back"):
            called_off(name, CALLED_OFF[sys.argv[2]])
    elif sys.argv[2] == "chosen":  # the kernel is chosen, and the machine not restarted
        helper = privilege.run

        async def then_die(verb: str, *words: str, **more: Any) -> Completed:
            done = await helper(verb, *words, **more)
            if verb == "kernel-next":
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        privilege.run = then_die
    return process.main(sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
