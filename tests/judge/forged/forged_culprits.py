"""Forgeries of who is to blame: an end, its card, the generator, or the link."""

from __future__ import annotations

from forge import (
    BEST,
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
    rung,
    scaled,
    together,
    trials,
    without_arms,
    without_rungs,
)
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows, failed

from linkladder.verdicts import LimiterKind


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
