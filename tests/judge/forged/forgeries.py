"""The table: what is forged, and the verdict and cause that the link must get.

The cause is the rule that decides; of a PASS, a rule that speaks among its findings (or "reached", where none need to).
"UNSURE" is a PASS that must be provisional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    FORWARD,
    HALF,
    MOST,
    SINGLE,
    TCP,
    UDP,
    Edit,
    Json,
    again,
    arms,
    busy,
    card,
    claim,
    contract,
    each,
    idle_rtt,
    interface,
    level,
    loaded_rtt,
    loss,
    rtt,
    rung,
    scaled,
    silent,
    together,
    trials,
    values,
    without_arms,
    without_rungs,
)

from linkladder.verdicts import Cause

PASS, UNSURE, FAIL, CANNOT, IMPOSSIBLE, INCOMPLETE = (
    "PASS", "UNSURE", "FAIL", "CANNOT JUDGE", "IMPOSSIBLE", "INCOMPLETE",
)  # fmt: skip
C = Cause


@dataclass(frozen=True)
class Row:
    name: str
    edit: Edit
    verdict: str
    cause: Cause


def table() -> list[Row]:
    rows = [
        Row(*row)
        for part in (healthy_all_the_same, bars, time, repeats, as_sold, silent_things, both_ways, damaged, culprits)
        for row in part()
    ]
    assert len({r.name for r in rows}) == len(rows)
    return rows


_Rows = Iterator[tuple[str, Edit, str, Cause]]


def nothing(d: Json) -> None:
    pass


def failed(fault: str, reason: str) -> Any:
    return values(ok=False, fault=fault, reason=reason, goodput_bps=0.0, by_direction={}, flows=[], intervals=[])


def healthy_all_the_same() -> _Rows:
    """What is well stays well: a judge that fails everything is no judge."""
    yield "nothing", nothing, PASS, C.REACHED
    yield "a run without UDP", without_arms(*UDP), PASS, C.REACHED
    yield "the best arms alone", without_arms(*UDP, *DUPLEX, *SINGLE), PASS, C.SEEN
    yield "cores at 80 %", each(TCP, busy(80.0, 80.0)), PASS, C.REACHED
    yield "saturated cores, and the rate is there", each(TCP, busy(99.0, 99.0)), PASS, C.REACHED
    yield "every trial at 99 % of the ceiling", each(TCP, scaled(0.99)), PASS, C.REACHED
    yield "every trial at 97.5 % of the ceiling", each(TCP, scaled(0.976)), PASS, C.REACHED
    yield "one dropped frame", each(BEST, card("far", rx_drops=1), (0,)), PASS, C.OWN_CARD
    yield "UDP loses 0.03 %", each(UDP, loss(0.0003)), PASS, C.REACHED
    yield "UDP loses 2 % in the end itself, as both cards show", each(UDP, loss(0.02, "end")), PASS, C.REACHED
    yield "a round trip as expected", together(contract(expected_rtt_ms=0.07), idle_rtt(0.071)), PASS, C.REACHED
    yield "one single second of little", each(BEST, level(1, 1, 1, 1, 0.6, 1.06), (0,)), PASS, C.REACHED
    yield "a poor setting beside a good one", each(SINGLE, scaled(0.5)), PASS, C.REACHED
    yield "a limit of delay that holds", together(contract(delay_ms=5.0), idle_rtt(2.0)), PASS, C.REACHED
    yield "a limit of jitter that holds", contract(jitter_ms=5.0), PASS, C.REACHED
    yield "without localhost", without_rungs("localhost"), PASS, C.REACHED


def bars() -> _Rows:
    """The contract's limits."""
    for percent in (96.0, 90.0, 75.0, 50.0, 10.0):
        yield f"every trial at {percent:g} % of the ceiling", each(TCP, scaled(percent / 100)), FAIL, C.SHORT
    yield "one way at half", each((*FORWARD,), scaled(0.5)), FAIL, C.SHORT
    yield "both arms of one way silent", each(FORWARD, failed("path", "nothing arrived")), FAIL, C.SILENCE
    for percent in (0.5, 2.9, 5.0, 40.0):
        yield f"UDP loses {percent:g} % at half the contract", each(HALF, loss(percent / 100)), FAIL, C.UDP_LOSS
    yield "UDP loses 1 % near the contract", each(MOST, loss(0.01)), FAIL, C.UDP_LOSS
    yield "UDP loses 1 % in one of two repeats", each(HALF, loss(0.01), (1,)), FAIL, C.UDP_LOSS
    yield "UDP loses 1 % one way", each(HALF[:1], loss(0.01)), FAIL, C.UDP_LOSS
    yield "UDP loses 40 % and one frame was dropped", each(HALF, loss(0.4, drops=1)), FAIL, C.UDP_LOSS
    yield "UDP loses 40 % on the path beside a busy core", each(HALF, loss(0.4, busy=99.0)), FAIL, C.UDP_LOSS
    yield "UDP loses 3 %, a core is busy, no card counted", each(HALF, loss(0.03, "", 99.0)), CANNOT, C.WHO_LOST
    yield "UDP loses 3 %, cores are idle, no card counted", each(HALF, loss(0.03, "")), FAIL, C.UDP_LOSS
    yield (
        "a limit of loss of 5 % lets 2 % pass",
        together(contract(loss_percent=5.0), each(UDP, loss(0.02))),
        PASS,
        (C.REACHED),
    )
    yield "a limit of loss of 0.01 %", together(contract(loss_percent=0.01), each(UDP, loss(0.0006))), FAIL, C.UDP_LOSS
    yield "a round trip above the limit", together(contract(delay_ms=5.0), idle_rtt(9.0)), FAIL, C.DELAY
    yield (
        "a limit of delay and no ping",
        together(contract(delay_ms=5.0), without_arms("round-trip")),
        INCOMPLETE,
        (C.DELAY),
    )
    yield "jitter above the limit", together(contract(jitter_ms=1.0), each(UDP, values(jitter_ms=3.0))), FAIL, C.JITTER
    yield "a limit of jitter and no UDP", together(contract(jitter_ms=1.0), without_arms(*UDP)), INCOMPLETE, C.JITTER
    yield "8 of 40 idle pings lost", idle_rtt(0.07, 40, 32), FAIL, C.PING_LOSS
    yield "all but one idle ping lost", idle_rtt(0.07, 40, 1), FAIL, C.PING_LOSS
    yield "no ping answered at all", idle_rtt(0.07, 40, 0), PASS, C.PING_LOSS
    yield "one of 40 idle pings lost", idle_rtt(0.07, 40, 39), PASS, C.PING_LOSS
    yield "above the ceiling", each(BEST, scaled(1.02)), IMPOSSIBLE, C.ABOVE_CEILING
    yield "one trial above the ceiling", each(BEST, scaled(1.2), (1,)), IMPOSSIBLE, C.ABOVE_CEILING
    yield "a contract twice as large", contract(rate_bps=2e8), FAIL, C.SHORT
    yield "a contract half as large", contract(rate_bps=5e7), IMPOSSIBLE, C.ABOVE_CEILING


