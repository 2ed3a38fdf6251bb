"""A healthy run, and the tools to forge it: each function changes one fact of the document and all that hangs on it.

healthy.json.xz is a whole ladder climbed in the lab over a link of 100 Mb/s, as `linkladder run --json` wrote it (but
for the seconds of the hosts, which nothing here asks for).  The machine that it was recorded on had other work: its
cores are made those of an idle one, so that what is forged is the only thing that is wrong.
"""

from __future__ import annotations

import copy
import json
import lzma
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from linkladder import formats
from linkladder.codec import to_json
from linkladder.model import Document

Json = dict[str, Any]
Edit = Callable[[Json], None]

LATER = "edits of today's form"
HERE = Path(__file__).parent
BEST = ("tcp-2s-default-forward", "tcp-2s-default-reverse")
SINGLE = ("tcp-1s-default-forward", "tcp-1s-default-reverse")
DUPLEX = ("tcp-2s-default-duplex",)
TCP = (*BEST, *SINGLE)
HALF = ("udp-1s-48.6M-forward", "udp-1s-48.6M-reverse")
MOST = ("udp-1s-87.5M-forward", "udp-1s-87.5M-reverse")
UDP = (*HALF, *MOST)
FORWARD = ("tcp-2s-default-forward", "tcp-1s-default-forward")


@cache
def _healthy() -> str:
    return lzma.decompress((HERE / "healthy.json.xz").read_bytes()).decode()


def healthy() -> Json:
    made: Json = json.loads(_healthy())
    for host in made["run"]["hosts"].values():
        host["cores"] = 4
    for t in trials(made):
        for use in t["cpu"].values():
            use.update(percent=20.0, busiest=40.0, cores_used=0.8, per_core=[20.0, 40.0, 10.0, 10.0], starved=0.0)
    return made


def forged(*edits: Edit) -> Document:
    made = healthy()
    for edit in edits:
        edit(made)
    later: list[Edit] = made.pop(LATER, [])
    document = formats.document(made)
    if not later:
        return document
    today = to_json(document)
    for edit in later:
        edit(today)
    return formats.document(today)


def in_todays_form(edit: Edit) -> Edit:
    """What the healthy run's older form has no word for."""
    return lambda d: d.setdefault(LATER, []).append(edit)


# --- where


def rung(d: Json, name: str = "dc-link") -> Json:
    return next(r for r in d["rungs"] if r["name"] == name)


def arms(d: Json, ids: tuple[str, ...] = TCP, name: str = "dc-link") -> Iterator[Json]:
    for e in rung(d, name)["experiments"]:
        if e["parameters"]["id"] in ids:
            yield e


def trials(d: Json, ids: tuple[str, ...] | None = None, repeats: tuple[int, ...] | None = None) -> Iterator[Json]:
    """Of the link's arms with these ids; of the whole run where none are given."""
    for r in d["rungs"]:
        for e in r["experiments"]:
            if ids is None or (r["name"] == "dc-link" and e["parameters"]["id"] in ids):
                for t in e["trials"]:
                    if repeats is None or t["repeat"] in repeats:
                        yield t


# --- what


def each(ids: tuple[str, ...], change: Callable[[Json], Any], repeats: tuple[int, ...] | None = None) -> Edit:
    """The change, made to these arms' trials of the link."""

    def edit(d: Json) -> None:
        for t in trials(d, ids, repeats):
            change(t)
        _sum_up(d)

    return edit


def together(*edits: Edit) -> Edit:
    def edit(d: Json) -> None:
        for one in edits:
            one(d)

    return edit


def values(**changes: Any) -> Callable[[Json], None]:
    return lambda t: t.update(copy.deepcopy(changes))


def contract(**changes: Any) -> Edit:
    return lambda d: d["run"]["plan"]["contract"].update(changes)


def without_rungs(*names: str) -> Edit:
    def edit(d: Json) -> None:
        d["rungs"] = [r for r in d["rungs"] if r["name"] not in names]
        d["run"]["plan"]["rungs"] = [r for r in d["run"]["plan"]["rungs"] if r["name"] not in names]

    return edit


def without_arms(*ids: str) -> Edit:
    def edit(d: Json) -> None:
        for r in (rung(d), next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "dc-link")):
            r["experiments"] = [e for e in r["experiments"] if e.get("parameters", e)["id"] not in ids]

    return edit


def scaled(share: float) -> Callable[[Json], None]:
    """A trial that carried this share: its seconds, flows, figures and the cards' counters, and no raw output."""

    def change(t: Json) -> None:
        _seconds(t, [share] * len(t["intervals"]))

    return change


def level(*shares: float) -> Callable[[Json], None]:
    """A trial whose seconds carried these shares; the last goes on to the end."""

    def change(t: Json) -> None:
        count = len(t["intervals"])
        _seconds(t, [*shares[:count], *([shares[-1]] * (count - len(shares)))])

    return change


def silent(first: int, last: int) -> Callable[[Json], None]:
    """Nothing arrived in these seconds, and the others made good for it: the mean is what it was."""

    def change(t: Json) -> None:
        counted = [i for i in t["intervals"] if i["counted"]]
        dead = sum(first <= i["start"] < last for i in counted)
        more = len(counted) / max(1, len(counted) - dead) if dead else 1.0
        _seconds(t, [0.0 if first <= i["start"] < last else more for i in t["intervals"]])

    return change


def _seconds(t: Json, shares: list[float]) -> None:
    counted = [i["bytes"] for i in t["intervals"] if i["counted"]]
    for i, share in zip(t["intervals"], shares, strict=True):
        i["bytes"] = round(i["bytes"] * share)
    now = sum(i["bytes"] for i in t["intervals"] if i["counted"])
    claim(now / max(1, sum(counted)))(t)
    t["commands"] = []


