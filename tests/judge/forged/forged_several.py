"""Forgeries of several pairs of ends: what medians, other arms and other directions would hide.

The rows are those of test_forged_pairs: of a run whose arms were measured in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from forge_arms import both_at_once, broken, dropped, never_asked, once, paced_udp, rates, together, visited
from forge_long import lengthened, shaped
from forge_pairs import ALONE, SIDE, Json, idle_pings, loads, paced, pings, shared, silent, without_link

from linkladder.verdicts import Cause as C

Forgery = tuple[str, Callable[[Json], Any], str, C]
NEEDED = 0.97 * 95.638  # Mb/s of each path


def repeats() -> Iterator[Forgery]:
    """Several paths are held to the interval and to the worst repeat, as a single one is."""
    yield "sums of 130, 130 and 142, of which 139 is needed", together(
        rates(SIDE, 65, 65, 71, path=0), rates(SIDE, 65.1, 65.2, 71.1, path=1)
    ), "CANNOT JUDGE", C.SCATTERED  # fmt: skip
    yield "the same sums, of medians that add up to 142", together(
        rates(SIDE, 80, 58, 71, path=0), rates(SIDE, 50, 72, 71.1, path=1)
    ), "CANNOT JUDGE", C.SCATTERED  # fmt: skip
    close = [95.638 * share for share in (0.9702, 0.999, 0.972)]
    yield "repeats alone of 97.02, 99.9 and 97.2 %", rates(ALONE, *close), "CANNOT JUDGE", C.SCATTERED
    yield "the same in one direction", rates(ALONE, *close, way="reverse"), "CANNOT JUDGE", C.SCATTERED
    yield "the same of the other pair", rates("alone-gamma-delta", *close), "CANNOT JUDGE", C.SCATTERED
    yield "repeats alone of 98.9, 99 and 99.1 %", rates(ALONE, 94.6, 94.7, 94.8), "PASS", C.REACHED
    yield "one of three sums a little less than needed", together(
        rates(SIDE, 71.5, 71.6, 69.2, path=0), rates(SIDE, 71.6, 71.7, 69.3, path=1)
    ), "CANNOT JUDGE", C.SCATTERED  # fmt: skip
    yield "one of three sums below, in one direction", together(
        rates(SIDE, 71.5, 71.6, 66, path=0, way="forward"), rates(SIDE, 71.6, 71.7, 66, path=1, way="forward")
    ), "CANNOT JUDGE", C.SCATTERED  # fmt: skip
    yield "one repeat side by side in a plan of one", once(SIDE), "UNSURE", C.WORST_TRIAL
    yield "one repeat alone in a plan of one", once(ALONE), "UNSURE", C.REACHED
    yield "one of three repeats alone above the ceiling", rates(ALONE, 95, 95, 120), "IMPOSSIBLE", C.ABOVE_CEILING
    yield "one of three sums above the ceiling", together(
        rates(SIDE, 71.5, 71.6, 85, path=0), rates(SIDE, 71.6, 71.7, 85, path=1)
    ), "IMPOSSIBLE", C.ABOVE_CEILING  # fmt: skip


def time() -> Iterator[Forgery]:
    long = lengthened(10)
    fell = shaped(*[1.0] * 6, 0.946)
    yield "trials of ten seconds", long, "PASS", C.REACHED
    yield "full rate for 6 s, then 94.6 %", together(long, loads(fell, ALONE)), "FAIL", C.SHORT
    yield "full rate for 6 s, then 94.6 %, of one pair one way", together(
        long, loads(fell, "reverse-alone-gamma-delta")
    ), "FAIL", C.SHORT  # fmt: skip
    yield "full rate for 6 s, then 94.6 %, in one repeat", together(long, loads(fell, ALONE, repeat=1)), (
        "CANNOT JUDGE"
    ), C.SCATTERED  # fmt: skip
    yield "the sum is full for 6 s, then 94.6 %", together(long, loads(fell, SIDE)), "FAIL", C.SHORT
    yield "the sum is full for 6 s, then 94.6 %, in one repeat", together(long, loads(fell, SIDE, repeat=2)), (
        "CANNOT JUDGE"
    ), C.SCATTERED  # fmt: skip
    yield "one path gives to the other after 6 s, and the sum stays", together(
        long,
        loads(shaped(*[1.0] * 6, 0.9), SIDE, 0), loads(shaped(*[1.0] * 6, 1.12), SIDE, 1),
    ), "PASS", C.REACHED  # fmt: skip


def directions() -> Iterator[Forgery]:
    yield "only one way, as planned", never_asked("", direction="reverse"), "UNSURE", C.ONE_DIRECTION
    yield "only the other way, as planned", never_asked("", direction="forward"), "UNSURE", C.ONE_DIRECTION
    yield "only one way, where both were planned", dropped("", direction="reverse"), "INCOMPLETE", C.ONE_DIRECTION
    yield "one pair alone only one way, as planned", together(
        never_asked("reverse-alone-gamma-delta"), never_asked("reverse-neighbours")
    ), "UNSURE", C.ONE_DIRECTION  # fmt: skip


def both_at_a_time() -> Iterator[Forgery]:
    yield "both ways at once alone as computed", both_at_once(ALONE), "PASS", C.REACHED
    yield "both ways at once side by side as computed", both_at_once(SIDE), "PASS", C.REACHED
    yield "both ways at once alone at 30 %", both_at_once(ALONE, 0.3), "FAIL", C.SHORT
    yield "both ways at once alone at 30 %, a core is busy", both_at_once(ALONE, 0.3, 99.0), "UNSURE", C.BUSY_END
    yield "both ways at once alone, one at 30 %", both_at_once(ALONE, of_back=0.3), "CANNOT JUDGE", C.FEW_STREAMS
    yield "both ways at once side by side, one at 30 %", both_at_once(SIDE, of_back=0.3), "UNSURE", C.FEW_STREAMS
    yield "both ways at once side by side at 30 %", both_at_once(SIDE, 0.3), "UNSURE", C.SHORT
    yield "both ways at once side by side at 30 %, a core is busy", both_at_once(SIDE, 0.3, 99.0), "UNSURE", C.BUSY_END
    for fault, verdict, cause in (("tool", "UNSURE", C.NOTHING_MEASURED), ("path", "FAIL", C.SILENCE)):
        for name, arm in (("alone", ALONE), ("side by side", SIDE)):
            yield f"both ways at once {name} failed by the {fault}", both_at_once(arm, fault=fault), verdict, cause


def datagrams() -> Iterator[Forgery]:
    for name, arm in (("one pair alone", ALONE), ("the other alone", "alone-gamma-delta"), ("both side by side", SIDE)):
        yield f"UDP of {name} loses nothing", paced_udp(arm, 0.0), "PASS", C.REACHED
        yield f"UDP of {name} loses 5 %", paced_udp(arm, 0.05), "FAIL", C.UDP_LOSS
        yield f"UDP of {name} loses 0.5 %, nothing is said of what they share", together(
            paced_udp(arm, 0.005, 60e6), shared(None)
        ), "FAIL", C.UDP_LOSS  # fmt: skip
        yield f"UDP of {name} failed by the tool", paced_udp(arm, 0.0, fault="tool"), "INCOMPLETE", C.NOTHING_MEASURED
        yield f"UDP of {name} failed by the path", paced_udp(arm, 0.0, fault="path"), "FAIL", C.SILENCE
        yield f"UDP of {name} was measured once", paced_udp(arm, 0.0, repeats=1), "UNSURE", C.TRIALS_FAILED


def lost_loads() -> Iterator[Forgery]:
    for fault in ("tool", "path"):
        yield f"one load side by side failed by the {fault} in one repeat", loads(broken(fault), SIDE, 1, 1), (
            "INCOMPLETE"
        ), C.PEER_LOST  # fmt: skip
    lost = [loads(broken("peer"), SIDE, path, repeat) for path, repeat in ((1, 1), (1, 0), (0, 0))]
    yield "one load side by side failed by the peer in one repeat", lost[0], "UNSURE", C.TRIALS_FAILED
    for name, edits in (("the same load", (lost[0], lost[1])), ("another load each", (lost[0], lost[2]))):
        yield f"{name} failed by the peer in two of three repeats", together(*edits), "INCOMPLETE", C.PEER_LOST


def limits() -> Iterator[Forgery]:
    """What the contract allows holds for each pair, by the pings and the datagrams of either end."""
    of_both = paced_udp("alone-", 0.0)
    jitter, delay = sold(jitter_ms=5.0), sold(delay_ms=50.0)
    yield "a limit of jitter, and no UDP", jitter, "INCOMPLETE", C.JITTER
    yield "a limit of jitter, and UDP of one pair", together(jitter, paced_udp(ALONE, 0.0)), "INCOMPLETE", C.JITTER
    yield "a limit of jitter, and UDP of both", together(jitter, of_both), "PASS", C.REACHED
    yield "UDP of both in another class", together(of_both, in_class(8, "udp")), "CANNOT JUDGE", C.NOT_AS_SOLD
    yield "idle pings in another class", in_class(8, "echo"), "CANNOT JUDGE", C.NOT_AS_SOLD
    yield "neither UDP nor pings", without_pings(), "UNSURE", C.PING_LOSS
    yield "no pings, and UDP of one pair", together(without_pings(), paced_udp(ALONE, 0.0)), "UNSURE", C.PING_LOSS
    yield "no pings, and UDP of both", together(without_pings(), of_both), "PASS", C.REACHED
    no_echo = together(without_pings_beside(), loads(unpinged, "round-trip", 1))
    yield "idle pings of one pair failed by the tool", no_echo, "INCOMPLETE", C.PING_LOSS
    yield "idle pings of one pair failed by the tool, and UDP of the other", together(
        no_echo, paced_udp(ALONE, 0.0)
    ), "INCOMPLETE", C.PING_LOSS  # fmt: skip
    yield "idle pings of one pair are not there", echo_of(0), "UNSURE", C.PING_LOSS
    yield "a limit of delay that holds", delay, "PASS", C.REACHED
    slow = idle_pings(pings(60.0), 1)
    yield "a limit of delay that the second pair breaks", together(delay, slow), "FAIL", C.DELAY
    for name, of, verdict in (("its", 1, "CANNOT JUDGE"), ("the other's", 0, "FAIL")):
        yield f"a limit of delay that the second pair breaks, {name} near end hardly ran", together(
            delay, slow, loads(starved, "", of)
        ), verdict, C.DELAY  # fmt: skip
    yield "a limit of delay, and idle pings of one pair alone", together(delay, echo_of(0)), "INCOMPLETE", C.DELAY
    yield "300 ms by the far end's pings of one pair", together(delay, beside("far", 300.0)), "UNSURE", C.DELAY
    yield "none of the far end's pings of one pair answered", beside("far", 3.0, 0), "UNSURE", C.PING_LOSS
    yield "none of the near end's pings of one pair answered", beside("near", 3.0, 0), "UNSURE", C.PING_LOSS
    dead = shaped(1, 1, 1, 0.0, 1.2, 1.2, 1.2, 1.1, 1.1, 1.1)
    yield "one dead second of one pair", together(lengthened(10), loads(dead, "alone-gamma-delta", repeat=1)), (
        "UNSURE"
    ), C.SEEN  # fmt: skip
    yield "one dead second of one pair where 98 % is sold", together(
        lengthened(10), loads(dead, "alone-gamma-delta", repeat=1), sold(availability_percent=98.0)
    ), "PASS", C.SEEN  # fmt: skip


def visits() -> Iterator[Forgery]:
    """Where a neighbour comes and goes the rate is no path's own; what broke there counts all the same."""
    lost = {"seconds": 20.0, "reason": "out of reach", "shared": True, "carriers": []}
    yield "a neighbour comes and goes", together(lengthened(10), visited()), "PASS", C.REACHED
    for name, change, verdict, cause in (
        ("is dead for seconds", silent, "CANNOT JUDGE", C.OUTAGE),
        ("stalled", broken("path"), "FAIL", C.SILENCE),
        ("failed by the tool", broken("tool"), "UNSURE", C.TRIALS_FAILED),
        ("had no link", without_link, "UNSURE", C.CONTRADICTION),
        ("lost its peer", lambda t, _: t.update(interruptions=[{**lost, "started": t["started"]}]), "CANNOT JUDGE", (
            C.OUTAGE
        )),
    ):  # fmt: skip
        yield f"where a neighbour comes and goes the first path {name}", together(
            lengthened(10), visited(change)
        ), verdict, cause  # fmt: skip


