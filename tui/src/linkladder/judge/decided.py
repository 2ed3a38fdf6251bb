"""Reduces a judgement to its decisions, without words and figures, to compare two judgements of one measurement."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from linkladder.verdicts import Concern, DocumentJudgement, Latency

SHOWN = ("dead_seconds", "availability_percent")  # figures that are kept, since they come from single seconds


def decided(judged: DocumentJudgement) -> Hashable:
    """The verdicts, causes, limiters, answers and grades in their places, and the time without traffic."""
    return _decided(judged)


def _decided(value: Any) -> Hashable:
    if isinstance(value, Enum | bool):
        return value
    if isinstance(value, Latency):  # one bucket of round trips more or less decides nothing
        return value.direction, value.grade
    if isinstance(value, Concern):
        shown = tuple(round(value.figures[name], 6) for name in SHOWN if name in value.figures)
        return value.cause, value.best, value.provisional, value.excuses, shown
    if is_dataclass(value):
        return tuple(_decided(getattr(value, field.name)) for field in fields(value))
    if isinstance(value, dict):
        return tuple((key, _decided(value[key])) for key in sorted(value))
    if isinstance(value, tuple | list):
        return tuple(map(_decided, value))
    return value is None
