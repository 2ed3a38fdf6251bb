"""Keeps the seconds of an end in bounded memory, by joining neighbours in a long trial.

The first two hours are kept as they come.  Whenever there are more than MOST, neighbours are joined two and two, so
that each stands for 2, 4, 8 ... seconds: the load of the cores is the mean of what was joined, memory its largest;
counters count on anyhow.  In a week that comes to 128 s each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linkladder.model import CoreLoad, HostSample

MOST = 7200


class Samples(list[HostSample]):
    """Samples in order of time; when they become too many, neighbours are joined."""

    def __init__(self) -> None:
        super().__init__()
        self._span = 1  # seconds that each stands for
        self._joined = 1  # seconds that the last one stands for yet

    def append(self, sample: HostSample) -> None:
        if self and self._joined < self._span:
            self[-1] = _join(self[-1], self._joined, sample, 1)
            self._joined += 1
            return
        super().append(sample)
        self._joined = 1
        if len(self) > MOST:
            *full, begun = self
            pairs = zip(full[::2], full[1::2], strict=True)
            self[:] = [*(_join(one, 1, other, 1) for one, other in pairs), begun]
            self._span *= 2


def joined(samples: Sequence[HostSample]) -> HostSample:
    """Successive samples of a second each as one sample, at the time of the last."""
    made = samples[0]
    for number, sample in enumerate(samples[1:], 1):
        made = _join(made, number, sample, 1)
    return made


def _join(one: HostSample, first: int, other: HostSample, second: int) -> HostSample:
    """Join two samples into one at the later time, each weighted by the seconds that it stands for."""
    if len(one.cores) != len(other.cores):  # a core came or went
        return other

    def mean(a: float, b: float) -> float:
        return (a * first + b * second) / (first + second)

    cores = tuple(
        CoreLoad(mean(a.user, b.user), mean(a.system, b.system), mean(a.interrupt, b.interrupt), mean(a.idle, b.idle))
        for a, b in zip(one.cores, other.cores, strict=True)
    )
    return replace(other, cores=cores, memory_used=max(one.memory_used, other.memory_used))
