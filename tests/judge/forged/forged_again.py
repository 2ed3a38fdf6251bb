"""Forgeries of what is there more than once: repeats, series of pings, an end's seconds beside its sums."""

from __future__ import annotations

import copy
from datetime import datetime, timedelta
from typing import Any

from forge import (
    BEST,
    HALF,
    MOST,
    TCP,
    UDP,
    Edit,
    Json,
    arms,
    card,
    claim_alone,
    contract,
    each,
    in_todays_form,
    interface,
    loss,
    of_its_own,
    rtt,
    rung,
    scaled,
    silent,
    together,
    trials,
)
from forged_words import CANNOT, FAIL, IMPOSSIBLE, PASS, UNSURE, C, Rows


def once_more() -> Rows:
    yield "the same once more under another name, at half", again_later(0.5), CANNOT, C.SCATTERED
    yield "the same once more under another name, as good", again_later(0.9995), PASS, C.REACHED
    limit = contract(delay_ms=5.0)
    yield "a second series of pings above the limit", together(limit, pinged_again(50.0)), FAIL, C.DELAY
    yield "a second series of pings within the limit", together(limit, pinged_again(2.0)), PASS, C.REACHED
    expected = contract(expected_rtt_ms=0.07)
    yield "a second series of pings far longer than expected", together(expected, pinged_again(50.0)), CANNOT, (
        C.NOT_AS_SOLD
    )  # fmt: skip
    yield "UDP loses 0.17 % in each repeat", each(UDP, loss(0.0017)), FAIL, C.UDP_LOSS
    yield "UDP loses 0.09 % in each repeat", each(UDP, loss(0.0009)), UNSURE, C.PING_LOSS
    yield "UDP loses 3 %, small packets of others make up the number", each(HALF, masked(0.03)), CANNOT, C.WHO_LOST
    yield "0.3 % lost, as many small packets of others, and no socket was full", together(
        each(UDP, masked(0.003)), full_sockets(0.0)
    ), CANNOT, C.WHO_LOST  # fmt: skip
    yield "0.3 % lost at full sockets", together(each(UDP, loss(0.003, "end")), full_sockets(1.0)), PASS, C.REACHED
    yield "0.3 % lost, half of it at full sockets", together(
        each(UDP, loss(0.003, "end")), full_sockets(0.5)
    ), CANNOT, C.WHO_LOST  # fmt: skip
    yield "jitter beyond the limit, of more than the contract alone", together(
        contract(jitter_ms=1.0), beyond_the_contract(9.0)
    ), PASS, C.REACHED  # fmt: skip
    yield "half of the UDP arrives, and nobody counted", each(HALF, uncounted(0.5)), CANNOT, C.UDP_PACE
    yield "one of two flows hardly carries", each(BEST, one_of_two), UNSURE, C.UNEVEN


def seconds_and_sums() -> Rows:
    yield "95.6 % by its seconds, told as 97.4 %", each(TCP, told_more(0.956, 1.019)), CANNOT, C.CONTRADICTION
    yield "1.5 % less than was printed", each(BEST, printed_more), CANNOT, C.RAW_OUTPUT
    yield "one dead second in one trial", each(BEST, silent(5, 6), (0,)), UNSURE, C.SEEN
    yield "one dead second in each of three trials", each(BEST, silent(5, 6)), UNSURE, C.SEEN
    yield "the warm-up was dead but for its first second", each(BEST, dead(1, 3), (0,)), FAIL, C.OUTAGE
    yield "the last two seconds were dead", each(BEST, silent(8, 10), (0,)), FAIL, C.OUTAGE
    yield "the last three seconds are not there", each(BEST, cut(3), (0,)), CANNOT, C.CONTRADICTION
    yield "pause frames went backwards", each(BEST, card("far", rx_pause=-5)), CANNOT, C.CONTRADICTION
    yield "a card lost its link less than never", in_todays_form(cards(carrier_lost=-1)), CANNOT, C.CONTRADICTION
    yield "the bytes of a card wrapped at 32 bits", each(BEST, wrapped), CANNOT, C.CONTRADICTION
    yield "a core at 99 % all the time, told as 40 %", in_todays_form(looks(99.0, 1.0)), CANNOT, C.CONTRADICTION
    yield "a core at 40 % all the time, as it is told", in_todays_form(looks(40.0, 1.0)), PASS, C.REACHED
    yield "cards that saw half of it, second by second", in_todays_form(looks(40.0, 0.5)), CANNOT, C.CONTRADICTION
    yield "cards that saw twice as much, second by second", in_todays_form(looks(40.0, 2.0)), CANNOT, C.CONTRADICTION


