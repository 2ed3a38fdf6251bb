"""Forgeries of what ends told of themselves, and of answers that cannot be those of the same way."""

from __future__ import annotations

import copy
from typing import Any

from forge import BEST, TCP, Edit, Json, arms, claim_alone, contract, each, idle_rtt, loaded_rtt, rtt, together, values
from forged_answers import ECHO, PROBES, TRANSACTIONS
from forged_words import CANNOT, IMPOSSIBLE, PASS, UNSURE, C, Rows


def told() -> Rows:
    """What an end told of its cards does not fit what was measured."""
    for end in ("near", "beta"):
        yield f"no card of {end} has the path's address", card(end, addresses=["10.77.0.1"]), UNSURE, C.ELSEWHERE
        yield f"the card of {end} was down when it was asked", card(end, up=False), UNSURE, C.OWN_CARD
    yield "an end that was moved told of the one address that it had at another rung", moved, PASS, C.REACHED
    yield "a path by an interface that the near end does not have", interface("ix7"), UNSURE, C.ELSEWHERE
    yield "a path by an interface that the near end has", interface("dc0"), PASS, C.REACHED
    yield "an end that told of no addresses at all", without_addresses, PASS, C.REACHED
    yield "an address written in capitals", card("near", addresses=["FD98:0:0:3::1", "10.98.3.1"]), PASS, C.REACHED
    yield "more repeats asked for than there are, by the record alone", asked(10**6), UNSURE, C.TRIALS_MISSING


def answered() -> Rows:
    """Round trips, probes and transactions whose figures exclude each other."""
    quick = each(TCP, loaded_rtt(25.0))
    yield "idle pings far slower than those beside TCP", together(idle_rtt(300.0), quick), UNSURE, C.ELSEWHERE
    yield "idle pings a little slower than those beside TCP", together(idle_rtt(35.0), quick), PASS, C.REACHED
    yield "idle pings three times slower, by a millisecond", together(
        idle_rtt(1.5), each(TCP, loaded_rtt(0.5)), each(TCP, values(commands=[]))
    ), PASS, C.REACHED  # fmt: skip
    samples = {"sent": 4, "received": 4, "min_ms": 1.0, "samples_ms": [1.0, 1.0, 1.0, 90.0]}
    for name, figures in (
        ("largest", {"avg_ms": 23.25, "max_ms": 2.0, "p50_ms": 1.0, "p95_ms": 1.0}),
        ("mean", {"avg_ms": 1.0, "max_ms": 90.0, "p50_ms": 1.0, "p95_ms": 90.0}),
    ):
        seen = rtt(1.0) | samples | figures
        yield f"a {name} round trip shorter than its samples make it", each(ECHO, values(rtt=seen, commands=[])), (
            CANNOT
        ), C.CONTRADICTION  # fmt: skip
    tail = {"sent": 40, "received": 40, "min_ms": 1.0, "samples_ms": [1.0] * 30 + [90.0] * 10}
    seen = rtt(1.0) | tail | {"avg_ms": 23.25, "max_ms": 90.0, "p50_ms": 1.0, "p95_ms": 1.0}
    yield "a 95th percentile shorter than its samples make it", each(ECHO, values(rtt=seen, commands=[])), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "a smaller probe was lost, and a larger one passed", each(PROBES, hole), UNSURE, C.PATH_MTU
    yield "a mean latency below the least", transactions(mean_us=5.0), CANNOT, C.CONTRADICTION
    yield "one session of ten", transactions(sessions=1), CANNOT, C.CONTRADICTION
    yield "transactions of one byte", transactions(request=1), CANNOT, C.CONTRADICTION
    yield "a flow from a port that there is not", each(BEST, port(70_000)), CANNOT, C.CONTRADICTION
    yield "a rate above the ceiling that only the sums claim", each(BEST, claim_alone(1.5)), CANNOT, C.CONTRADICTION
    yield "a rate above the ceiling that only the sums of one repeat claim", each(BEST, claim_alone(1.5), (1,)), (
        CANNOT
    ), C.CONTRADICTION  # fmt: skip
    yield "a rate above the ceiling in one setting, only claimed in another", together(
        contract(rate_bps=50e6), each(BEST, claim_alone(1.5))
    ), IMPOSSIBLE, C.ABOVE_CEILING  # fmt: skip


def card(end: str, **facts: Any) -> Edit:
    """What this end told of the card at the link."""

    def edit(d: Json) -> None:
        next(nic for nic in d["run"]["hosts"][end]["nics"] if nic["name"] == "dc0").update(copy.deepcopy(facts))

    return edit


def moved(d: Json) -> None:
    for nic in d["run"]["hosts"]["beta"]["nics"]:
        nic["addresses"] = nic["addresses"] if nic["name"] == "sv0" else []


def without_addresses(d: Json) -> None:
    for nic in d["run"]["hosts"]["beta"]["nics"]:
        nic["addresses"] = []


def interface(name: str) -> Edit:
    """Of the link's path at the near end, as planned and as measured."""

    def edit(d: Json) -> None:
        for r in (*d["rungs"], *d["run"]["plan"]["rungs"]):
            if r["name"] == "dc-link":
                r["path"]["local_interface"] = name

    return edit


def asked(repeats: int) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            e["parameters"]["repeats"] = repeats

    return edit


def transactions(**figures: float) -> Edit:
    """These in place of what was measured, and no output."""

    def change(t: Json) -> None:
        t["transactions"].update(figures)
        t["commands"] = []

    return each(TRANSACTIONS, change)


def hole(t: Json) -> None:
    seen = t["path_mtu"]
    seen.update(passed=[size for size in seen["passed"] if size != 1400], failed=[1400])
    t["commands"] = []


def port(number: int) -> Any:
    def change(t: Json) -> None:
        t["flows"][0]["local_port"] = number
        t["commands"] = []

    return change
