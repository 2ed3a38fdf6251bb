"""Forgeries whose figures cannot all be true, or are those of another trial, another time or another machine."""

from __future__ import annotations

import copy
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    HALF,
    SINGLE,
    TCP,
    UDP,
    Edit,
    Json,
    again,
    arms,
    contract,
    each,
    idle_rtt,
    in_todays_form,
    loss,
    rung,
    silent,
    together,
    trials,
    values,
)
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows, each_arm, flows

LOADS = (*TCP, *DUPLEX, *UDP)


def impossible_figures() -> Rows:
    """One trial tells the same event in several places."""
    yield "intervals that began before the trial", each(TCP, shifted(-5.0)), CANNOT, C.CONTRADICTION
    yield "the clock jumps an hour ahead in mid-trial", each(TCP, jump(3600.0)), CANNOT, C.CONTRADICTION
    yield "the clock jumps back in mid-trial", each(TCP, jump(-3.0)), CANNOT, C.CONTRADICTION
    yield "milliseconds taken for seconds", each(TCP, stretched(1000.0)), CANNOT, C.CONTRADICTION
    yield "seconds that take half as long", each(TCP, stretched(0.5)), CANNOT, C.CONTRADICTION
    yield "the rate in kilobits", each(TCP, rates(1e-3)), CANNOT, C.CONTRADICTION
    yield "flows in bytes a second", each(TCP, lambda t: [f.update(bps=f["bps"] / 8) for f in t["flows"]]), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "the warm-up was counted", each(TCP, all_counted), CANNOT, C.CONTRADICTION
    yield "far more was counted than was asked for", each_arm(duration=1.0), CANNOT, C.CONTRADICTION
    yield "flows of three seconds", each(TCP, flows(seconds=3.0)), CANNOT, C.CONTRADICTION
    yield "the trial ended before it began", each(TCP, values(seconds=-5.0)), CANNOT, C.CONTRADICTION
    yield "two flows that are one", each(BEST, one_twice), CANNOT, C.CONTRADICTION
    yield "one of two flows is dead, the other has its bytes", each(BEST, dead_flow), CANNOT, C.CONTRADICTION
    yield "figures of the other way", each(BEST[:1], the_other_way), CANNOT, C.CONTRADICTION
    yield "two ways that do not make the sum", each(DUPLEX, less_one_way), CANNOT, C.CONTRADICTION
    yield "more UDP arrives than was sent", each(HALF, values(offered_bps=1e6)), CANNOT, C.CONTRADICTION
    yield "more UDP arrives than was asked for", of_arms(HALF, udp_rate_bps=1e6), CANNOT, C.CONTRADICTION
    yield "the seconds of UDP lost 10 %, the sum nothing", each(HALF, lost_in_seconds(0.1)), CANNOT, C.CONTRADICTION
    yield "UDP is said to offer more than the contract, to excuse its loss", together(
        each(HALF, loss(0.4)), of_arms(HALF, udp_rate_bps=2e8)
    ), FAIL, C.UDP_LOSS  # fmt: skip
    yield "a core busy at less than nothing", each(TCP, cores(busiest=-20.0)), CANNOT, C.CONTRADICTION
    yield "a core busy at 900 %", each(TCP, cores(busiest=900.0)), CANNOT, C.CONTRADICTION
    yield "the bytes of a card went backwards", each(TCP, cards(wrapped(1 << 32))), CANNOT, C.CONTRADICTION
    yield "the packets of a card went backwards", each(UDP, cards(backwards("rx_packets"))), CANNOT, C.CONTRADICTION
    yield "the drops of a card went backwards", each(UDP, cards(backwards("rx_drops", 3))), CANNOT, C.CONTRADICTION
    yield "segments sent again less often than never", each(TCP, tcp(retransmits=-100)), CANNOT, C.CONTRADICTION
    yield "more segments again than segments", each(TCP, tcp(segments_sent=10)), UNSURE, C.CONTRADICTION
    yield "a fifth of the segments out of order", each(TCP, out_of_order(0.2)), PASS, C.SEEN
    yield "round trips shorter than nothing", idle_rtt(-1.0), CANNOT, C.CONTRADICTION
    yield "more pings answered than sent", idle_rtt(0.07, 40, 80), CANNOT, C.CONTRADICTION
    yield "no probe of the path MTU was answered", probes(passed=[], failed=[576, 1500], mtu=None), PASS, C.SEEN
    yield "a path MTU that no probe passed", probes(passed=[576, 1280], failed=[], mtu=1500), CANNOT, C.CONTRADICTION
    yield "a size that passes and fails", probes(passed=[576, 1500], failed=[1500], mtu=1500), CANNOT, C.CONTRADICTION
    yield "a limit of loss that excuses all", contract(loss_percent=50.0), PASS, C.SEEN
    yield "a limit of availability that excuses all", together(
        contract(availability_percent=10.0), each(BEST, silent(4, 7), (1,))
    ), UNSURE, C.OUTAGE  # fmt: skip
    yield "the client's own end was an error", each(TCP, commands(exit_code=1)), CANNOT, C.RAW_OUTPUT
    yield "the client complained", each(TCP, commands(errors="write failed: Connection reset by peer")), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "the output of another repeat", other_repeats, CANNOT, C.RAW_OUTPUT
    yield "the output tells of loopback", each(TCP, readdressed), CANNOT, C.RAW_OUTPUT
    yield "the command ran to loopback", each(TCP, commands_to("127.0.0.1")), CANNOT, C.RAW_OUTPUT


