"""Forgeries of a single path that took no firmness from a PASS: arms and limits that it did not rest on."""

from __future__ import annotations

from forge import (
    BEST,
    DUPLEX,
    HALF,
    MOST,
    SINGLE,
    TCP,
    UDP,
    Edit,
    Json,
    again,
    busy,
    contract,
    each,
    idle_rtt,
    in_todays_form,
    rtt,
    rung,
    scaled,
    silent,
    together,
    values,
    without_arms,
)
from forged_arranged import lost_carrier, of_trials
from forged_trials import lost_loaded
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows, failed

ECHO = ("round-trip",)


def other_arms() -> Rows:
    """Both ways at once, and other numbers of streams, that settled nothing."""
    broken = failed("tool", "bind failed")
    for share in (0.3, 0.6):
        yield f"both ways at once at {share:.0%}, and a core is busy", together(
            each(DUPLEX, scaled(share)), each(DUPLEX, busy(99.0, 99.0))
        ), UNSURE, C.BUSY_END  # fmt: skip
    yield "both ways at once at 30 % in one of three repeats", each(DUPLEX, scaled(0.3), (1,)), CANNOT, C.SCATTERED
    yield "both ways at once failed by the tool", each(DUPLEX, broken), UNSURE, C.NOTHING_MEASURED
    for repeats in ((0,), (0, 1)):
        yield f"both ways at once failed by the tool in {len(repeats)} of three repeats", (
            each(DUPLEX, broken, repeats)
        ), UNSURE, C.TRIALS_FAILED  # fmt: skip
    yield "both ways at once stalled by the path in one repeat", each(DUPLEX, failed("path", "it stalled"), (1,)), (
        FAIL
    ), C.SILENCE  # fmt: skip
    yield "two of three failed by the tool in the arms of two streams", each(BEST, broken, (0, 1)), UNSURE, (
        C.TRIALS_FAILED
    )  # fmt: skip
    yield "two of three failed by the tool in the arms of one stream", each(SINGLE, broken, (0, 1)), UNSURE, (
        C.TRIALS_FAILED
    )  # fmt: skip
    yield "two of three failed by the tool in one arm one way", each(BEST[1:], broken, (1, 2)), UNSURE, C.TRIALS_FAILED
    yield (
        "one of three failed by the tool in an arm that does not count",
        each(SINGLE[:1], broken, (0,)),
        PASS,
        C.REACHED,
    )


def erratic() -> Rows:
    """A setting that can, and mostly does not, shows that the path is not steady."""
    for share in (0.01, 0.3):
        yield f"two of three at {share:.0%} in the arms of one stream", each(SINGLE, scaled(share), (0, 1)), CANNOT, (
            C.SCATTERED
        )  # fmt: skip
    yield "two of three at 45 % in the arms of two streams", each(BEST, scaled(0.45), (1, 2)), CANNOT, C.SCATTERED
    yield "all three at 45 % in the arms of one stream", each(SINGLE, scaled(0.45)), PASS, C.REACHED
    yield "the far end was lost before trials inside one host", interrupted("same-host"), UNSURE, C.PEER_LOST, None, (
        "same-host"
    )  # fmt: skip


def interrupted(name: str) -> Edit:
    lost = {"seconds": 20.0, "reason": "it was out of reach", "shared": False, "carriers": []}

    def edit(d: Json) -> None:
        for e in rung(d, name)["experiments"]:
            for t in e["trials"][:1]:
                t["interruptions"] = [{**lost, "started": t["started"]}]

    return in_todays_form(edit)


def classes() -> Rows:
    """The limits are those of the class that was sold, as the rate is."""
    for name, ids in (("UDP", UDP), ("pings", ECHO), ("UDP and pings", (*UDP, *ECHO))):
        yield f"{name} in another class, TCP in the one sold", in_class(8, *ids), CANNOT, C.NOT_AS_SOLD
        yield f"another class was sold, and {name} ran in none", together(
            contract(dscp=46), in_class(46, *({*TCP, *UDP, *ECHO} - set(ids)))
        ), CANNOT, C.NOT_AS_SOLD  # fmt: skip
    yield "some UDP in another class, some in the one sold", in_class(8, *HALF), PASS, C.REACHED
    yield "all in the class that was sold", together(contract(dscp=46), in_class(46, *TCP, *UDP, *ECHO)), PASS, (
        C.REACHED
    )  # fmt: skip


