"""Every number that a verdict rests on, changed wherever it stands: what contradicts the rest is never a firm PASS.

Some of the table are drawn, others on each day, since all of it takes a while.
"""

from __future__ import annotations

import copy
import datetime
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from forge import Json, forged

from linkladder import formats
from linkladder.codec import to_json
from linkladder.judge import judge_document
from linkladder.verdicts import Verdict

OPS: dict[str, Callable[[Any], Any]] = {
    "half": lambda v: type(v)(v * 0.5),
    "twice": lambda v: v * 2,
    "nothing": lambda v: type(v)(0),
    "below nothing": lambda v: -v,
}
EACH = ("half", "twice", "below nothing")
TRIAL, OUTCOME = "rungs.*.experiments.*.trials.*.", "rungs.*.experiments.*.trials.*.legs.*.outcome."
BEARING = {  # the place of a number, and which changes of it must be seen
    OUTCOME + "goodput_bps": tuple(OPS),
    OUTCOME + "by_direction.forward": tuple(OPS),
    OUTCOME + "by_direction.reverse": tuple(OPS),
    OUTCOME + "intervals.*.bytes": tuple(OPS),
    OUTCOME + "intervals.*.end": tuple(OPS),
    OUTCOME + "intervals.*.start": ("twice", "nothing", "below nothing"),
    OUTCOME + "intervals.*.datagrams": EACH,
    OUTCOME + "flows.*.bps": EACH,
    OUTCOME + "flows.*.seconds": EACH,
    OUTCOME + "flows.*.total_bytes": EACH,
    OUTCOME + "flows.*.datagrams": EACH,
    OUTCOME + "flows.*.local_port": tuple(OPS),
    OUTCOME + "datagrams": EACH,
    OUTCOME + "offered_bps": ("half", "nothing", "below nothing"),
    OUTCOME + "path_mtu.mtu": tuple(OPS),
    OUTCOME + "path_mtu.passed.*": tuple(OPS),
    OUTCOME + "rtt.p50_ms": EACH,
    OUTCOME + "rtt.avg_ms": EACH,
    OUTCOME + "rtt.samples_ms.*": EACH,
    OUTCOME + "rtt.received": EACH,
    TRIAL + "seconds": tuple(OPS),
    TRIAL + "repeat": tuple(OPS),
    TRIAL + "ends.*.nics.*.rx_bytes": tuple(OPS),
    TRIAL + "ends.*.nics.*.tx_bytes": tuple(OPS),
    TRIAL + "ends.*.cpu.busiest": tuple(OPS),
    TRIAL + "ends.*.cpu.per_core.*": tuple(OPS),
    TRIAL + "ends.*.cpu.cores_used": tuple(OPS),
    TRIAL + "ends.*.sockets.sockets.*.mss": tuple(OPS),
    "rungs.*.experiments.*.median_bps": tuple(OPS),
    "rungs.*.experiments.*.min_bps": tuple(OPS),
    "rungs.*.experiments.*.max_bps": tuple(OPS),
    "rungs.*.experiments.*.parameters.duration": tuple(OPS),
    "rungs.*.experiments.*.parameters.streams": tuple(OPS),
    "rungs.*.experiments.*.parameters.udp_rate_bps": tuple(OPS),
    "run.plan.rungs.*.experiments.*.duration": tuple(OPS),
    "run.plan.rungs.*.experiments.*.udp_rate_bps": tuple(OPS),
}
ALL = [(place, op) for place, ops in BEARING.items() for op in ops]
DRAWN = random.Random(datetime.date.today().toordinal()).sample(ALL, 16)


@cache
def whole() -> Json:
    made: Json = to_json(forged())
    return made


def link(d: Json) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """The run's plan and the link's rung, each with its place."""
    yield d["run"], ("run",)
    yield from ((r, ("rungs", "*")) for r in d["rungs"] if r["name"] == "dc-link")


def change(value: Any, steps: tuple[str, ...], op: Callable[[Any], Any]) -> int:
    """How many numbers at that place it made others."""
    step, rest = steps[0], steps[1:]
    keys = range(len(value)) if step == "*" else [step] if value.get(step) is not None else []
    if rest:
        return sum(change(value[key], rest, op) for key in keys)
    changed = 0
    for key in keys:
        before, value[key] = value[key], op(value[key])
        changed += value[key] != before
    return changed


def firm_pass(made: Json) -> bool:
    judged = judge_document(formats.document(made))
    return judged.verdict is Verdict.PASS and not judged.judgement.provisional


@pytest.mark.parametrize("place,op", DRAWN, ids=lambda word: word.replace("*", "each"))
def test_a_number_that_the_rest_contradicts_is_no_firm_pass(place: str, op: str) -> None:
    made = copy.deepcopy(whole())
    steps = tuple(place.split("."))
    assert sum(change(part, steps[len(at) :], OPS[op]) for part, at in link(made) if steps[: len(at)] == at)
    assert firm_pass(whole()) and not firm_pass(made)
