"""The vocabulary of a measurement: frozen records and enumerations, no I/O.

Everything that is measured, stored, sent, judged or shown is one of these. A rung has paths; a trial has legs, each a
client and a server on one of them, and a record of each end that takes part: ends[0] is *near*, the appliance that the
operator runs, the others are its peers. On the localhost rung near is both sides of the path. Rates are bits per
second, sizes bytes, times seconds, unless the name says otherwise (`rtt_ms`, `mean_us`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from linkladder.model.asked import (
    LONGEST_NAME,
    Contract,
    Experiment,
    Generator,
    Looked,
    Path,
    Plan,
    Rung,
    Stair,
    Strength,
)
from linkladder.model.hosts import (
    ESTABLISHED,
    LEFT_OUT,
    LONG,
    SHORTENED,
    Away,
    Bundle,
    Command,
    CoreLoad,
    CoreTimes,
    CpuUse,
    HostFacts,
    HostSample,
    Member,
    MemoryUse,
    Nic,
    NicCounters,
    QueueCounters,
    SocketsSeen,
    SocketStat,
    TcpCounters,
    WindowSeen,
    left_out_mark,
)
from linkladder.model.settings import BUNDLES, FEWEST_CARDS, KERNEL, MOST_CARDS, Setting, SettingKind
from linkladder.model.words import (
    SCHEMA,
    Affinity,
    Company,
    Direction,
    End,
    Fault,
    Layer,
    Protocol,
    Role,
    RungName,
    RunState,
)

if TYPE_CHECKING:
    from linkladder.model.printed import Flow, Interval, PathMtu, Rtt, SocketBuffers, Transactions
    from linkladder.model.results import (
        CarrierLost,
        Document,
        EndRecord,
        Evidence,
        ExperimentResult,
        HeldUp,
        Interruption,
        Leg,
        Outcome,
        RunEnd,
        RungResult,
        RunInfo,
        TrialResult,
    )

__all__ = [
    "BUNDLES",
    "ESTABLISHED",
    "FEWEST_CARDS",
    "KERNEL",
    "LEFT_OUT",
    "LONG",
    "LONGEST_NAME",
    "MOST_CARDS",
    "SCHEMA",
    "SHORTENED",
    "Affinity",
    "Away",
    "Bundle",
    "CarrierLost",
    "Command",
    "Company",
    "Contract",
    "CoreLoad",
    "CoreTimes",
    "CpuUse",
    "Direction",
    "Document",
    "End",
    "EndRecord",
    "Evidence",
    "Experiment",
    "ExperimentResult",
    "Fault",
    "Flow",
    "Generator",
    "HeldUp",
    "HostFacts",
    "HostSample",
    "Interruption",
    "Interval",
    "Layer",
    "Leg",
    "Looked",
    "Member",
    "MemoryUse",
    "Nic",
    "NicCounters",
    "Outcome",
    "Path",
    "PathMtu",
    "Plan",
    "Protocol",
    "QueueCounters",
    "Role",
    "Rtt",
    "RunEnd",
    "RunInfo",
    "RunState",
    "Rung",
    "RungName",
    "RungResult",
    "Setting",
    "SettingKind",
    "SocketBuffers",
    "SocketStat",
    "SocketsSeen",
    "Stair",
    "Strength",
    "TcpCounters",
    "Transactions",
    "TrialResult",
    "WindowSeen",
    "left_out_mark",
]


def __getattr__(name: str) -> object:
    """Load the records of results on first use: an agent, for whose start a peer waits, uses none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("linkladder.model.results"), name)