def in_class(dscp: int, *ids: str) -> Edit:
    """Asked for and measured; no tool's output tells otherwise."""

    def edit(d: Json) -> None:
        planned = next(r for r in d["run"]["plan"]["rungs"] if r["name"] == "dc-link")["experiments"]
        done = [e for e in rung(d)["experiments"] if e["parameters"]["id"] in ids]
        for p in (*(p for p in planned if p["id"] in ids), *(e["parameters"] for e in done)):
            p["dscp"] = dscp
        for t in (t for e in done for t in e["trials"]):
            t["commands"] = []

    return edit


def far_pings() -> Rows:
    """The far end's pings beside the load count as the near one's do."""
    late = contract(delay_ms=50.0)
    yield "pings of both ends beside TCP", together(late, pinged_by("far", 25.0)), PASS, C.REACHED
    yield "300 ms by the far end's pings, and a limit of delay", together(late, pinged_by("far", 300.0)), UNSURE, (
        C.DELAY
    )  # fmt: skip
    yield "300 ms by the near end's pings, and a limit of delay", together(
        late, pinged_by("far", 25.0), pinged_by("near", 300.0)
    ), UNSURE, C.DELAY  # fmt: skip
    yield "300 ms by both ends' pings, as of a long queue", together(
        late, pinged_by("far", 310.0), pinged_by("near", 300.0)
    ), PASS, C.SEEN  # fmt: skip
    yield "300 ms by the far end's pings", pinged_by("far", 300.0), PASS, C.SEEN
    yield "none of the far end's pings beside TCP answered", pinged_by("far", 25.0, 0), UNSURE, C.PING_LOSS
    yield "none of the near end's pings beside TCP answered", pinged_by("near", 25.0, 0), UNSURE, C.PING_LOSS
    yield "no figure of the far end's pings beside TCP, which were lost", pinged_by("far", 25.0, None), UNSURE, (
        C.PING_LOSS
    )  # fmt: skip
    yield "none of either end's pings beside TCP answered", together(
        pinged_by("near", 25.0, 0), pinged_by("far", 25.0, 0)
    ), UNSURE, C.PING_LOSS  # fmt: skip
    yield "pings filtered everywhere, UDP tells of loss", together(
        pinged_by("near", 25.0, 0), pinged_by("far", 25.0, 0), idle_rtt(0.07, 40, 0)
    ), PASS, C.PING_LOSS  # fmt: skip


def pinged_by(end: str, ms: float, received: int | None = 40) -> Edit:
    """Beside each load of TCP; `received` of 40, None where the ping failed without a figure."""
    seen: Json = rtt(ms, 40, received or 0)
    if not received:
        seen.update(dict.fromkeys(("min_ms", "avg_ms", "max_ms", "p50_ms", "p95_ms", "stddev_ms")))

    def edit(d: Json) -> None:
        for e in rung(d)["experiments"]:
            for t in e["trials"] if e["parameters"]["id"] in (*TCP, *DUPLEX) else ():
                made = next((g for g in t["legs"] if g["role"] == "ping" and g["pinged_by"] == end), None)
                if made is None:
                    made = {**t["legs"][0], "role": "ping", "pinged_by": end, "commands": [], "outcome": {"ok": True}}
                    t["legs"].append(made)
                fault = {"ok": False, "fault": "path", "reason": "no ping was answered"} if received is None else {}
                made["outcome"] = {"ok": True, **fault, "rtt": None if received is None else seen}

    return in_todays_form(edit)


def away() -> Rows:
    """An outage is evidence on every rung, and a shorter path that has it too takes the blame from the link."""
    dead = each(BEST, silent(4, 8), (0,))
    yield "two dead seconds on the same VLAN", dead_on("same-vlan"), FAIL, C.OUTAGE, None, "same-vlan"
    yield "two dead seconds inside the host", dead_on("same-host"), CANNOT, C.OUTAGE, None, "same-host"
    yield "two dead seconds of the loopback", dead_on("localhost"), CANNOT, C.OUTAGE, None, "localhost"
    for name in ("same-vlan", "same-host", "localhost"):
        yield f"four dead seconds, and some on {name}", together(dead_on(name), dead), CANNOT, C.OUTAGE
        yield f"dead seconds on {name} alone leave the link as it is", dead_on(name), PASS, C.REACHED
    yield "one dead second where 98 % is enough", together(
        contract(availability_percent=98.0), each(BEST, silent(5, 6), (0,))
    ), PASS, C.SEEN  # fmt: skip
    yield "one dead second of UDP", each(HALF[:1], silent(2, 3), (0,)), UNSURE, C.SEEN
    yield "one dead second both ways at once", each(DUPLEX, silent(4, 5), (0,)), UNSURE, C.SEEN


