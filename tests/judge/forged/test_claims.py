"""What no figure bears out is not said: of windows, of round trips, and of bounds that bound nothing.

The congestion window over the round trip is the rate, whatever limits: random loss is never called a window.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from forge import (
    BEST,
    SINGLE,
    TCP,
    UDP,
    Json,
    again,
    each,
    forged,
    idle_rtt,
    loaded_rtt,
    scaled,
    together,
    without_arms,
)
from forged_of_plan import longer

from linkladder.judge import judge_document
from linkladder.model import Document
from linkladder.verdicts import LimiterKind, Verdict

RATE = 95.638e6  # of the healthy run
POINTS = list(itertools.product((1e-5, 3e-5, 9e-5), (5.0, 20.0, 40.0, 80.0)))


def lossy(loss: float, ms: float) -> float:
    """The share of the ceiling that two flows keep under such loss, by Mathis, and less than enough."""
    return min(0.9, 2 * 1.22 * 1448 * 8 / (ms / 1000 * math.sqrt(loss)) / RATE)


def windows_of_the_rate(ms: float, buffer: int) -> Callable[[Json], None]:
    """Each second's congestion window is what the rate and the round trip make; the buffer has room for more."""

    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["cwnd"] = round(i["bytes"] / (i["end"] - i["start"]) * ms / 1000)
        for seen in t["sockets"].values():
            for s in seen["sockets"]:
                s.update(send_buffer=buffer, receive_buffer=buffer, receiver_limited_ms=0.0)

    return change


@pytest.mark.parametrize("loss,ms", POINTS)
def test_random_loss_is_no_window(loss: float, ms: float) -> None:
    share = lossy(loss, ms)
    change = windows_of_the_rate(ms, 8 << 20)
    d = forged(
        together(
            without_arms(*SINGLE), idle_rtt(ms), each(TCP, scaled(share)), each(TCP, loaded_rtt(ms * 1.01)),
            each(TCP, again(loss)), each(BEST, change),
        )
    )  # fmt: skip
    link = judge_document(d).rungs[-1]
    assert link.limiter is not None and link.limiter.kind is not LimiterKind.WINDOW, link.limiter
    assert LimiterKind.WINDOW not in link.limiter.candidates
    assert link.verdict in (Verdict.FAIL, Verdict.CANNOT_JUDGE)


@pytest.mark.parametrize("ms", [5.0, 80.0])
def test_a_window_at_the_granted_buffer_without_loss_is_one(ms: float) -> None:
    """The other way round, so that the rule can be told from one that never says it."""
    share = 0.5
    buffer = round(RATE * share / 8 / 2 * ms / 1000)
    d = forged(
        together(
            without_arms(*SINGLE), idle_rtt(ms), each(TCP, scaled(share)), each(TCP, loaded_rtt(ms)),
            each(TCP, again(0.0)), each(BEST, steady(buffer)), each(BEST, at_the_buffer(2 * buffer)),
        )
    )  # fmt: skip
    link = judge_document(d).rungs[-1]
    assert link.limiter is not None and link.limiter.kind is LimiterKind.WINDOW, link.limiter
    assert link.verdict is Verdict.CANNOT_JUDGE


def steady(window: int) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for i in t["intervals"]:
            i["cwnd"] = 2 * window  # of both flows

    return change


def at_the_buffer(buffer: int) -> Callable[[Json], None]:
    def change(t: Json) -> None:
        for seen in t["sockets"].values():
            for s in seen["sockets"]:
                s.update(send_buffer=buffer, receive_buffer=buffer)

    return change


def words(d: Document) -> str:
    judged = judge_document(d)
    link = judged.rungs[-1].judgement
    return " ".join((judged.sentence, *judged.diagnosis, *link.reasons, *link.findings))


def test_a_round_trip_under_load_that_nobody_measured_did_not_stay_flat() -> None:
    short = (without_arms(*UDP), each(TCP, scaled(0.6)), each(TCP, again(0.01)))
    assert "stayed flat" in words(forged(*short, idle_rtt(0.07), each(TCP, loaded_rtt(0.08))))
    assert "stayed flat" not in words(forged(*short, each(TCP, without_pings)))


def without_pings(t: Json) -> None:
    t["rtt_under_load"] = None
    for i in t["intervals"]:
        i["rtt_ms"] = None


def test_a_bound_of_nothing_is_not_told() -> None:
    scattered = (0.99, 0.05, 0.97)
    said = words(forged(without_arms(*SINGLE), each(TCP, lambda t: scaled(scattered[t["repeat"]])(t))))
    assert "too scattered" in said and "at least 0 b/s" not in said


def test_a_trial_that_took_a_minute_more_is_told() -> None:
    assert "more than it measured" not in words(forged())
    assert "took 66 s more than it measured" in words(forged(longer(65.0)))