def wrong_times() -> Rows:
    yield "one way copied to the other", the_same_both_ways, CANNOT, C.COPIED
    yield "a copy with two seconds changed", copy_with_changes, CANNOT, C.COPIED
    yield "a copy of another rung's trial", copy_of_another_rung, CANNOT, C.COPIED
    yield "trials before the run", each(TCP, in_the_year(2025)), UNSURE, C.CONTRADICTION
    yield "trials after the run", each(BEST, in_the_year(2027), (1,)), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "the run ended before it began", lambda d: d["run"].update(started="2026-11-23T00:00:00+00:00"), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "trials at the same time as others", overlapping, CANNOT, C.CONTRADICTION
    moment = values(started="2026-11-22T10:20:30.000+00:00")
    yield "all repeats of the best arms began at one moment", each(BEST, moment), CANNOT, C.CONTRADICTION
    yield "a repeat of either way began at one moment", each(BEST, moment, (1,)), CANNOT, C.CONTRADICTION
    yield "all of a run began at one moment", lambda d: [moment(t) for t in trials(d)] and None, CANNOT, C.CONTRADICTION
    yield "a trial of the rung below lasts into the link's", in_a_long_one, CANNOT, C.CONTRADICTION
    yield "a ping and a load inside one host began at one moment", in_one_below, UNSURE, C.CONTRADICTION
    yield "no trial tells of its seconds, and all began at one moment", together(
        lambda d: [moment(t) for t in trials(d)] and None, lambda d: [t.update(seconds=0.0) for t in trials(d)] and None
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "a repeat began when the one before it ended, to the second", by_the_second, PASS, C.REACHED
    yield "the far end was lost, on the path under test", interrupted(True), CANNOT, C.OUTAGE
    yield "the far end was lost, by the management card", interrupted(False), UNSURE, C.PEER_LOST


def another_machine() -> Rows:
    yield "both sides of the path are one address", one_address, CANNOT, C.ELSEWHERE
    yield "both ends are the same machine", same_machine, CANNOT, C.ELSEWHERE
    yield "the counters are those of the control card", each(TCP, cards(named("ctl0"))), CANNOT, C.UNACCOUNTED
    yield "other traffic than the trial's came in by the card", each(TCP, cards(times(3))), CANNOT, C.UNACCOUNTED
    yield "the ends are swapped", each(BEST, swapped), CANNOT, C.UNACCOUNTED


def lost_ends() -> Rows:
    yield "nothing of the far end is there", each(LOADS, without_end("far")), CANNOT, C.UNACCOUNTED
    yield "nothing of the near end is there", each(LOADS, without_end("near")), CANNOT, C.UNACCOUNTED
    yield "a receiver without counters, UDP", each(HALF, without_end("far")), CANNOT, C.UNACCOUNTED
    yield "the receiver's output is not there", each(TCP, without_server), UNSURE, C.RAW_OUTPUT
    yield "a rung that the plan does not know", without_plan, UNSURE, C.CONTRADICTION


def shifted(by: float) -> Any:
    return spans(lambda at: at + by)


def stretched(by: float) -> Any:
    return spans(lambda at: at * by)


def jump(by: float) -> Any:
    def change(t: Json) -> None:
        t["commands"] = []
        for i in t["intervals"]:
            if i["start"] >= 6.0:
                i.update(start=i["start"] + by, end=i["end"] + by)

    return change


def spans(moved: Any) -> Any:
    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["start"], i["end"] = moved(i["start"]), moved(i["end"])
        t["commands"] = []

    return change


def rates(by: float) -> Any:
    def change(t: Json) -> None:
        t["goodput_bps"] *= by
        t["by_direction"] = {way: bps * by for way, bps in t["by_direction"].items()}

    return change


def all_counted(t: Json) -> None:
    t["commands"] = []
    for i in t["intervals"]:
        i["counted"] = True


def one_twice(t: Json) -> None:
    first = t["flows"][0]
    bps, moved = (sum(f[key] for f in t["flows"]) for key in ("bps", "total_bytes"))
    t["flows"] = [{**first, "bps": bps / 2, "total_bytes": moved // 2} for _ in range(2)]
    t["commands"] = []


def dead_flow(t: Json) -> None:
    alive, dead = t["flows"]
    alive.update(bps=alive["bps"] + dead["bps"], total_bytes=alive["total_bytes"] + dead["total_bytes"])
    dead.update(bps=0.0, bytes=0, total_bytes=0)
    t["commands"] = []


def the_other_way(t: Json) -> None:
    t["by_direction"] = {"reverse": t["goodput_bps"]}


def less_one_way(t: Json) -> None:
    t["goodput_bps"] *= 0.5


def of_arms(ids: tuple[str, ...], **parameters: Any) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ids):
            e["parameters"].update(parameters)

    return edit


def lost_in_seconds(share: float) -> Any:
    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["lost"] = round((i["datagrams"] or 0) * share)
        t["commands"] = []

    return change


def cores(**changes: float) -> Any:
    return lambda t: [use.update(changes) for use in t["cpu"].values()]


def cards(change: Any) -> Any:
    return lambda t: [change(card) for card in t["nics"].values()]


def wrapped(by: int) -> Any:
    return lambda card: card.update(rx_bytes=card["rx_bytes"] - by, tx_bytes=card["tx_bytes"] - by)


def backwards(key: str, count: int | None = None) -> Any:
    return lambda card: card.update({key: -(count or card[key])})


def named(name: str) -> Any:
    return lambda card: card.update(name=name)


def times(by: int) -> Any:
    return lambda card: card.update(rx_bytes=card["rx_bytes"] * by, rx_packets=card["rx_packets"] * by)


def tcp(**changes: int) -> Any:
    return lambda t: [counts.update(changes) for counts in t["tcp"].values()]


def out_of_order(share: float) -> Any:
    def change(t: Json) -> None:
        again(0.0)(t)
        for c in t["tcp"].values():
            c["out_of_order"] = round(c["segments_sent"] * share)

    return change


def probes(**found: Any) -> Edit:
    told = {"black_hole": False, "reported_mtu": None, **found}
    return each(("path-mtu-forward", "path-mtu-reverse"), values(path_mtu=told))


def commands(**changes: Any) -> Any:
    return lambda t: [c.update(changes) for c in t["commands"] if c["role"] == "client"]


def commands_to(address: str) -> Any:
    def change(t: Json) -> None:
        for c in t["commands"]:
            c["argv"] = [address if "10.98." in word else word for word in c["argv"]]

    return change


def readdressed(t: Json) -> None:
    for c in t["commands"]:
        c["output"] = c["output"].replace("10.98.3.1", "127.0.0.1").replace("10.98.4.2", "127.0.0.1")


def other_repeats(d: Json) -> None:
    mine = list(trials(d, BEST[:1]))
    said = [t["commands"] for t in mine]
    for t, other in zip(mine, (*said[1:], said[0]), strict=True):
        t["commands"] = other


def the_same_both_ways(d: Json) -> None:
    for there, back in zip(trials(d, BEST[:1]), trials(d, BEST[1:]), strict=True):
        taken(back, there, "reverse")


def taken(t: Json, other: Json, way: str) -> None:
    """The other's figures under this one's name."""
    bps = other["goodput_bps"]
    t.update(goodput_bps=bps, by_direction={way: bps}, commands=[])
    t["flows"] = [{**f, "direction": way} for f in copy.deepcopy(other["flows"])]
    t["intervals"] = [{**i, "direction": way} for i in copy.deepcopy(other["intervals"])]


def copy_with_changes(d: Json) -> None:
    for e in arms(d, BEST):
        way = e["parameters"]["direction"]
        for t in e["trials"][1:]:
            taken(t, e["trials"][0], way)
            for n in (3, 5):
                t["intervals"][n]["bytes"] += 1448 * t["repeat"] * (n - 4)


def copy_of_another_rung(d: Json) -> None:
    """The rung below carried as much, and its seconds are told once more as the link's."""
    for below, t in zip(
        (t for e in rung(d, "same-vlan")["experiments"] if e["parameters"]["id"] == BEST[0] for t in e["trials"]),
        trials(d, SINGLE[:1]),
        strict=True,
    ):
        taken(below, t, "forward")


def overlapping(d: Json) -> None:
    for t in trials(d, BEST[:1]):
        t["started"] = f"2026-11-22T10:20:3{t['repeat']}+00:00"


def in_the_year(number: int) -> Any:
    return lambda t: t.update(started=t["started"].replace("2026", str(number)))


def in_a_long_one(d: Json) -> None:
    """The first of the rung below lasts into the link's; all others of that rung lie between."""
    rung(d, "same-vlan")["experiments"][0]["trials"][0].update(seconds=45.0)


def in_one_below(d: Json) -> None:
    """Two of a rung inside one host."""
    pings, load = (next(e for e in rung(d, "same-host")["experiments"] if e["parameters"]["id"] == one)
                   for one in ("round-trip", BEST[0]))  # fmt: skip
    pings["trials"][0]["started"] = load["trials"][0]["started"]


def by_the_second(d: Json) -> None:
    """Times that tell no parts of a second."""
    for t in trials(d):
        t["started"] = t["started"][:19] + "+00:00"


def interrupted(shared: bool) -> Edit:
    lost = {"started": "2026-11-22T10:20:30+00:00", "seconds": 15.0, "reason": "no answer for 10 s", "shared": shared}

    def edit(d: Json) -> None:
        for e in arms(d, BEST[:1]):
            e["trials"][0]["interruptions"] = [lost]

    return in_todays_form(edit)


def one_address(d: Json) -> None:
    rung(d)["path"].update(remote="10.98.3.1")
    for t in trials(d, LOADS):
        flows(local="10.98.3.1", remote="10.98.3.1")(t)
        t["commands"] = []


def same_machine(d: Json) -> None:
    hosts = d["run"]["hosts"]
    hosts["beta"] = {**copy.deepcopy(hosts["near"]), "name": "beta"}


def swapped(t: Json) -> None:
    for key in ("cpu", "nics", "tcp", "sockets", "memory"):
        if t.get(key):
            t[key] = {"near": t[key].get("far"), "far": t[key].get("near")}


def without_end(name: str) -> Any:
    def change(t: Json) -> None:
        for key in ("cpu", "nics", "tcp", "sockets", "memory", "samples"):
            if t.get(key):
                t[key].pop(name, None)

    return change


def without_server(t: Json) -> None:
    t["commands"] = [c for c in t["commands"] if c["role"] != "server"]


def without_plan(d: Json) -> None:
    d["run"]["plan"]["rungs"] = []
