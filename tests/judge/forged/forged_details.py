"""Forgeries of single details: which card counted, whose record it is, seconds told as one, connections, addresses."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from forge import (
    DUPLEX,
    HALF,
    TCP,
    UDP,
    Edit,
    Json,
    arms,
    contract,
    each,
    in_todays_form,
    interface,
    rung,
    together,
    values,
)
from forged_arranged import dc_links, loads, of_trials
from forged_words import CANNOT, PASS, UNSURE, C, Rows

PROBES = ("path-mtu-forward", "path-mtu-reverse")


def whose() -> Rows:
    """Counters and records of another card, another end, another place."""
    yield "half of the bytes went by the control card", of_trials(by_control(0.5)), CANNOT, C.UNACCOUNTED
    yield "nearly all bytes went by the control card", of_trials(by_control(0.99)), CANNOT, C.UNACCOUNTED
    yield "some bytes of other traffic went by the control card", of_trials(control_too), PASS, C.REACHED
    yield "the far end's record is that of an end that the run has not", of_trials(
        lambda t: t["ends"][1].update(name="gamma")
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "the record of one more end, that nothing ran at", of_trials(
        lambda t: t["ends"].append({**copy.deepcopy(t["ends"][1]), "name": "beta"})
    ), PASS, C.REACHED  # fmt: skip
    yield "connections on loopback", of_trials(connections(local="127.0.0.1", remote="127.0.0.1")), CANNOT, C.ELSEWHERE
    yield "connections of IPv6", of_trials(connections(local="fd98::1", remote="fd98::2")), CANNOT, C.NOT_AS_SOLD
    yield "connections that carried next to nothing", of_trials(
        connections(sent_bytes=9000, received_bytes=9000)
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "connections that no system told of", of_trials(
        lambda t: [end.update(sockets=None) for end in t["ends"]]
    ), PASS, C.REACHED  # fmt: skip
    yield "the near card is its loopback", lambda d: interface(d, loopback=True), CANNOT, C.ELSEWHERE
    yield "no address of the path is told", in_todays_form(paths(local="", remote="")), UNSURE, C.ELSEWHERE
    yield "no path is told", in_todays_form(lambda d: [r.update(paths=[]) for r in (rung(d), *dc_links(d))] and None), (
        UNSURE
    ), C.ELSEWHERE  # fmt: skip
    yield "one path named twice", in_todays_form(
        lambda d: [r["paths"].append(copy.deepcopy(r["paths"][0])) for r in (rung(d), *dc_links(d))] and None
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "CPUs that did nothing at all", of_trials(idle), UNSURE, C.UNACCOUNTED


def seconds() -> Rows:
    """Seconds, flows and what the tools printed of them."""
    yield "all seconds told as one", of_trials(one_step(1)), UNSURE, C.UNACCOUNTED
    yield "all seconds told as two", of_trials(one_step(2)), UNSURE, C.UNACCOUNTED
    yield "all seconds of UDP told as one", of_trials(one_step(1), HALF), UNSURE, C.UNACCOUNTED
    yield "no seconds, and the flows' bytes", of_trials(one_step(0)), UNSURE, C.UNACCOUNTED
    yield "the flows were dead for two seconds, their sum was not", of_trials(dead_flows), CANNOT, C.CONTRADICTION
    yield "the tools printed three dead seconds, the mean is theirs", of_trials(smoothed), CANNOT, C.RAW_OUTPUT
    yield "one of two ways has no flow", of_trials(one_way, DUPLEX), CANNOT, C.CONTRADICTION
    yield "trials of one second, as planned", together(
        of_plan_and_arms(TCP, duration=1.0), of_trials(first_second)
    ), UNSURE, C.LEVEL_FELL  # fmt: skip
    yield "a round trip of a second below nothing", of_trials(intervals(rtt_ms=-3.0)), CANNOT, C.CONTRADICTION
    yield "a congestion window below nothing", of_trials(intervals(cwnd=-14480)), CANNOT, C.CONTRADICTION
    yield "a flow sent less than nothing again", of_trials(
        lambda t: [f.update(retransmits=-4) for g in loads(t) for f in g["outcome"]["flows"]]
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "a buffer below nothing", of_trials(
        lambda t: [g["outcome"].update(window_read_back={"near": -8, "far": 8}) for g in loads(t)]
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "a second of a flow lost less than nothing", of_trials(
        lambda t: [i.update(lost=-2) for g in loads(t) for f in g["outcome"]["flows"] for i in f["intervals"]], HALF
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "connections held up for less than no time", of_trials(connections(receiver_limited_ms=-9.0)), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "a window closed less often than never", each(
        TCP, lambda t: [seen.update(zero_window_sent=-1) for seen in t["tcp"].values()]
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "flows that carry nothing, and a rate", each(
        TCP, lambda t: [f.update(bps=0.0) for f in t["flows"]]
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    for number in (-1, -(10**9), 10**9):
        yield f"a load at the end of number {number}", of_trials(
            lambda t, n=number: [g.update(far=n) for g in loads(t)]
        ), CANNOT, C.UNACCOUNTED  # fmt: skip
    yield "the least round trip is none of those that were told, for the one expected", together(
        contract(expected_rtt_ms=0.01), each(("round-trip",), least(0.01))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "a jitter longer than the trial", each(UDP, values(jitter_ms=1e6)), CANNOT, C.CONTRADICTION
    yield "far more UDP was sent than was to be", each(HALF, lambda t: t.update(offered_bps=10 * t["offered_bps"])), (
        CANNOT
    ), C.CONTRADICTION  # fmt: skip
    yield "the tools printed loss of UDP, and none is told", together(
        each(HALF, prints_loss), each(HALF, values(lost=None, datagrams=None))
    ), CANNOT, C.RAW_OUTPUT  # fmt: skip


def around() -> Rows:
    """The run's own facts."""
    yield "the run began at no time", lambda d: d["run"].update(started="soon"), UNSURE, C.CONTRADICTION
    yield "the run ended at no time", lambda d: d["run"].update(ended="later"), UNSURE, C.CONTRADICTION
    yield "times without a zone", each((*TCP, *UDP), lambda t: t.update(started=t["started"][:19])), PASS, C.REACHED
    yield "no probe was as large as the MTU that was sold", in_todays_form(smaller_probes), PASS, C.SEEN
    yield "an unknown tool", of_plan_and_arms(TCP, tool="netcat"), UNSURE, C.RAW_OUTPUT


