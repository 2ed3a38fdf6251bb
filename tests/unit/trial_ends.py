"""A trial whose ends are none: they take every request and do nothing."""

from __future__ import annotations

from typing import Any, cast

from linkladder import wire
from linkladder.engine.route import Route, Side
from linkladder.engine.trial import Trial
from linkladder.model import Direction, Experiment, Path

PORT = 5301


class End:
    """An end that takes every request, and looks at no connections by itself."""

    lost = False

    def __init__(self) -> None:
        self.asked: list[wire.Request[Any]] = []

    async def ask(self, request: wire.Request[Any]) -> wire.SamplingReply:
        self.asked.append(request)
        return wire.SamplingReply()


def two_ends(way: Direction, exp: Experiment | None = None) -> tuple[Trial, list[End]]:
    ends = [End(), End()]
    near, far = (Side(number, cast(Any, end), name, f"10.0.0.{number + 1}", "") for number, (end, name) in
                 enumerate(zip(ends, ("near", "far"), strict=True)))  # fmt: skip
    route = Route(Path("10.0.0.1", "10.0.0.2", "far"), near, far)
    exp = exp or Experiment("e", duration=9, direction=way)
    return Trial([route], exp, 0, [PORT], lambda _: None), ends
