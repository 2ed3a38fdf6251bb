"""What is done to a kept run over several pairs of ends: one fact of its loads, ends or pings changed."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from linkladder import formats
from linkladder.codec import to_json

Json = dict[str, Any]
Change = Callable[[Json, Json], Any]  # of a trial and of one of its loads
KEPT = Path(__file__).parents[2] / "documents"
SIDE, ALONE = "neighbours-gamma-delta", "alone-near-beta"


def kept(name: str) -> Json:
    """A kept document in today's form, on machines with cores to spare, as the one that recorded it had not."""
    text = lzma.decompress((KEPT / f"{name}.json.xz").read_bytes())
    made: Json = to_json(formats.document(json.loads(text)))
    for t in (t for r in made["rungs"] for e in r["experiments"] for t in e["trials"]):
        for end in t["ends"]:
            end["samples"] = []
            if end["cpu"]:
                cores = len(end["cpu"]["per_core"])
                end["cpu"].update(
                    percent=30.0, busiest=30.0, per_core=[30.0] * cores, cores_used=0.3 * cores, starved=0.0
                )
    return made


def both_ways(d: Json) -> None:
    """Each arm of TCP is there in the other direction too, two hours later: whoever sent has received."""
    link, plan = d["rungs"][-1], d["run"]["plan"]["rungs"][-1]
    for e in [one for one in link["experiments"] if one["parameters"]["protocol"] == "tcp"]:
        back = json.loads(json.dumps(e).replace("forward", "reverse"))
        link["experiments"].append(back)
        plan["experiments"].append(back["parameters"])
        for t in back["trials"]:
            t.update(id=f"{t['id']}-back", started=an_hour_later(an_hour_later(t["started"])))
            for leg in t["legs"]:
                leg["commands"] = []
                leg["pinged_by"] = {"near": "far", "far": "near"}[leg["pinged_by"]]
                _other_seconds(leg["outcome"])
            for leg in (leg for leg in t["legs"] if leg["role"] == "load"):
                near, far = leg["near"], leg["far"]
                ends = t["ends"]
                ends[near], ends[far] = _as(ends[near], ends[far]), _as(ends[far], ends[near])
    d["run"]["ended"] = an_hour_later(an_hour_later(d["run"]["ended"]))


def _as(one: Json, other: Json) -> Json:
    """The end, having done what the other one did."""
    named = [{**theirs, "name": mine["name"]} for mine, theirs in zip(one["nics"], other["nics"], strict=True)]
    seen = json.loads(json.dumps(other["sockets"]))
    for s in seen["sockets"] if seen else ():
        s.update(local=s["remote"], remote=s["local"])
    return {**other, "name": one["name"], "nics": named, "sockets": seen}