def sold(**limits: float) -> Callable[[Json], None]:
    return lambda d: d["run"]["plan"]["contract"].update(limits)


def in_class(dscp: int, protocol: str) -> Callable[[Json], None]:
    def edit(d: Json) -> None:
        for r in (d["rungs"][-1], d["run"]["plan"]["rungs"][-1]):
            for p in (e.get("parameters", e) for e in r["experiments"]):
                p["dscp"] = dscp if p["protocol"] == protocol else p["dscp"]
        for e in d["rungs"][-1]["experiments"]:
            for t in e["trials"] if e["parameters"]["protocol"] == "echo" else ():
                for leg in t["legs"]:
                    leg["commands"] = []

    return edit


def without_pings() -> Callable[[Json], None]:
    """Neither idle ones nor any beside the loads."""

    def edit(d: Json) -> None:
        for r in (d["rungs"][-1], d["run"]["plan"]["rungs"][-1]):
            r["experiments"] = [e for e in r["experiments"] if e.get("parameters", e)["protocol"] != "echo"]
        without_pings_beside()(d)

    return edit


def starved(t: Json, leg: Json) -> None:
    if t["ends"]:
        t["ends"][leg["near"]]["cpu"].update(starved=0.3)


def unpinged(t: Json, leg: Json) -> None:
    broken("tool")(t, leg)
    leg["outcome"]["rtt"] = None


