"""The boots of a run whose arms are kernels: which of them this one is, and when the machine has to restart.

The engine only counts down and ends with what is to be booted next in `next`: whoever runs it restarts the machine, and
goes on with the run afterwards. No more restarts are had than a person has agreed to.
"""

from __future__ import annotations

import contextlib
import time
from asyncio import sleep
from collections.abc import Callable
from dataclasses import dataclass

from linkladder import events as ev
from linkladder import phrases, units
from linkladder.engine.controls import Controls, Skipped, Stop
from linkladder.model import Experiment, Rung, RungName
from linkladder.plan import ORDINARY, Boot

COUNT = 20.0  # seconds in which a person can still stop a restart
LOOK = 0.2


@dataclass(frozen=True)
class Kernels:
    """The kernels of this machine, by their folders below /boot."""

    running: str = ""
    there: tuple[str, ...] = ()
    why_not: str = "another kernel is booted by an appliance alone, from its console"  # '' where it can be done

    def folder(self, name: str) -> str:
        """The folder of the kernel that a plan calls so; '' if there is none."""
        known = (name, f"kernel.{name}", f"kernel.{name.upper()}")
        return next((one for one in known if one in self.there), "")


class Boots:
    """`agreed`: how many restarts may still be had; `here`: which boot of the plan this one is, if any."""

    def __init__(self, kernels: Kernels | None = None, agreed: int = 0, here: Boot | None = None) -> None:
        self.kernels = kernels or Kernels()
        self.agreed, self.here = agreed, here
        self.next: Boot | None = None  # what is to be booted once the run has ended
        self.keep: Callable[[Boot], None] = lambda boot: None  # called before the run ends for a restart
        self.going_back = False  # the machine is to restart with its own kernel, and nothing follows

    def lacking(self, rung: Rung) -> dict[str, str]:
        """The rung's experiments that no boot of this machine can measure, by their names, and why."""
        asked = {e.id: e.kernel for e in rung.experiments if e.kernel}
        if asked and self.kernels.why_not:
            return dict.fromkeys(asked, self.kernels.why_not)
        missing = {name: kernel for name, kernel in asked.items() if not self.kernels.folder(kernel)}
        why = {name: f"this machine has no {phrases.kernel(kernel)}" for name, kernel in missing.items()}
        return dict.fromkeys(asked, next(iter(why.values()))) | why if why else {}

    async def reach(
        self, rung: RungName, exp: Experiment, repeat: int, controls: Controls, emit: Callable[[ev.Event], None]
    ) -> None:
        """Return if this boot is the one that the trial needs; else count down and raise Stop, with `next` set."""
        wanted = Boot(rung, exp.kernel, repeat)
        if not exp.kernel or wanted == self.here:
            return
        await self._count_down(f"with {phrases.kernel(exp.kernel)}", controls, emit)
        self.keep(wanted)
        self.next = wanted
        raise Stop(f"it goes on by itself after the restart with {phrases.kernel(exp.kernel)}")

    async def back(self, controls: Controls, emit: Callable[[ev.Event], None]) -> None:
        """After the last trial: let the machine restart with its own kernel if it runs another because of this run."""
        if self.here and self.agreed and self.kernels.running != ORDINARY:
            with contextlib.suppress(Stop, Skipped):  # a person wants to stay; all is measured
                await self._count_down("with its own kernel, and the run is complete", controls, emit)
                self.going_back = True

    def call_off(self) -> bool:
        """Let no restart follow; whether the run was to go on after it."""
        wanted, self.next, self.going_back = self.next, None, False
        return wanted is not None

    async def _count_down(self, words: str, controls: Controls, emit: Callable[[ev.Event], None]) -> None:
        if self.agreed < 1:
            raise Stop("it needs a restart of this machine, and no further one was agreed to")
        left = units.plural(self.agreed - 1, "restart")
        emit(ev.Notice(f"This machine restarts in {COUNT:.0f} s {words}; {left} at most after it. Cancel stops it."))
        until = time.monotonic() + COUNT
        while time.monotonic() < until:
            await sleep(LOOK)
            await controls.may_run()
            controls.raise_if_asked()
