"""Says what a plan whose arms are kernels does to the machine."""

from __future__ import annotations

from linkladder import units


def restarts(count: int) -> str:
    """What is told before anything begins, for so many restarts at most."""
    return (
        f"Restarts this machine, and no other, up to {units.plural(count, 'time')}: each repeat is a boot of its own, "
        "and a pair is two boots, so that with so few only a large difference can be told from chance. Another kernel "
        "is booted once and never stays: whatever happens, the restart after it brings the machine's own back. The "
        "run goes on by itself, and ends with what it has if the machine comes up otherwise than planned."
    )


def agreed(count: int) -> str:
    return f"{restarts(count)} Each restart can be stopped in the 20 seconds before it, by cancelling the run."