def dead_on(name: str) -> Edit:
    def edit(d: Json) -> None:
        for e in rung(d, name)["experiments"]:
            for t in e["trials"][:1] if e["parameters"]["protocol"] == "tcp" else ():
                silent(1, 3)(t)
            rates = sorted(t["goodput_bps"] for t in e["trials"])
            if e["parameters"]["protocol"] == "tcp":
                e.update(min_bps=rates[0], median_bps=rates[1], max_bps=rates[-1])

    return edit


def untold_loss() -> Rows:
    """A limit of loss that nothing was measured against."""
    silent_ends = each((*TCP, *DUPLEX), values(rtt_under_load=None))
    yield "neither UDP nor pings", together(without_arms(*UDP, *ECHO), silent_ends), UNSURE, C.PING_LOSS
    yield "neither UDP nor idle pings, those beside TCP were answered", without_arms(*UDP, *ECHO), UNSURE, C.PING_LOSS
    yield "neither UDP nor idle pings, a quarter lost beside TCP", together(
        without_arms(*UDP, *ECHO), each(TCP, lost_loaded(10))
    ), UNSURE, C.PING_LOSS  # fmt: skip
    yield "UDP one way and no pings", together(without_arms(HALF[0], MOST[0], *ECHO), silent_ends), UNSURE, (
        C.PING_LOSS
    )  # fmt: skip
    yield "five pings and no UDP", together(without_arms(*UDP), silent_ends, idle_rtt(0.07, 5, 5)), UNSURE, C.PING_LOSS
    yield "five pings, and UDP", together(silent_ends, idle_rtt(0.07, 5, 5)), PASS, C.REACHED
    twenty = together(without_arms(*UDP), silent_ends, idle_rtt(0.07, 20, 20))
    yield "twenty pings and no UDP", twenty, UNSURE, C.PING_LOSS
    for share, verdict in ((0.0003, PASS), (0.0009, UNSURE)):
        cause = C.REACHED if verdict is PASS else C.PING_LOSS
        yield f"twenty pings, and TCP sent {share:.2%} again", together(twenty, each(TCP, again(share))), verdict, cause
    yield "UDP and no pings", together(without_arms(*ECHO), silent_ends), PASS, C.REACHED
    yield "neither UDP nor pings, and any loss is allowed", together(
        without_arms(*UDP, *ECHO), silent_ends, contract(loss_percent=100.0)
    ), PASS, C.SEEN  # fmt: skip


def without_link() -> Rows:
    """A trial in which nothing arrived is a result of any arm, though a card without its link may be the reason."""
    for name, ids in (("an arm that counts", BEST), ("another arm", SINGLE), ("both ways at once", DUPLEX)):
        yield f"nothing passed in one trial of {name}, and the far card had no link", together(
            each(ids, failed("path", "it stalled"), (1,)), of_trials(lost_carrier(1), ids, (1,))
        ), CANNOT, C.OWN_CARD  # fmt: skip


def swapped() -> Rows:
    """Whole records of the two ends, or what they saw of the connections, have changed places."""
    for name, ids in (("TCP", BEST), ("UDP", HALF)):
        yield f"the ends' records of {name} changed places", of_trials(swap, ids), CANNOT, C.UNACCOUNTED
    yield "the ends' connections of TCP changed places", of_trials(swap_sockets, BEST), CANNOT, C.CONTRADICTION
    yield "the ends' connections of both ways at once changed places", of_trials(swap_sockets, DUPLEX), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "the ends' records of both ways at once changed places", of_trials(swap, DUPLEX), CANNOT, C.CONTRADICTION
    yield "the ends' records of both ways at once changed places in one repeat", of_trials(swap, DUPLEX, (1,)), (
        CANNOT
    ), C.CONTRADICTION  # fmt: skip
    yield "the ends are told in another order", of_trials(reorder, (*TCP, *DUPLEX, *UDP)), PASS, C.REACHED


def swap(t: Json) -> None:
    """Each end has the other's record, but for its name."""
    near, far = t["ends"]
    t["ends"] = [{**far, "name": near["name"]}, {**near, "name": far["name"]}]


def swap_sockets(t: Json) -> None:
    near, far = t["ends"]
    near["sockets"], far["sockets"] = far["sockets"], near["sockets"]


def reorder(t: Json) -> None:
    t["ends"].reverse()
    for leg in t["legs"]:
        leg["near"], leg["far"] = leg["far"], leg["near"]


FIRM = (swapped, other_arms, erratic, classes, far_pings, away, untold_loss, without_link)