def without_pings_beside() -> Callable[[Json], None]:
    def edit(d: Json) -> None:
        for t in (t for e in d["rungs"][-1]["experiments"] for t in e["trials"]):
            t["legs"] = [leg for leg in t["legs"] if leg["role"] != "ping"]

    return edit


def echo_of(path: int) -> Callable[[Json], None]:
    """The idle pings of this path alone, and none beside loads of the others."""

    def edit(d: Json) -> None:
        for t in (t for e in d["rungs"][-1]["experiments"] for t in e["trials"]):
            idle = [leg for leg in t["legs"] if leg["outcome"].get("rtt") and leg["path"] != path]
            t["legs"] = [leg for leg in t["legs"] if leg not in idle]

    return edit


def beside(end: str, ms: float, came: int = 40) -> Callable[[Json], None]:
    """The second pair's pings beside its loads, as one of its ends sent them."""
    seen = pings(ms, 40, came)
    if not came:
        seen.update(dict.fromkeys(("min_ms", "avg_ms", "max_ms", "p50_ms", "p95_ms", "stddev_ms")))

    def edit(d: Json) -> None:
        for leg in (g for e in d["rungs"][-1]["experiments"] for t in e["trials"] for g in t["legs"]):
            if leg["role"] == "ping" and leg["path"] == 1 and leg["pinged_by"] == end:
                leg["commands"] = []
                leg["outcome"]["rtt"] = seen

    return edit


