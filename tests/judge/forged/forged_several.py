"""Forgeries of several pairs of ends: what medians, other arms and other directions would hide.

The rows are those of test_forged_pairs: of a run whose arms were measured in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from forge_arms import both_at_once, broken, dropped, never_asked, once, paced_udp, rates, together
from forge_long import lengthened, shaped
from forge_pairs import ALONE, SIDE, Json, loads, shared

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
    yield "the same of one pair", rates("alone-gamma-delta", *close), "CANNOT JUDGE", C.SCATTERED
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
    yield "both ways at once side by side at 30 %", both_at_once(SIDE, 0.3), "UNSURE", C.SHORT
    yield "both ways at once side by side at 30 %, a core is busy", both_at_once(SIDE, 0.3, 99.0), "UNSURE", C.BUSY_END
    for fault, verdict, cause in (("tool", "UNSURE", C.NOTHING_MEASURED), ("path", "FAIL", C.SILENCE)):
        for name, arm in (("alone", ALONE), ("side by side", SIDE)):
            yield f"both ways at once {name} failed by the {fault}", both_at_once(arm, fault=fault), verdict, cause


def datagrams() -> Iterator[Forgery]:
    for name, arm in (("both pairs alone", ALONE), ("one pair alone", "alone-gamma-delta"), ("side by side", SIDE)):
        yield f"UDP of {name} loses nothing", paced_udp(arm, 0.0), "PASS", C.REACHED
        yield f"UDP of {name} loses 5 %", paced_udp(arm, 0.05), "FAIL", C.UDP_LOSS
        yield f"UDP of {name} loses 0.5 %, nothing is said of what they share", together(
            paced_udp(arm, 0.005, 60e6), shared(None)
        ), "FAIL", C.UDP_LOSS  # fmt: skip
        yield f"UDP of {name} failed by the tool", paced_udp(arm, 0.0, fault="tool"), "INCOMPLETE", C.NOTHING_MEASURED
        yield f"UDP of {name} failed by the path", paced_udp(arm, 0.0, fault="path"), "FAIL", C.SILENCE
        yield f"UDP of {name} was measured once", paced_udp(arm, 0.0, repeats=1), "UNSURE", C.TRIALS_FAILED


def lost_loads() -> Iterator[Forgery]:
    for fault in ("tool", "path", "peer"):
        yield f"one load side by side failed by the {fault} in one repeat", loads(broken(fault), SIDE, 1, 1), (
            "INCOMPLETE"
        ), C.PEER_LOST  # fmt: skip


def several() -> Iterator[Forgery]:
    for part in (repeats, time, directions, both_at_a_time, datagrams, lost_loads):
        yield from part()
