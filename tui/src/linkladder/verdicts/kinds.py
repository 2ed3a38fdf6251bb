"""Defines the codes of a verdict: program logic uses these, while people read its sentence."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    PASS = "PASS"
    FAIL = "FAIL"
    CANNOT_JUDGE = "CANNOT JUDGE"
    IMPOSSIBLE = "IMPOSSIBLE"
    INCOMPLETE = "INCOMPLETE"


NO_RATE_ASKED = "NO RATE ASKED"  # shown in place of INCOMPLETE where nothing is missing, as after transactions alone


class Cause(StrEnum):
    """The rule that decided a verdict or made a finding, as a code for program logic; people read the sentence."""

    REACHED = "reached"  # the path carries what was bought
    SHORT = "short"  # it carries less
    ABOVE_CEILING = "above the ceiling"
    SCATTERED = "scattered"  # the interval contains the required rate
    WORST_TRIAL = "a trial below the bar"
    NOTHING_MEASURED = "nothing measured"
    TRIALS_MISSING = "trials missing"
    TRIALS_FAILED = "trials failed"
    ONE_DIRECTION = "one direction"
    NO_TCP = "no TCP"
    FEW_STREAMS = "few streams"  # both ways at once, where some more may carry what these do not
    PERMITTED_LOSS = "permitted loss"  # it holds few streams, and more may carry what these do not
    SILENCE = "silence"  # a connection came about, but nothing arrived, or nothing more
    OUTAGE = "outage"
    PEER_LOST = "peer lost"
    LEVEL_FELL = "level fell"  # the rate was full at first, and then lower for good
    UDP_LOSS = "UDP loss"
    UDP_PACE = "UDP pace"  # the sender did not keep the pace
    WHO_LOST = "who lost it"  # the path or an end may have caused the loss
    PING_LOSS = "pings lost"
    DELAY = "delay"
    JITTER = "jitter"
    WEAK_GENERATOR = "weak generator"  # the lower rungs show too little
    UNKNOWN_GENERATOR = "unknown generator"  # nothing shows that the ends can send and receive so much
    BUSY_END = "busy end"
    WINDOW = "window"
    OWN_CARD = "own card"  # an end's card is too slow, has a small MTU or is in trouble
    PATH_MTU = "path MTU"
    ELSEWHERE = "elsewhere"  # the traffic did not go where the rung claims
    NOT_AS_SOLD = "not as sold"  # another IP version, class or packet size than the contract's
    CONTRADICTION = "contradiction"  # the record's own figures disagree
    UNACCOUNTED = "unaccounted"  # no counters confirm the tool's figures, or they disagree with them
    COPIED = "copied"
    RAW_OUTPUT = "raw output"  # the tools' output contradicts the figures, or cannot be checked
    UNEVEN = "uneven"  # a flow gets far less than others, or more streams carry less
    SEEN = "seen"  # worth reporting, but no limit applies to it


# The path carried too little, from the first second or later: whatever excuses the one excuses the other.
SHORTFALL = frozenset({Cause.SHORT, Cause.LEVEL_FELL})


class LimiterKind(StrEnum):
    """What limits a trial; a kind that only a later linkladder knows is UNKNOWN, but its sentence still names it."""

    SENDER = "sender"
    RECEIVER = "receiver"
    WINDOW = "window"
    GROWTH = "growth"  # nothing holds TCP yet, and the trial ends
    LOSS = "loss"
    POLICER = "policer"
    REORDERING = "reordering"  # TCP takes overtaken segments for lost
    SHAPER = "shaper or queue"
    BURST = "small buffer or burst"  # the path carries the rate, but drops packets that come in bursts
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
    """What pairs of trials show about a change: it made a difference, none that matters, or that cannot be told."""

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
    RESENT = "resent"  # the segments sent again, as a share of all
