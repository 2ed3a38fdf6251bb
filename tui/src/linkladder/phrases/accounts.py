"""Figures that are not borne out, in words: clauses about one trial, and sentences about all of a rung or a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder import units
from linkladder.model import Experiment
from linkladder.phrases.arms import trial
from linkladder.phrases.ways import way


def of_trial(p: Experiment, repeat: int, clause: str) -> str:
    """A sentence of what is wrong with one trial."""
    return f"{trial(p, repeat)}: {clause}."


def more_like_that(count: int) -> str:
    return f"{count} more trials are like that."


def half_told(trials: int) -> str:
    return f"Of {trials} trials the client's output is there and the server's is not."


def unread(trials: int) -> str:
    return f"The output of {units.plural(trials, 'trial')} cannot be read again: the ends do not tell of such a tool."


def bare_figure() -> str:
    return "nothing but its figure is there, no seconds and no bytes"


def counted_too_short(seconds: float, asked: float) -> str:
    return f"only {seconds:.1f} of {asked:g} s were counted"


def seconds_make(claimed: float, direction: str, made: float) -> str:
    return f"{_claimed(claimed, direction)}, but its seconds make {units.rate(made)}"


def flows_make(claimed: float, direction: str, made: float) -> str:
    return f"{_claimed(claimed, direction)}, but its flows make {units.rate(made)}"


def output_makes(claimed: float, direction: str, made: float) -> str:
    return f"{_claimed(claimed, direction)}, but the tools' own output makes {units.rate(made)}"


def _claimed(bps: float, direction: str) -> str:
    return f"{units.rate(bps)} {way(direction)} are claimed"


def datagrams_make(claimed: float, made: float) -> str:
    return f"{units.rate(claimed)} are claimed, but its datagrams make {units.rate(made)}"


def other_flows(count: int, direction: str, asked: int) -> str:
    return f"{count} flows {way(direction)}, {asked} were asked for"


def flows_moved(moved: float, claimed: float) -> str:
    return f"its flows moved {units.size(moved)}, less than {units.rate(claimed)} take"


def lasts_longer(figures: float, trial_seconds: float) -> str:
    return f"its figures last {figures:.1f} s, the trial all in {trial_seconds:.1f} s"


def no_counters() -> str:
    return "no card's counters are there to account for it"


def end_without_counters(end: str) -> str:
    return f"no counters of a card at the {end} end account for it"


def counters_differ(cards: Sequence[str], ends: Iterable[str], inwards: bool, counted: float, carried: float) -> str:
    named = " and ".join(cards) or "the card"
    did = "took in" if inwards else "sent"
    return (
        f"{named} of the {' and '.join(ends)} end {did} {units.size(counted)}, the trial carried {units.size(carried)}"
    )


def other_cards(end: str, counted: str, expected: str) -> str:
    return f"the counters of the {end} end are those of {counted}, its path goes over {expected}"


def copied(trial_name: str, of: str) -> str:
    return f"{trial_name}: equal to the byte in most seconds to {of}: one was copied."


def of_rung(rung: str, trial_name: str) -> str:
    """A trial's name in sentences about another rung."""
    return f"{rung}, {trial_name}"


def not_planned(rung: str) -> str:
    return f"The plan does not name {rung}."


def run_ended_before() -> str:
    return "The run ended before it began."


def trials_last_longer(together: float, run: float) -> str:
    return f"The trials last {units.duration(together)} together, the whole run {units.duration(run)}."


_CLOCK = "a clock was set meanwhile, or they are not its"


def trials_overlap() -> str:
    return f"Trials overlap in time, and an end runs one at a time: {_CLOCK}."


def trials_outside() -> str:
    return f"Trials of this rung lie outside of the run's own time: {_CLOCK}."


def no_measurement(reason: str) -> str:
    return f"the tools' own output is that of no measurement: {reason}"


def other_address(argv: Iterable[str]) -> str:
    return f"its command ran to another address: {' '.join(argv)[:120]}"


def unknown_flow(address: str, port: int) -> str:
    return f"a flow from {address} port {port} is claimed, of which the tools' own output knows nothing"


def other_loss_printed(claimed: float, printed: float) -> str:
    return f"{claimed:.2%} of the datagrams are said to be lost, the tools' own output says {printed:.2%} of them"
