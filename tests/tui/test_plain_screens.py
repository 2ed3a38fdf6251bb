"""What screens say is plain: one name for each direction, and no percentage without of-what."""

from __future__ import annotations

import pytest

import synth
from linkladder import events, phrases
from linkladder.app.screens.results import figures_known_at_once, rung_page, summary_page
from linkladder.app.widgets import bars, ladder_text, run_message, throughput
from linkladder.judge import judge_document
from linkladder.model import CoreLoad, Direction, Experiment, HostSample, Protocol
from linkladder.run.progress import Progress
from plain import faults


def sample(cores: int) -> HostSample:
    return HostSample(1.0, tuple(CoreLoad(10.0, 37.0, 0.0, 53.0) for _ in range(cores)), 900 << 20)


@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("width", [78, 118])
def test_results_are_plain(failed: bool, width: int) -> None:
    document = synth.the_document(failed)
    judged = judge_document(document)
    assert not faults(summary_page(document, judged).plain)
    assert not faults(figures_known_at_once(synth.summary()).plain)
    for rung, one in zip(document.rungs, judged.rungs, strict=True):
        page = rung_page(rung, one, width).plain
        head, _, rest = page.partition("streams window")
        table, _, tail = rest.partition("* best setting")
        assert not faults(head) and not faults(tail.partition("\n")[2]), page
        # In the table a column's head or the line below it says of what.
        assert "%" not in table or ("CPU" in table and "CPU: near/far, of all its cores" in tail)
        assert ("of ceiling" in table) == (width == 118)


def test_the_ladder_says_all_it_can_in_plain_words() -> None:
    progress = Progress()
    met = 0
    for at, event in [*synth.the_log(), (9e9, events.PeerLost("beta", "no route to host", 0.0))]:
        progress.apply(event, at)
        said = run_message.message(progress, None, False, "").text.plain
        texts = [said, ladder_text.ladder(progress, {}, 78).plain, *progress.history]
        if progress.trial:
            texts += [ladder_text.figures(progress.trial, 78).plain, throughput.caption(progress, progress.trial)]
        met += sum(map(bool, texts))
        assert not [found for text in texts for found in faults(text)], texts
    assert met > 500


def test_every_experiment_is_described_in_plain_words() -> None:
    for protocol in Protocol:
        for way in Direction:
            said = phrases.arm(Experiment("x", protocol=protocol, direction=way, udp_rate_bps=1e9, sessions=10))
            assert said and not faults(said)


@pytest.mark.parametrize(("cores", "busy"), [(1, "0.5 of 1 core busy"), (4, "1.9 of 4 cores busy"), (64, "30.1 of 64")])
def test_the_shares_of_cores_stand_below_a_line_that_says_busy(cores: int, busy: str) -> None:
    """At 80 columns an end has 38 of them, and all of its head must fit."""
    for name in ("near", "far, beta", "far, a-peer-with-a-long-name"):
        head, *rows = bars.cores(name, sample(cores), 38, 2).plain.splitlines()
        assert busy in head and "busy" in head and "900 MB" in head, head
        assert max(map(len, (head, *rows))) <= 38, head
        assert "c0  ██░░  47 %" in rows[0]
    assert bars.cores("near", sample(4), 58, 2).plain.splitlines()[0] == "near  1.9 of 4 cores busy  memory 900 MB"
    assert "far, beta  1.9 of 4" in bars.cores("far, beta", sample(4), 58, 2).plain
