"""Forgeries of what was sold: the limits of the contract, both ways at once, and what was measured instead of it."""

from __future__ import annotations

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
    busy,
    card,
    contract,
    each,
    idle_rtt,
    in_todays_form,
    interface,
    level,
    loss,
    rtt,
    rung,
    scaled,
    together,
    trials,
    values,
    without_arms,
    without_rungs,
)
from forged_words import (
    CANNOT,
    FAIL,
    IMPOSSIBLE,
    INCOMPLETE,
    PASS,
    UNSURE,
    C,
    Rows,
    each_arm,
    failed,
    flows,
    jitter,
    nothing,
)


def healthy_all_the_same() -> Rows:
    """What is well stays well: a judge that fails everything is no judge."""
    yield "nothing", nothing, PASS, C.REACHED
    yield "a run without UDP", without_arms(*UDP), UNSURE, C.PING_LOSS
    yield "the best arms alone", without_arms(*UDP, *DUPLEX, *SINGLE), UNSURE, C.SEEN
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


ECHO = ("round-trip",)


def pings_in_vain() -> Rows:
    """Idle pings of which none was answered: filtered, or all lost."""
    none = {**rtt(0.07, 40, 0), **dict.fromkeys(("min_ms", "avg_ms", "max_ms", "p50_ms", "p95_ms", "stddev_ms"))}
    lost = each(ECHO, together_of(failed("path", "none of 40 pings was answered"), values(rtt=none, commands=[])))
    unreachable = each(ECHO, together_of(failed("path", "no ping was answered in time"), values(rtt=None, commands=[])))
    filtered = each((*TCP, *DUPLEX), values(rtt_under_load=None))
    no_udp = without_arms(*UDP)
    yield "no idle ping answered, those beside TCP were", idle_rtt(0.07, 40, 0), FAIL, C.PING_LOSS
    for name, edit in (("lost", lost), ("unreachable", unreachable)):
        yield f"pings all {name}, those beside TCP were answered", edit, FAIL, C.PING_LOSS
        yield f"pings all {name}, so they may be filtered, and UDP tells of loss", together(edit, filtered), PASS, (
            C.PING_LOSS
        )  # fmt: skip
        yield f"pings all {name}, and nothing else tells of loss", together(edit, filtered, no_udp), INCOMPLETE, (
            C.PING_LOSS
        )  # fmt: skip
        yield f"pings all {name}, and any loss is allowed", together(
            edit, filtered, no_udp, contract(loss_percent=100.0)
        ), PASS, C.PING_LOSS  # fmt: skip
        yield f"pings all {name}, and UDP tells of loss one way", together(
            edit, filtered, without_arms(HALF[0], MOST[0])
        ), INCOMPLETE, C.PING_LOSS  # fmt: skip
        yield f"pings all {name}, and a limit of delay", together(edit, filtered, contract(delay_ms=5.0)), (
            INCOMPLETE
        ), C.DELAY  # fmt: skip
        yield f"pings all {name}, and a round trip is expected", together(
            edit, filtered, contract(expected_rtt_ms=0.07), lambda d: rung(d)["evidence"].update(rtt_ms=None)
        ), UNSURE, C.ELSEWHERE  # fmt: skip
    yield "pings failed by the path, and all were answered", each(ECHO, failed("path", "it stalled")), UNSURE, (
        C.CONTRADICTION
    )  # fmt: skip
    broken = each(ECHO, together_of(failed("tool", "ping: not permitted"), values(commands=[], rtt=None)))
    yield "pings failed by the tool, and UDP tells of loss", broken, PASS, C.REACHED
    yield "pings failed by the tool, and nothing else tells of loss", together(broken, no_udp), INCOMPLETE, C.PING_LOSS
    unplugged = in_todays_form(lambda d: [
        t.update(ends=[{"name": "far", "nics": [{"name": "dc0", "carrier_lost": 1}]}]) for t in trials(d, ECHO)
    ] and None)  # fmt: skip
    yield "pings all lost, and a card had no link then", together(lost, unplugged), CANNOT, C.PING_LOSS


def together_of(*changes: Any) -> Any:
    return lambda t: [change(t) for change in changes]


def bars() -> Rows:
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
    yield "jitter above the limit", together(contract(jitter_ms=1.0), each(UDP, jitter(3.0))), FAIL, C.JITTER
    yield "a limit of jitter and no UDP", together(contract(jitter_ms=1.0), without_arms(*UDP)), INCOMPLETE, C.JITTER
    yield "8 of 40 idle pings lost", idle_rtt(0.07, 40, 32), FAIL, C.PING_LOSS
    yield "all but one idle ping lost", idle_rtt(0.07, 40, 1), FAIL, C.PING_LOSS
    yield from pings_in_vain()
    yield "one of 40 idle pings lost", idle_rtt(0.07, 40, 39), PASS, C.PING_LOSS
    yield "above the ceiling", each(BEST, scaled(1.02)), IMPOSSIBLE, C.ABOVE_CEILING
    yield "one trial above the ceiling", each(BEST, scaled(1.2), (1,)), IMPOSSIBLE, C.ABOVE_CEILING
    yield "a contract twice as large", contract(rate_bps=2e8), FAIL, C.SHORT
    yield "a contract half as large", contract(rate_bps=5e7), IMPOSSIBLE, C.ABOVE_CEILING


def both_ways() -> Rows:
    """Both ways at once share the path with each other's acknowledgements, and with nothing else."""
    yield "full duplex at 60 %", each(DUPLEX, scaled(0.6)), FAIL, C.SHORT
    yield "full duplex at 60 % one way, full the other", each(DUPLEX, level_to(0.975, 0.6)), CANNOT, C.FEW_STREAMS
    yield "full duplex at 90 % of one way", each(DUPLEX, level_to(0.9)), FAIL, C.SHORT
    yield "full duplex as computed", each(DUPLEX, level_to(0.975)), PASS, C.REACHED
    yield "full duplex silent one way", each(DUPLEX, one_way_silent), FAIL, C.SILENCE