def _other_seconds(one: Json) -> None:
    """No trial is a copy of another: a few segments came a second later."""
    for n, i in enumerate(one["intervals"]):
        i["bytes"] += 1448 * (1 + n // 2) * (1 if n % 2 else -1)
    for f in one["flows"]:
        f.update(intervals=[], local_port=f["local_port"] + 1)


def loads(
    change: Change, arm: str = "", path: int | None = None, repeat: int | None = None, **parameters: str
) -> Callable[[Json], None]:
    """Every load of the arms whose name has this in it, on that path, in that repeat."""

    def edit(d: Json) -> None:
        for e in d["rungs"][-1]["experiments"]:
            wanted = arm in e["parameters"]["id"] and parameters.items() <= e["parameters"].items()
            for t in e["trials"] if wanted else ():
                for leg in t["legs"] if repeat in (None, t["repeat"]) else ():
                    if leg["role"] == "load" and path in (None, leg["path"]):
                        change(t, leg)
            if wanted and e["median_bps"] is not None:
                sum_up(e)

    return edit


def sum_up(e: Json) -> None:
    """The least, the median and the most of the good trials, as the store makes them."""
    parts = [[leg["outcome"] for leg in t["legs"] if leg["role"] == "load"] for t in e["trials"]]
    good = sorted(sum(one["goodput_bps"] for one in legs) for legs in parts if legs and all(one["ok"] for one in legs))
    least, middle, most = (good[0], good[len(good) // 2], good[-1]) if good else (None, None, None)
    e.update(min_bps=least, median_bps=middle, max_bps=most)


def scaled(share: float, raw: bool = False, cards: bool = True) -> Change:
    """The load carried this share: by its figures, and by its cards and without its output unless told otherwise."""

    def change(t: Json, leg: Json) -> None:
        one = leg["outcome"]
        one["goodput_bps"] *= share
        one["by_direction"] = {k: v * share for k, v in one["by_direction"].items()}
        for f in one["flows"]:
            f.update(bytes=round(f["bytes"] * share), total_bytes=round(f["total_bytes"] * share), bps=f["bps"] * share)
            f["intervals"] = []
        for i in one["intervals"]:
            i["bytes"] = round(i["bytes"] * share)
        leg["commands"] = leg["commands"] if raw else []
        for n in {leg["near"], leg["far"]} if cards else ():
            for card in t["ends"][n]["nics"]:
                card.update(rx_bytes=round(card["rx_bytes"] * share), tx_bytes=round(card["tx_bytes"] * share))

    return change


def end(which: str, **changes: Any) -> Change:
    return lambda t, leg: t["ends"][leg[which]].update(changes)


def scattered(arm: str, *shares: float, path: int | None = None) -> Callable[[Json], None]:
    """The repeats carried these shares."""

    def edit(d: Json) -> None:
        for n, share in enumerate(shares):
            loads(scaled(share), arm, path, repeat=n)(d)

    return edit


def busy_core(which: str, percent: float) -> Change:
    """One core of that end of the path was so busy, the others hardly."""
    use = {"busiest": percent, "per_core": [percent, 10.0, 10.0, 10.0], "cores_used": (percent + 30) / 100}
    return lambda t, leg: t["ends"][leg[which]]["cpu"].update(use, percent=(percent + 30) / 4)


def cards_of(name: str, **changes: Any) -> Callable[[Json], None]:
    """That end's cards, as it described them."""

    def edit(d: Json) -> None:
        facts = next(e for e in d["run"]["ends"] if e["name"] == name)["facts"]
        for nic in facts["nics"]:
            nic.update(changes)

    return edit


def silent(t: Json, leg: Json) -> None:
    """Nothing in three seconds' worth of it, and the others make good for that."""
    seconds = leg["outcome"]["intervals"]
    counted = [i for i in seconds if i["counted"]]
    gone = counted[: max(2, len(counted) // 2)]
    more = sum(i["bytes"] for i in counted) / max(1, sum(i["bytes"] for i in counted if i not in gone))
    for i in counted:
        i["bytes"] = 0 if i in gone else round(i["bytes"] * more)
    for f in leg["outcome"]["flows"]:
        f["intervals"] = []
    leg["commands"] = []


def outputs(change: Callable[[str], str]) -> Change:
    return lambda _, leg: [c.update(output=change(c["output"])) for c in leg["commands"]]


def client(change: Callable[[list[str]], list[str]]) -> Change:
    return lambda _, leg: [c.update(argv=change(c["argv"])) for c in leg["commands"] if c["role"] == "client"]


def copied(d: Json) -> None:
    for e in d["rungs"][-1]["experiments"]:
        if ALONE in e["parameters"]["id"]:
            first, second = e["trials"][0], e["trials"][1]
            e["trials"][1] = {**json.loads(json.dumps(first)), **{k: second[k] for k in ("id", "repeat", "started")}}


def without_pair(d: Json) -> None:
    for e in d["rungs"][-1]["experiments"]:
        if SIDE in e["parameters"]["id"]:
            for t in e["trials"]:
                t["legs"] = [leg for leg in t["legs"] if leg["path"] == 0]


def without_pair_in(repeat: int) -> Callable[[Json], None]:
    def edit(d: Json) -> None:
        for e in d["rungs"][-1]["experiments"]:
            for t in e["trials"] if SIDE in e["parameters"]["id"] else ():
                t["legs"] = [leg for leg in t["legs"] if leg["path"] == 0 or t["repeat"] != repeat]

    return edit


def shared(bps: float | None) -> Callable[[Json], None]:
    return lambda d: d["run"]["plan"]["contract"].update(shared_bps=bps)


def failed(_: Json, leg: Json) -> None:
    leg["commands"] = []
    leg["outcome"].update(
        ok=False, fault="path", reason="it stalled", goodput_bps=0.0, by_direction={}, flows=[], intervals=[]
    )


def on_loopback(_: Json, leg: Json) -> None:
    for f in leg["outcome"]["flows"]:
        f.update(local="127.0.0.1", remote="127.0.0.1")


def without_last(d: Json) -> None:
    for e in d["rungs"][-1]["experiments"]:
        e["trials"] = e["trials"][:-1] if len(e["trials"]) > 1 else e["trials"]


def by_another_card(t: Json, leg: Json) -> None:
    for n in (leg["near"], leg["far"]):
        for card in list(t["ends"][n]["nics"]):
            other = {**card, "name": "mg0", "rx_bytes": card["rx_bytes"] // 2, "tx_bytes": card["tx_bytes"] // 2}
            card.update(rx_bytes=card["rx_bytes"] - other["rx_bytes"], tx_bytes=card["tx_bytes"] - other["tx_bytes"])
            t["ends"][n]["nics"].append(other)


def names_swapped(t: Json, leg: Json) -> None:
    near, far = t["ends"][leg["near"]], t["ends"][leg["far"]]
    near["name"], far["name"] = far["name"], near["name"]


def without_seconds(_: Json, leg: Json) -> None:
    leg.update(commands=[])
    leg["outcome"]["intervals"] = []


def failed_by_tool(t: Json, leg: Json) -> None:
    failed(t, leg)
    leg["outcome"].update(fault="tool", reason="bind failed")


def without_link(t: Json, leg: Json) -> None:
    t["ends"][leg["far"]]["nics"][0]["carrier_lost"] = 1


def pings(ms: float, sent: int = 40, came: int = 40) -> Json:
    return {
        "sent": sent, "received": came, "min_ms": ms * 0.9, "avg_ms": ms, "max_ms": ms * 1.2, "p50_ms": ms,
        "p95_ms": ms * 1.1, "stddev_ms": ms * 0.05, "samples_ms": [],
    }  # fmt: skip


def expecting(ms: float) -> Callable[[Json], None]:
    return lambda d: d["run"]["plan"]["contract"].update(expected_rtt_ms=ms)


def same_cards(d: Json) -> None:
    _twins(d, "gamma", "delta")


def one_machine(d: Json) -> None:
    _twins(d, "gamma", "near")


def _twins(d: Json, *names: str) -> None:
    one, other = (next(e for e in d["run"]["ends"] if e["name"] == name)["facts"] for name in names)
    for card in one["nics"]:
        card["mac"] = "" if card["loopback"] else card["mac"] or "02:00:00:00:00:01"
    for card, twin in zip(other["nics"], one["nics"], strict=True):
        card["mac"] = twin["mac"]


def idle_pings(rtt: Json, path: int) -> Callable[[Json], None]:
    return loads(lambda _, leg: (leg.update(commands=[]), leg["outcome"].update(rtt=rtt)), "round-trip", path)


def held_by_window(d: Json) -> None:
    """The second pair's round trip is 9 ms, loaded or not, and its sender waited for the receiver all the time."""
    idle_pings(pings(9.0), 1)(d)
    loads(scaled(0.6), "alone-gamma-delta")(d)
    loads(waiting, "alone-gamma-delta")(d)


def waiting(t: Json, leg: Json) -> None:
    for one in t["legs"]:
        if one["role"] == "ping":
            one.update(commands=[])
            one["outcome"]["rtt"] = pings(9.0)
    for second in leg["outcome"]["intervals"]:
        second.update(rtt_ms=9.0, retransmits=0)
    for f in leg["outcome"]["flows"]:
        f["retransmits"] = 0
    sender = t["ends"][leg["near"]]
    sender["tcp"]["retransmits"] = 0
    for s in sender["sockets"]["sockets"]:
        s.update(receiver_limited_ms=1000 * sender["sockets"]["t"], rtt_ms=9.0, retransmits=0)


def at_its_sockets(times: float) -> Change:
    """The far card took in all that was sent, and its end counts so many times what is missing at full sockets."""

    def change(t: Json, leg: Json) -> None:
        out = t["ends"][leg["near"]]["nics"][0]
        t["ends"][leg["far"]]["nics"][0].update(rx_packets=out["tx_packets"], rx_bytes=out["tx_bytes"])
        t["ends"][leg["far"]]["udp_dropped"] = round(leg["outcome"]["lost"] * times)

    return change


def lossy_udp(share: float, second: float | None = None) -> Callable[[Json], None]:
    """The pairs are measured once more, by UDP at half of what one carries, and so much of it is lost.

    `second`: of the second pair, where that is another share.
    """
    size = 1470

    def edit(d: Json) -> None:
        made = next(e for e in d["rungs"][-1]["experiments"] if SIDE in e["parameters"]["id"])
        e = json.loads(json.dumps(made))
        rate = 2 * 40e6
        told = {"id": "udp-neighbours", "protocol": "udp", "udp_rate_bps": rate, "streams": 1, "company": "all"}
        e["parameters"].update(told)
        e.update(median_bps=None, min_bps=None, max_bps=None)
        d["rungs"][-1]["experiments"].append(e)
        d["run"]["plan"]["rungs"][-1]["experiments"].append(e["parameters"])
        d["run"]["ended"] = an_hour_later(d["run"]["ended"])
        for t in e["trials"]:
            t.update(id=f"{t['id']}-udp", started=an_hour_later(t["started"]))
            t["legs"] = [leg for leg in t["legs"] if leg["role"] == "load"]
            for leg in t["legs"]:
                paced(t, leg, rate / 2, share if second is None or not leg["path"] else second, size)

    return edit


def an_hour_later(at: str) -> str:
    return (datetime.fromisoformat(at) + timedelta(hours=1)).isoformat()


def paced(t: Json, leg: Json, rate: float, share: float, size: int) -> None:
    """A load that was sent at that rate, by one flow."""
    one = leg["outcome"]
    leg.update(commands=[])
    arrived = rate * (1 - share)
    for i in one["intervals"]:
        sent = round(rate / 8 / size * (i["end"] - i["start"]))
        i.update(bytes=round(sent * (1 - share)) * size, datagrams=sent, lost=round(sent * share), cwnd=None)
    counted = [i for i in one["intervals"] if i["counted"]]
    sent, lost = (sum(i[key] for i in counted) for key in ("datagrams", "lost"))
    f = one["flows"][0]
    total = sum(i["bytes"] for i in one["intervals"])
    f.update(bytes=sum(i["bytes"] for i in counted), bps=arrived, total_bytes=total, datagrams=sent, lost=lost)
    f.update(intervals=[], retransmits=None)
    one.update(goodput_bps=arrived, by_direction=dict.fromkeys(one["by_direction"], arrived), flows=[f])
    one.update(datagrams=sent, lost=lost, offered_bps=rate, jitter_ms=0.1)
    for n in (leg["near"], leg["far"]):
        for card in t["ends"][n]["nics"]:
            out = round(total / (1 - share) / size)
            card.update(tx_bytes=out * 1512, tx_packets=out, rx_bytes=round(out * (1 - share)) * 1512)
            card.update(rx_packets=round(out * (1 - share)), rx_drops=0)
