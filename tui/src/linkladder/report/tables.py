"""Writes CSV for spreadsheets and OpenMetrics for monitoring."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence

from linkladder import units
from linkladder.judge import AS_PLANNED, Overrides, judge_document
from linkladder.judge.evidence import direction_bps, ways
from linkladder.model import CpuUse, Document, End, Experiment, Fault, Protocol, Role, RungResult, TrialResult
from linkladder.phrases import loaded, several_ends
from linkladder.phrases.ways import path_name
from linkladder.printable import clean

TRIAL_COLUMNS = (
    "run",
    "rung",
    "experiment",
    "tool",
    "protocol",
    "direction",
    "streams",
    "window_bytes",
    "repeat",
    "started",
    "ok",
    "fault",
    "reason",
    "goodput_bps",
    "forward_bps",
    "reverse_bps",
    "forward_percent_of_ceiling",
    "reverse_percent_of_ceiling",
    "cpu_near_percent",
    "cpu_far_percent",
    "busiest_core_near_percent",
    "busiest_core_far_percent",
    "cores_near",
    "cores_far",
    "memory_near_bytes",
    "memory_far_bytes",
    "retransmits_near",
    "retransmits_far",
    "lost",
    "datagrams",
    "jitter_ms",
    "rtt_ms",
    "rtt_under_load_ms",
    "transactions_per_second",
    "path_mtu",
    "limiter",
    "verdict",
    "provisional",
    "write_size_bytes",
    "cores",
    "sessions",
    "settings",
    "baseline",
    "step",
    "affinity",
    "zero_copy",
    "discarded_bps",
    "on_cores",
    "kernel",
    "pairs",
    "paths_bps",
)
INTERVAL_COLUMNS = (
    "run",
    "rung",
    "experiment",
    "repeat",
    "direction",
    "start_s",
    "end_s",
    "counted",
    "bytes",
    "bps",
    "retransmits",
    "rtt_ms",
    "cwnd_bytes",
    "lost",
    "datagrams",
    "jitter_ms",
)


def csv_trials(document: Document, overrides: Overrides = AS_PLANNED) -> str:
    """CSV with one row for each trial."""
    judged = judge_document(document, overrides)
    rows = []
    for rung, verdict in zip(document.rungs, judged.rungs, strict=True):
        of_trial = {(e.experiment, t.trial): t for e in verdict.experiments for t in e.trials}
        for e, t in _trials(rung):
            said = of_trial.get((e.id, t.id))
            percent = said.percent_of_ceiling if said else {}
            near, far = t.end(End.NEAR), t.end(End.FAR)
            rows.append(
                [
                    document.run.id, rung.name, e.id, e.tool, e.protocol, e.direction, e.streams, e.window, t.repeat,
                    t.started, t.ok, t.fault, t.reason, _goodput(e, t), t.by_direction.get("forward"),
                    t.by_direction.get("reverse"), percent.get("forward"), percent.get("reverse"),
                    *_pair(near.cpu, far.cpu, "percent"), *_pair(near.cpu, far.cpu, "busiest"),
                    *_pair(near.cpu, far.cpu, "cores_used"),
                    *(end.memory.mean if end.memory else None for end in (near, far)),
                    *(end.tcp.retransmits if end.tcp else None for end in (near, far)),
                    t.lost, t.datagrams, t.jitter_ms, t.rtt.p50_ms if t.rtt else None,
                    t.rtt_under_load.p50_ms if t.rtt_under_load else None,
                    t.transactions.rate if t.transactions else None, t.path_mtu.mtu if t.path_mtu else None,
                    said.limiter.kind if said and said.limiter else None, verdict.verdict, verdict.provisional,
                    e.write_size, e.cores, e.sessions, " ".join(s.label for s in e.settings), e.baseline,
                    e.step or None, e.affinity, e.zero_copy, _discarded(t), units.core_list(e.on_cores) or None,
                    e.kernel or None, loaded(e, rung.paths) if several_ends(rung.paths) else None,
                    _each_path(e, t, rung),
                ]
            )  # fmt: skip
    return "".join(_csv(TRIAL_COLUMNS, rows))


def _goodput(e: Experiment, t: TrialResult) -> float | None:
    """The rate, which is 0 if the path carried nothing; None of a trial that measured none: a ping, or a tool broke."""
    measured = e.protocol in (Protocol.TCP, Protocol.UDP) and (t.ok or t.fault is Fault.PATH)
    return t.goodput_bps if measured else None


def _each_path(e: Experiment, t: TrialResult, rung: RungResult) -> str | None:
    """Of several paths what each carried, such as 'near to beta 941000000; near to gamma 0'; a failed one has none."""
    legs = [leg for leg in t.legs if leg.role is Role.LOAD and 0 <= leg.path < len(rung.paths)]
    if len(legs) < 2 or e.protocol not in (Protocol.TCP, Protocol.UDP):
        return None
    parts = []
    for leg in legs:
        measured = leg.outcome.ok or leg.outcome.fault is Fault.PATH
        for way in ways(e):
            rate = f"{direction_bps(leg.outcome, e, way):.0f}" if measured else "not measured"
            parts.append(f"{path_name(rung.paths, leg.path, way)} {rate}")
    return "; ".join(parts)


def _discarded(t: TrialResult) -> float | None:
    """The rate in bit/s of the last uncounted load before the trial, for adapters that had just restarted."""
    return next((g.outcome.goodput_bps for g in reversed(t.legs) if g.role is Role.DISCARDED), None)


def csv_intervals(document: Document) -> Iterator[str]:
    """CSV with one row for each interval; those of the warm-up are included and marked."""
    return _csv(
        INTERVAL_COLUMNS,
        (
            [
                document.run.id, rung.name, e.id, t.repeat, i.direction, i.start, i.end, i.counted, i.bytes, i.bps,
                i.retransmits, i.rtt_ms, i.cwnd, i.lost, i.datagrams, i.jitter_ms,
            ]
            for rung in document.rungs
            for e, t in _trials(rung)
            for i in t.intervals
        ),
    )  # fmt: skip


def openmetrics(document: Document, overrides: Overrides = AS_PLANNED) -> str:
    """Gauges of the run's verdicts and figures, ending in the EOF line that the format requires."""
    judged = judge_document(document, overrides)
    families: dict[str, tuple[str, list[str]]] = {
        "linkladder_goodput_bits_per_second": ("Goodput of one setting in one direction.", []),
        "linkladder_path_goodput_bits_per_second": ("Goodput of one of several paths, alone or with all of them.", []),
        "linkladder_ceiling_bits_per_second": ("Best goodput that port and contract allow.", []),
        "linkladder_verdict": ("1 for the verdict of a rung.", []),
        "linkladder_udp_loss_ratio": ("Share of paced UDP that was lost.", []),
        "linkladder_rtt_milliseconds": ("Round trip, idle and under load.", []),
    }

    def add(family: str, value: float, **labels: object) -> None:
        named = ",".join(f'{k}="{_label(v)}"' for k, v in {"run": document.run.id, **labels}.items())
        families[family][1].append(f"{family}{{{named}}} {value:.10g}")

    for protocol, best in judged.ceilings.items():
        add("linkladder_ceiling_bits_per_second", best.bps, protocol=protocol)
    for rung in judged.rungs:
        add("linkladder_verdict", 1, rung=rung.rung, verdict=rung.verdict, provisional=str(rung.provisional).lower())
        for e in rung.experiments:
            where = {"rung": rung.rung, "experiment": e.experiment, "direction": e.direction}
            if e.spread:
                stats = {"median": e.spread.median, "min": e.spread.minimum, "max": e.spread.maximum}
                if e.spread.basis != "none":  # one bare figure has no interval
                    stats |= {"low": e.spread.low, "high": e.spread.high}
                for stat, value in stats.items():
                    add("linkladder_goodput_bits_per_second", value, **where, stat=stat)
            if "loss_percent" in e.judgement.figures:
                add("linkladder_udp_loss_ratio", e.judgement.figures["loss_percent"] / 100, **where)
        for cell in rung.company.cells if rung.company else ():
            ends = {"path": cell.path + 1, "sender": cell.sender, "receiver": cell.receiver}
            for load, bps in (("alone", cell.alone_bps), ("all", cell.together_bps)):
                if bps is not None:
                    add("linkladder_path_goodput_bits_per_second", bps, rung=rung.rung, **ends, load=load)
        for r in rung.rfc6349:
            for state, ms in (("idle", r.baseline_rtt_ms), ("loaded", r.loaded_rtt_ms)):
                if ms is not None:
                    add("linkladder_rtt_milliseconds", ms, rung=rung.rung, direction=r.direction, state=state)
    lines = []
    for name, (text, samples) in families.items():
        if samples:
            lines += [f"# TYPE {name} gauge", f"# HELP {name} {text}", *samples]
    return "\n".join([*lines, "# EOF", ""])


def _trials(rung: RungResult) -> Iterable[tuple[Experiment, TrialResult]]:
    return ((e.parameters, t) for e in rung.experiments for t in e.trials)


def _pair(near: CpuUse | None, far: CpuUse | None, name: str) -> list[float | None]:
    return [getattr(near, name) if near else None, getattr(far, name) if far else None]


def _label(value: object) -> str:
    return str(clean(str(value))).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The table line by line, as the seconds of a week make 60 MB."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in itertools.chain((columns,), ([_cell(v) for v in row] for row in rows)):
        writer.writerow(row)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _cell(value: object) -> object:
    """The value cleaned, and with a quote before text that a spreadsheet would run as a formula."""
    if isinstance(value, str):
        text = str(clean(str(value)))
        return "'" + text if text[:1] in ("=", "+", "-", "@", "\t") else text
    return value
