"""What the Ladder screen is told, kept up from a run's events."""

from __future__ import annotations

import trials
from linkladder import events
from linkladder.app.widgets.run_message import message
from linkladder.model import (
    Contract,
    Direction,
    Evidence,
    Experiment,
    ExperimentResult,
    Path,
    Plan,
    Protocol,
    Rung,
    RungName,
    RungResult,
)
from linkladder.run.progress import Progress

TCP = Experiment("tcp-2s-default-forward", streams=2)
DUPLEX = Experiment("tcp-2s-default-duplex", streams=2, direction=Direction.DUPLEX)
UDP = Experiment("udp-2s-9.57G-forward", streams=2, protocol=Protocol.UDP, udp_rate_bps=9.57e9)
CARRIED = {
    TCP: trials.trial("t", 0, True, goodput_bps=9.38e9, by_direction={"forward": 9.38e9}),
    DUPLEX: trials.trial("d", 0, True, goodput_bps=18.8e9, by_direction={"forward": 9.41e9, "reverse": 9.39e9}),
    UDP: trials.trial("u", 0, True, goodput_bps=9.56e9, by_direction={"forward": 9.56e9}),
}


def climbed(*asked: Experiment) -> Progress:
    """A dc-link rung of these, each measured once."""
    plan = Plan("circuit", contract=Contract(), rungs=(Rung(RungName.DC_LINK, experiments=asked),))
    progress = Progress()
    progress.apply(events.RunStarted("r", plan, 60.0, len(asked)), 0.0)
    progress.apply(events.RungStarted(RungName.DC_LINK, 60.0, len(asked), 0), 0.0)
    for index, one in enumerate(asked):
        progress.apply(events.TrialStarted(RungName.DC_LINK, one.id, 0, index, 20.0), 20.0 * index)
        progress.apply(events.TrialFinished(RungName.DC_LINK, one.id, CARRIED[one]), 20.0 * index + 20)
    return progress


def over(progress: Progress) -> Progress:
    assert progress.plan
    results = []
    for one in progress.plan.rungs[0].experiments:
        rate = CARRIED[one].goodput_bps
        results.append(ExperimentResult(one, (CARRIED[one],), rate, rate, rate))
    progress.apply(events.RungFinished(RungName.DC_LINK, RungResult(RungName.DC_LINK, (Path(),), tuple(results))), 99.0)
    return progress


def test_the_best_of_a_rung_is_one_way_of_tcp_while_it_runs_and_when_it_is_over() -> None:
    for asked, best in (((UDP, TCP, DUPLEX), 9.38e9), ((UDP, DUPLEX), 9.39e9), ((UDP,), 9.56e9), ((), None)):
        progress = climbed(*asked)
        assert progress.rung(RungName.DC_LINK).best_bps == best
        assert over(progress).rung(RungName.DC_LINK).best_bps == best


def test_what_was_found_on_an_earlier_rung_is_no_news_on_the_next() -> None:
    progress = climbed(TCP)
    below, here = Evidence("claim", ("one subnet",), False), Evidence("claim", ("two routers between",), False)
    progress.apply(events.EvidenceFound(RungName.SAME_VLAN, below), 1.0)
    progress.apply(events.Notice("the clock was set"), 2.0)
    assert [one.text for one in progress.news[-2:]] == ["Checked: one subnet.", "the clock was set"]
    progress.apply(events.EvidenceFound(RungName.DC_LINK, here), 3.0)
    assert [one.text for one in progress.news[-2:]] == ["the clock was set", "Checked: two routers between."]
    progress.apply(events.EvidenceFound(RungName.DC_LINK, here), 4.0)
    assert progress.news[-1].text == "Checked: two routers between."


def test_a_trial_of_both_ways_is_told_with_both_rates() -> None:
    (line,) = climbed(DUPLEX).history
    assert line.endswith("both ways at once: 9.41 Gb/s near to far, 9.39 Gb/s far to near")


def test_a_screen_asks_a_message_what_it_is_about_and_does_not_read_it() -> None:
    progress = Progress()
    found = Evidence("claim", ("one subnet",), True)
    progress.apply(events.EvidenceFound(RungName.SAME_VLAN, found), 1.0)
    assert message(progress, None, False, "").tells_of_place
    for text in ("Checked: one subnet.", "the clock was set"):
        progress.apply(events.Notice(text), 2.0)
    said = message(progress, None, False, "")
    assert "Checked: one subnet." in said.text.plain and not said.tells_of_place, "words alone tell nothing"
    progress.apply(events.PeerLost("beta", "it closed", 0.0), 3.0)
    assert "given up" in message(progress, None, False, "").text.plain
    assert not message(progress, None, False, "").notices


def test_a_peer_that_is_sought_beside_the_trials_holds_none_of_them() -> None:
    progress = climbed(TCP)
    progress.apply(events.PeerLost("delta", "it closed", 0.5), 30.0)
    assert "delta" in message(progress, None, False, "").text.plain
    progress.apply(events.TrialStarted(RungName.DC_LINK, TCP.id, 0, 0, 20.0), 31.0)
    assert not progress.lost, "others are measured meanwhile"
    assert progress.missing == "delta"


def test_a_pause_is_over_when_the_run_goes_on_though_no_trial_can_begin() -> None:
    progress = climbed(TCP)
    progress.apply(events.Paused(RungName.DC_LINK), 30.0)
    assert message(progress, None, False, "").text.plain.startswith("Paused.")
    progress.apply(events.Paused(RungName.DC_LINK, ended=True), 40.0)
    progress.apply(events.PeerLost("beta", "it closed", 0.5), 41.0)
    assert message(progress, None, False, "").text.plain.startswith("beta is out of reach")


def test_a_resumed_run_shows_what_was_measured_before_it_stopped() -> None:
    plan = Plan("tune", rungs=(Rung(RungName.DC_LINK, experiments=(TCP, UDP)),))
    progress = Progress()
    progress.apply(events.RunStarted("r", plan, 60.0, 2, done=2), 0.0)
    failed = trials.trial("t", 1, False)
    before = {TCP.id: (CARRIED[TCP], failed)}
    progress.apply(events.RungStarted(RungName.DC_LINK, 60.0, 4, 0, done=2, before=before), 0.0)
    (view,) = progress.rungs
    assert progress.figures == {(RungName.DC_LINK, TCP.id): [9.38e9]}
    assert (view.best_bps, view.done, view.failed) == (9.38e9, 2, 1)


def test_doing_a_trial_again_is_offered_where_the_rung_has_one() -> None:
    progress = climbed(TCP)
    progress.apply(events.Paused(RungName.DC_LINK), 30.0)
    assert message(progress, None, False, "").text.plain.endswith("a to do the last trial again.")
    progress.apply(events.RungStarted(RungName.DC_LINK, 60.0, 1, 1), 41.0)
    progress.apply(events.Paused(RungName.DC_LINK), 42.0)
    assert message(progress, None, False, "").text.plain == "Paused. Press Space to go on."