def several() -> Iterator[Forgery]:
    for part in (repeats, time, directions, both_at_a_time, datagrams, lost_loads, limits, visits):
        yield from part()


def cards() -> Iterator[Forgery]:
    """Two cards of one pair, both of them at once enough for what was sold: each by itself is looked at as well."""
    one = "alone-path1"
    yield "two cards", as_link, "UNSURE", C.PING_LOSS
    yield "one card alone stalled by the path", together(as_link, loads(broken("path"), one)), "FAIL", C.SILENCE
    yield "one card alone failed by the tool", together(as_link, loads(broken("tool"), one)), "UNSURE", C.TRIALS_FAILED
    yield "one card alone stalled while it had no link", together(
        as_link, loads(broken("path"), one), loads(without_link, one)
    ), "CANNOT JUDGE", C.OWN_CARD  # fmt: skip
    yield "UDP of one card loses 5 %", together(as_link, udp_of_one_card, loads(losing, "udp")), "FAIL", C.UDP_LOSS


def as_link(d: Json) -> None:
    """The rung inside one host is that of the link, and so much was sold."""
    seen = {"claim": "dc-link", "findings": [], "contradicts": False, "asked": "", "word": "", "against": []}
    d["rungs"][-1].update(name="dc-link", evidence={**seen, "rtt_ms": 0.1})
    d["run"]["plan"]["rungs"][-1]["name"] = "dc-link"
    d["run"]["plan"]["contract"]["rate_bps"] = 179e6


def udp_of_one_card(d: Json) -> None:
    for r in (d["rungs"][-1], d["run"]["plan"]["rungs"][-1]):
        for p in (e.get("parameters", e) for e in r["experiments"]):
            if p["protocol"] == "udp":
                p.update(company="alone", paths=[0], udp_rate_bps=20e6)
    for e in d["rungs"][-1]["experiments"]:
        for t in e["trials"] if e["parameters"]["protocol"] == "udp" else ():
            t["legs"] = [leg for leg in t["legs"] if leg["path"] == 0]


def losing(t: Json, leg: Json) -> None:
    paced(t, leg, 20e6, 0.05, 1470)
    for i in leg["outcome"]["intervals"]:
        i["jitter_ms"] = 0.1
    for f in leg["outcome"]["flows"]:
        f["jitter_ms"] = 0.1


def mesh() -> Iterator[Forgery]:
    """A round of a mesh is no path alone and not all of them: it counts all the same."""
    yield "one path of a round stalled", loads(broken("path"), "rounds-2", 1), "FAIL", C.SILENCE
    yield "one path of a round dead for seconds", loads(silent, "rounds-2", 1), "FAIL", C.OUTAGE