def another_contract() -> Rows:
    yield "the contract of a tunnel of 50 bytes", contract(encap_bytes=50), IMPOSSIBLE, C.ABOVE_CEILING
    yield "the contract of a smaller port", contract(port_bps=5e7), IMPOSSIBLE, C.ABOVE_CEILING
    yield "the contract of a port of 1 Gb/s, all of it", contract(port_bps=1e9, rate_bps=None), FAIL, C.SHORT
    yield "the contract of jumbo frames", contract(mtu=9000), CANNOT, C.OWN_CARD
    yield "a card of 10 Mb/s that carried more", lambda d: interface(d, speed_bps=1e7), CANNOT, C.OWN_CARD
    yield "all of it ten years later", years(10), PASS, C.REACHED


def again_later(share: float) -> Edit:
    """The best settings' trials after the others, with other seconds and ports, as a follow-up measures them."""

    def edit(d: Json) -> None:
        link, plan = rung(d), next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "dc-link")
        for e in list(arms(d, BEST)):
            more = copy.deepcopy(e)
            named = {"id": f"{e['parameters']['id']}-again", "label": "again"}
            more["parameters"].update(named)
            asked = next(x for x in plan["experiments"] if x["id"] == e["parameters"]["id"])
            plan["experiments"].append({**copy.deepcopy(asked), **named})
            for t in more["trials"]:
                scaled(share)(t)
                for k, i in enumerate(t["intervals"]):
                    i["bytes"] += 1448 * (-1) ** k * (k // 2 % 3)
                for f in t["flows"]:
                    f["local_port"] += 1000
                t["sockets"] = {}
                of_its_own(t, 1000)
                t.update(id=f"{t['id']}-again", started=_at_the_end(d, 20))
            for key in ("min_bps", "median_bps", "max_bps"):
                more[key] *= share
            link["experiments"].append(more)

    return edit


def pinged_again(ms: float) -> Edit:
    def edit(d: Json) -> None:
        (e,) = arms(d, ("round-trip",))
        more = copy.deepcopy(e["trials"][-1])
        more.update(id=f"{more['id']}-again", repeat=len(e["trials"]), rtt=rtt(ms), commands=[])
        more["started"] = _at_the_end(d, 20)
        e["trials"].append(more)
        e["parameters"]["repeats"] = len(e["trials"])
        for r in d["run"]["plan"]["rungs"]:
            for asked in r["experiments"]:
                if r["name"] == "dc-link" and asked["id"] == "round-trip":
                    asked["repeats"] = len(e["trials"])

    return edit


def _at_the_end(d: Json, seconds: float) -> str:
    """When the run ended so far; it ends that much later now."""
    ended = datetime.fromisoformat(d["run"]["ended"])
    d["run"]["ended"] = (ended + timedelta(seconds=seconds)).isoformat()
    return ended.isoformat()


def masked(share: float) -> Any:
    """Lost on the path; the receiving card took in as many small packets of others."""

    def change(t: Json) -> None:
        loss(share)(t)
        (way,) = t["by_direction"]
        out, in_ = (t["nics"][n] for n in (("near", "far") if way == "forward" else ("far", "near")))
        in_["rx_packets"] = out["tx_packets"]

    return change


def full_sockets(share: float) -> Edit:
    """Each end counts the datagrams that found their socket full: such a share of what a trial lost."""

    def edit(d: Json) -> None:
        for e in arms(d, UDP):
            for t in e["trials"]:
                lost = sum(g["outcome"]["lost"] or 0 for g in t["legs"])
                for end in t["ends"]:
                    end["udp_dropped"] = round(share * lost)

    return in_todays_form(edit)


def uncounted(share: float) -> Any:
    """So much arrived and went out by the sender's card, and no datagrams are told."""

    def change(t: Json) -> None:
        scaled(share)(t)
        for one in (t, *t["intervals"], *t["flows"]):
            one.update(lost=None, datagrams=None)

    return change


def beyond_the_contract(jitter: float) -> Edit:
    """The faster UDP was run at one and a half of the contract."""

    def edit(d: Json) -> None:
        for e in arms(d, MOST):
            more = 1.5e8 / e["parameters"]["udp_rate_bps"]
            e["parameters"]["udp_rate_bps"] = 1.5e8
            for t in e["trials"]:
                sent, arrived = round(t["datagrams"] * more), round(t["datagrams"] * 1.08)
                scaled(1.08)(t)
                t.update(datagrams=sent, lost=sent - arrived, jitter_ms=jitter, offered_bps=1.5e8)
                for i in (*t["intervals"], *t["flows"]):
                    i.update(lost=None, datagrams=None, jitter_ms=jitter)
            for key in ("min_bps", "median_bps", "max_bps"):
                e[key] *= 1.08
        for r in d["run"]["plan"]["rungs"]:
            for asked in r["experiments"]:
                if r["name"] == "dc-link" and asked["id"] in MOST:
                    asked["udp_rate_bps"] = 1.5e8

    return edit


def one_of_two(t: Json) -> None:
    first, second = t["flows"]
    for key, left in (("bytes", 10**5), ("total_bytes", 10**5), ("bps", 1e5)):
        first[key], second[key] = first[key] + second[key] - left, left
    first["intervals"] = second["intervals"] = []
    t["commands"] = []


def told_more(share: float, times: float) -> Any:
    """So much was carried, and the rates alone are told as so many times that."""

    def change(t: Json) -> None:
        scaled(share)(t)
        claim_alone(times)(t)

    return change


def printed_more(t: Json) -> None:
    said = t["commands"]
    scaled(0.985)(t)
    t["commands"] = said


def dead(first: float, last: float) -> Any:
    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["bytes"] *= not first <= i["start"] < last
        t["commands"] = []

    return change


def cut(seconds: int) -> Any:
    return lambda t: t.update(intervals=t["intervals"][:-seconds], commands=[])


def wrapped(t: Json) -> None:
    t["nics"]["far"]["rx_bytes"] -= 1 << 32


def cards(**changes: Any) -> Edit:
    def edit(d: Json) -> None:
        for t in _of_best(d):
            t["ends"][1]["nics"][0].update(changes)

    return edit


def looks(busy: float, share: float) -> Edit:
    """Each end's seconds: its busiest core this busy, its card with this share of what it counted in all."""

    def edit(d: Json) -> None:
        for t in _of_best(d):
            count = max(len(g["outcome"]["intervals"]) for g in t["legs"])
            for end in t["ends"]:
                whole, rates = end["nics"][0], end["cpu"]["per_core"]
                loads = [_core(busy if rate == max(rates) else rate) for rate in rates]
                end["samples"] = [
                    {
                        "t": k + 1.0, "cores": loads, "memory_used": 0, "retransmits": None,
                        "nics": [{
                            **whole,
                            "rx_bytes": round(whole["rx_bytes"] * share * (k + 1) / count),
                            "tx_bytes": round(whole["tx_bytes"] * share * (k + 1) / count),
                        }],
                    }
                    for k in range(count)
                ]  # fmt: skip

    return edit


def _core(busy: float) -> Json:
    return {"user": 0.0, "system": busy, "interrupt": 0.0, "idle": 100.0 - busy}


def _of_best(d: Json) -> Any:
    return (t for e in arms(d, BEST) for t in e["trials"])


def years(count: int) -> Edit:
    def edit(d: Json) -> None:
        for one in (d["run"], *trials(d)):
            for key in ("started", "ended"):
                if one.get(key):
                    one[key] = one[key].replace("2026-", f"{2026 + count}-")

    return edit
