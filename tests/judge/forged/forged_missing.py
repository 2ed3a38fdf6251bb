"""Forgeries by what is not there, and of runs laid out otherwise: flows, ends, loans, long gaps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    FORWARD,
    HALF,
    SINGLE,
    TCP,
    Edit,
    Json,
    arms,
    each,
    in_todays_form,
    rung,
    scaled,
    silent,
    together,
)
from forged_words import CANNOT, FAIL, IMPOSSIBLE, INCOMPLETE, PASS, UNSURE, C, Rows

BACK = (BEST[1], SINGLE[1])


def not_there() -> Rows:
    """One end's evidence, or a way's, where the others' is whole."""
    yield "both ways at once, and nothing of the far end's CPU", each(DUPLEX, without("cpu", "far")), (
        UNSURE
    ), C.UNACCOUNTED  # fmt: skip
    yield "both ways at once, and no counters at the far end", each(DUPLEX, without("nics", "far")), (
        CANNOT
    ), C.UNACCOUNTED  # fmt: skip
    yield "far to near, and no counters at the end that received", each(BACK, without("nics", "near")), (
        CANNOT
    ), C.UNACCOUNTED  # fmt: skip
    yield "nothing of what the far machine is", lambda d: d["run"]["hosts"].pop("beta"), UNSURE, C.CONTRADICTION
    yield "more than all CPU was withheld", each(TCP, withheld(5.0)), CANNOT, C.CONTRADICTION
    yield "less than no CPU was withheld", each(TCP, withheld(-0.5)), CANNOT, C.CONTRADICTION
    yield "above the ceiling, and CPU was withheld", together(
        each(BEST, scaled(1.02)), each(BEST, withheld(0.3))
    ), IMPOSSIBLE, C.ABOVE_CEILING  # fmt: skip


def laid_out() -> Rows:
    """Several flows of UDP, settings on loan, a pause between two repeats."""
    yield "UDP of four flows", together(streams(4), each(HALF, four())), PASS, C.REACHED
    yield "one of UDP's four flows is dead, the others have its bytes", together(
        streams(4), each(HALF, four(dead=True))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "four flows of UDP were asked for, and one is there", streams(4), CANNOT, C.CONTRADICTION
    yield "one way was measured under a loan only", lent(*FORWARD), INCOMPLETE, C.ONE_DIRECTION
    yield "the better arm is lent, the one as it is is short", together(
        each(FORWARD[1:], scaled(0.5)), lent(*FORWARD[:1])
    ), FAIL, C.SHORT  # fmt: skip
    yield "three dead seconds under a loan", together(
        each(SINGLE[:1], silent(2, 5), (1,)), lent(*SINGLE)
    ), UNSURE, C.OUTAGE  # fmt: skip
    yield "three dead seconds under a loan of larger packets than were sold", together(
        each(SINGLE[:1], silent(2, 5), (1,)), lent(*SINGLE, mtu="9000")
    ), PASS, C.REACHED  # fmt: skip
    yield "a card lost its link under a loan, and every second was at full rate", together(
        lent(*SINGLE), in_todays_form(unplugged)
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "the last repeat ten hours after the others", later(10), PASS, C.REACHED


def without(what: str, end: str) -> Callable[[Json], Any]:
    return lambda t: t[what].pop(end)


def withheld(share: float) -> Callable[[Json], Any]:
    return lambda t: t["cpu"]["near"].update(starved=share)


def planned_too(d: Json, ids: tuple[str, ...], **parameters: Any) -> None:
    """What was measured and what was planned, told alike."""
    plan = next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "dc-link")
    asked = [e for e in plan["experiments"] if e["id"] in ids]
    done = [e["parameters"] for e in rung(d)["experiments"] if e["parameters"]["id"] in ids]
    for one in (*asked, *done):
        one.update(parameters)


def streams(count: int) -> Edit:
    return lambda d: planned_too(d, HALF, streams=count)


def lent(*ids: str, **setting: str) -> Edit:
    changed = [{"kind": k, "value": v, "ends": ["near", "far"]} for k, v in (setting or {"tso": "off"}).items()]
    return in_todays_form(lambda d: planned_too(d, ids, settings=changed))


def unplugged(d: Json) -> None:
    for e in arms(d, SINGLE[:1]):
        e["trials"][1]["ends"][1]["nics"][0]["carrier_lost"] = 2


def four(dead: bool = False) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        first, alive = t["flows"][0], 3 if dead else 4
        t["flows"] = [copy.deepcopy(first) for _ in range(4)]
        for n, f in enumerate(t["flows"]):
            share = 1 / alive if n < alive else 0.0
            f.update(id=str(n), local_port=first["local_port"] + n, intervals=[], bps=first["bps"] * share)
            for key in ("bytes", "total_bytes", "datagrams", "lost"):
                f[key] = round(first[key] * share)
        t["commands"] = []

    return change


def later(hours: float) -> Edit:
    def moved(at: str) -> str:
        return (datetime.fromisoformat(at) + timedelta(hours=hours)).isoformat()

    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            e["trials"][-1]["started"] = moved(e["trials"][-1]["started"])
        d["run"]["ended"] = moved(d["run"]["ended"])

    return edit
