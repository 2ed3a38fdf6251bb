"""Puts contradictions in a trial's figures into words, each as a clause in which 'it' is the trial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkladder import units
from linkladder.model import Experiment, Path
from linkladder.phrases.ways import loaded


def other_way(p: Experiment, directions: Iterable[str], paths: Sequence[Path]) -> str:
    ways = " and ".join(loaded(p, paths, direction) for direction in directions)
    return f"it was measured {ways}, which was not asked for"


def other_sum(total: float, claimed: float) -> str:
    return f"its directions make {units.rate(total)} together, it claims {units.rate(claimed)}"


def ended_before() -> str:
    return "it ended before it began"


def seconds_before() -> str:
    return "seconds of before its beginning are in it"


def counted_too_long(seconds: float, asked: float) -> str:
    return f"{seconds:.1f} s were counted where {asked:g} s were asked for"


def warmup_counted(warmup: float) -> str:
    return f"seconds of the warm-up of {warmup:g} s were counted"


def seconds_overlap() -> str:
    return "its seconds overlap"


def one_flow_twice() -> str:
    return "two of its flows are one, by addresses and ports"


def empty_flow() -> str:
    return "one of its flows carried nothing"


def short_flow(seconds: float, asked: float) -> str:
    return f"one of its flows lasted {seconds:.1f} of {asked:g} s"


def more_than_asked(arrived: float, asked: float) -> str:
    return f"{units.rate(arrived)} arrived where {units.rate(asked)} were asked for"


def more_than_sent(arrived: float, sent: float) -> str:
    return f"{units.rate(arrived)} arrived where {units.rate(sent)} were sent"


def other_loss(share: float, of_parts: float) -> str:
    return f"{units.share(share, 2)} of its datagrams are said to be lost, its parts say {units.share(of_parts, 2)}"


def card_backwards(counters: str, card: str, end: str) -> str:
    """`counters`: 'bytes', 'packets', 'errors', 'drops', 'pauses' or 'carrier'."""
    counted = {"pauses": "pause frames", "carrier": "losses of the link"}.get(counters, counters)
    return f"the {counted} of {card or 'the card'} of the {end} end went backwards"


def core_of_seconds(end: str, mean: float, least: float, most: float) -> str:
    seen = f"{least:.0f} to {most:.0f} %"
    return f"a core of the {end} end is said to have been {mean:.0f} % busy, its seconds say {seen}"


def card_of_seconds(end: str, card: str, claimed: int, seen: int) -> str:
    made = f"its seconds make {units.size(seen)}"
    return f"{card} of the {end} end is said to have counted {units.size(claimed)}, {made}"


def trial_of_seconds(ends: Iterable[str], claimed: int, seen: int) -> str:
    cards = f"{units.size(seen)} in the cards of the {' and '.join(ends)} end"
    return f"it is said to have carried {units.size(claimed)} in seconds that make {cards}"


def tcp_backwards(end: str) -> str:
    return f"the TCP counters of the {end} end went backwards"


def impossible_share(end: str, busy: float) -> str:
    return f"a core of the {end} end is said to be {busy:.0f} % busy"


def pings_answered(received: int, sent: int) -> str:
    return f"{received} of {sent} pings were answered"


def negative_round_trip() -> str:
    return "a round trip is shorter than nothing"


def passed_and_failed() -> str:
    return "a size of packets both passed and failed"


def not_the_largest(mtu: int, largest: int) -> str:
    return f"packets of {mtu} are said to pass where {largest} is the largest that did"


def good_with_a_reason(reason: str) -> str:
    return f"it is said to be good, and why it failed: {reason}"


def one_name_for_two_ends(name: str) -> str:
    return f"two of its ends are called {name}"


def began_afterwards() -> str:
    return "a part of it began outside of its time"


def flow_below_nothing() -> str:
    return "one of its flows has a time or a rate of less than nothing"


def other_jitter(claimed: float, of_parts: float) -> str:
    return f"a jitter of {units.milliseconds(claimed)} is claimed, its parts say {units.milliseconds(of_parts)}"


def udp_backwards(end: str) -> str:
    return f"the {end} end counted fewer full sockets after the trial than before"


def losses_below_nothing() -> str:
    return "its losses or its jitter are less than nothing"


def memory_below_nothing(end: str) -> str:
    return f"the memory of the {end} end is less than nothing"


def datagrams_of_tcp() -> str:
    return "it counts datagrams, which TCP has none of"


def other_datagrams(parts: int, whole: int) -> str:
    return f"its parts make {parts} datagrams, it claims {whole}"


def none_sent(arrived: float) -> str:
    return f"{units.rate(arrived)} are said to have arrived, and no datagram to have been sent"


def packets_too_large(card: str, end: str, moved: int) -> str:
    return f"{units.size(moved)} of {card or 'the card'} of the {end} end are said to have gone in a few packets"


def cores_differ(end: str) -> str:
    return f"what its cores make is not what is said of the CPU of the {end} end"


def round_trips_out_of_order() -> str:
    return "its least, middle and largest round trips are not in that order"


def other_median(said: float, made: float) -> str:
    return f"its round trips have a median of {units.milliseconds(made)}, it claims {units.milliseconds(said)}"


def hole_without_a_loss() -> str:
    return "a black hole is said to be there, and no packet was lost in it"


def one_part_twice() -> str:
    return "two of its loads are one, written down twice"


def cut_and_read() -> str:
    return "what its tools printed was cut, and it is said to be good all the same"


def small_buffer(granted: int, asked: int) -> str:
    return f"socket buffers of {asked} bytes were asked for, and {granted} granted"


def more_memory_than_there_is(end: str) -> str:
    return f"more memory of the {end} end was in use than it has"


def second_differs(at: float, claimed: int, made: int) -> str:
    return f"its second {at:.0f} has {units.size(claimed)}, those of its flows make {units.size(made)}"


def flow_differs(claimed: int, made: int) -> str:
    return f"{units.size(claimed)} of one of its flows were counted, the seconds of that flow make {units.size(made)}"


def figures_of_a_load() -> str:
    return "it has the flows, seconds or datagrams of a load, and is said to be none"


def no_transactions() -> str:
    return "it has no transactions, and is said to be good"


def no_flow(p: Experiment, direction: str, paths: Sequence[Path]) -> str:
    return f"no flow {loaded(p, paths, direction)} is there, and others are"


def long_jitter(ms: float) -> str:
    return f"a jitter of {units.milliseconds(ms)} is longer than the trial"


def offered_more(offered: float, asked: float) -> str:
    return f"its sender is said to have put out {units.rate(offered)}, it was to put out {units.rate(asked)}"


def below_nothing() -> str:
    return "a window, a round trip or a count of segments is below nothing"


def connections_carried(end: str, counted: int, moved: int) -> str:
    return f"the {end} end's connections carried {units.size(counted)}, the trial {units.size(moved)}"


def other_round_trip(claimed: float, made: float) -> str:
    seen = units.milliseconds(made)
    return f"its least round trip is said to be {units.milliseconds(claimed)}, of those that are told it is {seen}"


def transactions_below_nothing() -> str:
    return "a figure of its transactions is below nothing"


def latencies_out_of_order() -> str:
    return "its least, middle and longest latencies are not in that order"


def transactions_not_asked(seen: tuple[int, int, int], asked: tuple[int, int, int]) -> str:
    (sessions, request, response), (of_sessions, of_request, of_response) = seen, asked
    return (
        f"it tells of {units.plural(sessions, 'session')} of {request} and {response} bytes,"
        f" {of_sessions} of {of_request} and {of_response} were asked for"
    )


MEAN, PERCENTILE_95, LARGEST = "mean", "95th percentile", "largest"


def other_than_samples(name: str, claimed: float, made: float) -> str:
    seen = units.milliseconds(made)
    return f"the {name} of its round trips is said to be {units.milliseconds(claimed)}, those that are told make {seen}"


def no_port() -> str:
    return "one of its flows has a port that there is not"


def other_transactions(claimed: float, made: float) -> str:
    return f"{units.three(claimed)} transactions a second are claimed, its seconds make {units.three(made)}"


def no_segments(end: str, moved: int) -> str:
    return f"the {end} end sent {units.size(moved)}, and its system tells of segments sent again and not of those sent"


def few_segments(end: str, counted: int, moved: int) -> str:
    return f"the {end} end's system counted {units.plural(counted, 'segment')}, its flows moved {units.size(moved)}"


def _sent_again(count: int) -> str:
    return f"{units.plural(count, 'segment')} that {'was' if count == 1 else 'were'} sent again"


def sent_again_by_others(end: str, system: int, others: int) -> str:
    seen = f"its connections, its seconds or the tool tell of {others}"
    return f"the {end} end's system counted {_sent_again(system)}, {seen}"


def sent_again_by_system(end: str, system: int, other: int) -> str:
    seen = f"its seconds or the tool tell of {other}"
    return f"the {end} end's system counted {_sent_again(system)}, {seen}"


def flow_of_another_time(first: float, last: float, whole_first: float, whole_last: float) -> str:
    counted = f"from {whole_first:.0f} to {whole_last:.0f} s"
    return f"one of its flows was counted from {first:.0f} to {last:.0f} s, and its load {counted}"


def counted_alone(at: float, shared: float) -> str:
    return f"a load was counted from {at:.1f} s on, and only from {shared:.1f} s on all its loads were there"


def samples_out_of_order(end: str) -> str:
    return f"the {end} end's looks at itself do not follow each other in time"


def samples_of_another_time(end: str, first: float, last: float, took: float) -> str:
    return f"the {end} end looked at itself from {first:.0f} to {last:.0f} s of a trial of {took:.0f} s"
