"""Puts into words the signs that a record was changed afterwards."""

from __future__ import annotations

from collections.abc import Iterable

from linkladder import units


def other_paths() -> str:
    return "The addresses between which it was measured are not those of the plan."


CALLED = {  # words for fields of an experiment whose own names would not be understood
    "at_most": "bound of repeats",
    "company": "company of paths",
    "paths": "choice of paths",
    "incompressible": "payload",
    "cores": "number of cores",
    "on_cores": "choice of cores",
    "request": "size of requests",
    "response": "size of responses",
    "sessions": "number of sessions",
    "count": "number of pings",
    "sizes": "choice of packet sizes",
    "warmup": "warm-up",
    "streams": "number of streams",
    "zero_copy": "way to send",
    "interval": "interval of pings",
    "ping_under_load": "ping beside the load",
    "contends": "rule for repeats",
    "strongest": "freedom of the load",
    "discard_first": "rule for first loads",
    "begins": "order of arms",
}


def other_than_planned(arm: str, what: str) -> str:
    called = CALLED.get(what, what.replace("_", " ").removesuffix(" bps"))
    return f"{arm}: measured with another {called} than the plan asks for."


def took_longer(arm: str, seconds: float) -> str:
    return f"{arm}: a trial took {seconds:.0f} s more than it measured: that long its ends did not get on with it."


def no_such_path() -> str:
    return "A trial names a path that the rung does not have."


def gap(arm: str, repeats: Iterable[int]) -> str:
    there = ", ".join(map(str, repeats))
    return f"{arm}: of its repeats only {there} are there; others were left out."


def more_than_planned(arm: str, count: int, planned: int) -> str:
    were = "was" if planned == 1 else "were"
    return f"{arm}: {units.plural_does(count, 'repeat', 'is', 'are')} there, {planned} {were} planned."


def not_in_turn(arm: str) -> str:
    return f"{arm}: a repeat began before the one that precedes it: it was done again, or a clock was set meanwhile."


def without_time(arm: str) -> str:
    return f"{arm}: of a repeat it is not told when it was measured or how long it took."


def without_load(arm: str) -> str:
    return f"{arm}: a repeat is there of which nothing is told, neither figures nor why there are none."


def other_loads(arm: str) -> str:
    return f"{arm}: its repeats are not of the same loads; one that is missing in some may have carried little."


def other_bound(arm: str, bps: float) -> str:
    return f"{arm}: the repeats are said to reach from or to {units.rate(bps)}, and none of them makes it."


def other_median(arm: str, bps: float) -> str:
    return f"{arm}: a median of {units.rate(bps)} is claimed, which its repeats do not make."


def faster_than_the_port(trial_name: str, bps: float, port: float) -> str:
    return f"{trial_name}: a second of {units.rate(bps)}, which no port of {units.rate(port)} carries."


def none_measured(arm: str, repeats: int, reason: str, partly: bool) -> str:
    """`partly`: some of the paths were measured in a repeat."""
    if partly:
        return f"{arm}: {units.plural(repeats, 'repeat')}, and none with all paths: {reason}"
    return f"{arm}: none of {units.plural(repeats, 'repeat')} was measured: {reason or 'nothing is told of them'}"


def not_asked(arm: str) -> str:
    return f"{arm}: measured, and the plan does not ask for it."


def without_cpu(ends: Iterable[str]) -> str:
    return f"Nothing is told of the work of the {' and '.join(ends)} end's CPU: whether it limits is not known."


def path_twice() -> str:
    return "The rung names one path twice."


def short_trials(seconds: float) -> str:
    return f"Trials of {seconds:g} s were counted: whether their rate lasts is not known."


def left_out(rungs: Iterable[str]) -> str:
    return f"The plan has {' and '.join(rungs)} as well, and nothing of it is there."


_CLOCK = "a clock was set meanwhile, or they are not its"


def not_planned(rung: str) -> str:
    return f"The plan does not name {rung}."


def run_ended_before() -> str:
    return "The run ended before it began."


def trials_last_longer(together: float, run: float) -> str:
    return f"The trials last {units.duration(together)} together, the whole run {units.duration(run)}."


def trials_overlap() -> str:
    return f"Trials overlap in time, and an end runs one at a time: {_CLOCK}."


def trials_outside() -> str:
    return f"Trials of this rung lie outside of the run's own time: {_CLOCK}."


def no_time() -> str:
    return "When the run began or ended is told by a time that is none."


def more_repeats_asked(name: str, asked: int, planned: int) -> str:
    own = f"{units.plural_does(asked, 'repeat', 'was', 'were')} asked for, by its own record"
    return f"{name}: {own}, and {planned} by the plan."


def clock_set(end: str, step: float) -> str:
    return f"The clock of the {end} end moved by {units.duration(abs(step))} between two trials: it was set meanwhile."


def clock_of_another(end: str, step: float) -> str:
    moved = units.duration(abs(step))
    return f"The clock that runs since the {end} end started moved by {moved} between two trials: it was started anew."


def pings_afterwards(rung: str) -> str:
    return f"Pings or probes of {rung} were measured after loads, before which a run measures them: {_CLOCK}."


def rungs_out_of_order(low: str, high: str) -> str:
    return f"Trials of {low} were measured after some of {high}: {_CLOCK}."


def without_end() -> str:
    return "The run is said to be complete, and not when it ended."


def after_the_end() -> str:
    return f"Something of the run is told of a time after its end: {_CLOCK}."
