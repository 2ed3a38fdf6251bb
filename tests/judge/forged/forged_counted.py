"""Forgeries of counts and clocks: pings, segments, records taken from another trial, seconds of another time."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from forge import (
    BEST,
    DUPLEX,
    SINGLE,
    TCP,
    Edit,
    Json,
    arms,
    each,
    in_todays_form,
    rtt,
    together,
    trials,
    values,
)
from forged_arranged import of_trials
from forged_parts import seconds_of_flows
from forged_words import CANNOT, PASS, UNSURE, C, Rows

ECHO = ("round-trip",)
REPEATS = (1, 2)


def pings_counted() -> Rows:
    """Pings that were lost, or never sent, where the load beside them was well."""
    lost = of_trials(beside(lambda r: r.update(received=r["sent"] // 2, samples_ms=[])))
    yield "half of the pings beside TCP are lost, and nothing of TCP", lost, UNSURE, C.PING_LOSS
    yield "half of the pings beside TCP were never sent", of_trials(
        beside(lambda r: r.update(sent=r["sent"] // 2, received=r["received"] // 2, samples_ms=[]))
    ), UNSURE, C.PING_LOSS  # fmt: skip
    yield "the pings beside one repeat of TCP are lost by half", of_trials(
        beside(lambda r: r.update(received=r["sent"] // 2, samples_ms=[])), BEST, (1,)
    ), UNSURE, C.PING_LOSS  # fmt: skip
    yield "a tenth of the pings beside TCP is lost", of_trials(
        beside(lambda r: r.update(received=r["sent"] - r["sent"] // 10, samples_ms=[]))
    ), PASS, C.PING_LOSS  # fmt: skip
    few = {**rtt(0.07, 20, 20), "min_ms": 0.07, "max_ms": 0.07, "p95_ms": 0.07, "samples_ms": [0.07] * 20}
    yield "half as many idle pings were sent as were asked for", each(ECHO, values(rtt=few, commands=[])), UNSURE, (
        C.PING_LOSS
    )  # fmt: skip
    yield "half of the idle pings are claimed never to have been sent, and were lost", each(ECHO, never_sent), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "the answers of idle pings have holes, and their numbers go on", each(ECHO, outputs(renumbered)), CANNOT, (
        C.RAW_OUTPUT
    )  # fmt: skip
    yield "ten pings in a row were printed to be lost beside TCP, and none is told", each(
        BEST, outputs(without_ten, "ping")
    ), CANNOT, C.RAW_OUTPUT  # fmt: skip


def segments_counted() -> Rows:
    """What the system, the connections, the seconds and the tool tell of segments is one count."""
    yield "no segment was sent, by the senders' systems", each(TCP, system(segments_sent=0)), UNSURE, C.CONTRADICTION
    yield "how many segments were sent is not told", each(TCP, system(segments_sent=None)), UNSURE, C.CONTRADICTION
    yield (
        "a tenth of the segments was sent, by a system that counts each",
        each(TCP, system_share(0.1)),
        UNSURE,
        C.CONTRADICTION,
    )
    yield "nothing was sent again by the system, hundreds by the tool", each(TCP, system(retransmits=0)), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "hundreds were sent again by the system, nothing by the tool", each(TCP, by_tool(0)), UNSURE, C.CONTRADICTION
    yield "nothing was sent again by the system in one repeat", each(BEST, system(retransmits=0), (2,)), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "nothing was sent again by the system, in both ways at once", each(DUPLEX, system(retransmits=0)), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "thousands were sent again by the connections alone", each(TCP, by_connections(5000)), UNSURE, C.CONTRADICTION
    yield "no tool and no connection tells what was sent again", together(
        each(TCP, by_tool(None)), each(TCP, by_connections(None))
    ), PASS, C.REACHED  # fmt: skip
    yield "no system tells of TCP", each(TCP, values(tcp={})), PASS, C.REACHED


def taken_from_others() -> Rows:
    """A record that is there twice, whole or in part."""
    for end in (0, 1):
        yield f"the cards of end {end} counted what they did in another repeat", of_repeats(taken(end, "nics")), (
            CANNOT
        ), C.COPIED  # fmt: skip
    yield "the cards of the far end counted what they did in the arm of one stream", of_arms_pair(taken(1, "nics")), (
        CANNOT
    ), C.COPIED  # fmt: skip
    yield "the seconds of another repeat, one second later each", of_repeats(seconds_as(rotated)), CANNOT, C.COPIED
    yield "the seconds of another repeat, the last first", of_repeats(seconds_as(reversed_)), CANNOT, C.COPIED
    yield "the seconds of another repeat, by their size", of_repeats(seconds_as(sorted)), CANNOT, C.COPIED
    yield "the seconds of another repeat, a few bytes changed", of_repeats(seconds_as(a_few_bytes)), CANNOT, C.COPIED
    yield "the seconds of another repeat, a segment more or less", of_repeats(seconds_as(a_segment)), CANNOT, C.COPIED
    yield "one flow has the seconds of the other", each(BEST, one_flow_of_the_other), CANNOT, C.CONTRADICTION


def of_another_time() -> Rows:
    """Seconds, trials and clocks that were not where they are said to have been."""
    yield "the flows' seconds are five seconds late", each(BEST, flows_moved(5.0)), CANNOT, C.CONTRADICTION
    yield "the flows' seconds are five seconds early", each(BEST, flows_moved(-5.0)), CANNOT, C.CONTRADICTION
    yield "the run is complete, and has no end", lambda d: d["run"].update(ended=""), UNSURE, C.CONTRADICTION
    yield "the run is complete, and ended as it began", lambda d: d["run"].update(ended=d["run"]["started"]), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "the run ended ten seconds before its last trial", ended_before_the_last(10.0), UNSURE, C.CONTRADICTION
    yield "an end was lost after the run had ended", in_todays_form(lost_afterwards), CANNOT, C.OUTAGE
    yield "the pings were measured after all loads", pings_last, UNSURE, C.CONTRADICTION
    yield "the rung inside the host was measured after the link", rung_last("same-host"), UNSURE, C.CONTRADICTION
    for step in (5.0, -3600.0):
        yield f"the far clock was set by {step:g} s between two trials", of_clocks("wall_offset_s", step), UNSURE, (
            C.CONTRADICTION
        )  # fmt: skip
    yield "the far end was started anew between two trials", of_clocks("clock_offset_ms", 9e6), UNSURE, C.CONTRADICTION
    yield "the far clock drifts by 0.2 s from trial to trial", drifting(0.2), PASS, C.REACHED


def beside(change: Callable[[Json], Any]) -> Callable[[Json], None]:
    """Of the pings beside the load, of which nothing else is kept."""

    def made(t: Json) -> None:
        for leg in t["legs"]:
            if leg["role"] == "ping" and leg["outcome"]["rtt"]:
                leg["commands"] = []
                change(leg["outcome"]["rtt"])

    return made


def never_sent(t: Json) -> None:
    """Every second answer is missing, as the output tells; the figures tell of half as many pings."""
    for c in t["commands"]:
        lines = [x for x in c["output"].splitlines() if not re.search(r"icmp_seq=\d*[02468] ", x)]
        c["output"] = re.sub(r"\d+ received, \d+%", "20 received, 50%", "\n".join(lines))
    kept = t["rtt"]["samples_ms"][::2]
    t["rtt"].update(sent=20, received=20, samples_ms=kept)


def outputs(change: Callable[[str], str], role: str = "client") -> Callable[[Json], Any]:
    return lambda t: [c.update(output=change(c["output"])) for c in t["commands"] if c["role"] == role]


def renumbered(output: str) -> str:
    return re.sub(r"icmp_seq=(\d+)", lambda m: f"icmp_seq={int(m[1]) * 2}", output)


def without_ten(output: str) -> str:
    lines = output.splitlines()
    answers = [n for n, line in enumerate(lines) if "icmp_seq" in line]
    gone = set(answers[25:35])
    kept = "\n".join(line for n, line in enumerate(lines) if n not in gone)
    count = len(answers) - len(gone)
    share = round(100 * len(gone) / len(answers))
    kept = re.sub(r"(\d+) received, [\d.]+%", f"{count} received, {share}%", kept)
    return re.sub(r"rtt min/avg/max/mdev = \S+ ms", _times(kept), kept)


def _times(output: str) -> str:
    seen = [float(ms) for ms in re.findall(r"time=([\d.]+) ms", output)]
    return f"rtt min/avg/max/mdev = {min(seen):.3f}/{sum(seen) / len(seen):.3f}/{max(seen):.3f}/0.100 ms"


def system(**changes: int | None) -> Callable[[Json], Any]:
    return lambda t: [end.update(changes) for end in t["tcp"].values()]


def system_share(share: float) -> Callable[[Json], Any]:
    return lambda t: [end.update(segments_sent=round(end["segments_sent"] * share)) for end in t["tcp"].values()]


def by_tool(count: int | None) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for one in (*t["flows"], *t["intervals"], *(i for f in t["flows"] for i in f["intervals"])):
            one["retransmits"] = count

    return change


def by_connections(count: int | None) -> Callable[[Json], Any]:
    return lambda t: [s.update(retransmits=count) for seen in t["sockets"].values() for s in seen["sockets"]]


def of_repeats(change: Callable[[Json, Json], None]) -> Edit:
    """The second and third repeat have something of the first."""

    def edit(d: Json) -> None:
        for e in arms(d, BEST):
            for t in e["trials"][1:]:
                change(t, e["trials"][0])

    return in_todays_form(edit)


def of_arms_pair(change: Callable[[Json, Json], None]) -> Edit:
    """The best arms' repeats have something of those of one stream."""

    def edit(d: Json) -> None:
        for one, other in zip(BEST, SINGLE, strict=True):
            for t, its in zip(trials(d, (one,)), trials(d, (other,)), strict=True):
                change(t, its)

    return in_todays_form(edit)


