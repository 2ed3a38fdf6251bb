"""Experiments as a plan's file has them: the keys of what is to be measured next, and their table."""

from __future__ import annotations

import json

from linkladder.model import Experiment

Value = str | int | float | bool
Keys = dict[str, Value]


def tcp_load(p: Experiment, **changes: Value) -> Keys:
    """The same load, but for the changes."""
    values: Keys = {"protocol": "tcp", "direction": p.direction.value, "streams": p.streams}
    if p.strongest:  # else what differs would be the tool
        values |= {"tool": p.tool, "zero_copy": p.zero_copy} if p.zero_copy else {"tool": p.tool}
        values |= {"write_size": p.write_size} if p.write_size else {}
    values |= {"window": p.window or "default", "duration": p.duration, "warmup": p.warmup, "ping_under_load": True}
    return values | changes


def inline(**values: str) -> str:
    """A list of one table, as a plan's file writes it."""
    return "[{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items()) + "}]"


def table(values: Keys) -> str:
    lines = ["[[experiment]]"]
    for key, value in values.items():
        if isinstance(value, bool):
            lines.append(f"{key} = {'true' if value else 'false'}")
        elif isinstance(value, str):
            if value:
                lines.append(f"{key} = {value if key == 'settings' else json.dumps(value)}")
        else:
            lines.append(f"{key} = {value:g}" if isinstance(value, float) and value < 1e6 else f"{key} = {value}")
    return "\n".join(lines) + "\n"