def claim(share: float) -> Callable[[Json], None]:
    """Rates, flows and counters times this; the seconds stay as they are."""

    def change(t: Json) -> None:
        t["goodput_bps"] *= share
        t["by_direction"] = {k: v * share for k, v in t["by_direction"].items()}
        for f in t["flows"]:
            for key in ("bytes", "total_bytes"):
                f[key] = round(f[key] * share)
            f["bps"] *= share
            f["intervals"] = []
        for card in t["nics"].values():
            for key in ("rx_bytes", "tx_bytes"):
                card[key] = round(card[key] * max(share, 0.01))
        t["commands"] = []

    return change


def claim_alone(share: float) -> Callable[[Json], None]:
    """Only the trial's own rates times this: nothing else knows of it."""

    def change(t: Json) -> None:
        t["goodput_bps"] *= share
        t["by_direction"] = {k: v * share for k, v in t["by_direction"].items()}
        t["commands"] = []

    return change


def loss(share: float, where: str = "path", busy: float = 40.0, drops: int = 0) -> Callable[[Json], None]:
    """UDP datagrams lost; `where` says what the cards saw of it: "path", "end", or "" where nothing was counted."""

    def change(t: Json) -> None:
        t["lost"] = round(t["datagrams"] * share)
        scaled(1 - share)(t)
        (way,) = t["by_direction"]
        sender, receiver = ("near", "far") if way == "forward" else ("far", "near")
        for use in t["cpu"].values():
            busiest(use, busy)
        out, in_ = t["nics"][sender], t["nics"][receiver]
        out["tx_bytes"] = round(out["tx_bytes"] / (1 - share))
        in_["rx_packets"] = round(out["tx_packets"] * (1 - share)) if where == "path" else out["tx_packets"]
        in_["rx_drops"] = drops
        if where == "end":
            in_["rx_bytes"] = out["tx_bytes"]
        if not where:
            for card in (out, in_):
                card["rx_packets"] = card["tx_packets"] = 0

    return change


def busiest(use: Json, percent: float) -> None:
    """One core is that busy, the others hardly."""
    rest = [min(10.0, percent)] * 3
    use.update(busiest=percent, per_core=[percent, *rest], cores_used=(percent + sum(rest)) / 100)
    use.update(percent=(percent + sum(rest)) / 4)


def busy(near: float = 40.0, far: float = 40.0, **more: Any) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for end, percent in (("near", near), ("far", far)):
            if end in t["cpu"]:
                busiest(t["cpu"][end], percent)
                t["cpu"][end].update(more)

    return change


def card(end: str, **changes: Any) -> Callable[[Json], None]:
    return lambda t: t["nics"][end].update(changes) if end in t["nics"] else None


def interface(d: Json, host: str = "near", **changes: Any) -> None:
    """The link's interface at one end, as the host described it."""
    next(n for n in d["run"]["hosts"][host]["nics"] if n["name"] == "dc0").update(changes)


def loaded_rtt(ms: float) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        t["rtt_under_load"] = rtt(ms) if t.get("rtt_under_load") else None
        for i in t["intervals"]:
            if i["cwnd"] and i["rtt_ms"]:  # what waits longer is more
                i["cwnd"] = round(i["cwnd"] * ms / i["rtt_ms"])
            i["rtt_ms"] = ms

    return change


def rtt(ms: float, sent: int = 40, received: int = 40) -> Json:
    return {
        "sent": sent, "received": received, "min_ms": ms * 0.9, "avg_ms": ms, "max_ms": ms * 1.3, "p50_ms": ms,
        "p95_ms": ms * 1.2, "stddev_ms": ms * 0.05, "samples_ms": [],
    }  # fmt: skip


def idle_rtt(ms: float, sent: int = 40, received: int = 40) -> Edit:
    return each(("round-trip",), values(rtt=rtt(ms, sent, received)))


def again(share: float) -> Callable[[Json], None]:
    """Segments that the sender had to send again, as its system counts them; no tool and no connection tells of any."""

    def change(t: Json) -> None:
        for end in t["tcp"].values():
            end["retransmits"] = round(end["segments_sent"] * share)
        for one in (*t["flows"], *t["intervals"], *(i for f in t["flows"] for i in f["intervals"])):
            one["retransmits"] = None
        for seen in (t.get("sockets") or {}).values():
            for s in seen["sockets"] if seen else ():
                s["retransmits"] = None

    return change


def of_its_own(t: Json, number: int) -> None:
    """A trial that was made of another one, in the older form or today's, has that one's TCP counters and pings not."""
    old = "ends" not in t
    for counters in t["tcp"].values() if old else (end["tcp"] for end in t["ends"]):
        if counters:
            counters["segments_sent"] += number
    for seen in t["sockets"].values() if old else (end["sockets"] for end in t["ends"]):
        for s in seen["sockets"] if seen else ():
            s.update({key: s[key] + number for key in ("sent_bytes", "received_bytes") if s[key]})
    for pings in (t["rtt_under_load"],) if old else (leg["outcome"]["rtt"] for leg in t["legs"]):
        if pings:
            pings["samples_ms"] = []


def _sum_up(d: Json) -> None:
    """Each arm's least, median and most, as the store makes them."""
    for r in d["rungs"]:
        for e in r["experiments"]:
            good = sorted(t["goodput_bps"] for t in e["trials"] if t["ok"] and t["goodput_bps"] > 0)
            if good:
                e["min_bps"], e["median_bps"], e["max_bps"] = good[0], good[len(good) // 2], good[-1]