def time() -> _Rows:
    """What a mean hides."""
    yield "three seconds dead in one trial, the mean as before", each(BEST, silent(4, 7), (1,)), FAIL, C.OUTAGE
    yield "two seconds dead in one trial", each(BEST, silent(5, 7), (0,)), FAIL, C.OUTAGE
    yield "two seconds dead in UDP", each(HALF, silent(2, 4), (0,)), FAIL, C.OUTAGE
    yield "two seconds dead in an arm that does not count", each(SINGLE, silent(3, 5), (0,)), FAIL, C.OUTAGE
    yield "dead seconds while the hypervisor took the CPU", together(
        each(BEST, silent(4, 7), (1,)), each(BEST, busy(starved=0.3), (1,))
    ), CANNOT, C.OUTAGE  # fmt: skip
    yield "seconds left out of the record", each(BEST, gap(5, 8), (0,)), FAIL, C.OUTAGE
    yield "availability of 80 % is enough", together(
        contract(availability_percent=80.0), each(BEST, silent(4, 7), (1,))
    ), UNSURE, C.OUTAGE  # fmt: skip
    yield "full rate at first, then a plateau of 94.6 %", each(TCP, level(*[1.0] * 7, 0.946)), FAIL, C.LEVEL_FELL
    yield "full rate for 4 s, then 90 %", each(TCP, level(*[1.0] * 4, 0.9)), FAIL, C.LEVEL_FELL
    yield "one trial broken by the path", each(BEST, failed("path", "it stalled"), (1,)), FAIL, C.SILENCE
    yield (
        "every trial of the other arms broken by the path",
        each(SINGLE, failed("path", "it stalled")),
        FAIL,
        (C.SILENCE),
    )


