"""Forgeries of who has shown what: a FAIL needs ends that carried as much elsewhere, and a window that held nobody."""

from __future__ import annotations

from collections.abc import Callable

from forge import (
    FORWARD,
    HALF,
    MOST,
    TCP,
    Edit,
    Json,
    again,
    each,
    idle_rtt,
    in_todays_form,
    loaded_rtt,
    loss,
    rung,
    scaled,
    together,
    values,
    without_rungs,
)
from forged_culprits import BACK
from forged_words import CANNOT, FAIL, C, Rows

from linkladder.verdicts import LimiterKind

WAYS = (("forward", FORWARD), ("reverse", BACK))


def shown_elsewhere() -> Rows:
    """The ends' ability is known by trials that load the same side of the same end, and by no others."""
    for way, ids in WAYS:
        short = each(ids, scaled(0.6))
        yield f"{way} at 60 %, localhost alone below", together(without_rungs("same-host", "same-vlan"), short), (
            CANNOT
        ), C.UNKNOWN_GENERATOR  # fmt: skip
        yield f"{way} at 60 %, same-host alone below", together(without_rungs("localhost", "same-vlan"), short), (
            FAIL
        ), C.SHORT  # fmt: skip
        yield f"{way} at 60 %, the same VLAN alone below, that way", together(
            without_rungs("localhost", "same-host"), short, one_way_below(way)
        ), FAIL, C.SHORT  # fmt: skip
        other = "reverse" if way == "forward" else "forward"
        yield f"{way} at 60 %, the same VLAN alone below, the other way", together(
            without_rungs("localhost", "same-host"), short, one_way_below(other)
        ), CANNOT, C.UNKNOWN_GENERATOR  # fmt: skip
        yield f"{way} at 60 %, same-host with a third machine", together(
            without_rungs("same-vlan"), short, in_todays_form(with_a_third)
        ), CANNOT, C.UNKNOWN_GENERATOR  # fmt: skip
    yield "both ways at once at 60 %, localhost alone below, and each alone is good", together(
        without_rungs("same-host", "same-vlan"), each(("tcp-2s-default-duplex",), scaled(0.6))
    ), FAIL, C.SHORT  # fmt: skip


def window_or_queue() -> Rows:
    """Round trips rise by what a window lets out as well: which of the two limits is seen by UDP above the rate."""
    short = together(each(TCP, scaled(0.6)), each(TCP, again(0.0)))
    queued = together(idle_rtt(20.0), each(TCP, loaded_rtt(45.0)))
    held = in_todays_form(held_by_receiver(0.9))
    for name, edit in (("short", short), ("short, a long way", together(short, queued))):
        yield f"{name}, the receiver's window held all the time, round trips rise", together(edit, held), CANNOT, (
            C.WINDOW
        )  # fmt: skip
    yield "short, the receiver's window held a fifth of the time, round trips rise", together(
        short, in_todays_form(held_by_receiver(0.2))
    ), FAIL, C.SHORT, LimiterKind.SHAPER  # fmt: skip
    yield "short, the receiver's window held all the time, UDP loses what is above the rate", together(
        short, held, each(MOST, loss(0.35))
    ), FAIL, C.SHORT, LimiterKind.SHAPER  # fmt: skip


def counted_nothing() -> Rows:
    yield "UDP arrived, and none was sent", each(HALF, values(datagrams=0, lost=0, commands=[])), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip


def one_way_below(way: str) -> Edit:
    """On the same VLAN TCP was measured that way alone."""

    def edit(d: Json) -> None:
        planned = next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "same-vlan")
        for r in (rung(d, "same-vlan"), planned):
            r["experiments"] = [
                e
                for e in r["experiments"]
                if (p := e.get("parameters", e))["protocol"] != "tcp" or p["direction"] == way
            ]

    return edit


def with_a_third(d: Json) -> None:
    """The rung inside the host was measured with another machine than the link's far end."""
    planned = next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "same-host")
    for p in (p for r in (rung(d, "same-host"), planned) for p in r["paths"]):
        p["peer"] = "gamma"
    facts = next(end["facts"] for end in d["run"]["ends"] if end["name"] == "beta")
    d["run"]["ends"].append({"name": "gamma", "facts": {**facts, "nics": []}})


def held_by_receiver(share: float) -> Callable[[Json], None]:
    """How long the senders waited for the receiver's window."""

    def edit(d: Json) -> None:
        for e in rung(d)["experiments"]:
            for t in e["trials"] if e["parameters"]["id"] in TCP else ():
                for end in t["ends"]:
                    for s in end["sockets"]["sockets"]:
                        s["receiver_limited_ms"] = 1000 * share * end["sockets"]["t"]

    return edit
