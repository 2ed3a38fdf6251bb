"""Draws bars for shares: progress, the load of each core, a rate compared with the best one."""

from __future__ import annotations

from rich.text import Text

from linkladder import units
from linkladder.model import HostSample
from linkladder.run.arms_so_far import ArmSoFar, Compared
from linkladder.run.progress import Progress


def bar(share: float, width: int) -> str:
    """A bar of `width` cells, filled to `share` (0..1)."""
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "░" * (width - full)


def bar_of(word: str, done: float, whole: float, left: float, width: int, count: str = "") -> Text:
    """A labelled bar, such as 'trial  ████░░░░ 7 s left, trial 3 of 14'; times are in seconds."""
    tail = f" {units.duration(left)} left" + (f", {count}" if count else "")
    room = max(6, min(30, width - 7 - len(tail)))  # a longer bar tells no more and is slow on a serial line
    share = done / whole if whole > 0 else 0.0
    return Text.assemble((f"{word:<6} ", "dim"), (bar(share, room), "cyan"), tail, no_wrap=True)


def of_run(progress: Progress, width: int) -> list[Text]:
    """Bars for the trial and its rung, or for the search for the strongest generator, and for the whole run."""
    lines = []
    if trial := progress.trial:
        lines.append(bar_of("trial", progress.at - trial.began, trial.seconds, progress.trial_left(), width))
        rung = progress.rung(trial.rung)
        left = progress.rung_left()
        count = f"trial {rung.done + 1} of {rung.trials}"
        lines.append(bar_of("rung", rung.seconds - left, rung.seconds, left, width, count))
    elif progress.search:
        began, most = progress.search
        spent = progress.at - began
        lines.append(bar_of("search", spent, most, max(0.0, most - spent), width))
    if progress.seconds and not progress.over:
        left = progress.whole_left()
        count = f"trial {min(progress.done + 1, progress.trials)} of {progress.trials}"
        lines.append(bar_of("whole", progress.seconds - left, progress.seconds, left, width, count))
    return lines


def cores(name: str, sample: HostSample | None, width: int, rows: int) -> Text:
    """The CPU of each core of one end; if not all cores fit, the busiest ones."""
    out = Text(no_wrap=True)
    if sample is None:
        out.append(f"{name}", "bold")
        out.append("  no figures yet", "dim")
        return out
    used = sum(core.busy for core in sample.cores) / 100
    word = "core" if len(sample.cores) == 1 else "cores"
    busy, memory = f"{used:.1f} of {len(sample.cores)} {word} busy", units.size(sample.memory_used)
    short = name.partition(",")[0]
    heads = [(who, f"  {busy}  {m}{memory}") for who, m in ((name, "memory "), (short, "memory "), (short, "mem "))]
    fitting = (head for head in heads if sum(map(len, head)) <= width)
    who, tail = next(fitting, (short, f"  {busy}  {memory}"))
    out.append(who, "bold")
    out.append(tail)
    each = 14  # "c12 ███░ 100 %"
    per_row = max(1, width // (each + 1))
    shown = min(len(sample.cores), per_row * rows)
    order = list(enumerate(sample.cores))
    if shown < len(order):
        order = sorted(order, key=lambda item: -item[1].busy)[:shown]
    for position, (number, core) in enumerate(order):
        out.append("\n" if position % per_row == 0 else " ")
        style = "red" if core.busy >= 95 else "yellow" if core.busy >= 80 else ""
        out.append(f"c{number:<2} {bar(core.busy / 100, 4)} {core.busy:3.0f} %", style)
    return out


def arms(found: Compared, width: int, rows: int) -> list[Text]:
    """A line for each arm of a comparison: bar, median so far, number of trials, and gain over the first arm."""
    shown = found.arms if len(found.arms) <= rows else (found.arms[0], *found.arms[1:][-(rows - 1) :])
    names = max(len(one.words) for one in shown)
    best = max((one.figure or 0.0 for one in found.arms), default=0.0)
    room = max(4, min(24, width - names - 38))
    return [_arm(one, names, room, best) for one in shown]


def _arm(one: ArmSoFar, names: int, room: int, best: float) -> Text:
    """An arm, such as '> MTU 9000   ████████░░░░  6.64 Gb/s  2 of 4  +92 %'; > marks the one that runs now."""
    if one.figure is None:
        rate = "-"
    else:
        rate = f"{units.three(one.figure)}/s" if one.counts else units.rate(one.figure)
    share = (one.figure or 0.0) / best if best else 0.0
    gain = f"{100 * (one.ratio - 1):+.0f} %" if one.ratio else ""
    line = f"{'>' if one.runs else ' '} {one.words:<{names}}  {bar(share, room)} {rate:>10}  {one.done} of {one.asked}"
    return Text(f"{line}  {gain:>6}", "bold" if one.runs else "", no_wrap=True, overflow="ellipsis")