def gap(first: int, last: int) -> Any:
    def change(t: Json) -> None:
        t["intervals"] = [i for i in t["intervals"] if not first <= i["start"] < last]

    return change


def repeats() -> _Rows:
    """Every trial counts."""
    ten = together(more_repeats(10), each(BEST, scaled(0.94), (4,)))
    yield "one of ten repeats at 94 % of the ceiling", ten, CANNOT, C.WORST_TRIAL
    yield "ten good repeats", more_repeats(10), PASS, C.REACHED
    yield "one of three at 90 %", each(BEST, scaled(0.9), (1,)), CANNOT, C.SCATTERED
    yield "one of three at 50 %", together(each(BEST, scaled(0.5), (1,)), without_arms(*SINGLE)), CANNOT, C.SCATTERED
    yield "two of three failed by the tool", together(
        each(BEST, failed("tool", "bind failed"), (0, 1)), without_arms(*SINGLE)
    ), CANNOT, C.TRIALS_FAILED  # fmt: skip
    yield "three of five failed by the tool", together(
        more_repeats(5), each(BEST, failed("tool", "bind failed"), (0, 1, 2)), without_arms(*SINGLE)
    ), CANNOT, C.TRIALS_FAILED  # fmt: skip
    yield "one of three failed by the tool", together(
        each(BEST, failed("tool", "bind failed"), (0,)), without_arms(*SINGLE)
    ), UNSURE, C.REACHED  # fmt: skip
    yield "all failed by the tool", each(TCP, failed("tool", "bind failed")), INCOMPLETE, C.NOTHING_MEASURED
    yield "one repeat each", keep_repeats(1), UNSURE, C.REACHED
    yield "one repeat each in a plan of one", together(keep_repeats(1), planned(1)), UNSURE, C.REACHED
    yield "an interrupted run", together(keep_repeats(1), state("incomplete")), INCOMPLETE, C.TRIALS_MISSING
    yield "one direction only", without_arms(BEST[1], SINGLE[1], *DUPLEX), UNSURE, C.REACHED
    yield "one direction never got its turn", drop_trials(BEST[1], SINGLE[1], *DUPLEX), INCOMPLETE, C.NOTHING_MEASURED
    yield "UDP alone", without_arms(*TCP, *DUPLEX), INCOMPLETE, C.NOTHING_MEASURED
    yield "the link was never measured", unavailable("the peer was not reachable"), INCOMPLETE, C.NOTHING_MEASURED


def more_repeats(count: int) -> Edit:
    """More of the same, each with its own seconds."""

    def edit(d: Json) -> None:
        import copy

        for e in arms(d, BEST):
            e["parameters"]["repeats"] = count
            for n in range(len(e["trials"]), count):
                t = copy.deepcopy(e["trials"][n % 3])
                t.update(id=f"{t['id']}-{n}", repeat=n, commands=[])
                moved = 0
                for k, i in enumerate(t["intervals"][:-1]):
                    moved = 1448 * (n + k) if not k % 2 else -moved
                    i["bytes"] += moved
                e["trials"].append(t)
        d["run"]["ended"] = ""
        planned(count, BEST)(d)

    return edit


def planned(repeats: int, ids: tuple[str, ...] | None = None) -> Edit:
    def edit(d: Json) -> None:
        for r in d["run"]["plan"]["rungs"]:
            for e in r["experiments"]:
                if ids is None or (r["name"] == "dc-link" and e["id"] in ids):
                    e["repeats"] = repeats
        for r in d["rungs"]:
            for e in r["experiments"]:
                if ids is None or (r["name"] == "dc-link" and e["parameters"]["id"] in ids):
                    e["parameters"]["repeats"] = repeats

    return edit