def level_to(share: float, back: float | None = None) -> Any:
    """Every second at these shares of the ceiling near to far and back, or both ways at one, with a little noise."""
    bps = {"forward": 95.638e6 * share, "reverse": 95.638e6 * (share if back is None else back)}

    def change(t: Json) -> None:
        for k, i in enumerate(t["intervals"]):
            i["bytes"] = round(bps[i["direction"]] / 8 * (i["end"] - i["start"])) + 100 * (k % 5) + 10 * t["repeat"]
        for f in t["flows"]:
            one = bps[f["direction"]] / 2
            f.update(bps=one, bytes=round(one / 8), total_bytes=round(one * f["seconds"] / 8), intervals=[])
        t.update(goodput_bps=sum(bps.values()), by_direction=dict(bps), commands=[])

    return change


def one_way_silent(t: Json) -> None:
    for i in t["intervals"]:
        i["bytes"] = 0 if i["direction"] == "reverse" else i["bytes"]
    for f in t["flows"]:
        if f["direction"] == "reverse":
            f.update(bytes=0, bps=0.0, total_bytes=0)
    t["by_direction"]["reverse"] = 0.0
    t["commands"] = []


def as_sold() -> Rows:
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

    yield from tags_and_layers()


def tags_and_layers() -> Rows:
    """A verdict of tagged frames, or of a rate counted on some layer, is of those that were measured."""
    one = contract(vlan_tags=1)
    yield "a VLAN tag was sold, a virtual machine's cards put none on", one, PASS, C.NOT_AS_SOLD
    yield "a VLAN tag was sold, and on bare metal no card puts it on", together(one, bare_metal), UNSURE, C.NOT_AS_SOLD
    yield "a VLAN tag was sold, and the cards put it on", together(one, tagged("dc0.100", "dc0.100")), PASS, C.REACHED
    yield "a VLAN tag was sold, the near card puts on two", together(
        one, tagged("dc0.7.100", "dc0.100")
    ), UNSURE, C.NOT_AS_SOLD  # fmt: skip
    yield "two VLAN tags were sold, the cards put on one", together(
        contract(vlan_tags=2), tagged("dc0.100", "dc0.100")
    ), PASS, C.REACHED  # fmt: skip
    yield "two VLAN tags were sold, the cards are of different inner ones", together(
        contract(vlan_tags=2), tagged("dc0.7.100", "dc0.7.200")
    ), PASS, C.REACHED  # fmt: skip
    yield "the ends of the same VLAN are on different ones", together(
        one, tagged("sv0.100", "sv0.200", "sv0")
    ), UNSURE, C.NOT_AS_SOLD, None, "same-vlan"  # fmt: skip
    yield "the ends of the same VLAN are on the same one", together(
        one, tagged("sv0.100", "sv0.100", "sv0")
    ), PASS, C.REACHED, None, "same-vlan"  # fmt: skip
    yield "two VLANs in one, the inner ones differ", together(
        contract(vlan_tags=2), tagged("sv0.7.100", "sv0.7.200", "sv0")
    ), UNSURE, C.NOT_AS_SOLD, None, "same-vlan"  # fmt: skip
    yield "no VLAN tag was sold, the far card is FreeBSD's vlan0", tagged("dc0", "vlan0"), UNSURE, C.NOT_AS_SOLD
    for sold, counted, share in (("L3", "L2", 1500 / 1514), ("L3", "L1", 1500 / 1538), ("L2", "L1", 1514 / 1538)):
        at = each(TCP, level_of(95.638e6 * 1514 / (1500 if sold == "L3" else 1514) * share))
        yield f"a rate of {sold} was sold, and it is counted in {counted}", together(
            contract(layer=sold), at, without_arms(*DUPLEX, *UDP)
        ), UNSURE, C.NOT_AS_SOLD  # fmt: skip
    yield "a rate of L3 was sold, and a little less than it carried", together(
        contract(layer="L3"), each(TCP, level_of(95.9e6)), without_arms(*DUPLEX, *UDP)
    ), UNSURE, C.SEEN  # fmt: skip
    yield "a rate of L1 was sold, and it is counted in L2", contract(layer="L1"), IMPOSSIBLE, C.ABOVE_CEILING


def level_of(bps: float) -> Any:
    """Every trial at this rate."""
    return lambda t: scaled(bps / t["goodput_bps"])(t)


def bare_metal(d: Json) -> None:
    for host in d["run"]["hosts"].values():
        host["virtual"] = ""


def tagged(near: str, far: str, card: str = "dc0") -> Edit:
    """That interface has these names at the ends, where it is described and where it counted."""

    def edit(d: Json) -> None:
        for host, end, name in (("near", "near", near), ("beta", "far", far)):
            next(n for n in d["run"]["hosts"][host]["nics"] if n["name"] == card).update(name=name)
            for t in trials(d):
                if end in t["nics"] and t["nics"][end]["name"] == card:
                    t["nics"][end]["name"] = name

    return edit


def segments(mss: int) -> Any:
    return lambda t: [s.update(mss=mss) for seen in t["sockets"].values() for s in seen["sockets"]]


def path_mtu(mtu: int, hole: bool) -> Edit:
    found = {"passed": [576, 1280, mtu], "failed": [1500], "mtu": mtu, "black_hole": hole, "reported_mtu": None}
    return each(("path-mtu-forward", "path-mtu-reverse"), values(path_mtu=found))
