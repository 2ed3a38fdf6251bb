"""What a CPU quota or a hypervisor kept from an end, and how much of a shortfall that explains."""

from __future__ import annotations

from linkladder.model import CpuUse, Direction, TrialResult

STARVED = 0.1  # of a working core's time: of both of two cores it is half as much
EXPLAINS = 2.0  # times that share: what TCP lacks by it at most, as it backs off whenever its end stood still


def lacked(cpu: CpuUse | None) -> float:
    """The share of all its cores' time that a quota or the hypervisor kept from an end."""
    return (cpu.starved or 0.0) if cpu else 0.0


def withheld(cpu: CpuUse | None) -> float:
    """The same as a share of what the cores that worked wanted: nothing is ever withheld from an idle one.

    A machine's only core counts as two, since the tool and the system that it sends by stand still together.
    """
    cores = lacked(cpu) * max(2, len(cpu.per_core)) if cpu else 0.0
    return min(1.0, cores / max(1.0, cores + (cpu.cores_used if cpu else 0.0)))


def explained(cpu: CpuUse | None) -> float:
    """How much of the rate an end may lack at most for what was withheld from it; 0 where that is next to nothing."""
    share = withheld(cpu)
    return min(1.0, EXPLAINS * share) if share >= STARVED else 0.0


def most_explained(t: TrialResult, way: Direction) -> tuple[float, str]:
    """Of all the ends of a trial's way: how much of its rate one may have lacked at most, and which."""
    ends = (*t.senders(way), *t.receivers(way))
    return max(((explained(end.cpu), end.name) for end in ends), default=(0.0, ""))
