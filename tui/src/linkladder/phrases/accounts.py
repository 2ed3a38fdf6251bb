"""Puts doubtful figures into words: clauses about one trial, and sentences about a whole rung or run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.arms import trial
from linkladder.phrases.ways import loaded


def of_trial(p: Experiment, repeat: int, clause: str, paths: Sequence[Path]) -> str:
    """A sentence about what is wrong with one trial, from a clause."""
    return f"{trial(p, repeat, paths=paths)}: {clause}."


def more_like_that(count: int) -> str:
    return "1 more trial is like that." if count == 1 else f"{count} more trials are like that."


def output_of_one_side(trials: int, there: str, absent: str) -> str:
    return f"Of {units.plural(trials, 'trial')} the {there}'s output is there and the {absent}'s is not."


def unread(trials: int) -> str:
    return f"The output of {units.plural(trials, 'trial')} cannot be read again: the ends do not tell of such a tool."


def bare_figure() -> str:
    return "nothing but its figure is there, no seconds and no bytes"


def counted_too_short(seconds: float, asked: float) -> str:
    return f"only {seconds:.1f} of {asked:g} s were counted"


def seconds_make(claimed: float, made: float, p: Experiment, direction: str, paths: Sequence[Path]) -> str:
    return f"{_claimed(claimed, p, direction, paths)}, but its seconds make {units.rate(made)}"


def flows_make(claimed: float, made: float, p: Experiment, direction: str, paths: Sequence[Path]) -> str:
    return f"{_claimed(claimed, p, direction, paths)}, but its flows make {units.rate(made)}"


def output_makes(claimed: float, made: float, p: Experiment, direction: str, paths: Sequence[Path]) -> str:
    return f"{_claimed(claimed, p, direction, paths)}, but the tools' own output makes {units.rate(made)}"


def _claimed(bps: float, p: Experiment, direction: str, paths: Sequence[Path]) -> str:
    return f"{units.rate(bps)} {loaded(p, paths, direction)} are claimed"


def datagrams_make(claimed: float, made: float) -> str:
    return f"{units.rate(claimed)} are claimed, but its datagrams make {units.rate(made)}"


def other_flows(count: int, asked: int, p: Experiment, direction: str, paths: Sequence[Path]) -> str:
    return f"{units.plural(count, 'flow')} {loaded(p, paths, direction)}, {asked} were asked for"


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


def more_dropped(end: str, dropped: int, packets: int) -> str:
    said = units.plural_does(dropped, "datagram", "is", "are")
    return f"{said} said to have found full sockets at the {end} end, whose cards took in {packets}"


def came_twice(trial_name: str, sent: int, received: int) -> str:
    return f"{trial_name}: the cards sent {sent} packets and took in {received}: some came twice, or were of others."


def other_cards(end: str, counted: str, expected: str) -> str:
    return f"the counters of the {end} end are those of {counted}, its path goes over {expected}"


def copied(trial_name: str, of: str) -> str:
    return f"{trial_name}: equal to the byte in most seconds to {of}: one was copied."


def of_rung(rung: str, trial_name: str) -> str:
    """A trial's name with its rung, for sentences about another rung."""
    return f"{rung}, {trial_name}"


def no_measurement(reason: str) -> str:
    return f"the tools' own output is that of no measurement: {reason}"


def short_and_left_out() -> str:
    return "lines of it are left out, which is done in long trials alone"


def other_seconds(start: float, end: float, claimed: int, printed: int) -> str:
    return f"from {start:.0f} to {end:.0f} s {claimed} bytes are recorded, and the tools' own output makes {printed}"


def other_address(argv: Iterable[str]) -> str:
    return f"its command ran to another address: {' '.join(argv)[:120]}"


def unknown_target(address: str, port: int) -> str:
    return f"a flow to {address} port {port} is not in the tools' own output"


def unknown_flow(address: str, port: int) -> str:
    return f"a flow from {address} port {port} is claimed, of which the tools' own output knows nothing"


