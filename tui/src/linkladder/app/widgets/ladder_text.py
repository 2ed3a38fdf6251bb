"""Makes the Ladder screen's text: a line for each rung, the figures of the trial, and what happens before a rung."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.text import Text

from linkladder import phrases, units
from linkladder.app.names import fitted
from linkladder.app.widgets.verdict import verdict
from linkladder.model import Direction, Path, Protocol
from linkladder.phrases import company
from linkladder.run.progress import Progress, RungView, Stage, TrialView
from linkladder.verdicts import RungJudgement

WORDS = {
    Stage.TO_DO: ("to do", "dim"),
    Stage.WAITING: ("needs you", "bold yellow"),
    Stage.RUNNING: ("measuring", "bold cyan"),
    Stage.DONE: ("done", "green"),
    Stage.SKIPPED: ("not measured", "yellow"),
    Stage.STOPPED: ("stopped", "yellow"),
}


GAP = 4  # columns between paths side by side
RATE = 9  # columns of a rate
ROOMY = 110  # columns in which all figures of a trial fit into a line


def ladder(progress: Progress, judged: dict[str, RungJudgement], width: int) -> Text:
    """A line for each rung, the highest on top."""
    held = "paused" if progress.paused else "waiting" if progress.lost else ""
    states = [_state(view, held, judged.get(view.name)) for view in progress.rungs]
    wide = max((len(state.plain) for state in states), default=0) + 2
    numbered = list(enumerate(zip(progress.rungs, states, strict=True), 1))
    return Text("\n").join(
        _line(view, state, judged.get(view.name), number, wide, width) for number, (view, state) in reversed(numbered)
    )


def _state(view: RungView, held: str, judged: RungJudgement | None) -> Text:
    if view.stage is Stage.DONE and judged:
        return verdict(judged.word, judged.provisional)
    if view.stage is Stage.RUNNING and held:
        return Text(held, "bold yellow")
    return Text(*WORDS[view.stage])


def _line(view: RungView, state: Text, judged: RungJudgement | None, number: int, wide: int, width: int) -> Text:
    """A rung, such as '|-2-| same-host   PASS (provisional)   best 9.41 Gb/s  5 trials'."""
    out = Text(f"|-{number}-| {view.name:<11}", no_wrap=True, overflow="ellipsis")
    out.append_text(state)
    out.append(" " * (wide - len(state.plain)))
    best = judged.best_bps if judged else view.best_bps  # the setting that counts may not be the fastest
    parts = [Text(f"best {units.rate(best)}", "bold")] if best else []
    if view.evidence and view.evidence.contradicts:
        parts.append(Text(phrases.CONTRADICTED_BRIEFLY, "bold red"))
    if view.stage is Stage.RUNNING and view.trials:
        parts.append(Text(f"trial {min(view.done + 1, view.trials)} of {view.trials}"))
    elif view.stage in (Stage.DONE, Stage.STOPPED):
        some = view.done < view.trials
        parts.append(Text(f"{view.done} of {view.trials} trials" if some else units.plural(view.done, "trial")))
    if view.failed:
        parts.append(Text(f"{view.failed} failed", "red"))
    if view.why:
        parts.append(Text(view.why))
    out.append_text(Text("  ").join(parts))
    out.truncate(width, overflow="ellipsis")
    return out


def trial_line(progress: Progress, trial: TrialView, width: int) -> str:
    """What is measured, and which repeat it is, in one line: rather the repeat in short than words that are cut off."""
    setting, repeats = f"{trial.rung}: {progress.words(trial.rung, trial.experiment)}", trial.experiment.repeats
    if repeats < 2:
        return fitted(setting, width)
    repeat = f", repeat {trial.repeat + 1} of {repeats}"
    if len(setting) + len(repeat) > width:
        repeat = f" ({trial.repeat + 1}/{repeats})"
    return fitted(setting, width - len(repeat)) + repeat


def figures(trial: TrialView, width: int, paths: Sequence[Path] = ()) -> Text:
    """Rate and flows, then retransmits and round trip since the trial began, on a second line on narrow screens."""
    out = Text(no_wrap=True, overflow="ellipsis")
    more = Text(no_wrap=True)
    if trial.experiment.protocol in (Protocol.ECHO, Protocol.DF):
        if trial.rtts:
            out.append(f"round trip {units.milliseconds(trial.rtts[-1])}, most {units.milliseconds(max(trial.rtts))}")
        return out
    for direction in (Direction.FORWARD, Direction.REVERSE):
        points = [i for i in trial.intervals if i.direction == direction]
        if points:
            whom = company.receivers(paths, trial.experiment.paths, direction)
            out.append(f"{units.rate(points[-1].bps)} to {whom}  ", "bold")
    flows = trial.experiment.sessions if trial.experiment.protocol is Protocol.RR else trial.experiment.streams
    out.append(units.plural(flows, "flow") + (" each" if len({number for _, number in trial.paths}) > 1 else ""))
    if trial.experiment.protocol is Protocol.UDP:
        lost = [i for i in trial.intervals if i.lost is not None and i.datagrams]
        if lost:
            gone, sent = sum(i.lost or 0 for i in lost), sum(i.datagrams or 0 for i in lost)
            more.append(f"lost {gone} of {sent} datagrams")
    elif (again := trial.retransmits(paths)) is not None:
        more.append(f"retransmits {again}")
    if trial.rtts:
        more.append("  " if more else "")
        more.append(f"round trip {units.milliseconds(trial.rtts[-1])}, most {units.milliseconds(max(trial.rtts))}")
    return out.append("\n" if width < ROOMY else "  ").append_text(more)


def each_path(rates: Sequence[tuple[str, float | None]], width: int, rows: int) -> list[str]:
    """The rates of the paths, such as 'near to beta by path 2   470 Mb/s'.

    Several are put side by side if they do not fit below each other; if there are still too many, a line sums up the
    rest.
    """
    names = max((len(name) for name, _ in rates), default=0)
    cells = [f"{name:<{names}}  {'silent' if bps is None else units.rate(bps):>{RATE}}" for name, bps in rates]
    columns = max(1, min((width + GAP) // (names + 2 + RATE + GAP), -(-len(cells) // rows)))
    more = []
    if len(cells) > rows * columns:
        cells = cells[: (rows - 1) * columns]
        rest = sorted(bps or 0.0 for _, bps in rates[len(cells) :])
        more = [f"and {len(rest)} more, {units.rate(rest[0])} to {units.rate(rest[-1])} each"]
    return [*((" " * GAP).join(cells[n : n + columns]) for n in range(0, len(cells), columns)), *more]


def to_do(progress: Progress, width: int) -> list[str]:
    """Tells what linkladder checks after the person has moved the machine."""
    plan = progress.plan
    rung = next((r for r in plan.rungs if r.name == progress.waiting), None) if plan else None
    if rung is None:
        return []
    far, near = rung.path.remote or "the far end", rung.path.local or "this end"
    lines = [
        f"Then linkladder looks whether {far} is in the subnet of {near} and answers ARP itself, how many routers lie "
        "between, and how long the round trip is. Your word and what it finds are kept with the run.",
        "",
        "s skips the rung; it is reported as not measured. Nothing runs while you are away, and you may leave this "
        "screen.",
    ]
    return [part for line in lines for part in textwrap.wrap(line, width) or [""]]
