"""The words that measurements are made of."""

from __future__ import annotations

from enum import StrEnum

SCHEMA = "linkladder/3"


class End(StrEnum):
    """A path's two sides.  The ends that take part in a trial are counted: ends[0] is the near one."""

    NEAR = "near"
    FAR = "far"


class Role(StrEnum):
    """What a leg is for: LOAD is what the trial measures, PING the round trips beside it.

    VISITOR is the load of another path that came and went meanwhile.  DISCARDED came before it, on adapters that had
    just started anew: it is shown and never counted.
    """

    LOAD = "load"
    PING = "ping"
    VISITOR = "visitor"
    DISCARDED = "discarded"


class RungName(StrEnum):
    LOCALHOST = "localhost"
    SAME_HOST = "same-host"
    SAME_VLAN = "same-vlan"
    DC_LINK = "dc-link"


class Layer(StrEnum):
    """What a contracted rate counts: the wire with preamble and gap, frames without FCS, or IP packets."""

    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class Protocol(StrEnum):
    """What is measured; rr are transactions, echo the round trip, df the path MTU."""

    TCP = "tcp"
    UDP = "udp"
    RR = "rr"
    ECHO = "echo"
    DF = "df"


class Direction(StrEnum):
    """Which way the payload goes; BOTH is for plans only and expands to FORWARD then REVERSE."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BOTH = "both"
    DUPLEX = "duplex"


class Affinity(StrEnum):
    """Where a tool runs: anywhere, on the cores that serve its adapter's queues, on the others, or on one hardware
    thread of each core, so that it leaves the sibling threads idle.
    """

    FREE = "free"
    BESIDE = "beside"
    AWAY = "away"
    SIBLINGS_IDLE = "siblings-idle"


class Company(StrEnum):
    """Which of a rung's paths a trial loads: each by itself, those that share no end side by side, the first one beside
    each of the others, the first one throughout while each of the others comes and goes, or all at once.
    """

    ALONE = "alone"
    ROUNDS = "rounds"
    NEIGHBOURS = "neighbours"
    VISITED = "visited"
    ALL = "all"


class Fault(StrEnum):
    """TOOL: the measurement broke, it says nothing of the link.  PATH: the link did it, and that is a result.

    PEER: the far end was out of reach, which may be either.
    """

    TOOL = "tool"
    PATH = "path"
    PEER = "peer"


class RunState(StrEnum):
    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
