"""Draws experiments as SVG: a staircase with the arms kept at each step, and every change with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from linkladder import units
from linkladder.phrases import stairs
from linkladder.phrases.changes import CARRIED, named
from linkladder.printable import escape
from linkladder.report.bundle_tables import Table
from linkladder.report.svg import WIDTH, picture
from linkladder.verdicts import Answer, ChangedFigure, Landing, Measured

ROW, TOP, NAMES, RIGHT = 22, 30, 300, 110
FAR = 2.0  # times the best arm
LONGEST = 44  # letters of a name that are shown
WORDS = {Answer.DIFFERS: "differs", Answer.SAME: "the same", Answer.UNDECIDED: "undecided"}


def staircase(landings: Sequence[Landing]) -> str:
    """A bar for every arm of every step, with its 95 % interval; arms that were kept are dark and labelled.

    A dashed line shows the ceiling at the arm's MTU, unless it is so far away that the bars could not be told apart.
    """
    title = f"Staircase, {stairs.direction_of(landings[0])}: each step beside the best so far"
    top = max(max(one.high, one.bps) for one in landings) or 1.0
    bounds = [one.ceiling_bps for one in landings if one.ceiling_bps]
    drawn = bool(bounds) and max(bounds) <= FAR * top
    top = max(top, *bounds) if drawn else top
    scale = (WIDTH - NAMES - RIGHT) / top
    parts, y, step = [], TOP, landings[0].step
    for one in landings:
        if one.step != step:
            step, y = one.step, y + 10
        word = "best so far" if one.base else "kept" if one.kept else "not kept"
        name = f"{one.step}. {one.words}"
        shade = "0.9" if one.kept else "0.35"
        middle = y + 7
        parts.append(
            f'<text class="s" x="6" y="{y + 12}">{escape(_short(name))}</text>'
            f'<rect class="f0" x="{NAMES}" y="{y}" width="{max(2.0, one.bps * scale):.1f}" height="14" '
            f'fill-opacity="{shade}"/>'
            f'<line class="lv l0" x1="{NAMES + max(0.0, one.low) * scale:.1f}" x2="{NAMES + one.high * scale:.1f}" '
            f'y1="{middle}" y2="{middle}"/>'
            f'<text class="s" x="{WIDTH - RIGHT + 6}" y="{y + 12}">{escape(units.rate(one.bps))}, {word}</text>'
        )
        if drawn and one.ceiling_bps:
            x = f"{NAMES + one.ceiling_bps * scale:.1f}"
            where = f'x1="{x}" x2="{x}" y1="{y - 4}" y2="{y + 18}"'
            parts.append(f'<line class="lv l0" stroke-dasharray="3 2" {where}/>')
        y += ROW
    description = "; ".join(
        f"step {one.step}, {one.words}: {units.rate(one.bps)}{', kept' if one.kept else ''}" for one in landings
    )
    return picture(title, y + 6, description, parts)


def table(landings: Sequence[Landing]) -> Table:
    """The same in figures, with the ceiling at each arm's MTU."""
    caption = f"Staircase, {stairs.direction_of(landings[0])}: mean of the repeats (95 % interval)"
    return Table(caption, stairs.HEADS, tuple(stairs.row(one) for one in landings))


def intervals(changed: Sequence[tuple[str, Sequence[ChangedFigure]]], which_way: str = "") -> str:
    """For each change the ratio to the unchanged arm with its interval; a vertical line marks 'no change'.

    Of a change's figures the one is drawn which the experiment asked for, and below it each other one that differs;
    both are named but for throughput.
    `which_way`: their direction, where other pictures show others.
    """
    rows = [
        (_named(name, f, figures), f.measured not in CARRIED, f)
        for name, figures in changed
        for f in figures
        if f.ratio and f.low and f.high and (f.measured in CARRIED or f.answer is Answer.DIFFERS)
    ]
    if not rows:
        return ""
    low = max(0.2, min(0.9, *(f.low or 1.0 for _, _, f in rows)))
    high = min(5.0, max(1.1, *(f.high or 1.0 for _, _, f in rows)))

    def x(ratio: float) -> float:
        return NAMES + (WIDTH - NAMES - RIGHT) * (min(max(ratio, low), high) - low) / (high - low)

    parts, y = [], TOP
    bottom = TOP + ROW * len(rows)
    parts.append(f'<line class="lv l0" x1="{x(1.0):.1f}" x2="{x(1.0):.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
    for name, below, f in rows:
        parts.append(
            f'<text class="s" x="{24 if below else 6}" y="{y + 12}">{escape(_short(name))}</text>'
            f'<rect class="f0" x="{x(f.low or 1):.1f}" y="{y + 5}" '
            f'width="{max(2.0, x(f.high or 1) - x(f.low or 1)):.1f}" height="4" fill-opacity="0.5"/>'
            f'<rect class="f0" x="{x(f.ratio or 1) - 2:.1f}" y="{y}" width="4" height="14"/>'
            f'<text class="s" x="{WIDTH - RIGHT + 6}" y="{y + 12}">{_by_how_much(f)}, {WORDS[f.answer]}</text>'
        )
        y += ROW
    description = "; ".join(f"{name}: {_by_how_much(f)}" for name, _, f in rows)
    did = f"What each change did{f', {which_way}' if which_way else ''}"
    title = f"{did}, with its interval, and what else differs; the line is no change"
    return picture(title, bottom + 6, description, parts)


def _named(name: str, f: ChangedFigure, figures: Sequence[ChangedFigure]) -> str:
    """The change, or of its other figures what it is; with the change where that has no row of its own."""
    if f.measured is Measured.GOODPUT:
        return name
    below_it = f.measured not in CARRIED and any(one.measured in CARRIED for one in figures)
    return named(f, figures) if below_it else f"{name}: {named(f, figures)}"


def _by_how_much(f: ChangedFigure) -> str:
    if f.measured is Measured.RESENT:  # its ratio is not that of the shares
        return "more" if (f.ratio or 1) > 1 else "fewer"
    return f"{100 * ((f.ratio or 1) - 1):+.1f} %"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}."
