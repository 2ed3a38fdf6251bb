"""Forgeries in which a part of a trial's record was taken from another repeat, and honest repeats that are alike."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from forge import BEST, HALF, MOST, TCP, UDP, Edit, Json, arms, in_todays_form
from forged_arranged import of_trials
from forged_words import CANNOT, PASS, C, Rows

Take = Callable[[Json, Json], Any]
MSS = 1448


def taken() -> Rows:
    """The last repeat of each load has a part of the first one's."""
    yield "an end's connections are those of another repeat", from_first(of_end("sockets")), CANNOT, C.COPIED
    yield "an end's connections are those of another repeat, without their ports", from_first(connections, BEST), (
        CANNOT
    ), C.COPIED  # fmt: skip
    yield "all ends' TCP counters are those of another repeat", from_first(of_end("tcp")), CANNOT, C.COPIED
    yield "one end's TCP counters are those of another repeat", from_first(of_end("tcp", (0,)), BEST[:1]), CANNOT, (
        C.COPIED
    )  # fmt: skip
    yield "the congestion windows are those of another repeat", windows(sawtooth, of_end("windows")), CANNOT, C.COPIED
    yield "the pings beside a load are those of another repeat", from_first(pings), CANNOT, C.COPIED
    yield "the idle pings are those of another repeat", pinged_twice(noisy), CANNOT, C.COPIED
    yield "the cards of UDP are those of another repeat", from_first(of_end("nics"), HALF[:1]), CANNOT, C.COPIED


def alike() -> Rows:
    """What honest repeats have in common."""
    yield "TCP counters that are equal where the loads were", from_first(of_end("tcp"), BEST[1:], 1), PASS, C.REACHED
    yield "cards of UDP that are equal where the datagrams were", from_first(of_end("nics"), MOST), PASS, C.REACHED
    yield "a second card that stood idle in all UDP", of_trials(with_idle_card, UDP), PASS, C.REACHED
    yield "congestion windows at the limit in all repeats", windows(lambda seed: [1 << 20] * 12), PASS, C.REACHED
    yield "congestion windows that grow alike in all repeats", windows(
        lambda seed: [MSS * (10 + 9 * k) for k in range(12)]
    ), PASS, C.REACHED  # fmt: skip
    yield "idle pings of three values", pinged_twice(lambda seed: [0.05, *[0.04, 0.05, 0.04] * 13]), PASS, C.REACHED
    yield "idle pings that rise alike", pinged_twice(lambda seed: [0.04 + 0.001 * k for k in range(40)]), (
        PASS
    ), C.REACHED  # fmt: skip
    yield "nothing of the connections at either end", of_trials(
        lambda t: [end.update(sockets=None, tcp=None) for end in t["ends"]], (*TCP, *UDP)
    ), PASS, C.REACHED  # fmt: skip


def from_first(take: Take, ids: tuple[str, ...] = TCP, number: int = -1) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ids):
            take(e["trials"][number], e["trials"][0])

    return in_todays_form(edit)


def of_end(key: str, numbers: tuple[int, ...] = (0, 1)) -> Take:
    return lambda t, other: [t["ends"][n].update({key: other["ends"][n][key]}) for n in numbers]


def with_idle_card(t: Json) -> None:
    for end in t["ends"]:
        few = {"rx_bytes": 170, "tx_bytes": 170, "rx_packets": 1, "tx_packets": 1}
        end["nics"].append({**end["nics"][0], **few, "name": "dc1"})


def connections(t: Json, other: Json) -> None:
    """Of other ports, as those of this trial's flows are known."""
    for end, its in zip(t["ends"], other["ends"], strict=True):
        if end["sockets"] and its["sockets"]:
            end["sockets"]["t"] = its["sockets"]["t"]
            for own, taken_from in zip(end["sockets"]["sockets"], its["sockets"]["sockets"], strict=True):
                own.update({k: v for k, v in taken_from.items() if not k.endswith("port")})


def pings(t: Json, other: Json) -> None:
    for leg, its in zip(t["legs"], other["legs"], strict=True):
        if leg["role"] == "ping":
            leg.update(its)


def windows(of: Callable[[int], Iterable[int]], take: Take = lambda t, other: None) -> Edit:
    """As FreeBSD tells them once a second; `of` makes them from a repeat's number."""

    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            for t in e["trials"]:
                for n, end in enumerate(t["ends"]):
                    sizes = of(10 * t["repeat"] + n)
                    end["windows"] = [
                        {"t": k + 1.001, "cwnd_bytes": [w], "ssthresh_bytes": [w]} for k, w in enumerate(sizes)
                    ]
            take(e["trials"][-1], e["trials"][0])

    return in_todays_form(edit)


def sawtooth(seed: int) -> list[int]:
    drawn = random.Random(seed)
    return [drawn.randrange(100_000, 400_000) for _ in range(12)]


def noisy(seed: int) -> list[float]:
    drawn = random.Random(seed)
    return [round(drawn.uniform(0.04, 0.2), 3) for _ in range(40)]


def pinged_twice(of: Callable[[int], list[float]]) -> Edit:
    """The idle pings once more, alike in all; `of` makes them from a repeat's number."""

    def edit(d: Json) -> None:
        for e in arms(d, ("round-trip",)):
            first = e["trials"][0]
            made = sorted(of(0))
            middle = made[len(made) // 2]
            first["legs"][0].update(commands=[])
            first["legs"][0]["outcome"]["rtt"] = {
                "sent": 40, "received": 40, "min_ms": made[0], "avg_ms": sum(made) / len(made), "max_ms": made[-1],
                "p50_ms": middle, "p95_ms": made[-2], "stddev_ms": 0.01, "samples_ms": of(0),
            }  # fmt: skip
            e["trials"].append({**first, "id": f"{first['id']}-again", "repeat": 1, "started": d["run"]["ended"]})
            asked = [p for r in d["run"]["plan"]["rungs"] if r["name"] == "dc-link" for p in r["experiments"]]
            for p in (e["parameters"], *(p for p in asked if p["id"] == "round-trip")):
                p["repeats"] = 2

    return in_todays_form(edit)


TAKEN = (taken, alike)