def other_loss_printed(claimed: float, printed: float) -> str:
    said, counted = units.share(claimed, 2), units.share(printed, 2)
    return f"{said} of the datagrams are said to be lost, the tools' own output says {counted} of them"


def jitter_printed(claimed: float, printed: float) -> str:
    return f"a jitter of {units.milliseconds(claimed)} is claimed, the output has {units.milliseconds(printed)}"


def answers_printed(claimed: int, seen: int) -> str:
    return f"{claimed} answered pings are claimed, ping's own output has {seen}"


def carried_after_all(bps: float, claimed: str) -> str:
    said = f'it is said to have failed ("{claimed}")' if claimed else "it is said to have carried nothing"
    return f"{said}, but the tools' own output makes {units.rate(bps)}"


def round_trip_printed(claimed: float, seen: float) -> str:
    least = units.milliseconds(seen)
    return f"a round trip of {units.milliseconds(claimed)} is claimed, ping's own output makes {least} or more"


def path_mtu_printed(claimed: int | None, seen: int | None) -> str:
    found = f"of {seen} bytes, and larger ones may vanish" if seen else "of no size"
    return f"packets of {claimed or 0} bytes are said to pass, by ping's own output those {found}"


def transactions_printed(claimed: float, seen: float) -> str:
    return f"{units.three(claimed)} is a figure of its transactions, the tools' own output makes {units.three(seen)}"


def unknown_end(name: str) -> str:
    return f"the record of an end named {name} is in it, and the run has none"


def without_seconds(trials: int) -> str:
    unseen = f"an outage in {'it' if trials == 1 else 'them'} would not be seen"
    return f"Of {units.plural(trials, 'trial')} the seconds are not told one by one: {unseen}."


def second_printed(at: float, claimed: int, seen: int) -> str:
    return f"its second {at:.0f} has {units.size(claimed)}, the tools' own output has {units.size(seen)} of it"


def sockets_of_other_end(end: str, address: str) -> str:
    return f"the {end} end's connections are said to begin at {address}, the address of the end across"


def other_end(recorded: str, named: str) -> str:
    return f"its record is that of the {recorded} end, where its path names {named}"


def no_such_end(number: int) -> str:
    return f"a load of it ran at the end of number {number}, which is not there"


def commanded_elsewhere(role: str, address: str) -> str:
    return f"the command of its {role} names {address}, which is none of its path's addresses"


def others_answered(claimed: int, lines: int) -> str:
    answered = units.plural(claimed, "ping")
    return f"{answered} are said to be answered, and {lines} lines of the output name an address of its path"


def summary_differs(how: str) -> str:
    return f"its ping's output contradicts itself: {how}"


def named(trial_name: str, its_rung: str, where: str) -> str:
    """A trial's name, with its rung if it is another than the one that is spoken of."""
    return trial_name if its_rung == where else of_rung(its_rung, trial_name)


def recorded_twice(trial_name: str, what: str, of: str) -> str:
    return f"{trial_name}: {what} the same as in {of}: one was copied."


def counted_by(end: str) -> str:
    return f"what the {end} end counted to the byte is"


def connections_of(end: str) -> str:
    return f"the connections of the {end} end's system are"


def windows_of(end: str) -> str:
    return f"the congestion windows of the {end} end are, second by second,"


def segments_of(end: str) -> str:
    whose = f"the {end} end's" if end else "all ends'"
    return f"{whose} counts of TCP segments are, though the loads carried other amounts,"


def round_trips(end: str) -> str:
    return f"the round trips of the {end} end's pings are, one by one,"


def lost_printed(claimed: int, of: int, printed: int, sent: int) -> str:
    return f"{claimed} of {of} pings are said to be lost, by ping's own output {printed} of {sent}"


def copied_otherwise(trial_name: str, of: str) -> str:
    return f"{trial_name}: its seconds are those of {of} in another order: one was copied."


def copied_changed(trial_name: str, of: str) -> str:
    return f"{trial_name}: most of its seconds are too near to those of {of} to be its own: one was copied and changed."
