"""What stands below a rung's table is of the worst repeat, and says so: the last may be the one that went well."""

from __future__ import annotations

import pytest

import trials
from linkladder.app.screens.results import rung_page
from linkladder.model import (
    Experiment,
    ExperimentResult,
    Path,
    PathMtu,
    Protocol,
    Rtt,
    RungName,
    RungResult,
    Transactions,
    TrialResult,
)

PINGS = Experiment("pings", tool="ping", protocol=Protocol.ECHO)
SIZES = Experiment("sizes", tool="ping", protocol=Protocol.DF)
PACED = Experiment("paced", protocol=Protocol.UDP, udp_rate_bps=500e6)
LOADED = Experiment("loaded", ping_under_load=True)
SMALL = Experiment("small", tool="netperf", protocol=Protocol.RR, sessions=1)


def page(asked: Experiment, *repeats: TrialResult) -> str:
    measured = ExperimentResult(asked, tuple(repeats))
    return rung_page(RungResult(RungName.DC_LINK, (Path("10.0.0.1", "10.0.0.2"),), (measured,)), None, 80).plain


def lost(number: int, repeat: int) -> TrialResult:
    base = trials.trial("t", repeat, goodput_bps=500e6)
    return trials.changed(base, lost=number, datagrams=148797, offered_bps=500e6)


def pinged(median: float, received: int, repeat: int) -> TrialResult:
    rtt = Rtt(20, received, 0.1, median, 9.0, median)
    return trials.changed(trials.trial("t", repeat), rtt=rtt)


def under_load(median: float, most: float, repeat: int) -> TrialResult:
    base = trials.trial("t", repeat, goodput_bps=500e6)
    return trials.changed(base, rtt_under_load=Rtt(20, 20, 0.1, median, most, median))


def passed(mtu: int, repeat: int) -> TrialResult:
    return trials.changed(trials.trial("t", repeat), path_mtu=PathMtu((mtu,), (), mtu))


def answered(rate: float, repeat: int) -> TrialResult:
    return trials.changed(trials.trial("t", repeat), transactions=Transactions(rate, 1))


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(
    "asked,repeats,said",
    [
        (PACED, (lost(3452, 0), lost(860, 1)), "3452 of 148797 datagrams lost, in the worst of 2 repeats."),
        (PINGS, (pinged(0.9, 20, 0), pinged(0.2, 20, 1)), "0.900 ms median, 20 of 20 answered, in the worst of 2"),
        (PINGS, (pinged(0.2, 11, 0), pinged(0.9, 20, 1)), "11 of 20 answered, in the worst of 2 repeats."),
        (SIZES, (passed(1400, 0), passed(1500, 1)), "1400 bytes pass, in the worst of 2 repeats."),
        (SMALL, (answered(900.0, 0), answered(2000.0, 1)), "900 transactions/s, in the worst of 2 repeats."),
        (
            LOADED,
            (under_load(4.0, 5.0, 0), under_load(1.0, 8.0, 1)),
            "round trip 4.00 ms median in the worst of 2 repeats, 8.00 ms most.",
        ),
    ],
)
def test_the_worst_repeat_is_shown_wherever_it_stands(
    asked: Experiment, repeats: tuple[TrialResult, ...], said: str, turn: int
) -> None:
    text = page(asked, *repeats[::turn])
    assert text.count(said) == 1, text


def test_a_single_repeat_is_no_worst_one() -> None:
    assert "860 of 148797 datagrams lost." in page(PACED, lost(860, 0))
    failed = trials.trial("t", 0, False, reason="it ended")
    assert "860 of 148797 datagrams lost." in page(PACED, failed, lost(860, 1)), "what failed measured nothing"
