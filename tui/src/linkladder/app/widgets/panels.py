"""Chooses the two ends whose load the Ladder screen shows beside each other, and what they are called there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkladder.model import Direction, End, HostSample, Path
from linkladder.phrases import several_ends
from linkladder.run.progress import Progress, TrialView

Panel = tuple[str, HostSample | None]


def of(progress: Progress, trial: TrialView) -> tuple[Panel, Panel]:
    """The two ends of what is loaded; of more than two, this appliance and the busiest of the others."""
    paths, samples = progress.paths, trial.samples
    loaded = _loaded(paths, trial.experiment.paths)
    if several_ends(paths) and len(loaded) == 2:
        here, there = loaded
        return (here, _of(samples, here)), (there, _of(samples, there))
    near = (str(End.NEAR), samples.get(End.NEAR))
    if others := {end: one for end, one in samples.items() if end not in tuple(End)}:
        name = max(others, key=lambda end: _busiest(others, end))
        return near, (f"{name}, busiest of {len(others)}", others[name])
    peer = next((path.peer for path in paths if path.peer), "")
    return near, (f"far, {peer}" if peer else "far", samples.get(End.FAR))


def _of(samples: Mapping[str, HostSample], end: str) -> HostSample | None:
    """The sample of an end by its name, under which it comes unless it is the only other one of the trial."""
    return samples.get(end) or (samples.get(End.FAR) if end != End.NEAR else None)


def _loaded(paths: Sequence[Path], numbers: Sequence[int]) -> list[str]:
    """The ends of these paths, or of all: first who sends on the first one."""
    taken = [path for number, path in enumerate(paths) if number in numbers or not numbers]
    return list(dict.fromkeys(end for path in taken for end in path.ends(Direction.FORWARD)))


def _busiest(samples: Mapping[str, HostSample], end: str) -> float:
    return max((core.busy for core in samples[end].cores), default=0.0)
