"""Converts linkladder/1 to linkladder/2.

In linkladder/1 a rung had one path, and a trial had one outcome in its own fields, with dictionaries for "near" and
"far". Values that do not have that form are not converted, and the decoder then reports where they do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkladder.model import Document, Plan, Rung, RungResult, TrialResult

Json = dict[str, Any]
OF_A_LEG = (
    "ok", "fault", "reason", "goodput_bps", "by_direction", "flows", "intervals", "window_read_back", "rtt",
    "path_mtu", "transactions", "lost", "datagrams", "jitter_ms", "offered_bps", "warnings",
)  # fmt: skip
OF_AN_END = ("cpu", "memory", "tcp", "sockets", "samples")
OF_BOTH = ("near", "far")


def upgrade(kind: type[Any], value: Any) -> Any:
    """Convert a record of `kind`, as JSON of linkladder/1, to linkladder/2."""
    step = STEPS.get(kind)
    return step(value) if step and isinstance(value, dict) else value


def _document(value: Json) -> Json:
    made = {**value, "schema": "linkladder/2"}
    if isinstance(run := value.get("run"), dict):
        made["run"] = _with(run, "plan", lambda plan: upgrade(Plan, plan))
    return _each(made, "rungs", RungResult)


def _plan(value: Json) -> Json:
    return _each(value, "rungs", Rung)


def _rung(value: Json) -> Json:
    kept = {k: v for k, v in value.items() if k != "path"}
    return {**kept, "paths": [value["path"]]} if "path" in value else kept


def _rung_result(value: Json) -> Json:
    def experiment(one: Any) -> Any:
        return _each(one, "trials", TrialResult) if isinstance(one, dict) else one

    return _with(_rung(value), "experiments", lambda found: _map(found, experiment))


def _trial(value: Json) -> Json:
    """Make one leg, and another for a ping beside it; at the localhost rung one end is both sides of the path."""
    ends = [name for name in OF_BOTH if any(name in _dict(value.get(key)) for key in (*OF_AN_END, "nics"))]
    commands = value.get("commands", [])
    pings = [c for c in commands if _is_beside(c)] if isinstance(commands, list) else []
    sides = {"near": 0, "far": 0 if ends == ["near"] else 1}
    load = {"outcome": {k: value[k] for k in OF_A_LEG if k in value}, **sides}
    pinged = value.get("rtt_under_load")
    legs: list[Json] = [{**load, "commands": [c for c in commands if not _is_beside(c)] if pings else commands}]
    if pings or pinged is not None:
        answered = {"ok": True} if pinged is not None else {"ok": False, "fault": "tool", "reason": "it told nothing"}
        legs.append({"role": "ping", "outcome": {**answered, "rtt": pinged}, "commands": pings, **sides})
    kept = {k: v for k, v in value.items() if k in ("id", "repeat", "started", "seconds")}
    return {**kept, "legs": legs, "ends": [_end(value, name) for name in ends]}


def _is_beside(command: Any) -> bool:
    return _dict(command).get("role") == "ping"


def _end(value: Json, name: str) -> Json:
    made = {key: value[key][name] for key in OF_AN_END if name in _dict(value.get(key))}
    if name in _dict(value.get("nics")):
        made["nics"] = [value["nics"][name]]
    offset = {"near": 0.0, "far": value.get("clock_offset_ms")}[name]
    return {"name": name, **made, "clock_offset_ms": offset}


def _each(value: Json, key: str, kind: type[Any]) -> Json:
    return _with(value, key, lambda found: _map(found, lambda one: upgrade(kind, one)))


def _with(value: Json, key: str, change: Callable[[Any], Any]) -> Json:
    return {**value, key: change(value[key])} if key in value else value


def _map(found: Any, change: Callable[[Any], Any]) -> Any:
    return [change(one) for one in found] if isinstance(found, list) else found


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


STEPS: dict[type[Any], Callable[[Json], Json]] = {
    Document: _document,
    Plan: _plan,
    Rung: _rung,
    RungResult: _rung_result,
    TrialResult: _trial,
}
