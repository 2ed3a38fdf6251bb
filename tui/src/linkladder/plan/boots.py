"""Whole boots as arms: experiments that need a kernel are measured once in each boot of it, and a boot is one sample.

The first kernel is the one that the coin chose; the order is mirrored every other time: A B, B A, A B, B A. Every boot
is a new one, also where two of a kernel follow each other, as what differs from boot to boot is the noise that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from linkladder.model import Experiment, Plan, Rung, RungName

BOOT = 90.0  # seconds that a restart is expected to take
ORDINARY = "kernel"  # the appliance's own, which every boot takes that nobody asks another of


@dataclass(frozen=True)
class Boot:
    """One boot of a plan: the kernel that must run, for which repeat on which rung."""

    rung: RungName
    kernel: str
    repeat: int


def by_boot(experiments: Sequence[Experiment]) -> Iterator[tuple[Experiment, int]]:
    """The trials of these experiments, all of which need a kernel, in the order of their boots."""
    begins = next((e.kernel for e in experiments if e.begins), "")
    kernels = sorted(dict.fromkeys(e.kernel for e in experiments), key=lambda kernel: kernel != begins)
    for repeat in range(max((e.repeats for e in experiments), default=0)):
        for kernel in kernels if repeat % 2 == 0 else reversed(kernels):
            yield from ((e, repeat) for e in experiments if e.kernel == kernel and repeat < e.repeats)


def boots(plan: Plan | Rung) -> tuple[Boot, ...]:
    """All boots that a plan needs, in order; none where it runs on whichever kernel is there."""
    rungs = plan.rungs if isinstance(plan, Plan) else (plan,)
    return tuple(
        dict.fromkeys(
            Boot(rung.name, e.kernel, repeat)
            for rung in rungs
            for e, repeat in by_boot([e for e in rung.experiments if e.kernel])
        )
    )


def restarts(plan: Plan | Rung) -> int:
    """How often the machine restarts for a plan at most: for each boot, and back to its own kernel."""
    needed = boots(plan)
    return len(needed) + (needed[-1].kernel != ORDINARY) if needed else 0
