"""Whether figures are borne out: by their own seconds, by the clock, by the cards' counters and by each other.

Needs of each throughput trial its seconds or its flows' bytes, and the counters of a card at either end.  Where one of
these is missing nothing but a claim is left, and where they disagree one of them is wrong: neither is ever a PASS.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from linkladder import phrases, units
from linkladder.judge.ceilings import counted_seconds, measurement_error
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.recount import recount
from linkladder.model import Document, Experiment, ExperimentResult, Protocol, RungName, RungResult, TrialResult
from linkladder.verdicts import Cause, Concern, Verdict

AGREE = 0.02  # of a result: what its own seconds and flows may differ from it, beyond the error of measuring
WHOLE = 0.9  # of the asked time that must have been counted
COUNTED = 0.95  # of a trial's bytes that the cards must have seen
CLOCK = 1.0  # seconds that tool and wall clock may differ in a trial
SHOWN = 3  # concerns of a kind that are spelled out
SMALL = 1 << 20  # bytes below which a card's other traffic says nothing
DATAGRAM = 1470  # bytes, where a plan names none
ALIKE = 4  # equal seconds in a row that no two trials have by chance

_Said = tuple[Cause, str]


def accounts(rung: RungResult, document: Document) -> list[Concern]:
    """Results that are not borne out."""
    found: list[_Said] = []
    for e in rung.experiments:
        if e.parameters.protocol in (Protocol.TCP, Protocol.UDP):
            name = phrases.arm(e.parameters)
            for t in e.trials:
                if t.ok and (said := _doubt(t, e.parameters, rung, document)):
                    found.append((said[0], f"{name}, repeat {t.repeat + 1}: {said[1]}."))
            found += _copies(e, name)
    concerns = [Concern(cause, text, Verdict.CANNOT_JUDGE, excuses=True) for cause, text in found[:SHOWN]]
    if len(found) > SHOWN:
        concerns.append(Concern(found[SHOWN][0], f"{len(found) - SHOWN} more trials are like that."))
    return [*concerns, *_whole_run(rung, document)]


def _doubt(t: TrialResult, p: Experiment, rung: RungResult, document: Document) -> _Said | None:
    for rule in (_evidence, _seconds, _flows, _clock, _datagrams):
        if said := rule(t, p):
            return said
    if otherwise := recount(t, p, rung, document):
        return Cause.RAW_OUTPUT, otherwise
    return _counters(t, p, rung)


def _evidence(t: TrialResult, p: Experiment) -> _Said | None:
    if not t.intervals and not any(f.total_bytes or f.bytes for f in t.flows):
        return Cause.UNACCOUNTED, "nothing but its figure is there, no seconds and no bytes"
    return None


def _seconds(t: TrialResult, p: Experiment) -> _Said | None:
    """Whether the counted seconds are there and make the rate."""
    if not t.intervals:
        return None
    counted = [i for i in t.intervals if i.counted]
    seconds = counted_seconds(t, p)
    if not counted or seconds < WHOLE * p.duration:
        return Cause.CONTRADICTION, f"only {seconds if counted else 0:.1f} of {p.duration:g} s were counted"
    slack = AGREE + measurement_error(t, p)
    for way in ways(p):
        said = direction_bps(t, p, way)
        mine = [i for i in counted if i.direction is way]
        if said <= 0:
            continue
        shown = 8 * sum(i.bytes for i in mine) / seconds
        if said > shown * (1 + slack) or shown > said * (1 + slack):
            rate, told = units.rate(said), phrases.way(way)
            return Cause.CONTRADICTION, f"{rate} {told} are claimed, but its seconds make {units.rate(shown)}"
    return None


def _flows(t: TrialResult, p: Experiment) -> _Said | None:
    """Whether the flows are as many as were asked for, and make the rate together."""
    for way in ways(p):
        mine = [f for f in t.flows if f.direction is way]
        said = direction_bps(t, p, way)
        if mine and len(mine) != p.streams:
            return (
                Cause.CONTRADICTION,
                f"{len(mine)} flows {phrases.way(way)}, {p.streams} were asked for",
            )
        made = sum(f.bps for f in mine)
        if made > 0 and said > made * (1 + 2 * AGREE + measurement_error(t, p)):
            rate, told = units.rate(said), phrases.way(way)
            return Cause.CONTRADICTION, f"{rate} {told} are claimed, but its flows make {units.rate(made)}"
        moved = sum(f.total_bytes for f in mine)
        if moved and said * p.duration / 8 > moved * (1 + 2 * AGREE):
            return Cause.CONTRADICTION, f"its flows moved {units.size(moved)}, less than {units.rate(said)} take"
    return None


def _clock(t: TrialResult, p: Experiment) -> _Said | None:
    if t.seconds <= 0:
        return None
    ends = [*(i.end for i in t.intervals), *(f.seconds for f in t.flows)]
    longest = max(ends, default=0.0)
    if longest > t.seconds + CLOCK:
        return Cause.CONTRADICTION, f"its figures last {longest:.1f} s, the trial all in {t.seconds:.1f} s"
    return None


def _datagrams(t: TrialResult, p: Experiment) -> _Said | None:
    """Whether what arrived is what was not lost."""
    if p.protocol is not Protocol.UDP or not t.datagrams or t.lost is None:
        return None
    size = p.write_size or DATAGRAM
    arrived = (t.datagrams - t.lost) * size * 8 / max(0.1, counted_seconds(t, p))
    said = max(t.by_direction.values(), default=t.goodput_bps)
    if said > arrived * (1 + 0.05) or arrived > said * (1 + 0.25):
        return Cause.CONTRADICTION, f"{units.rate(said)} are claimed, but its datagrams make {units.rate(arrived)}"
    return None


def _counters(t: TrialResult, p: Experiment, rung: RungResult) -> _Said | None:
    """Whether the cards saw the bytes go out at one end and come in at the other."""
    if not any(end.nics for end in t.ends):
        return Cause.UNACCOUNTED, "no card's counters are there to account for it"
    if rung.name is RungName.LOCALHOST:
        return None  # one machine: its loopback counts both ways at once, and nothing can leave by a wrong card
    for way in ways(p):
        flows = sum(f.total_bytes for f in t.flows if f.direction is way)
        moved = flows or direction_bps(t, p, way) * counted_seconds(t, p) / 8
        for end, what, saw in (
            (t.sender(way), "sent", t.sender(way).carried.tx_bytes),
            (t.receiver(way), "took in", t.receiver(way).carried.rx_bytes),
        ):
            if end.nics and moved >= SMALL and saw < COUNTED * moved:
                name = " and ".join(card.name for card in end.nics if card.name) or "the card"
                said = f"{name} of the {end.name} end {what} {units.size(saw)}, the trial carried {units.size(moved)}"
                return Cause.UNACCOUNTED, said
    return None


def _copies(e: ExperimentResult, name: str) -> Iterable[_Said]:
    """Repeats that are equal to the byte in every second are one trial, written down more than once."""
    seen: dict[tuple[object, ...], TrialResult] = {}
    for t in e.trials:
        bytes_ = tuple(i.bytes for i in t.intervals)
        if not t.ok or len(bytes_) < ALIKE or len(set(bytes_)) < 2:
            continue
        first = seen.setdefault((bytes_, tuple(t.by_direction.items())), t)
        if first is not t:
            said = (
                f"repeats {first.repeat + 1} and {t.repeat + 1} are equal to the byte in every second: one was copied"
            )
            yield Cause.COPIED, f"{name}: {said}."


def _whole_run(rung: RungResult, document: Document) -> list[Concern]:
    """Whether all trials fit into the time between the run's beginning and its end."""
    began, ended = _moment(document.run.started), _moment(document.run.ended)
    if began is None or ended is None or ended <= began:
        return []
    took = sum(t.seconds for r in document.rungs for e in r.experiments for t in e.trials)
    if took <= 1.1 * (ended - began) + 10:
        return []
    said = f"The trials last {units.duration(took)} together, the whole run {units.duration(ended - began)}."
    return [Concern(Cause.CONTRADICTION, said, Verdict.CANNOT_JUDGE)]


def _moment(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
