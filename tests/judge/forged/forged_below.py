"""Forgeries of what an end did, or what a shorter way between the same ends shows as well: the link is not to blame."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from forge import (
    BEST,
    HALF,
    TCP,
    UDP,
    Edit,
    Json,
    again,
    arms,
    each,
    in_todays_form,
    loaded_rtt,
    loss,
    rtt,
    rung,
    scaled,
    silent,
    together,
    without_rungs,
)
from forged_again import full_sockets
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows

ANSWERS = ("rr-10x700-forward",)
BELOW = ("same-host", "same-vlan")


def by_an_end() -> Rows:
    short = together(each(TCP, scaled(0.6)), each(TCP, again(0.0)), each(TCP, loaded_rtt(0.08)))
    yield "short, and the receiver closed its window again and again", together(
        short, counted("zero_window_sent", 400)
    ), CANNOT, C.BUSY_END  # fmt: skip
    yield "short, and an end stood still for most of each trial", together(
        short, in_todays_form(stood_still(0.8))
    ), CANNOT, C.BUSY_END  # fmt: skip
    yield "short, and an end stood still for a twentieth of it", together(
        short, in_todays_form(stood_still(0.05))
    ), FAIL, C.SHORT  # fmt: skip
    dead = each(BEST, silent(4, 7), (0,))
    yield "three dead seconds in which the receiver held the sender up", together(
        dead, counted("zero_window_sent", 6), in_todays_form(held_up_by_receiver(3000.0))
    ), CANNOT, C.OUTAGE  # fmt: skip
    yield "three dead seconds, a tenth of it the receiver's", together(
        dead, counted("zero_window_sent", 6), in_todays_form(held_up_by_receiver(300.0))
    ), FAIL, C.OUTAGE  # fmt: skip
    yield "two seconds in which no datagram was sent", each(HALF[:1], not_sent(2, 4), (0,)), CANNOT, C.UDP_PACE
    yield "ten requests and their answers broke off", each(ANSWERS, broken("path")), UNSURE, C.SILENCE
    yield "the far end was lost under requests and answers", each(ANSWERS, broken("peer")), UNSURE, C.SILENCE


def of_udp() -> Rows:
    yield "3 % of UDP lost at full sockets, no card counted packets", together(
        each(UDP, loss(0.03, "")), full_sockets(1.0)
    ), PASS, C.REACHED  # fmt: skip
    yield "3 % of UDP lost, a third of it at full sockets, no card counted packets", together(
        each(UDP, loss(0.03, "")), full_sockets(0.33)
    ), FAIL, C.UDP_LOSS  # fmt: skip
    yield "30 % of UDP dropped by the card that should send it", each(HALF, dropped_before(0.3)), CANNOT, C.WHO_LOST
    for percent in (0.5, 2.0):
        told = each(UDP, not_told(percent / 100, "path"))
        yield f"{percent:g} % of UDP is missing between the cards, and nobody told", told, FAIL, C.UDP_LOSS
    yield "2 % of UDP is missing, and nobody counted", each(UDP, not_told(0.02, "")), CANNOT, C.UDP_PACE
    yield "1 % lost on the path, as much at full sockets in the warm-up", together(
        each(UDP, masked_after_a_lossy_start(0.01)), full_sockets(1.0)
    ), CANNOT, C.WHO_LOST  # fmt: skip


def on_a_shorter_way() -> Rows:
    short = each(TCP, scaled(0.6))
    yield "as short on the same VLAN", together(short, below_carries(0.6 * 95.6e6, "same-vlan")), CANNOT, (
        C.WEAK_GENERATOR
    )  # fmt: skip
    yield "a little short on the same VLAN", together(short, below_carries(0.8 * 95.6e6, "same-vlan")), FAIL, C.SHORT
    one_way = together(
        each((BEST[1], "tcp-1s-default-reverse"), scaled(0.6)), without_rungs("localhost", "same-vlan"), below_one_way
    )
    yield "short one way that no rung below measured", one_way, CANNOT, C.UNKNOWN_GENERATOR
    lost = {name: pinged(32, name) for name in (*BELOW, "dc-link")}
    yield "a fifth of the pings is lost on every rung", together(*lost.values()), CANNOT, C.PING_LOSS
    yield "a fifth of the pings is lost on the link alone", lost["dc-link"], FAIL, C.PING_LOSS
    yield "a fifth of the pings is lost, and one in twenty below", together(
        lost["dc-link"], pinged(38, "same-vlan")
    ), FAIL, C.PING_LOSS  # fmt: skip
    yield "the same black hole on every rung", together(hole("dc-link"), hole("same-host")), CANNOT, C.PATH_MTU
    yield "a black hole on the link alone", hole("dc-link"), FAIL, C.PATH_MTU
    udp = each(UDP, loss(0.03, ""))
    yield "3 % of UDP lost on the same host as well", together(udp, udp_below(0.03)), CANNOT, C.WHO_LOST
    yield "3 % of UDP lost, and 0.2 % on the same host", together(udp, udp_below(0.002)), FAIL, C.UDP_LOSS


def counted(key: str, count: int) -> Edit:
    """At both ends, in each trial of TCP."""

    def change(t: Json) -> None:
        for end in t["tcp"].values():
            end[key] = count

    return each(TCP, change)


def _tcp_today(d: Json) -> Any:
    return (t for e in arms(d, TCP) for t in e["trials"])


def stood_still(share: float) -> Edit:
    def edit(d: Json) -> None:
        for t in _tcp_today(d):
            t["ends"][1]["held_up"] = [{"at": 1.0, "seconds": share * t["seconds"]}]
            t["ends"][1]["samples"] = []

    return edit


def held_up_by_receiver(ms: float) -> Edit:
    def edit(d: Json) -> None:
        for t in _tcp_today(d):
            for end in t["ends"]:
                for s in end["sockets"]["sockets"]:
                    s["receiver_limited_ms"] = ms

    return edit


def not_sent(first: int, last: int) -> Callable[[Json], None]:
    """The sender stopped for these seconds: the sequence shows no datagram missing, and there are fewer of them."""

    def change(t: Json) -> None:
        inside = [i for i in t["intervals"] if i["counted"]]
        kept = sum(not first <= i["start"] < last for i in inside) / len(inside)
        for i in t["intervals"]:
            if first <= i["start"] < last:
                i.update(bytes=0, datagrams=0, lost=0)
        carried = sum(i["bytes"] for i in inside)
        t["datagrams"] = sum(i["datagrams"] for i in inside)
        t["goodput_bps"] *= kept
        t["by_direction"] = {way: bps * kept for way, bps in t["by_direction"].items()}
        t["offered_bps"] = t["goodput_bps"]
        whole = sum(i["bytes"] for i in t["intervals"])
        for f in t["flows"]:
            f.update(bps=f["bps"] * kept, bytes=carried, total_bytes=whole, datagrams=t["datagrams"], intervals=[])
        for c in t["nics"].values():
            for key in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets"):
                c[key] = round(c[key] * 0.65) if c[key] > 5000 else c[key]
        t["commands"] = []

    return change


def broken(fault: str) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        t.update(ok=False, fault=fault, reason="no answer came for 5 s", transactions=None, intervals=[], commands=[])

    return change


def dropped_before(share: float) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        loss(share, "end")(t)
        (way,) = t["by_direction"]
        out, in_ = (t["nics"][n] for n in (("near", "far") if way == "forward" else ("far", "near")))
        out.update(tx_drops=t["lost"], tx_packets=out["tx_packets"] - t["lost"])
        out["tx_bytes"] = round(out["tx_bytes"] * (1 - share))
        in_.update(rx_packets=out["tx_packets"], rx_bytes=out["tx_bytes"])

    return change


def not_told(share: float, where: str) -> Callable[[Json], None]:
    """Less arrives, by what the cards saw, and no figure of datagrams is there."""

    def change(t: Json) -> None:
        loss(share, where)(t)
        for one in (t, *t["intervals"], *t["flows"]):
            one.update(lost=None, datagrams=None)
        t["commands"] = []

    return change


def masked_after_a_lossy_start(share: float) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        loss(share, "end")(t)
        early = [i for i in t["intervals"] if not i["counted"] and i["datagrams"]]
        if early:
            early[0].update(lost=t["lost"], datagrams=max(t["lost"], early[0]["datagrams"]))

    return change


def below_carries(bps: float, name: str) -> Edit:
    def edit(d: Json) -> None:
        for e in rung(d, name)["experiments"]:
            for t in e["trials"]:
                if t["goodput_bps"] > 1e6:
                    scaled(bps / t["goodput_bps"])(t)

    return edit


def below_one_way(d: Json) -> None:
    for r in (rung(d, "same-host"), next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "same-host")):
        kept = [e for e in r["experiments"] if "reverse" not in e.get("parameters", e)["id"]]
        r["experiments"] = [e for e in kept if "duplex" not in e.get("parameters", e)["id"]]


def pinged(received: int, name: str) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ("round-trip",), name):
            for t in e["trials"]:
                t.update(rtt=rtt(0.07, 40, received), commands=[])

    return edit


def hole(name: str) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ("path-mtu-forward",), name):
            for t in e["trials"]:
                t["path_mtu"] = {
                    "passed": [576, 1280, 1400], "failed": [1500], "mtu": 1400, "black_hole": True,
                    "reported_mtu": None,
                }  # fmt: skip
                t["commands"] = []

    return edit


def udp_below(share: float) -> Edit:
    """The link's paced UDP, measured on the same host before it."""

    def edit(d: Json) -> None:
        plan = d["run"]["plan"]["rungs"]
        for e in [copy.deepcopy(e) for e in arms(d, UDP)]:
            for t in e["trials"]:
                loss(share, "")(t)
                t["started"] = rung(d, "same-host")["experiments"][-1]["trials"][-1]["started"]
            rung(d, "same-host")["experiments"].append(e)
            next(r for r in plan if r["name"] == "same-host")["experiments"].append(copy.deepcopy(e["parameters"]))

    return edit
