"""A machine stopped with its disk and memory in files, to go on from that moment as often as one likes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from .machine import Machine


@dataclass(frozen=True)
class Frozen:
    """A moment of a machine; whoever goes on from it writes to a disk of its own over this one."""

    disk: Path
    memory: Path
    number: int
    firmware: str

    def thaw(self, folder: Path, name: str) -> Machine:
        """Another machine that goes on from here; its console is where it was."""
        machine = Machine(folder, self.disk, name, self.number, firmware=self.firmware)
        machine.start("-incoming", f"exec:cat {self.memory}")
        while "paused" not in (said := machine.monitor("info status")) or "inmigrate" in said:
            assert "running" not in said and "error" not in said, said
            time.sleep(0.2)
        machine.monitor("cont")
        return machine


def freeze(machine: Machine, memory: Path) -> Frozen:
    """Stop it here; the machine itself is switched off."""
    machine.monitor("stop")
    machine.monitor("migrate_set_parameter max-bandwidth 4G")
    machine.monitor(f'migrate -d "exec:cat >{memory}"')
    while "completed" not in (said := machine.monitor("info migrate")):
        assert "failed" not in said, said
        time.sleep(0.2)
    machine.cut()
    return Frozen(machine.disk, memory, machine.number, machine.firmware)
