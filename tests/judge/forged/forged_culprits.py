"""Forgeries of who is to blame: an end, its card, the generator, or the link."""

from __future__ import annotations

from collections.abc import Callable

from forge import (
    BEST,
    FORWARD,
    HALF,
    MOST,
    SINGLE,
    TCP,
    Edit,
    Json,
    again,
    arms,
    busy,
    card,
    each,
    idle_rtt,
    in_todays_form,
    interface,
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
from forged_arranged import of_trials
from forged_limits import path_mtu, segments
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows, failed

from linkladder.verdicts import LimiterKind

BACK = ("tcp-2s-default-reverse", "tcp-1s-default-reverse")


def holes() -> Rows:
    """A black hole of larger packets than the load sends does not stall it, and one may have come meanwhile."""
    far, here = hole(1500, 9000), hole(1400, 1500)
    unsized = of_trials(lambda t: [end.update(sockets=None) for end in t["ends"]], TCP)
    large, mtu, outage = LimiterKind.LARGE_SENDS, LimiterKind.PATH_MTU, LimiterKind.OUTAGE
    for name, found, more, limiter in (
        ("of the load's packets", here, 0, mtu),
        ("above the load's packets", far, 0, large),
        ("above the load's packets, of which many arrived", far, 5_000_000, outage),
        ("of the load's packets, of which many arrived", here, 5_000_000, mtu),
    ):
        stalled = together(found, each(TCP, opened(more)))
        yield f"stalled beside a black hole {name}", stalled, FAIL, C.SILENCE, limiter
    yield "stalled beside a black hole above the contract's MTU, the load's packets are not known", together(
        far, each(TCP, opened(0)), unsized
    ), FAIL, C.SILENCE, mtu  # fmt: skip
    yield "stalled beside a black hole above the contract's MTU, the load's packets are as large", together(
        far, each(TCP, opened(0)), each(TCP, segments(8948))
    ), FAIL, C.SILENCE, mtu  # fmt: skip


def hole(passed: int, vanished: int) -> Edit:
    found = {"passed": [576, passed], "failed": [vanished], "mtu": passed, "black_hole": True, "reported_mtu": None}
    return each(("path-mtu-forward", "path-mtu-reverse"), values(path_mtu=found, commands=[]))


def opened(arrived: int) -> Callable[[Json], None]:
    """The connections opened, so much arrived by each, and then nothing."""

    def change(t: Json) -> None:
        seen = [{**f, "bytes": 0, "bps": 0.0, "total_bytes": arrived, "intervals": []} for f in t["flows"]]
        failed("path", "it stalled")(t)
        t["flows"] = seen

    return change


def culprits() -> Rows:
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
        without_arms(*BEST), short, each(SINGLE, busy(28.0, 28.0, cores_used=1.0, per_core=[28.0, 24.0, 24.0, 24.0]))
    ), CANNOT, C.BUSY_END  # fmt: skip
    yield "short, time was withheld", together(short, each(TCP, busy(starved=0.2))), CANNOT, C.BUSY_END
    yield from withheld_in_its_measure()
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
    yield "TCP short with loss, UDP clean above it: a small burst or buffer", together(
        short, each(TCP, again(0.01)), each(TCP, loaded_rtt(0.08))
    ), FAIL, C.SHORT, LimiterKind.BURST  # fmt: skip
    yield "TCP short with loss, UDP loses above it: a policer", together(
        short, each(TCP, again(0.01)), each(TCP, loaded_rtt(0.08)), each(MOST, loss(0.35))
    ), FAIL, C.SHORT, LimiterKind.POLICER  # fmt: skip
    yield "TCP short with loss, UDP loses as much at each rate", together(
        short, each(TCP, again(0.02)), each(TCP, loaded_rtt(0.08)), each((*HALF, *MOST), loss(0.02))
    ), FAIL, C.SHORT, LimiterKind.LOSS  # fmt: skip
    yield "short, a card runs half duplex", together(short, lambda d: interface(d, half_duplex=True)), CANNOT, (
        C.OWN_CARD
    ), LimiterKind.OWN_CARD  # fmt: skip
    yield "a queue, and the ends' MTUs differ", together(
        short, each(TCP, loaded_rtt(30.0)), lambda d: interface(d, mtu=9000)
    ), CANNOT, C.OWN_CARD, LimiterKind.OWN_CARD  # fmt: skip
    yield "the near card is a VLAN's, and none was entered", renamed("dc0.100"), UNSURE, C.NOT_AS_SOLD
    trickle = each(TCP, scaled(0.0005))
    yield "TCP trickles while probes of 1500 pass: large sends vanish", trickle, FAIL, C.SHORT, (
        LimiterKind.LARGE_SENDS
    )  # fmt: skip
    yield "TCP trickles, and probes of 1500 vanish as well", together(trickle, path_mtu(1400, True)), FAIL, (
        C.SHORT
    ), LimiterKind.PATH_MTU  # fmt: skip
    slow = together(
        without_arms(*SINGLE),
        idle_rtt(20.0),
        each(TCP, scaled(0.5)),
        each(TCP, loaded_rtt(20.2)),
        each(TCP, again(0.0)),
    )
    yield "FreeBSD's windows stand at the granted buffer", together(slow, freebsd(65536, 200_000)), CANNOT, C.WINDOW
    yield "FreeBSD's windows stand at the receiver's buffer", together(
        slow, freebsd(2_000_000, 200_000, 65536)
    ), CANNOT, C.WINDOW  # fmt: skip
    yield "FreeBSD's windows stay below the buffer", together(slow, freebsd(2_000_000, 65536)), FAIL, C.SHORT
    yield "FreeBSD's windows at the buffer, and segments were lost", together(
        slow, each(TCP, again(0.001)), freebsd(65536, 200_000)
    ), FAIL, C.SHORT  # fmt: skip


