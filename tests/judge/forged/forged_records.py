"""Forgeries of the record itself: figures that seconds, cards, clocks or the tools' own lines do not bear out."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    HALF,
    TCP,
    Edit,
    Json,
    arms,
    card,
    claim,
    contract,
    each,
    healthy,
    scaled,
    together,
    trials,
    values,
)
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows, flows, planned


def damaged() -> Rows:
    """Not ours, or damaged: what the figures do not bear out is no PASS."""
    for share in (1.05, 1.5, 4.0):
        d = together(contract(rate_bps=1e8 * share), each((*TCP, *DUPLEX), claim(share)))
        yield f"{share:g} times the rate is claimed, the seconds are as before", d, CANNOT, C.CONTRADICTION
    yield "the cards saw a tenth", each(BEST, cards_saw(0.1)), CANNOT, C.UNACCOUNTED
    yield "the cards saw 90 %", each(BEST, cards_saw(0.9)), CANNOT, C.UNACCOUNTED
    yield "the cards saw nothing", each(BEST, cards_saw(0.0)), CANNOT, C.UNACCOUNTED
    yield (
        "one card saw a tenth, one trial",
        each(BEST, card("far", rx_bytes=10_000_000, tx_bytes=10_000_000), (1,)),
        (CANNOT),
        C.UNACCOUNTED,
    )
    yield "no card's counters", each(BEST, values(nics={})), CANNOT, C.UNACCOUNTED
    yield (
        "no counters in the whole run",
        lambda d: [t.update(nics={}) for t in trials(d)] and None,
        CANNOT,
        (C.UNACCOUNTED),
    )
    yield "figures longer than the wall clock", each(BEST, values(seconds=4.0)), CANNOT, C.CONTRADICTION
    yield "flows longer than the wall clock", each(BEST, flows(seconds=60.0)), CANNOT, C.CONTRADICTION
    yield (
        "trials longer than the run",
        lambda d: d["run"].update(ended="2026-11-22T10:19:40+00:00"),
        CANNOT,
        (C.CONTRADICTION),
    )
    yield "one long interval that makes half", each(BEST, one_interval(0.5)), CANNOT, C.CONTRADICTION
    yield "one long interval that makes 90 %", each(BEST, one_interval(0.9)), CANNOT, C.CONTRADICTION
    yield "no seconds and no bytes", each(BEST, values(intervals=[], flows=[], commands=[])), CANNOT, C.UNACCOUNTED
    yield "no seconds, flows without bytes", each(TCP, no_bytes), FAIL, C.SILENCE
    yield "only the best seconds counted", each(BEST, count_only(3, 6)), CANNOT, C.CONTRADICTION
    yield "nothing counted", each(BEST, count_only(90, 99)), CANNOT, C.CONTRADICTION
    yield "the same trial five times", copies(5), CANNOT, C.COPIED
    yield "the same trial twice", copies(2), CANNOT, C.COPIED
    yield "the same trial under other ports and times", copies(3, disguised=True), CANNOT, C.COPIED
    yield "half of the flows", each(BEST, lambda t: t["flows"].pop()), CANNOT, C.CONTRADICTION
    yield "flows that make half", each(BEST, flow_rates(0.5)), CANNOT, C.CONTRADICTION
    yield "flows that moved half", each(BEST, flow_bytes(0.5)), CANNOT, C.CONTRADICTION
    yield "seconds twice over", each(BEST, lambda t: t.update(intervals=t["intervals"] * 2)), CANNOT, C.CONTRADICTION
    yield "datagrams that make a sixth", each(HALF, datagrams(1 / 6)), CANNOT, C.CONTRADICTION
    yield "a strong generator that is only claimed", lower("same-host"), UNSURE, C.CONTRADICTION
    raw = "raw output says otherwise"
    yield f"{raw}: half", each(BEST, output(0.5)), CANNOT, C.RAW_OUTPUT
    yield f"{raw}: 90 % in one trial", each(BEST, output(0.9), (1,)), CANNOT, C.RAW_OUTPUT
    yield f"{raw}: of another trial", each(BEST, other_output("udp-1s-48.6M-forward")), CANNOT, C.RAW_OUTPUT
    yield f"{raw}: the figures are a little larger", raised(1.04, 0.94), CANNOT, C.RAW_OUTPUT
    yield f"{raw}: an error", each(BEST, outputs("connect failed: Connection refused\n")), CANNOT, C.RAW_OUTPUT
    yield f"{raw}: UDP lost 5 %", each(HALF, udp_output), CANNOT, C.RAW_OUTPUT
    yield "no raw output at all", each(TCP, values(commands=[])), PASS, C.REACHED


def cards_saw(share: float) -> Any:
    def change(t: Json) -> None:
        for c in t["nics"].values():
            c.update(rx_bytes=round(c["rx_bytes"] * share), tx_bytes=round(c["tx_bytes"] * share))

    return change


def one_interval(share: float) -> Any:
    def change(t: Json) -> None:
        mine = [i for i in t["intervals"] if i["counted"]]
        whole = {**mine[0], "end": mine[-1]["end"], "bytes": round(sum(i["bytes"] for i in mine) * share)}
        t.update(intervals=[whole], commands=[])

    return change


def no_bytes(t: Json) -> None:
    for f in t["flows"]:
        f.update(bytes=0, total_bytes=0, intervals=[])
    t.update(intervals=[], commands=[])


def count_only(first: int, last: int) -> Any:
    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["counted"] = first <= i["start"] < last
        t["commands"] = []

    return change


def copies(count: int, disguised: bool = False) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            first = e["trials"][0]
            e["trials"] = []
            for n in range(count):
                t = copy.deepcopy(first)
                t.update(id=f"{first['id']}-{n}", repeat=n, commands=[])
                if disguised:
                    t["started"] = t["started"].replace(":30.", f":3{n}.")
                    for f in t["flows"]:
                        f["local_port"] += n
                    for use in t["cpu"].values():
                        use["busiest"] += n
                e["trials"].append(t)
            e["parameters"]["repeats"] = count
        planned(count, BEST)(d)
        d["run"]["ended"] = ""

    return edit


def flow_rates(share: float) -> Any:
    return lambda t: [f.update(bps=f["bps"] * share) for f in t["flows"]]


def flow_bytes(share: float) -> Any:
    return lambda t: [f.update(total_bytes=round(f["total_bytes"] * share)) for f in t["flows"]]


def datagrams(share: float) -> Any:
    return lambda t: t.update(datagrams=round(t["datagrams"] * share), commands=[])


def lower(name: str) -> Edit:
    """The rung below is claimed to be strong; its own figures say that it is too weak for the contract."""

    def edit(d: Json) -> None:
        d["run"]["plan"]["contract"].update(rate_bps=1e8)
        for r in d["rungs"]:
            if r["name"] == name:
                for e in r["experiments"]:
                    for t in e["trials"]:
                        if t["by_direction"]:
                            scaled(0.01)(t)
                            claim(1 / 0.01 * 0.9)(t)
        d["rungs"] = [r for r in d["rungs"] if r["name"] != "localhost"]

    return edit


def output(share: float) -> Any:
    """The tools' own lines say this share of what is claimed."""

    def less(match: Any) -> str:
        return f"{round(int(match[1]) * share)} Bytes  {round(int(match[2]) * share)} bits/sec"

    def change(t: Json) -> None:
        for c in t["commands"]:
            c["output"] = re.sub(r"(\d+) Bytes +(\d+) bits/sec", less, c["output"])

    return change


def outputs(text: str) -> Any:
    return lambda t: [c.update(output=text) for c in t["commands"] if c["role"] in ("server", "client")]


def other_output(arm: str) -> Any:
    def change(t: Json) -> None:
        other = next(trials(healthy(), (arm,)))
        said = {c["role"]: c["output"] for c in json.loads(json.dumps(other["commands"]))}
        for c in t["commands"]:
            c["output"] = said.get(c["role"], c["output"])

    return change


def raised(up: float, down: float) -> Edit:
    """A run that was short in truth, its figures raised everywhere but in what the tools printed."""

    def change(t: Json) -> None:
        kept = t["commands"]
        scaled(1.0)(t)
        t["commands"] = kept
        output(down)(t)

    return each(BEST, change)


def udp_output(t: Json) -> None:
    for c in t["commands"]:
        c["output"] = re.sub(r"(\d+)/ *(\d+) \(([\d.]+)%\)", lambda m: f"{int(m[2]) // 20}/{m[2]} (5%)", c["output"])