def taken(end: int, *keys: str) -> Callable[[Json, Json], None]:
    return lambda t, other: t["ends"][end].update({key: copy.deepcopy(other["ends"][end][key]) for key in keys})


def seconds_as(order: Callable[[list[int]], list[int]]) -> Callable[[Json, Json], None]:
    """The other's seconds in that order, with all that hangs on them."""

    def change(t: Json, other: Json) -> None:
        for leg, its in zip(t["legs"], other["legs"], strict=True):
            if leg["role"] != "load":
                continue
            one, before = leg["outcome"], its["outcome"]
            one["intervals"] = copy.deepcopy(before["intervals"])
            counted = [i for i in one["intervals"] if i["counted"]]
            for i, size in zip(counted, order([i["bytes"] for i in counted]), strict=True):
                i["bytes"] = size
            one.update(goodput_bps=before["goodput_bps"], by_direction=before["by_direction"])
            one["flows"] = [
                {**f, "intervals": [], "local_port": mine["local_port"], "remote_port": mine["remote_port"]}
                for f, mine in zip(copy.deepcopy(before["flows"]), one["flows"], strict=True)
            ]
            leg["commands"] = []

    return change


def rotated(sizes: list[int]) -> list[int]:
    return [*sizes[1:], sizes[0]]


def reversed_(sizes: list[int]) -> list[int]:
    return sizes[::-1]