def by_control(share: float) -> Callable[[Json], None]:
    """This share of what the cards counted was counted by another card."""

    def change(t: Json) -> None:
        for end in t["ends"]:
            (card,) = end["nics"]
            other = copy.deepcopy(card)
            other["name"] = "mg0"
            for key in ("rx_bytes", "tx_bytes"):
                other[key] = round(card[key] * share)
                card[key] -= other[key]
            end["nics"].append(other)

    return change


def control_too(t: Json) -> None:
    for end in t["ends"]:
        end["nics"].append({**copy.deepcopy(end["nics"][0]), "name": "mg0", "rx_bytes": 90000, "tx_bytes": 90000})


def least(ms: float) -> Callable[[Json], Any]:
    return lambda t: t["rtt"].update(min_ms=ms)


def connections(**changes: Any) -> Callable[[Json], Any]:
    return lambda t: [s.update(changes) for end in t["ends"] for s in end["sockets"]["sockets"]]


def paths(**changes: str) -> Edit:
    def edit(d: Json) -> None:
        for p in (p for r in (rung(d), *dc_links(d)) for p in r["paths"]):
            p.update(changes)

    return edit


def idle(t: Json) -> None:
    for end in t["ends"]:
        end["cpu"].update(busiest=0.0, percent=0.0, cores_used=0.0, per_core=[0.0] * 4)