def withheld_in_its_measure() -> Rows:
    """Time withheld from an end excuses what it can explain; of more the path's signs speak, or nothing is known."""
    cut = each(TCP, scaled(0.4))
    queued = together(idle_rtt(1.0), each(TCP, under_load(20.0)))
    lost = together(each(TCP, again(0.02)), each(TCP, loaded_rtt(0.08)))
    alike = each((*HALF, *MOST), loss(0.02))
    for end, way, ids in (
        ("near", "sends", FORWARD), ("near", "receives", BACK), ("far", "sends", BACK), ("far", "receives", FORWARD),
    ):  # fmt: skip
        poor = each(ids, scaled(0.4))
        little, much = each(ids, kept_from(end, 0.06)), each(ids, kept_from(end, 0.25))
        side = f"the {end} end {way}"
        waits = together(idle_rtt(1.0), each(ids, under_load(20.0)))
        calm = together(each(ids, loaded_rtt(0.08)), each(ids, again(0.0)))
        held = LimiterKind.SENDER if way == "sends" else LimiterKind.RECEIVER
        yield f"{side}, 6 % withheld, a queue at 40 %", together(poor, little, waits), FAIL, C.SHORT, (
            LimiterKind.SHAPER
        )  # fmt: skip
        yield f"{side}, 6 % withheld, nothing else at 40 %", together(poor, little, calm), CANNOT, C.BUSY_END, (
            LimiterKind.UNKNOWN
        )  # fmt: skip
        yield f"{side}, 25 % withheld, a queue at 40 %", together(poor, much, waits), CANNOT, C.BUSY_END, held
        yield f"{side}, 6 % withheld at 80 %", together(
            each(ids, scaled(0.8)), little
        ), CANNOT, C.BUSY_END, held  # fmt: skip
    little = each(TCP, kept_from("near", 0.06))
    yield "6 % withheld, loss alike at each rate of UDP", together(cut, little, lost, alike), FAIL, C.SHORT, (
        LimiterKind.LOSS
    )  # fmt: skip
    yield "6 % withheld, loss that only TCP shows", together(cut, little, lost), CANNOT, C.BUSY_END
    yield "6 % withheld, UDP loses above a rate", together(cut, little, lost, each(MOST, loss(0.35))), FAIL, C.SHORT, (
        LimiterKind.POLICER
    )  # fmt: skip
    yield "6 % withheld, a queue seen by no quick round trip", together(
        cut, little, idle_rtt(1.0), each(TCP, under_load(20.0, 0.9))
    ), CANNOT, C.BUSY_END  # fmt: skip
    yield "4 % of four cores withheld, as much as one core's sixth, at 80 %", together(
        each(TCP, scaled(0.8)), each(TCP, kept_from("near", 0.04))
    ), CANNOT, C.BUSY_END, LimiterKind.SENDER  # fmt: skip
    yield "1 % withheld, a queue", together(cut, queued, each(TCP, kept_from("near", 0.01))), FAIL, C.SHORT, (
        LimiterKind.SHAPER
    )  # fmt: skip
    yield "6 % withheld, UDP loses 40 %, no card counted", together(
        each(HALF, loss(0.7, "")), each(HALF, kept_from("far", 0.06))
    ), FAIL, C.UDP_LOSS  # fmt: skip
    yield "6 % withheld, UDP loses 20 %, no card counted", together(
        each(HALF, loss(0.2, "")), each(HALF, kept_from("far", 0.06))
    ), CANNOT, C.WHO_LOST  # fmt: skip
    yield from one_of_three()
    yield "6 % withheld, and 6 s of silence", together(
        each(BEST, silent(2, 8), (0,)), each(BEST, kept_from("far", 0.06), (0,))
    ), FAIL, C.OUTAGE  # fmt: skip
    yield "30 % withheld, and 3 s of silence", together(
        each(BEST, silent(3, 6), (0,)), each(BEST, kept_from("far", 0.3), (0,))
    ), CANNOT, C.OUTAGE  # fmt: skip


