"""What logic asks about in a verdict, where people read its sentence."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    CANNOT_JUDGE = "CANNOT JUDGE"
    IMPOSSIBLE = "IMPOSSIBLE"
    INCOMPLETE = "INCOMPLETE"


class Cause(StrEnum):
    """Which rule decided a verdict, and which one speaks in a finding: what logic asks about, where people read."""

    REACHED = "reached"  # what was bought gets through
    SHORT = "short"  # it does not
    ABOVE_CEILING = "above the ceiling"
    SCATTERED = "scattered"  # the interval contains the bar
    WORST_TRIAL = "a trial below the bar"
    NOTHING_MEASURED = "nothing measured"
    TRIALS_MISSING = "trials missing"
    TRIALS_FAILED = "trials failed"
    ONE_DIRECTION = "one direction"
    NO_TCP = "no TCP"
    SILENCE = "silence"  # connected, and nothing arrived or went on arriving
    OUTAGE = "outage"
    PEER_LOST = "peer lost"
    LEVEL_FELL = "level fell"  # full rate at first, and then a lower one for good
    UDP_LOSS = "UDP loss"
    UDP_PACE = "UDP pace"  # the sender did not keep it
    WHO_LOST = "who lost it"  # loss that path or end may have made
    PING_LOSS = "pings lost"
    DELAY = "delay"
    JITTER = "jitter"
    WEAK_GENERATOR = "weak generator"  # the lower rungs show too little
    UNKNOWN_GENERATOR = "unknown generator"  # no lower rung was measured
    BUSY_END = "busy end"
    WINDOW = "window"
    OWN_CARD = "own card"  # an end's card is slower, smaller or in trouble
    PATH_MTU = "path MTU"
    ELSEWHERE = "elsewhere"  # the traffic did not go where it was claimed to
    NOT_AS_SOLD = "not as sold"  # another IP version, class or packet size than the contract's
    CONTRADICTION = "contradiction"  # its own figures disagree
    UNACCOUNTED = "unaccounted"  # nothing but the tool's word, or the counters say otherwise
    COPIED = "copied"
    RAW_OUTPUT = "raw output"  # says otherwise
    UNEVEN = "uneven"  # a starved flow, more streams that carry less
    SEEN = "seen"  # worth knowing, and no limit covers it


class LimiterKind(StrEnum):
    """What holds a trial; one that only a later linkladder tells is unknown here, and its sentence still says it."""

    SENDER = "sender"
    RECEIVER = "receiver"
    WINDOW = "window"
    GROWTH = "growth"  # nothing holds TCP yet, and the trial ends
    LOSS = "loss"
    POLICER = "policer"
    REORDERING = "reordering"  # TCP takes what was overtaken for lost
    SHAPER = "shaper or queue"
    BURST = "small buffer or burst"  # carries the rate, drops what comes in bursts
    PATH_MTU = "path MTU"
    LINK = "link"
    OUTAGE = "outage"
    OWN_CARD = "own card"
    LARGE_SENDS = "large sends"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> LimiterKind | None:
        return cls.UNKNOWN if isinstance(value, str) else None


class Answer(StrEnum):
    """What pairs of trials say of a change: it made a difference, none that matters, or that cannot be told."""

    DIFFERS = "differs"
    SAME = "same"
    UNDECIDED = "undecided"


class Measured(StrEnum):
    GOODPUT = "goodput"
    TRANSACTIONS = "transactions"
    SENDER_CORES = "sender cores"
    RECEIVER_CORES = "receiver cores"
    PER_CORE = "goodput per core"
    LOADED_RTT = "loaded round trip"
    SCATTER = "scatter"  # between the seconds of a trial, as a share of their mean
    IDLE_RTT = "idle round trip"
    LOSS = "loss"  # percent of the datagrams
