"""Tells how much CPU time a quota or a hypervisor withheld from an end, and how much of a shortfall that explains."""

from __future__ import annotations

from linkladder.model import CpuUse, Direction, TrialResult

STARVED = 0.1  # share of the time that working cores wanted
EXPLAINS = 2.0  # times that share is the most that TCP may lack, as it backs off whenever its end stands still


def lacked(cpu: CpuUse | None) -> float:
    """The share of the time of all its cores that a quota or the hypervisor withheld from an end."""
    return (cpu.starved or 0.0) if cpu else 0.0


def withheld(cpu: CpuUse | None) -> float:
    """The withheld CPU time as a share of what the working cores wanted, as nothing is withheld from idle cores.

    A machine's only core counts as two, since the tool and the system's network code stand still together.
    """
    cores = lacked(cpu) * max(2, len(cpu.per_core)) if cpu else 0.0
    return min(1.0, cores / max(1.0, cores + (cpu.cores_used if cpu else 0.0)))


def explained(cpu: CpuUse | None) -> float:
    """The largest share of the rate that an end may lack for CPU withheld from it; 0 if less than STARVED was."""
    share = withheld(cpu)
    return min(1.0, EXPLAINS * share) if share >= STARVED else 0.0


def most_explained(t: TrialResult, way: Direction) -> tuple[float, str]:
    """The largest share of the rate that an end of the trial may lack for withheld CPU, and that end's name."""
    ends = (*t.senders(way), *t.receivers(way))
    return max(((explained(end.cpu), end.name) for end in ends), default=(0.0, ""))