def keep_repeats(count: int) -> Edit:
    def edit(d: Json) -> None:
        for r in d["rungs"]:
            for e in r["experiments"]:
                e["trials"] = e["trials"][:count]

    return edit


def drop_trials(*ids: str) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ids):
            e.update(trials=[], min_bps=None, median_bps=None, max_bps=None)

    return edit


def state(word: str) -> Edit:
    return lambda d: d["run"].update(state=word)


def unavailable(why: str) -> Edit:
    return lambda d: rung(d).update(unavailable=why, experiments=[])


def as_sold() -> _Rows:
    """What was measured must be what was sold."""
    yield "IPv6 was sold, IPv4 measured", contract(ip_version=6), IMPOSSIBLE, C.ABOVE_CEILING
    yield "IPv4 was sold, IPv6 measured", each(TCP, flows(local="fd98::1", remote="fd98::2")), CANNOT, C.NOT_AS_SOLD
    yield "another class was sold", contract(dscp=46), CANNOT, C.NOT_AS_SOLD
    yield "measured in another class", each_arm(dscp=8), CANNOT, C.NOT_AS_SOLD
    yield "flows on loopback", each(BEST, flows(local="127.0.0.1", remote="127.0.0.1")), CANNOT, C.ELSEWHERE
    yield "flows on IPv6 loopback", each(BEST, flows(local="::1", remote="::1")), CANNOT, C.ELSEWHERE
    yield (
        "flows over the control addresses",
        each(BEST, flows(local="10.98.0.1", remote="10.98.0.2")),
        CANNOT,
        (C.ELSEWHERE),
    )
    yield "the rung's addresses on loopback", lambda d: rung(d)["path"].update(local="127.0.0.1"), CANNOT, C.ELSEWHERE
    yield "ten times the expected round trip", together(
        contract(expected_rtt_ms=1.0), idle_rtt(10.0)
    ), CANNOT, C.NOT_AS_SOLD  # fmt: skip
    yield "twice the expected round trip", together(
        contract(expected_rtt_ms=4.0), idle_rtt(9.0)
    ), CANNOT, C.NOT_AS_SOLD  # fmt: skip
    yield "a tenth of the expected round trip", contract(expected_rtt_ms=10.0), CANNOT, C.ELSEWHERE
    yield "the facts contradict the claim", lambda d: rung(d)["evidence"].update(
        contradicts=True, against=["no router between"]
    ), CANNOT, C.ELSEWHERE  # fmt: skip
    yield "segments of a tunnel", each(BEST, segments(1348)), CANNOT, C.NOT_AS_SOLD
    yield "segments of jumbo frames", each(BEST, segments(8948)), CANNOT, C.NOT_AS_SOLD
    yield "a black hole above 1400", path_mtu(1400, True), FAIL, C.PATH_MTU
    yield "a path of 1400", path_mtu(1400, False), FAIL, C.PATH_MTU
    yield "a path of 1400, as the near card is set", together(
        path_mtu(1400, False), lambda d: interface(d, mtu=1400)
    ), CANNOT, C.OWN_CARD  # fmt: skip
    yield "the far card is set to less", lambda d: interface(d, "beta", mtu=1400), CANNOT, C.OWN_CARD
    yield "the path MTU was not probed", without_arms("path-mtu-forward", "path-mtu-reverse"), PASS, C.SEEN


def each_arm(**parameters: Any) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d):
            e["parameters"].update(parameters)

    return edit


def flows(**changes: Any) -> Any:
    return lambda t: [f.update(changes) for f in t["flows"]]


def segments(mss: int) -> Any:
    return lambda t: [s.update(mss=mss) for seen in t["sockets"].values() for s in seen["sockets"]]


def path_mtu(mtu: int, hole: bool) -> Edit:
    found = {"passed": [576, 1280, mtu], "failed": [1500], "mtu": mtu, "black_hole": hole, "reported_mtu": None}
    return each(("path-mtu-forward", "path-mtu-reverse"), values(path_mtu=found))


