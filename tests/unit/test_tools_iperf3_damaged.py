"""iperf3's output damaged, and noise: never a wrong number."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damaged_text import damage
from iperf3_cases import (
    ASKED,
    EACH,
    GOOD,
    HAVE,
    TCP,
    VERSIONS,
    read,
    trial,
    verdict,
)
from linkladder import tools
from linkladder.model import End

FEW = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
HOW = ("cut", "drop", "repeat", "swap", "move", "reverse", "digit", "join", "merge")


@FEW
@given(st.data())
def test_a_damaged_trial_is_never_a_wrong_number(data: st.DataObject) -> None:
    version, name = data.draw(st.sampled_from(VERSIONS)), data.draw(st.sampled_from(GOOD))
    texts = {end: read(version, name, f"{end}.txt") for end in ("server", "client")}
    end = data.draw(st.sampled_from(("server", "client")))
    texts[end] = data.draw(damage(texts[end], HOW, read(version, data.draw(st.sampled_from(GOOD)), f"{end}.txt")))
    outcome, truth = verdict(ASKED[name], texts["server"], texts["client"], exit_codes=(0,)), trial(version, name)
    assert outcome.ok or (outcome.reason and outcome.fault)
    if outcome.ok:
        assert outcome.by_direction == pytest.approx(truth.by_direction, rel=0.02)
        assert (outcome.lost or 0) == pytest.approx(truth.lost or 0, abs=(truth.datagrams or 0) * 0.001)


@FEW
@given(st.data())
def test_damaged_saved_output_is_never_a_wrong_number(data: st.DataObject) -> None:
    version, name = data.draw(st.sampled_from(VERSIONS)), data.draw(st.sampled_from(GOOD))
    ends = ("client.txt",) if name == "udp-reverse" else ("server.txt", "client.txt")  # who sent UDP knows nothing
    end = data.draw(st.sampled_from(ends))
    text = read(version, name, end)
    truth = tools.parse_saved("iperf3", text)
    assert truth.ok, truth.reason
    outcome = tools.parse_saved("iperf3", data.draw(damage(text, HOW, read(version, name, "server.txt"))))
    assert outcome.ok or outcome.reason
    if outcome.ok:
        assert outcome.goodput_bps == pytest.approx(truth.goodput_bps, rel=0.02)


@EACH
@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("end", ["server.txt", "client.txt"])
def test_a_line_lost_or_out_of_place_is_never_a_wrong_number(version: str, name: str, end: str) -> None:
    lines = read(version, name, end).splitlines(keepends=True)
    truth = tools.parse_saved("iperf3", "".join(lines)).goodput_bps
    for at in range(len(lines)):
        lost, swapped = lines[:at] + lines[at + 1 :], [*lines]
        swapped[at], swapped[-1] = swapped[-1], swapped[at]
        for text in ("".join(lost), "".join(swapped)):
            outcome = tools.parse_saved("iperf3", text)
            assert not outcome.ok or outcome.goodput_bps == pytest.approx(truth, rel=0.02), at


@FEW
@given(st.text(max_size=200) | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(repr))
def test_noise_is_no_result(noise: str) -> None:
    for text in (
        noise,
        '{"event":"interval","data":' + noise + "}",
        '{"start":' + noise + "}",
        "[" * 5000,
        '{"a":' * 5000,
    ):
        outcome = tools.parse_saved("iperf3", text)
        assert not outcome.ok and outcome.reason
        live = tools.live_parser(TCP, tools.layout(TCP, HAVE, HAVE), End.FAR)
        assert [i for line in text.splitlines() for i in live.feed(line)] == []
