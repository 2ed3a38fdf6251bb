"""A run made up second by second, for screens that need the same figures every time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import trials
from linkladder import events, plan
from linkladder.app.backend import PeerView, Setting
from linkladder.findings import Finding, Health
from linkladder.model import (
    Contract,
    CoreLoad,
    CpuUse,
    Document,
    End,
    Evidence,
    Experiment,
    ExperimentResult,
    HostFacts,
    HostSample,
    Interval,
    Nic,
    NicCounters,
    Path,
    PathMtu,
    Plan,
    Protocol,
    Rtt,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TrialResult,
)
from linkladder.plan import Link
from linkladder.run.eventlog import Entry
from linkladder.store import KeptVerdict, RunSummary
from replay_backend import ReplayBackend

RUN = "20261121-101500-ab12"
BEGAN = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
CONTRACT = Contract(port_bps=10e9, mtu=1500, circuit="PRG-BRQ 10G", expected_rtt_ms=1.2)
NICS = (
    Nic("lo0", mtu=16384, up=True, addresses=("127.0.0.1",), loopback=True),
    Nic("vmx0", "vmxnet3", mtu=1500, up=True, speed_bps=10e9, addresses=("10.7.0.1",), rx_queues=4,
        offloads={"tso": True, "lro": False}),
    Nic("vmx1", "vmxnet3", mtu=1500, up=False),
)  # fmt: skip
HOST = HostFacts(
    "alpha", os="FreeBSD", release="15.1-RELEASE", cpu="Xeon", cores=4, memory=8 << 30, virtual="VMware", nics=NICS,
    tools={"iperf": "2.2.1", "netperf": "2.7.1"},
)  # fmt: skip
FAR_CARD = replace(NICS[1], addresses=("10.9.0.2",))  # where it was last, at the other side of the link
FAR = replace(HOST, name="beta", nics=(NICS[0], FAR_CARD, NICS[2]))
LINK = Link(
    CONTRACT,
    {
        RungName.SAME_HOST: (Path("10.7.0.1", "10.7.0.2", "beta"),),
        RungName.SAME_VLAN: (Path("10.7.0.1", "10.7.0.3", "beta"),),
        RungName.DC_LINK: (Path("10.7.0.1", "10.9.0.2", "beta"),),
    },
)
BETA = PeerView("beta", ("10.7.0.2",), True, 0.214, "SHA256:abc")
RATES = {
    RungName.LOCALHOST: 41.2e9,
    RungName.SAME_HOST: 24.6e9,
    RungName.SAME_VLAN: 9.38e9,
    RungName.DC_LINK: 9.21e9,
}
ROUND_TRIPS = {
    RungName.LOCALHOST: 0.02,
    RungName.SAME_HOST: 0.19,
    RungName.SAME_VLAN: 0.214,
    RungName.DC_LINK: 1.21,
}  # ms


def the_plan() -> Plan:
    return plan.with_link(plan.builtin("quick", 4, CONTRACT), LINK)


def wobble(rung: RungName, second: int, number: int) -> float:
    """Where little room is above what is needed, one repeat is sure of it only when it is calm."""
    part = 600 if rung is RungName.SAME_VLAN else 300
    return RATES[rung] * (1 + ((second * 37 + number * 11) % 9 - 4) / part)


def sample(second: int, busy: float, used: int) -> HostSample:
    loads = []
    for core in range(4):
        share = max(2.0, min(99.0, busy + (core * 17 + second * 5) % 23 - 11))
        loads.append(CoreLoad(share * 0.1, share * 0.9, 0.0, 100 - share))
    return HostSample(float(second), tuple(loads), used, retransmits=second // 3)


@cache
def _turns() -> dict[tuple[RungName, str, int], int]:
    """Which trial comes when."""
    asked = [(r.name, exp.id, repeat) for r in the_plan().rungs for exp, repeat in plan.order(r)]
    return {one: turn for turn, one in enumerate(asked)}


def trial_result(exp: Experiment, rung: RungName, repeat: int, number: int) -> TrialResult:
    began = BEGAN + timedelta(seconds=14 * _turns().get((rung, exp.id, repeat), 0))
    base = trials.trial(f"t{number}", repeat, started=began.isoformat(), seconds=14.0)
    if exp.protocol == Protocol.ECHO:
        least = ROUND_TRIPS[rung]
        return trials.changed(base, rtt=Rtt(20, 20, least, round(least * 1.12, 3), round(least * 1.6, 3)))
    if exp.protocol == Protocol.DF:
        return trials.changed(base, path_mtu=PathMtu((1500,), (), 1500))
    rate, length, steady = RATES[rung], int(exp.warmup + exp.duration), exp.protocol == Protocol.UDP
    if steady:  # it is paced
        rate = exp.udp_rate_bps or 0.0
        sent = int(rate * exp.duration / 8 / 1470)
        base = trials.changed(base, lost=0, datagrams=sent, jitter_ms=0.01, offered_bps=rate)
    intervals = tuple(
        Interval(
            float(s),
            s + 1.0,
            repeat * (40_009 + 3_001 * s) + int((rate if steady else wobble(rung, s, number)) / 8),
            exp.direction,
            s >= exp.warmup,
        )
        for s in range(length)
    )
    moved = int(1.05 * sum(interval.bytes for interval in intervals))
    return trials.changed(
        base,
        goodput_bps=rate,
        by_direction={exp.direction.value: rate},
        intervals=intervals,
        cpu={"near": CpuUse(41.0, 78.0, 1.64), "far": CpuUse(48.0, 91.0, 1.92)},
        nics={end: NicCounters("vmx0", rx_bytes=moved, tx_bytes=moved) for end in ("near", "far")},
    )


def the_log() -> list[Entry]:
    """The quick plan over four rungs; before same-vlan and dc-link the operator is asked."""
    asked = the_plan()
    log: list[Entry] = [(0.0, events.RunStarted(RUN, asked, plan.seconds(asked), plan.trials(asked)))]
    at, number = 0.2, 0
    for index, rung in enumerate(asked.rungs):
        if index >= 2:
            where = "another host in the same VLAN" if index == 2 else "the other data centre"
            text = f"Move beta to {where}, then press Enter."
            log.append((at, events.WaitingForOperator(rung.name, text)))
            at += 1
        log.append((at, events.RungStarted(rung.name, plan.seconds(rung), plan.trials(rung), index)))
        if index == 2:
            found = Evidence("another host, same VLAN", ("same subnet", "answers ARP directly", "0.21 ms, was 0.08 ms"))
            log.append((at, events.EvidenceFound(rung.name, found)))
        for exp, repeat in plan.order(rung):
            seconds = plan.trial_seconds(exp)
            words = f"near: {exp.tool} -c {rung.path.remote} -P {exp.streams}"
            log.append((at, events.TrialStarted(rung.name, exp.id, repeat, number, seconds, (words,))))
            result = trial_result(exp, rung.name, repeat, number)
            for interval in result.intervals:
                second = int(interval.start)
                log.append((at + second + 1, events.IntervalSeen(interval)))
                log.append((at + second + 1, events.Sampled(End.NEAR, sample(second, 41, 1 << 30))))
                log.append((at + second + 1, events.Sampled(End.FAR, sample(second, 52, 900 << 20))))
                if exp.ping_under_load:
                    trip = ROUND_TRIPS[rung.name] + second / 100
                    log.append((at + second + 1, events.RoundTripSeen(float(second), trip)))
            at += seconds
            log.append((at, events.TrialFinished(rung.name, exp.id, result)))
            number += 1
        log.append((at, events.RungFinished(rung.name, rung_result(rung))))
    log.append((at, events.RunFinished(RUN, RunState.COMPLETE, 0)))
    return log


def rung_result(rung: Rung) -> RungResult:
    made = []
    for number, exp in enumerate(rung.experiments):
        done = tuple(trial_result(exp, rung.name, r, number) for r in range(exp.repeats))
        rates = [t.goodput_bps for t in done if t.goodput_bps]
        made.append(ExperimentResult(exp, done, *((min(rates), rates[0], max(rates)) if rates else ())))
    return RungResult(rung.name, rung.paths, tuple(made), Evidence("as claimed", ("same subnet",)))


def the_document(failed: bool = False) -> Document:
    rungs = [rung_result(r) for r in the_plan().rungs]
    if failed:
        bad = trials.trial("bad", 0, False, reason="iperf: connect failed: Connection refused")
        last = rungs[-1]
        rungs[-1] = replace(last, experiments=(*last.experiments[:-1], replace(last.experiments[-1], trials=(bad,))))
    info = RunInfo(
        RUN, "2026-11-21T10:15:00+00:00", the_plan(), RunState.COMPLETE, "2026-11-21T10:21:00+00:00", "0.1.0",
        (RunEnd("near", HOST), RunEnd("beta", FAR)), ("rack 12, port 3",),
    )  # fmt: skip
    return Document(info, tuple(rungs))


PASSED = KeptVerdict("PASS", provisional=False)


def summary(run: str = RUN, state: RunState = RunState.COMPLETE, verdict: KeptVerdict = PASSED) -> RunSummary:
    best = {r.value: v for r, v in RATES.items()}
    return RunSummary(run, "2026-11-21T10:15:00+00:00", "", state, "quick", "beta", 14, 0, verdict, best)


FINDINGS = (
    Finding("iperf", Health.OK, "2.2.1"),
    Finding("adapter vmx0", Health.WARN, "one receive queue: one core takes all packets", "check MSI-X"),
)
SETTINGS = (
    Setting("kern.ipc.maxsockbuf", "16777216", "16777216", True),
    Setting("net.isr.maxthreads", "-1", "1", False, "the loader was not told"),
)


def fresh() -> ReplayBackend:
    """An appliance out of the box."""
    return ReplayBackend(HOST, FINDINGS, SETTINGS, entries=the_log())


def settled() -> ReplayBackend:
    """An appliance with a peer, a link and one run."""
    made = fresh()
    made.peers, made.described = (BETA,), LINK
    made.stored = {RUN: (summary(), the_document())}
    return made