def silent_things() -> _Rows:
    """What no limit covers is said with its figure, and takes the firmness where it is grave."""
    yield "5 % of the segments sent again", each(TCP, again(0.05)), PASS, C.SEEN
    four = each_arm(streams=4)
    yield "a starved flow of four", together(four, each(TCP, four_flows(0.3))), PASS, C.UNEVEN
    yield (
        "a flow of four that carries nothing to speak of",
        together(each_arm(streams=4), each(TCP, four_flows(0.02))),
        UNSURE,
        C.UNEVEN,
    )
    yield "200 ms of queue", together(idle_rtt(10.0), each(TCP, loaded_rtt(210.0))), PASS, C.SEEN
    yield "CRC errors", each(BEST, card("far", crc_errors=3)), PASS, C.OWN_CARD
    yield "CRC errors in a hundredth of the frames", each(BEST, card("far", crc_errors=100)), UNSURE, C.OWN_CARD
    yield "receive errors", each(BEST, card("near", rx_errors=2)), PASS, C.OWN_CARD
    yield "pause frames", each(BEST, card("near", rx_pause=5)), PASS, C.OWN_CARD
    yield "pings lost beside TCP", each(TCP, lost_loaded(10)), PASS, C.PING_LOSS
    yield "more streams that carry less", each(BEST, scaled(0.4)), PASS, C.UNEVEN
    yield "full duplex never tried", without_arms(*DUPLEX), PASS, C.SEEN
    yield "a lower bar", contract(pass_ratio=0.8), PASS, C.SEEN
    yield "hours between the trials", each(BEST, values(started="2026-11-22T15:20:30+00:00"), (2,)), PASS, C.SEEN


def four_flows(least: float) -> Any:
    def change(t: Json) -> None:
        first = t["flows"][0]
        total = sum(f["bps"] for f in t["flows"])
        shares = [least, 1.0, 1.0, 1.0]
        made = []
        for n, share in enumerate(shares):
            part = share / sum(shares)
            whole = sum(f["total_bytes"] for f in t["flows"])
            made.append({**first, "id": str(n), "bps": total * part, "bytes": round(total * part),
                         "total_bytes": round(whole * part), "local_port": 40000 + n})  # fmt: skip
        t.update(flows=made, commands=[])

    return change


def lost_loaded(count: int) -> Any:
    return lambda t: t["rtt_under_load"].update(received=40 - count) if t.get("rtt_under_load") else None


def both_ways() -> _Rows:
    """Both ways at once share the path with each other's acknowledgements, and with nothing else."""
    yield "full duplex at 60 %", each(DUPLEX, scaled(0.6)), FAIL, C.SHORT
    yield "full duplex at 90 % of one way", each(DUPLEX, level_to(0.9)), FAIL, C.SHORT
    yield "full duplex as computed", each(DUPLEX, level_to(0.975)), PASS, C.REACHED
    yield "full duplex silent one way", each(DUPLEX, one_way_silent), FAIL, C.SILENCE


def level_to(share: float) -> Any:
    """Every second, both ways, at this share of the ceiling, with a little noise."""

    def change(t: Json) -> None:
        for k, i in enumerate(t["intervals"]):
            i["bytes"] = round(95.638e6 / 8 * share * (i["end"] - i["start"])) + 100 * (k % 5) + 10 * t["repeat"]
        bps = 95.638e6 * share
        for f in t["flows"]:
            f.update(bps=bps / 2, bytes=round(bps / 2 / 8), total_bytes=round(bps / 2 * f["seconds"] / 8))
        t.update(goodput_bps=2 * bps, by_direction={"forward": bps, "reverse": bps}, commands=[])

    return change


def one_way_silent(t: Json) -> None:
    for i in t["intervals"]:
        i["bytes"] = 0 if i["direction"] == "reverse" else i["bytes"]
    for f in t["flows"]:
        if f["direction"] == "reverse":
            f.update(bytes=0, bps=0.0, total_bytes=0)
    t["by_direction"]["reverse"] = 0.0
    t["commands"] = []


def damaged() -> _Rows:
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
        import copy

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
    import re

    def less(match: Any) -> str:
        return f"{round(int(match[1]) * share)} Bytes  {round(int(match[2]) * share)} bits/sec"

    def change(t: Json) -> None:
        for c in t["commands"]:
            c["output"] = re.sub(r"(\d+) Bytes +(\d+) bits/sec", less, c["output"])

    return change


def outputs(text: str) -> Any:
    return lambda t: [c.update(output=text) for c in t["commands"] if c["role"] in ("server", "client")]