def one_of_three() -> Rows:
    """A single repeat in which CPU was withheld is named; it counts all the same, and no PASS is made of the others."""
    poor = together(without_arms(*SINGLE), each(BEST, scaled(0.6), (1,)))
    for end in ("near", "far"):
        yield f"one of three at 60 %, 25 % of the {end} end withheld in it", together(
            poor, each(BEST, kept_from(end, 0.25), (1,))
        ), CANNOT, C.BUSY_END  # fmt: skip
    yield "one of three at 60 %, 1 % withheld in it", together(poor, each(BEST, kept_from("near", 0.01), (1,))), (
        CANNOT
    ), C.SCATTERED  # fmt: skip
    yield "one of three at 60 %, 25 % withheld in another", together(poor, each(BEST, kept_from("near", 0.25), (2,))), (
        CANNOT
    ), C.SCATTERED  # fmt: skip
    yield "one of three at 30 %, and 6 % withheld explain less", together(
        without_arms(*SINGLE), each(BEST, scaled(0.3), (1,)), each(BEST, kept_from("near", 0.06), (1,))
    ), CANNOT, C.SCATTERED  # fmt: skip
    yield "one of three with 25 % withheld at the full rate", each(BEST, kept_from("near", 0.25), (1,)), PASS, (
        C.REACHED
    )  # fmt: skip


def kept_from(end: str, share: float) -> Callable[[Json], None]:
    """A quota or the hypervisor withheld this share of one end's time."""
    return lambda t: t["cpu"][end].update(starved=share)


def under_load(ms: float, floor: float | None = None) -> Callable[[Json], None]:
    """Round trips under load; `floor`: what a third of them are, where they are not all about alike."""
    quick, slow = [ms if floor is None else floor] * 4, [ms] * 8

    def change(t: Json) -> None:
        loaded_rtt(ms)(t)
        seen = rtt(ms, len(quick + slow), len(quick + slow))
        t["rtt_under_load"] = {**seen, "samples_ms": [*quick, *slow], "min_ms": min(quick)}

    return change


def renamed(name: str) -> Edit:
    def edit(d: Json) -> None:
        interface(d, name=name)
        for t in trials(d):
            if "near" in t["nics"] and t["nics"]["near"]["name"] == "dc0":
                t["nics"]["near"]["name"] = name

    return edit


def freebsd(buffer: int, cwnd: int, taken: int = 4_000_000) -> Edit:
    """What netstat told each second at both ends, where iperf tells of no window."""

    def edit(d: Json) -> None:
        for e in arms(d):
            for t in e["trials"]:
                for leg in t["legs"]:
                    for i in leg["outcome"]["intervals"]:
                        i["cwnd"] = None
                for end in t["ends"]:
                    sizes = {"send_buffer": buffer, "receive_buffer": taken}
                    end["windows"] = [{"t": n + 0.5, "cwnd_bytes": [cwnd + 1448 * n] * 2} for n in range(10)]
                    for s in end["sockets"]["sockets"]:
                        s.update(sizes, receiver_limited_ms=None, cwnd_bytes=cwnd)

    return in_todays_form(edit)


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
