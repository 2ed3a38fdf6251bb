"""Trials for tests, of one leg between two ends: what a test asks for, wherever in the record it belongs."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from linkladder import formats
from linkladder.model import End, EndRecord, Leg, NicCounters, Outcome, Role, Rtt, TrialResult

OF_AN_OUTCOME = {f.name for f in fields(Outcome)}
OF_AN_END = ("cpu", "memory", "tcp", "nics", "sockets", "samples")  # each a dictionary: "near" and "far"


def trial(id: str, repeat: int, ok: bool = True, **asked: Any) -> TrialResult:  # noqa: A002
    """`asked` are fields of the trial, of its leg's outcome, and of its ends."""
    if asked.keys() <= OF_AN_OUTCOME:
        return TrialResult(id, repeat, (Leg(Outcome(ok, **asked)),))
    return changed(TrialResult(id, repeat, (Leg(Outcome(ok)),)), **asked)


def of(text: str) -> list[TrialResult]:
    """All that a document has, in its order."""
    document = formats.document(json.loads(text))
    return [trial for rung in document.rungs for experiment in rung.experiments for trial in experiment.trials]


def changed(before: TrialResult, **asked: Any) -> TrialResult:
    """The same trial but for this."""
    of_ends = {name: asked.pop(name) for name in OF_AN_END if name in asked}
    pinged: Rtt | None = asked.pop("rtt_under_load", None)
    pinged_back: Rtt | None = asked.pop("far_rtt_under_load", None)  # by the far end
    commands = asked.pop("commands", None)
    outcome = {name: asked.pop(name) for name in list(asked) if name in OF_AN_OUTCOME}
    load = before.legs[0]
    said = replace(load.outcome, **outcome)
    legs = (replace(load, outcome=said, commands=load.commands if commands is None else commands), *before.legs[1:])
    if pinged is not None:
        legs = (legs[0], Leg(Outcome(True, rtt=pinged), Role.PING))
    if pinged_back is not None:
        legs = (*legs, Leg(Outcome(True, rtt=pinged_back), Role.PING, pinged_by=End.FAR))
    known = {end.name: end for end in before.ends}
    added: dict[End, dict[str, Any]] = {}
    for name, values in of_ends.items():
        for end, value in values.items():
            added.setdefault(end, {})[name] = (value,) if isinstance(value, NicCounters) else value
    known |= {end: replace(known.get(end, EndRecord(end)), **more) for end, more in added.items()}
    ends = tuple(known[end] for end in sorted(known, key=("near", "far").index))
    return replace(before, legs=legs, ends=ends, **asked)