def other_output(arm: str) -> Any:
    import json

    from forge import healthy

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
    import re

    for c in t["commands"]:
        c["output"] = re.sub(r"(\d+)/ *(\d+) \(([\d.]+)%\)", lambda m: f"{int(m[2]) // 20}/{m[2]} (5%)", c["output"])


def culprits() -> _Rows:
    """Who is to blame: an end, its card, the generator, or the link."""
    short = each(TCP, scaled(0.6))
    alone = without_rungs("localhost", "same-host", "same-vlan")
    yield "short, and no lower rung was measured", together(alone, short), CANNOT, C.UNKNOWN_GENERATOR
    yield "enough, and no lower rung was measured", alone, PASS, C.REACHED
    yield "silent, and no lower rung was measured", together(
        alone, each(TCP, failed("path", "nothing arrived"))
    ), FAIL, C.SILENCE  # fmt: skip
    yield "short, and the generator is weak", together(short, weak_generator), CANNOT, C.WEAK_GENERATOR
    yield "enough, and the generator is weak", weak_generator, CANNOT, C.WEAK_GENERATOR
    yield "short, and same-vlan alone was good", together(
        without_rungs("localhost", "same-host"), short
    ), FAIL, C.SHORT  # fmt: skip
    for percent in (88.0, 93.0, 99.0):
        yield f"short, a core of the near end at {percent:g} %", together(
            short, each(TCP, busy(percent, 30.0))
        ), CANNOT, C.BUSY_END  # fmt: skip
        yield f"short, a core of the far end at {percent:g} %", together(
            short, each(TCP, busy(30.0, percent))
        ), CANNOT, C.BUSY_END  # fmt: skip
    yield "short, one thread wanders over the cores", together(
        without_arms(*BEST), short, each(SINGLE, busy(60.0, 60.0, cores_used=1.0, per_core=[25.0] * 4))
    ), CANNOT, C.BUSY_END  # fmt: skip
    yield "short, time was withheld", together(short, each(TCP, busy(starved=0.2))), CANNOT, C.BUSY_END
    yield "short, the near card is slower", together(short, lambda d: interface(d, speed_bps=1e7)), CANNOT, C.OWN_CARD
    yield "short, the far card is slower", together(
        short, lambda d: interface(d, "beta", speed_bps=1e7)
    ), CANNOT, C.OWN_CARD  # fmt: skip
    yield "short, the ends' MTUs differ", together(short, lambda d: interface(d, mtu=9000)), CANNOT, C.OWN_CARD
    yield "short, many pause frames", together(short, each(TCP, card("near", rx_pause=500))), CANNOT, C.OWN_CARD
    yield "short, the ring overflowed", together(short, each(TCP, card("far", rx_drops=400))), CANNOT, C.OWN_CARD
    yield "short, one frame was dropped", together(short, each(TCP, card("far", rx_drops=1), (0,))), FAIL, C.SHORT
    yield "short, and segments were lost", together(
        short, each(TCP, again(0.01)), each(TCP, loaded_rtt(0.08))
    ), FAIL, C.SHORT  # fmt: skip
    yield "an interval that contains the bar", each(TCP, spread_out), CANNOT, C.SCATTERED
    yield "a small window at a long way", together(
        idle_rtt(20.0), each_window(65536), each(TCP, scaled(0.5)), each(TCP, loaded_rtt(20.2)), each(TCP, again(0.0))
    ), CANNOT, C.WINDOW  # fmt: skip


def weak_generator(d: Json) -> None:
    d["rungs"] = [r for r in d["rungs"] if r["name"] in ("same-host", "dc-link")]
    for e in rung(d, "same-host")["experiments"]:
        for t in e["trials"]:
            if t["by_direction"]:
                factor = 1.2e8 / t["goodput_bps"]
                scaled(factor)(t)


def spread_out(t: Json) -> None:
    scaled((0.99, 0.93, 0.96)[t["repeat"]])(t)


def each_window(size: int) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d):
            e["parameters"]["window"] = size
            for t in e["trials"]:
                t["window_read_back"] = {"near": size, "far": size}

    return edit


__all__ = ["Row", "rtt", "table"]
