"""Forgeries of a single path that took no firmness from a PASS: arms and limits that it did not rest on."""

from __future__ import annotations

from forge import (
    BEST,
    DUPLEX,
    SINGLE,
    busy,
    each,
    scaled,
    together,
)
from forged_words import CANNOT, FAIL, PASS, UNSURE, C, Rows, failed


def other_arms() -> Rows:
    """Both ways at once, and other numbers of streams, that settled nothing."""
    broken = failed("tool", "bind failed")
    for share in (0.3, 0.6):
        yield f"both ways at once at {share:.0%}, and a core is busy", together(
            each(DUPLEX, scaled(share)), each(DUPLEX, busy(99.0, 99.0))
        ), UNSURE, C.BUSY_END  # fmt: skip
    yield "both ways at once at 30 % in one of three repeats", each(DUPLEX, scaled(0.3), (1,)), CANNOT, C.SCATTERED
    yield "both ways at once failed by the tool", each(DUPLEX, broken), UNSURE, C.NOTHING_MEASURED
    for repeats in ((0,), (0, 1)):
        yield f"both ways at once failed by the tool in {len(repeats)} of three repeats", (
            each(DUPLEX, broken, repeats)
        ), UNSURE, C.TRIALS_FAILED  # fmt: skip
    yield "both ways at once stalled by the path in one repeat", each(DUPLEX, failed("path", "it stalled"), (1,)), (
        FAIL
    ), C.SILENCE  # fmt: skip
    yield "two of three failed by the tool in the arms of two streams", each(BEST, broken, (0, 1)), UNSURE, (
        C.TRIALS_FAILED
    )  # fmt: skip
    yield "two of three failed by the tool in the arms of one stream", each(SINGLE, broken, (0, 1)), UNSURE, (
        C.TRIALS_FAILED
    )  # fmt: skip
    yield "two of three failed by the tool in one arm one way", each(BEST[1:], broken, (1, 2)), UNSURE, C.TRIALS_FAILED
    yield (
        "one of three failed by the tool in an arm that does not count",
        each(SINGLE[:1], broken, (0,)),
        PASS,
        C.REACHED,
    )
