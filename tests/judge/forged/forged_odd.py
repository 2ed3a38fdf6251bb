"""Forgeries of broken instruments: counters that wrap, records of another machine, probes that were never sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forge import BEST, TCP, UDP, Edit, Json, arms, each, in_todays_form, rtt, values
from forged_arranged import dc_links, loads, of_trials, outcomes
from forged_words import CANNOT, PASS, UNSURE, C, Rows

PROBES, ECHO = ("path-mtu-forward", "path-mtu-reverse"), ("round-trip",)
ANSWERS = ("rr-10x700-forward",)
MAC = "02:00:00:00:00:01"


def instruments() -> Rows:
    """What no card, system or ping counts."""
    yield "packets of a few bytes each", of_trials(of_cards(packets(1000))), UNSURE, C.CONTRADICTION
    yield "packets a few times smaller, as a card counts them that cuts segments", of_trials(of_cards(packets(8))), (
        PASS
    ), C.REACHED  # fmt: skip
    yield "a card counts no packets that came in, and those that went", of_trials(
        lambda t: [c.update(rx_packets=0) for c in t["ends"][1]["nics"]], UDP
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "the segments sent wrapped at 32 bits", of_trials(of_tcp("segments_sent", 1 << 32)), UNSURE, C.CONTRADICTION
    yield "the segments out of order wrapped at 32 bits", of_trials(of_tcp("out_of_order", 1 << 32)), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "connections that carried a hundred times the trial", of_trials(
        lambda t: [s.update(sent_bytes=10**10) for end in t["ends"] for s in end["sockets"]["sockets"]]
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "connections that were looked at hours later", of_trials(
        lambda t: [e["sockets"].update(t=1e4) for e in t["ends"]]
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "round trips of nothing", each(ECHO, values(rtt=rtt(0.0), commands=[])), UNSURE, C.CONTRADICTION
    yield "round trips of an hour in each second", of_trials(
        lambda t: [i.update(rtt_ms=3.6e6) for g in loads(t) for i in g["outcome"]["intervals"]]
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "flows that took no time", of_trials(
        lambda t: [f.update(seconds=0.0) for g in loads(t) for f in g["outcome"]["flows"]]
    ), UNSURE, C.CONTRADICTION  # fmt: skip


def other_machines() -> Rows:
    """What ends told of themselves is of another machine than the one that measured."""
    yield "both ends' cards have one address of Ethernet", told("near", "beta", mac=MAC), UNSURE, C.ELSEWHERE
    yield "one end's card has another address of Ethernet", told("near", mac=MAC), PASS, C.REACHED
    yield "the far end told of far less memory than it had", in_todays_form(memory(1 << 30)), UNSURE, C.ELSEWHERE
    yield "an end that had no memory in its trials", of_trials(
        lambda t: [e["memory"].update(total=0, mean=0, peak=0) for e in t["ends"]]
    ), UNSURE, C.ELSEWHERE  # fmt: skip


def not_as_told() -> Rows:
    """Probes, pings and loads that were not run as it is said."""
    yield "probes of the path MTU that may be cut on their way", each(PROBES, without("-M", "do")), CANNOT, C.RAW_OUTPUT
    yield "probes of the path MTU that are all small", each(PROBES, valued("-s", "56")), CANNOT, C.RAW_OUTPUT
    yield "fewer pings in the command than were asked for", each(ECHO, valued("-c", "4")), CANNOT, C.RAW_OUTPUT
    yield "the load's client is said to have run at the other end", of_trials(
        lambda t: [c.update(end={"near": "far", "far": "near"}[c["end"]]) for g in loads(t) for c in g["commands"]]
    ), CANNOT, C.RAW_OUTPUT  # fmt: skip
    yield "nothing is told of the largest probe", probed(passed=[576], failed=[], mtu=576), UNSURE, C.PATH_MTU
    yield "a router said that it takes less than what passed", probed(reported_mtu=1400), UNSURE, C.PATH_MTU
    yield "a packet passed that no card of the path sends", probed(passed=[576, 1280, 1400, 1500, 9000], mtu=9000), (
        UNSURE
    ), C.PATH_MTU  # fmt: skip
    for key in ("incompressible", "zero_copy"):
        yield f"{key.replace('_', ' ')} by a tool that cannot do it", in_todays_form(chosen(key)), UNSURE, (
            C.CONTRADICTION
        )  # fmt: skip


def of_other_kinds() -> Rows:
    """Figures that a trial of its kind does not have, or that exclude each other."""
    for key, value in (("lost", 500), ("offered_bps", 1e3), ("jitter_ms", 50.0)):
        yield f"TCP with {key.split('_')[0]} datagrams", of_trials(outcomes(**{key: value})), UNSURE, C.CONTRADICTION
    yield "UDP that sent segments again", of_trials(
        lambda t: [f.update(retransmits=500) for g in loads(t) for f in g["outcome"]["flows"]], UDP
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "pings that tell of a path MTU", each(ECHO, values(path_mtu={"passed": [576], "failed": [], "mtu": 576})), (
        UNSURE
    ), C.CONTRADICTION  # fmt: skip
    quick = {"mean_us": 1.0, "min_us": 0.5, "p50_us": 1.0, "p90_us": 1.0, "p99_us": 1.0, "max_us": 2.0}
    yield "answers so quick that ten sessions had made many more", each(
        ANSWERS, lambda t: (t["transactions"].update(quick), t.update(commands=[]))
    ), UNSURE, C.CONTRADICTION  # fmt: skip
    yield "three times as many segments sent again in the seconds of the loads", of_trials(
        sent_again_thrice
    ), UNSURE, C.CONTRADICTION  # fmt: skip


def runs() -> Rows:
    yield "a run that was left off, with all its trials", lambda d: d["run"].update(state="incomplete"), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "a complete run that never began", lambda d: d["run"].update(started=""), UNSURE, C.CONTRADICTION
    yield "three repeats of an arm that asks for none", in_todays_form(repeats(0)), UNSURE, C.CONTRADICTION


def not_of_these_ends() -> Rows:
    """What windows cannot carry, and tools and cores that the ends did not tell of."""
    for times, verdict, cause in ((0.2, UNSURE, C.CONTRADICTION), (0.5, PASS, C.REACHED), (20.0, PASS, C.REACHED)):
        yield f"congestion windows of {times:g} times their size", of_trials(seconds(times)), verdict, cause
    yield "a congestion window that was small in all seconds but one", of_trials(seconds(0.2, 1)), PASS, C.REACHED
    yield "no congestion window in any second", of_trials(seconds(0)), PASS, C.REACHED
    for size, verdict, cause in ((20_000, UNSURE, C.CONTRADICTION), (80_000, PASS, C.REACHED)):
        yield f"congestion windows of {size} bytes as the sender's system tells them", of_trials(
            system_windows(size), BEST
        ), verdict, cause  # fmt: skip
    yield "an end told of another number of cores", in_todays_form(ends(cores=16)), UNSURE, C.CONTRADICTION
    yield "nothing of any core", of_trials(lambda t: [e["cpu"].update(per_core=[]) for e in t["ends"]]), PASS, C.REACHED
    yield "another iperf than the ends told of", in_todays_form(ends(tools={"iperf": "2.2.1", "ping": "20221126"})), (
        UNSURE
    ), C.RAW_OUTPUT  # fmt: skip
    yield "output of another iperf than the ends told of", of_trials(printed("(peer 2.1.8)", "(peer 2.2.1)")), (
        UNSURE
    ), C.RAW_OUTPUT  # fmt: skip
    yield "output of iperf whose last number nobody bumped", of_trials(printed("(peer 2.1.8)", "(peer 2.1.7-rc)")), (
        PASS
    ), C.REACHED  # fmt: skip
    yield "output of iperf that names no version", of_trials(printed("(peer 2.1.8)", "")), PASS, C.REACHED


def seconds(times: float, but: int = 0) -> Callable[[Json], Any]:
    """Their congestion windows so many times as large, but for so many seconds."""

    def change(t: Json) -> None:
        for g in loads(t):
            for i in g["outcome"]["intervals"][but + 3 * bool(but) :]:
                i["cwnd"] = round(i["cwnd"] * times) if i["cwnd"] else None

    return change


def system_windows(size: int) -> Callable[[Json], Any]:
    def change(t: Json) -> None:
        seconds(0)(t)
        for g in loads(t):
            flows, last = len(g["outcome"]["flows"]), len(g["outcome"]["intervals"])
            for end in t["ends"]:
                looks = range(1, last)
                end["windows"] = [{"t": k + 0.001, "cwnd_bytes": [size] * flows, "ssthresh_bytes": []} for k in looks]

    return change


def ends(**changes: Any) -> Edit:
    def edit(d: Json) -> None:
        for end in d["run"]["ends"]:
            end["facts"].update(changes)

    return edit


def printed(words: str, others: str) -> Callable[[Json], Any]:
    return lambda t: [c.update(output=c["output"].replace(words, others)) for g in loads(t) for c in g["commands"]]


def sent_again_thrice(t: Json) -> None:
    for i in (i for g in loads(t) for i in g["outcome"]["intervals"]):
        i["retransmits"] = 3 * (i["retransmits"] or 0)


def of_cards(change: Callable[[Json], Any]) -> Callable[[Json], Any]:
    return lambda t: [change(card) for end in t["ends"] for card in end["nics"]]


def packets(times: int) -> Callable[[Json], Any]:
    return lambda card: card.update({key: card[key] * times for key in ("rx_packets", "tx_packets")})


def of_tcp(key: str, more: int) -> Callable[[Json], Any]:
    return lambda t: [end["tcp"].update({key: end["tcp"][key] + more}) for end in t["ends"]]


def told(*ends: str, **changes: Any) -> Edit:
    def edit(d: Json) -> None:
        for end in (one for one in d["run"]["ends"] if one["name"] in ends):
            next(nic for nic in end["facts"]["nics"] if nic["name"] == "dc0").update(changes)

    return in_todays_form(edit)


def memory(size: int) -> Edit:
    def edit(d: Json) -> None:
        next(end["facts"] for end in d["run"]["ends"] if end["name"] == "beta")["memory"] = size

    return edit


def without(*words: str) -> Callable[[Json], Any]:
    return lambda t: [c.update(argv=[w for w in c["argv"] if w not in words]) for c in t["commands"]]


def valued(option: str, value: str) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for c in t["commands"]:
            c["argv"][c["argv"].index(option) + 1] = value

    return change


def probed(**changes: Any) -> Edit:
    return each(PROBES, lambda t: (t["path_mtu"].update(changes), t.update(commands=[])))


def chosen(key: str) -> Edit:
    """Planned, and said to be measured."""

    def edit(d: Json) -> None:
        asked = [e for r in dc_links(d) for e in r["experiments"]] + [e["parameters"] for e in arms(d, BEST)]
        for p in (p for p in asked if p["id"] in BEST):
            p[key] = True

    return edit


def repeats(count: int) -> Edit:
    def edit(d: Json) -> None:
        asked = [e for r in dc_links(d) for e in r["experiments"]] + [e["parameters"] for e in arms(d, TCP)]
        for p in (p for p in asked if p["id"] in TCP):
            p.update(repeats=count, at_most=0)

    return edit


ODD = (instruments, other_machines, not_as_told, of_other_kinds, not_of_these_ends, runs)