def a_few_bytes(sizes: list[int]) -> list[int]:
    return [size + 3 + n for n, size in enumerate(sizes)]


def a_segment(sizes: list[int]) -> list[int]:
    return [size + 1448 * (-1) ** n for n, size in enumerate(sizes)]


def one_flow_of_the_other(t: Json) -> None:
    """Its seconds, but for a few bytes and what they tell of TCP; its sums are its own."""
    t["commands"] = []
    first, second = t["flows"]
    second["intervals"] = [{**i, "bytes": i["bytes"] + n} for n, i in enumerate(copy.deepcopy(first["intervals"]))]
    for i in second["intervals"]:
        i.update(rtt_ms=None, cwnd=None)


def flows_moved(by: float) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        seconds_of_flows(1.0, 1448)(t)
        for i in (i for f in t["flows"] for i in f["intervals"]):
            i.update(start=i["start"] + by, end=i["end"] + by)

    return change


def _moved(at: str, by: float) -> str:
    return (datetime.fromisoformat(at) + timedelta(seconds=by)).isoformat()


def _last(d: Json) -> Json:
    return max(trials(d), key=lambda t: str(t["started"]))


def ended_before_the_last(seconds: float) -> Edit:
    def edit(d: Json) -> None:
        last = _last(d)
        d["run"]["ended"] = _moved(last["started"], last["seconds"] - seconds)

    return edit


def lost_afterwards(d: Json) -> None:
    lost = {"started": _moved(d["run"]["ended"], 3600.0), "seconds": 15.0, "reason": "no answer", "shared": True}
    next(trials(d, BEST))["interruptions"] = [lost]


def pings_last(d: Json) -> None:
    for t in trials(d, ECHO):
        t["started"] = _moved(d["run"]["ended"], 1.0)
    d["run"]["ended"] = _moved(d["run"]["ended"], 60.0)


def rung_last(name: str) -> Edit:
    def edit(d: Json) -> None:
        (r,) = (one for one in d["rungs"] if one["name"] == name)
        for t in (t for e in r["experiments"] for t in e["trials"]):
            t["started"] = _moved(t["started"], 3600.0)
        d["run"]["ended"] = _moved(d["run"]["ended"], 3600.0)

    return edit


def _in_time(d: Json) -> list[Json]:
    return sorted((t for t in trials(d) if len(t["ends"]) > 1), key=lambda t: str(t["started"]))


def of_clocks(key: str, step: float) -> Edit:
    """From the middle of the run on."""

    def edit(d: Json) -> None:
        every = _in_time(d)
        for n, t in enumerate(every):
            for end in t["ends"][1:]:
                end[key] = 0.1 + (step if 2 * n > len(every) else 0.0)

    return in_todays_form(edit)


def drifting(by: float) -> Edit:
    def edit(d: Json) -> None:
        for n, t in enumerate(_in_time(d)):
            t["ends"][1]["wall_offset_s"] = by * n

    return in_todays_form(edit)


COUNTED = (pings_counted, segments_counted, taken_from_others, of_another_time)
