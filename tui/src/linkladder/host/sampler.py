"""Turns cumulative counters into loads between two readings, and summarises many readings."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from linkladder.host.backends import backend
from linkladder.model import CoreLoad, CoreTimes, CpuUse, HostSample, MemoryUse

SHORTEST = 1e-3  # seconds, less than a tick of any clock
QUIET = CoreLoad(0.0, 0.0, 0.0, 100.0)


class Sampler:
    """Samples this host: call `start()` once, then `sample()` each second. Only the counters of `cards` are read."""

    def __init__(self, cards: Collection[str] = ()) -> None:
        self._cards = cards
        self._began = 0.0
        self._times: tuple[CoreTimes, ...] = ()
        self._last: tuple[CoreLoad, ...] = ()
        self._resent: int | None = None

    def start(self) -> None:
        """Take the first reading, with which the first sample is compared."""
        self._began = time.monotonic()
        self._times = backend().core_times()
        self._last = (QUIET,) * len(self._times)
        self._resent = backend().retransmits()

    def sample(self) -> HostSample:
        """Loads since the last call, and the cards' cumulative counters; `t` and retransmits count from start()."""
        if not self._times:
            self.start()
        times = backend().core_times()
        if len(times) != len(self._times):  # a core came or went, so the old reading does not fit
            self._times, self._last = times, (QUIET,) * len(times)
        pairs = zip(self._times, times, self._last, strict=True)
        self._last = tuple(load(before, after, quiet) for before, after, quiet in pairs)
        self._times = times
        _, used = backend().memory()
        nics = tuple(backend().nic_counters(False, self._cards).values()) if self._cards else ()
        now = backend().retransmits()
        resent = None if now is None or self._resent is None else max(0, now - self._resent)
        return HostSample(time.monotonic() - self._began, self._last, used, nics, resent)


def load(before: CoreTimes, after: CoreTimes, unknown: CoreLoad = QUIET) -> CoreLoad:
    """The load of a core in percent between two readings; `unknown` if the clock did not tick between them."""
    user = max(0.0, after.user - before.user)
    system = max(0.0, after.system - before.system)
    interrupt = max(0.0, after.interrupt - before.interrupt)
    idle = max(0.0, after.idle - before.idle)
    total = user + system + interrupt + idle
    if total < SHORTEST:
        return unknown
    scale = 100.0 / total
    return CoreLoad(user * scale, system * scale, interrupt * scale, idle * scale)


def summarise(
    samples: Sequence[HostSample],
    total_memory: int,
    start: float,
    end: float,
    goodput_bps: float | None = None,
    starved: float | None = None,
) -> tuple[CpuUse, MemoryUse]:
    """CPU and memory over the counted part of a trial, from `start` to `end` on the samples' clock.

    Each sample covers the time since the one before it, and is weighted by how much of that time
    lies in the counted part, so that a sample at the edge does not bring in the warm-up.
    """
    weighed: list[tuple[float, HostSample]] = []
    previous = samples[0].t - 1.0 if samples else 0.0
    for sample in samples:
        overlap = min(sample.t, end) - max(previous, start)
        if overlap > 0:
            weighed.append((overlap, sample))
        previous = sample.t
    if not weighed:
        return CpuUse(0.0, 0.0, 0.0, (), None, starved), MemoryUse(total_memory, 0, 0)
    whole = sum(weight for weight, _ in weighed)
    count = min(len(sample.cores) for _, sample in weighed)
    cores = tuple(sum(w * s.cores[i].busy for w, s in weighed) / whole for i in range(count))
    used = sum(cores) / 100.0
    per_core = goodput_bps / 1e9 / used if goodput_bps is not None and used > 0 else None
    cpu = CpuUse(sum(cores) / max(1, count), max(cores, default=0.0), used, cores, per_core, starved)
    mean = sum(weight * sample.memory_used for weight, sample in weighed) / whole
    return cpu, MemoryUse(total_memory, round(mean), max(sample.memory_used for _, sample in weighed))