def one_step(steps: int) -> Callable[[Json], None]:
    """The counted seconds in so many steps, with the bytes that they had, and nothing that tells them apart."""

    def change(t: Json) -> None:
        for g in loads(t):
            g["commands"] = []
            seen = g["outcome"]
            mine = [i for i in seen["intervals"] if i["counted"]]
            size = -(-len(mine) // max(1, steps))
            parts = [mine[n : n + size] for n in range(0, len(mine), size)][:steps]
            seen["intervals"] = [
                {**p[0], "end": p[-1]["end"], **{k: sum(i[k] for i in p) for k in ("bytes", "datagrams") if p[0][k]}}
                for p in parts
            ]
            for f in seen["flows"]:
                f["intervals"] = []

    return change


def dead_flows(t: Json) -> None:
    for g in loads(t):
        g["commands"] = []
        for f in g["outcome"]["flows"]:
            for i in f["intervals"][4:6]:
                i["bytes"] = 0


def smoothed(t: Json) -> None:
    """What the tools printed was dead for three seconds, and made good for it afterwards."""
    for g in loads(t):
        for c in g["commands"]:
            lines = c["output"].splitlines()
            c["output"] = "\n".join(map(_dead_line, lines))


def _dead_line(line: str) -> str:
    found = re.match(r"(\[ *\d+\] )(\d)\.0000-(\d)\.0000 sec +(\d+) Bytes +(\d+) bits/sec(.*)", line)
    if not found:
        return line
    second, share = int(found[2]), 0.02 if int(found[2]) in (3, 4, 5) else 1.98 if int(found[2]) in (6, 7, 8) else 1.0
    moved, rate = (round(int(found[n]) * share) for n in (4, 5))
    return f"{found[1]}{second}.0000-{found[3]}.0000 sec  {moved} Bytes  {rate} bits/sec{found[6]}"


def one_way(t: Json) -> None:
    for g in loads(t):
        g["commands"] = []
        g["outcome"]["flows"] = [f for f in g["outcome"]["flows"] if f["direction"] == "forward"]


def of_plan_and_arms(ids: tuple[str, ...], **parameters: Any) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d, ids):
            e["parameters"].update(parameters)
        for r in dc_links(d):
            for e in r["experiments"]:
                if e["id"] in ids:
                    e.update(parameters)

    return edit


def first_second(t: Json) -> None:
    """One second alone was counted."""
    for g in loads(t):
        g["commands"] = []
        seen = g["outcome"]
        counted = [i for i in seen["intervals"] if i["counted"]]
        for i in counted[1:]:
            i["counted"] = False
        bps = counted[0]["bytes"] * 8 / (counted[0]["end"] - counted[0]["start"])
        made = sum(f["bps"] for f in seen["flows"])
        seen.update(goodput_bps=bps, by_direction={way: bps for way in seen["by_direction"]})
        for f in seen["flows"]:
            f.update(bps=f["bps"] * bps / made, intervals=[])


def intervals(**changes: Any) -> Callable[[Json], Any]:
    return lambda t: [i.update(changes) for g in loads(t) for i in g["outcome"]["intervals"]]


def prints_loss(t: Json) -> None:
    for c in t["commands"]:
        c["output"] = re.sub(r"(\d+)/ *(\d+) \(([\d.]+)%\)", lambda m: f"{int(m[2]) // 200}/{m[2]} (0.5%)", c["output"])


def smaller_probes(d: Json) -> None:
    asked = [e for r in dc_links(d) for e in r["experiments"]] + [e["parameters"] for e in arms(d, PROBES)]
    for e in asked:
        if e["id"] in PROBES:
            e["sizes"] = [576, 1280, 1400]
    for e in arms(d, PROBES):
        for t in e["trials"]:
            for g in loads(t):
                g["commands"] = g["commands"][:3]
                g["outcome"]["path_mtu"].update(passed=[576, 1280, 1400], mtu=1400)
