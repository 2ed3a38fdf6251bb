"""Formats figures for readers of the page."""

from __future__ import annotations

import statistics
from datetime import UTC, datetime

from linkladder import phrases, units
from linkladder.judge.latency import GRADES, WORST
from linkladder.model import Document, End, ExperimentResult, RungName, RunInfo
from linkladder.phrases.comparison import MEANS as MEANS
from linkladder.verdicts import DocumentJudgement, Rfc6349, RungJudgement, Verdict

RUNG_WORDS = {
    RungName.LOCALHOST: "within one machine: the guest's stack and CPU alone",
    RungName.SAME_HOST: "two machines on one host: adds the virtual cards and switch",
    RungName.SAME_VLAN: "two hosts in one VLAN: adds the physical cards and the local switches",
    RungName.DC_LINK: "across the interconnect: adds the link that was bought",
}
METHOD = (
    "A ladder has up to four rungs, each adding one suspect to the path, so that the rung at which throughput drops "
    "names the culprit; this page has those that were asked for.",
    "The real tools did the measuring, started afresh for every trial; their versions stand under Environment, "
    "their exact commands and output at the end of this page.",
    "A trial counts only if every stream ran to its end from the right address with the asked socket buffer, "
    "and if the interfaces' own counters account for the bytes within 5 %.",
    "Goodput is what the receiver got, as user data, after the warm-up seconds were cut; protocol headers are "
    "not in it.",
    "Rates count bits in thousands; sizes of memory, windows and transfers count bytes in 1024s: 1 MB is 1,048,576 "
    "bytes.",
    "The ceiling is counted from the bytes that every packet costs on the wire: the lower of what the port's "
    "line rate and the contracted rate can carry.",
    "A rung passes if the lower bound of the 95 % interval (Student's t over the repeats) reaches the needed "
    "share of the ceiling, in both directions.",
    "With one repeat the verdict is provisional: its interval comes from the trial's own seconds.",
    "A result above the ceiling by more than the measurement error is called impossible, never passed: then "
    "the link is not what was entered.",
    "If the generator showed less than 1.5 times the contract inside one host, or a core of either end was "
    "saturated while the result fell short, no verdict is given.",
    "What limited a result is told from both ends' cores, windows and round trips, retransmissions, receiver "
    "stalls, drops, paced UDP and the shape over time; where the evidence fits two answers, both are named.",
)


def when(text: str) -> str:
    """A stored time as '2026-11-21 08:01:26 UTC'; any other text as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if moment.tzinfo else text


def sentence(judged: RungJudgement | DocumentJudgement) -> str:
    """The verdict's sentence without the verdict's own word, which is shown above it."""
    return phrases.opening(judged.judgement.text)


def clock(document: Document, name: str) -> str:
    """How far a host's clock differed from the near end's when it was first asked, in words; '' if not known."""
    for end in (end for trial in document.trials for end in trial.ends):
        if end.wall_offset_s is not None and end.of(name):
            return f"{units.apart(end.wall_offset_s)} the near end's"
    return ""


def near_name(run: RunInfo) -> str:
    """The near end's own name, or "the near end" if it is not known."""
    facts = run.facts(End.NEAR)
    return facts.name if facts else "the near end"


def between(run: RunInfo) -> str:
    """The ends' names, the near one first, and how files name the two directions."""
    near, peers = near_name(run), [(end.name, end.facts.name) for end in run.ends if end.name != End.NEAR]
    far = [f"{own} (known as {name})" if own != name else name for name, own in peers]
    if not far:
        return near
    others = ", ".join(far)
    if len(peers) > 1:
        return f"{near} (near), {others}; in files a pair's first to its second is called forward, the way back reverse"
    return f"{near} (near) and {others} (far); in files near to far is called forward, far to near reverse"


def css(verdict: Verdict) -> str:
    return str(verdict).lower().replace(" ", "-")


def cpu(result: ExperimentResult, end: End) -> str:
    """'23 %' or '21 - 25 %' of the machine over the good trials."""
    seen = [use.percent for t in result.trials if t.ok and (use := t.end(end).cpu)]
    if not seen:
        return "-"
    low, high = f"{min(seen):.0f}", f"{max(seen):.0f}"
    return f"{low} %" if low == high else f"{low} - {high} %"


def memory(result: ExperimentResult, end: End) -> str:
    seen = [use.mean for t in result.trials if t.ok and (use := t.end(end).memory)]
    return units.size(statistics.median(seen)) if seen else "-"


def ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def grades() -> str:
    """'A+ below 5 ms, ... F above'."""
    return ", ".join(f"{name} below {most:g} ms" for most, name in GRADES) + f", {WORST} above"


def _transfer(r: Rfc6349) -> str:
    took = f" ({units.size(r.transfer_bytes)} in {r.transfer_seconds or 0:.2f} s)" if r.transfer_bytes else ""
    return f"{r.transfer_time_ratio or 0:.3f}{took}"


def rfc6349_words(r: Rfc6349) -> str:
    """All figures in one line; those that are missing are shown as not measured."""

    def or_none(value: float | None, text: str) -> str:
        return text if value is not None else "not measured"

    parts = [
        f"path MTU {r.path_mtu if r.path_mtu else 'not measured'}{' (black hole above it)' if r.black_hole else ''}",
        f"baseline round trip {units.milliseconds(r.baseline_rtt_ms)}",
        f"under load {units.milliseconds(r.loaded_rtt_ms)}",
        f"bandwidth-delay product {units.size(r.bdp_bytes)}",
        f"window per stream {units.size(r.window_per_stream_bytes)} with {r.streams}",
        f"transfer time ratio {or_none(r.transfer_time_ratio, _transfer(r))}",
        f"TCP efficiency {or_none(r.efficiency_percent, f'{r.efficiency_percent or 0:.3f} %')}",
        f"buffer delay {or_none(r.buffer_delay_percent, f'{r.buffer_delay_percent or 0:.0f} %')}",
    ]
    return ", ".join(parts)
