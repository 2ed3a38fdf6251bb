"""The vocabulary of a measurement: frozen records and enumerations, no I/O.

Everything that is measured, stored, sent, judged or shown is one of these.  Two ends take
part in every trial: *near* is the appliance the operator runs, *far* is its peer.  On the
localhost rung both are the same machine.  Rates are bits per second, sizes bytes, times
seconds, unless the name says otherwise (``rtt_ms``, ``latency_us``).
"""

from __future__ import annotations

from linkladder.model.asked import Contract, Experiment, Path, Plan, Rung
from linkladder.model.hosts import (
    Command,
    CoreLoad,
    CoreTimes,
    CpuUse,
    HostFacts,
    HostSample,
    MemoryUse,
    Nic,
    NicCounters,
    SocketsSeen,
    SocketStat,
    TcpCounters,
)
from linkladder.model.printed import Flow, Interval, PathMtu, Rtt, Transactions
from linkladder.model.results import Document, Evidence, ExperimentResult, RungResult, RunInfo, TrialResult
from linkladder.model.settings import Setting, SettingKind
from linkladder.model.words import SCHEMA, Direction, End, Fault, Layer, Protocol, RungName, RunState

__all__ = [
    "SCHEMA",
    "Command",
    "Contract",
    "CoreLoad",
    "CoreTimes",
    "CpuUse",
    "Direction",
    "Document",
    "End",
    "Evidence",
    "Experiment",
    "ExperimentResult",
    "Fault",
    "Flow",
    "HostFacts",
    "HostSample",
    "Interval",
    "Layer",
    "MemoryUse",
    "Nic",
    "NicCounters",
    "Path",
    "PathMtu",
    "Plan",
    "Protocol",
    "Rtt",
    "RunInfo",
    "RunState",
    "Rung",
    "RungName",
    "RungResult",
    "Setting",
    "SettingKind",
    "SocketStat",
    "SocketsSeen",
    "TcpCounters",
    "Transactions",
    "TrialResult",
]
