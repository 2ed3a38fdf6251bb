"""What every table of forgeries is written with: the words of a row, and the edits that several tables make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forge import TCP, Edit, Json, arms, values

from linkladder.verdicts import Cause, LimiterKind

PASS, UNSURE, FAIL, CANNOT, IMPOSSIBLE, INCOMPLETE = (
    "PASS", "UNSURE", "FAIL", "CANNOT JUDGE", "IMPOSSIBLE", "INCOMPLETE",
)  # fmt: skip
C = Cause


@dataclass(frozen=True)
class Row:
    name: str
    edit: Edit
    verdict: str
    cause: Cause
    limiter: LimiterKind | None = None  # of the rung's weaker way, where the row is about it
    rung: str = "dc-link"


Rows = Iterator[
    tuple[str, Edit, str, Cause]
    | tuple[str, Edit, str, Cause, LimiterKind]
    | tuple[str, Edit, str, Cause, LimiterKind | None, str]
]


def nothing(d: Json) -> None:
    pass


def failed(fault: str, reason: str) -> Any:
    return values(
        ok=False, fault=fault, reason=reason, goodput_bps=0.0, by_direction={}, flows=[], intervals=[], commands=[]
    )


def planned(repeats: int, ids: tuple[str, ...] | None = None) -> Edit:
    def edit(d: Json) -> None:
        for r in d["run"]["plan"]["rungs"]:
            for e in r["experiments"]:
                if ids is None or (r["name"] == "dc-link" and e["id"] in ids):
                    e["repeats"] = repeats
        for r in d["rungs"]:
            for e in r["experiments"]:
                if ids is None or (r["name"] == "dc-link" and e["parameters"]["id"] in ids):
                    e["parameters"]["repeats"] = repeats

    return edit


def each_arm(**parameters: Any) -> Edit:
    """Asked for and measured."""

    def edit(d: Json) -> None:
        for e in arms(d):
            e["parameters"].update(parameters)
        for r in d["run"]["plan"]["rungs"]:
            for e in r["experiments"]:
                if r["name"] == "dc-link" and e["id"] in TCP:
                    e.update(parameters)

    return edit


def jitter(ms: float | None) -> Any:
    """As all of a trial tells it."""

    def change(t: Json) -> None:
        t.update(jitter_ms=ms, commands=[])
        for one in (*t["flows"], *t["intervals"]):
            one["jitter_ms"] = ms

    return change


def flows(**changes: Any) -> Any:
    return lambda t: [f.update(changes) for f in t["flows"]]
