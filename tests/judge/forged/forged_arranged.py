"""Forgeries of a record that somebody arranged: trials left out, added or relabelled, and parts that do not fit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

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
    arms,
    contract,
    each,
    in_todays_form,
    level,
    rtt,
    rung,
    scaled,
    silent,
    together,
    trials,
    values,
)
from forged_contradictions import of_arms
from forged_records import raised
from forged_words import CANNOT, FAIL, INCOMPLETE, PASS, UNSURE, C, Rows, each_arm, failed, flows, planned

from linkladder.verdicts import LimiterKind

ECHO = ("round-trip",)
LOADS = (*TCP, *DUPLEX, *UDP)


def rearranged() -> Rows:
    """Against the plan, and in which order."""
    yield "a bad repeat was left out, and the plan says so", together(left_out(1), planned(2, TCP)), UNSURE, (
        C.TRIALS_MISSING
    )  # fmt: skip
    yield "a rung that was promised is not there", without_results("same-vlan"), UNSURE, C.TRIALS_MISSING
    yield "both rungs inside a host were promised and are not there", without_results("localhost", "same-host"), (
        UNSURE
    ), C.TRIALS_MISSING  # fmt: skip
    yield "more repeats than the plan has", planned(2, BEST), UNSURE, C.CONTRADICTION
    yield "repeats numbered from -5 on", each(BEST, renumbered(-5)), UNSURE, C.TRIALS_MISSING
    yield "repeats of enormous numbers", each(BEST, renumbered(1 << 52)), UNSURE, C.TRIALS_MISSING
    yield "repeats in the wrong order of time", other_times, UNSURE, C.CONTRADICTION
    yield "nothing of a repeat is there", of_trials(values(legs=[]), BEST, (1,)), UNSURE, C.CONTRADICTION
    yield "nothing of all repeats of an arm is there", of_trials(values(legs=[]), BEST), UNSURE, C.CONTRADICTION
    yield "a repeat is said to have been discarded", of_trials(roles("discarded"), BEST, (1,)), UNSURE, C.CONTRADICTION
    yield "loads are said to be pings", of_trials(roles("ping")), INCOMPLETE, C.NOTHING_MEASURED
    yield "an arm failed by the tool beside a good one", each(SINGLE, failed("tool", "bind failed")), PASS, (
        C.TRIALS_FAILED
    )  # fmt: skip
    yield "the plan asked for another class", of_plan(dscp=46), CANNOT, C.CONTRADICTION
    yield "the plan asked for a minute", of_plan(duration=60.0), CANNOT, C.CONTRADICTION
    yield "the plan asked for the other direction", of_plan(direction="reverse"), CANNOT, C.CONTRADICTION
    yield "settings on loan that the arm does not tell", lent(), CANNOT, C.CONTRADICTION
    yield "the plan named other addresses", planned_path(local="10.99.3.1", remote="10.99.4.2"), CANNOT, C.CONTRADICTION
    yield "the plan named another peer", planned_path(peer="gamma"), CANNOT, C.CONTRADICTION
    yield "nothing of where the machines stood", lambda d: rung(d).update(evidence=None), UNSURE, C.ELSEWHERE
    yield "the peer is not named any more", lambda d: rung(d)["path"].update(peer=""), CANNOT, C.CONTRADICTION
    yield "arms that the plan does not ask for", unplanned, UNSURE, C.CONTRADICTION
    yield "an arm on a path that the rung does not have", in_todays_form(
        lambda d: [e["parameters"].update(paths=[3]) for e in arms(d, BEST)] and None
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "short, and nothing of the far end's CPU", together(
        each(TCP, scaled(0.6)), each(TCP, lambda t: t["cpu"].pop("far"))
    ), CANNOT, C.UNACCOUNTED  # fmt: skip
    yield "enough, and nothing of the far end's CPU", each(TCP, lambda t: t["cpu"].pop("far")), UNSURE, C.UNACCOUNTED
    yield "no time of any trial", each(TCP, values(started="")), UNSURE, C.CONTRADICTION
    yield "a time that is none", each(TCP, values(started="yesterday")), UNSURE, C.CONTRADICTION
    yield "trials that took no time", each(TCP, values(seconds=0.0)), UNSURE, C.CONTRADICTION
    yield "a median that no repeat makes", medians(5e7), UNSURE, C.CONTRADICTION
    yield "rungs that changed places", swapped_rungs, CANNOT, C.RAW_OUTPUT
    yield "the reasons against the claim are kept, its verdict is not", lambda d: rung(d)["evidence"].update(
        contradicts=False, against=["no router between"]
    ), CANNOT, C.ELSEWHERE  # fmt: skip


def carriers() -> Rows:
    """Cards that lost their link, as their ends know."""
    far = of_trials(lost_carrier(1), BEST, (1,))
    yield "a card lost its link, and every second was at full rate", far, UNSURE, C.CONTRADICTION
    yield "a card lost its link, and a second was at half of the rate", together(
        each(BEST, level(1, 1, 1, 1, 0.5, 1.08), (1,)), far
    ), UNSURE, C.OWN_CARD  # fmt: skip
    yield "a card lost its link, and both ways at once were at full rate", of_trials(lost_carrier(1), DUPLEX), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "a card lost its link in UDP that lost nothing", of_trials(lost_carrier(0), HALF), UNSURE, C.CONTRADICTION
    yield "a card lost its link in a trial without seconds", together(
        each(BEST, values(intervals=[], commands=[]), (1,)), far
    ), UNSURE, C.OWN_CARD  # fmt: skip
    yield "a card lost its link in a trial that the tool broke", together(
        far, of_trials(outcomes(ok=False, fault="tool", reason="bind failed"), BEST, (1,))
    ), UNSURE, C.OWN_CARD  # fmt: skip
    yield "three dead seconds, and the far card lost its link", together(each(BEST, silent(4, 7), (1,)), far), (
        CANNOT
    ), C.OUTAGE  # fmt: skip
    yield "three dead seconds in another trial than the card lost its link in", together(
        each(BEST, silent(4, 7), (0,)), far
    ), FAIL, C.OUTAGE  # fmt: skip
    dead = each(TCP, failed("path", "TCP port 5201 of 10.98.4.2 is filtered"))
    unplugged = together(dead, of_trials(lost_carrier(1), TCP))
    yield "nothing passed, and the far card had no link", unplugged, CANNOT, C.OWN_CARD
    yield "nothing passed, and the far card had no link in some of it", together(
        dead, of_trials(lost_carrier(1), BEST, (0,))
    ), FAIL, C.SILENCE  # fmt: skip


def relabelled() -> Rows:
    """An arm that is called another."""
    yield "both ways sold as one", of_arms(DUPLEX, direction="forward"), CANNOT, C.CONTRADICTION
    yield "paced UDP sold as TCP", of_arms(MOST, protocol="tcp"), CANNOT, C.CONTRADICTION
    yield "TCP sold as paced UDP", of_arms(SINGLE, protocol="udp", udp_rate_bps=9e7), CANNOT, C.CONTRADICTION
    yield "two streams sold as one", of_arms(BEST, streams=1), CANNOT, C.CONTRADICTION
    yield "a warm-up longer than the trial", each_arm(warmup=30.0), CANNOT, C.CONTRADICTION
    yield "measured by a tool that no end has", each_arm(tool="iperf3"), UNSURE, C.RAW_OUTPUT
    yield "output of another tool", each_arm(tool="netperf"), CANNOT, C.RAW_OUTPUT
    yield "raised figures, and the ends tell of no tool", together(
        raised(1.04, 0.94), lambda d: [h.update(tools={}) for h in d["run"]["hosts"].values()]
    ), UNSURE, C.RAW_OUTPUT  # fmt: skip
    yield "raised figures, and nothing of the hosts", together(
        raised(1.04, 0.94), lambda d: d["run"].update(hosts={})
    ), UNSURE, C.RAW_OUTPUT  # fmt: skip
    yield "the server's output of another repeat", others_server, CANNOT, C.RAW_OUTPUT
    yield "IPv6 all through, sold as IPv4", together(
        lambda d: rung(d)["path"].update(local="fd98:3::1", remote="fd98:4::2"),
        lambda d: [r["path"].update(local="fd98:3::1", remote="fd98:4::2") for r in dc_links(d)],
        each(LOADS, flows(local="fd98:3::1", remote="fd98:4::2")),
        each(LOADS, values(commands=[])),
    ), CANNOT, C.NOT_AS_SOLD  # fmt: skip


def legs() -> Rows:
    """Loads and ends that are not where, or what, they are said to be."""
    yield "a load on a path that the rung does not have", of_trials(on(path=5)), CANNOT, C.CONTRADICTION
    yield "a load on path -1", of_trials(on(path=-1)), CANNOT, C.CONTRADICTION
    yield "a load at an end that is not there", of_trials(on(far=7)), CANNOT, C.UNACCOUNTED
    yield "a load from an end to itself", of_trials(on(far=0)), CANNOT, C.UNACCOUNTED
    yield "a load that runs the other way round", of_trials(on(near=1, far=0)), CANNOT, C.UNACCOUNTED
    yield "a load written down twice", of_trials(twice), CANNOT, C.CONTRADICTION
    yield "a load twice under other ports, sold as twice the rate", together(
        contract(rate_bps=2e8), of_trials(twice_disguised, (*TCP, *DUPLEX))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "a load that began after the trial", of_trials(on(began=1000.0)), CANNOT, C.CONTRADICTION
    yield "two ends of one name", of_trials(lambda t: [e.update(name="near") for e in t["ends"]]), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "a card that is counted twice", of_trials(lambda t: t["ends"][1].update(nics=t["ends"][1]["nics"] * 2)), (
        CANNOT
    ), C.UNACCOUNTED  # fmt: skip
    yield "clocks a year apart", of_trials(
        lambda t: [e.update(clock_offset_ms=3e10, wall_offset_s=-9e9) for e in t["ends"][1:]], None
    ), PASS, C.REACHED  # fmt: skip
    yield "good, and why it failed", of_trials(outcomes(reason="it stalled after 3 s"), BEST), CANNOT, C.CONTRADICTION


def odd_figures() -> Rows:
    """Figures of one place that cannot be."""
    limit = contract(delay_ms=5.0)
    yield "a short median of long round trips", together(
        limit, each(ECHO, values(rtt={**rtt(9.0), "p50_ms": 2.0}))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "a short median of long samples", together(
        limit, each(ECHO, values(rtt={**rtt(2.0), "samples_ms": [9.0] * 40}))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "the least round trip is longer than the mean", each(ECHO, values(rtt={**rtt(2.0), "min_ms": 5.0})), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "more round trips than replies", each(ECHO, values(rtt={**rtt(2.0), "samples_ms": [2.0] * 80})), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "a black hole in which nothing vanished", black_hole_of_nothing, CANNOT, C.CONTRADICTION
    yield "jitter below nothing, for a limit", together(
        contract(jitter_ms=1.0), each(UDP, values(jitter_ms=-3.0))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "seconds that lost less than nothing", each(HALF, lambda t: [i.update(lost=-5) for i in t["intervals"]]), (
        CANNOT
    ), C.CONTRADICTION  # fmt: skip
    yield "one datagram in each second", each(HALF, datagrams_of_seconds(1)), CANNOT, C.CONTRADICTION
    yield "UDP of which nothing was sent", each(HALF, values(offered_bps=0.0)), CANNOT, C.CONTRADICTION
    yield "UDP that nobody counted", each(UDP, values(lost=None, datagrams=None, commands=[])), UNSURE, C.PING_LOSS
    yield "flows shorter than nothing", each(TCP, flows(seconds=-3.0)), CANNOT, C.CONTRADICTION
    yield "a flow slower than nothing", each(BEST, lambda t: t["flows"][0].update(bps=-1e6)), CANNOT, C.CONTRADICTION
    yield "memory below nothing", each(TCP, lambda t: [m.update(mean=-5) for m in t["memory"].values()]), CANNOT, (
        C.CONTRADICTION
    )  # fmt: skip
    yield "all bytes in three packets", each(TCP, in_three_packets), CANNOT, C.CONTRADICTION
    yield "a second of three times the port", together(
        contract(port_bps=1.1e8), each(BEST, level(1, 1, 1, 1, 3.0, 0.6))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    short = each(TCP, scaled(0.6))
    yield "short, and a core at 99 % that the busiest does not tell", together(
        short, each(TCP, cpu(per_core=[99.0, 10.0, 10.0, 10.0]))
    ), CANNOT, C.CONTRADICTION  # fmt: skip
    yield "the mean of the cores is above the busiest", each(TCP, cpu(percent=90.0)), CANNOT, C.CONTRADICTION
    yield "cores used that the cores do not make", each(TCP, cpu(cores_used=3.5)), CANNOT, C.CONTRADICTION
    yield "short, and the sender's card sent twice as much", together(short, each(TCP, sent(2.0))), CANNOT, (
        C.OWN_CARD
    ), LimiterKind.OWN_CARD  # fmt: skip
    yield "short, and the sender's card sent a fifth more", together(short, each(TCP, sent(1.2))), FAIL, C.SHORT
    yield "enough, and the sender's card sent twice as much", each(TCP, sent(2.0)), UNSURE, C.OWN_CARD


def of_trials(
    change: Callable[[Json], Any], ids: tuple[str, ...] | None = TCP, repeats: tuple[int, ...] | None = None
) -> Edit:
    """The change, made to the link's trials as today's form has them."""

    def edit(d: Json) -> None:
        for t in trials(d, ids, repeats):
            change(t)

    return in_todays_form(edit)


def without_results(*names: str) -> Edit:
    return lambda d: d.update(rungs=[r for r in d["rungs"] if r["name"] not in names])


def dc_links(d: Json) -> list[Json]:
    return [r for r in d["run"]["plan"]["rungs"] if r["name"] == "dc-link"]


def of_plan(**parameters: Any) -> Edit:
    def edit(d: Json) -> None:
        for r in dc_links(d):
            for e in r["experiments"]:
                if e["id"] in BEST[:1]:
                    e.update(parameters)

    return edit


def unplanned(d: Json) -> None:
    for r in dc_links(d):
        r["experiments"] = [e for e in r["experiments"] if e["id"] not in BEST]


def planned_path(**changes: str) -> Edit:
    def edit(d: Json) -> None:
        for r in dc_links(d):
            r["path"].update(changes)

    return edit


def lent() -> Edit:
    """What the plan set for the arm; that it was set is taken out of what was measured."""
    setting = {"kind": "mtu", "value": "9000", "ends": ["near", "far"]}

    def edit(d: Json) -> None:
        for r in dc_links(d):
            for e in r["experiments"]:
                if e["id"] in BEST:
                    e["settings"] = [setting]

    return in_todays_form(edit)


def left_out(repeat: int) -> Edit:
    def edit(d: Json) -> None:
        for e in arms(d):
            e["trials"] = [t for t in e["trials"] if t["repeat"] != repeat]

    return edit


def lost_carrier(end: int) -> Any:
    return lambda t: [card.update(carrier_lost=1) for card in t["ends"][end]["nics"]]


def renumbered(by: int) -> Any:
    return lambda t: t.update(repeat=t["repeat"] + by)


def other_times(d: Json) -> None:
    for e in arms(d, BEST):
        times = [t["started"] for t in e["trials"]]
        for t, other in zip(e["trials"], reversed(times), strict=True):
            t["started"] = other


def medians(bps: float) -> Edit:
    return in_todays_form(lambda d: [e.update(median_bps=bps) for e in arms(d, BEST)] and None)


def swapped_rungs(d: Json) -> None:
    here, below = rung(d), rung(d, "same-vlan")
    here["experiments"], below["experiments"] = below["experiments"], here["experiments"]


def others_server(d: Json) -> None:
    for e in arms(d, BEST):
        said = [next(c["output"] for c in t["commands"] if c["role"] == "server") for t in e["trials"]]
        for t, other in zip(e["trials"], (*said[1:], said[0]), strict=True):
            for c in t["commands"]:
                c["output"] = other if c["role"] == "server" else c["output"]


def loads(t: Json) -> list[Json]:
    return [leg for leg in t["legs"] if leg["role"] == "load"]


def roles(word: str) -> Any:
    return lambda t: [leg.update(role=word) for leg in loads(t)]


def on(**changes: Any) -> Any:
    return lambda t: [leg.update(changes) for leg in loads(t)]


def outcomes(**changes: Any) -> Any:
    return lambda t: [leg["outcome"].update(changes) for leg in loads(t)]


def twice(t: Json) -> None:
    t["legs"].append(copy.deepcopy(loads(t)[0]))


def twice_disguised(t: Json) -> None:
    first = loads(t)[0]
    first["commands"] = []
    again = copy.deepcopy(first)
    for f in again["outcome"]["flows"]:
        f["local_port"] += 1
    t["legs"].append(again)
    for end in t["ends"]:
        for card in end["nics"]:
            card.update({key: 2 * card[key] for key in ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")})


def cpu(**changes: Any) -> Any:
    return lambda t: [use.update(copy.deepcopy(changes)) for use in t["cpu"].values()]


def sent(by: float) -> Any:
    return lambda t: [card.update(tx_bytes=round(card["tx_bytes"] * by)) for card in t["nics"].values()]


def in_three_packets(t: Json) -> None:
    for card in t["nics"].values():
        card.update(tx_packets=3, rx_packets=3)


def datagrams_of_seconds(count: int) -> Any:
    return lambda t: [i.update(datagrams=count) for i in t["intervals"] if i["datagrams"]]


def black_hole_of_nothing(d: Json) -> None:
    found = {"passed": [576, 1280, 1500], "failed": [], "mtu": 1500, "black_hole": True, "reported_mtu": None}
    each(("path-mtu-forward", "path-mtu-reverse"), values(path_mtu=found))(d)
