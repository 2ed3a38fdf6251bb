"""Draws charts as SVG text with labelled axes and legends, dashes, and colours that the colour-blind can tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from linkladder import units
from linkladder.printable import escape

WIDTH, LEFT, RIGHT = 720, 62, 12
# The colours are Okabe and Ito's, set by CSS classes so that dark pages can lighten them.
DASHES = ("", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True)
class Line:
    """A curve of a chart."""

    name: str
    points: tuple[tuple[float, float], ...]
    style: str = "c0"  # CSS class of the colour
    dash: str = ""
    thin: bool = False
    gaps: tuple[tuple[float, float], ...] = ()  # from when to when there is no figure: the curve is not drawn there


@dataclass(frozen=True)
class Level:
    """A horizontal line with a name, such as the ceiling or the rate that is needed."""

    name: str
    value: float


def nice(top: float) -> float:
    """A round number at or above `top`."""
    if top <= 0 or not math.isfinite(top):
        return 1.0
    step = 10.0 ** math.floor(math.log10(top))
    return next(m * step for m in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if m * step >= top * 0.9999)


def over_time(
    title: str,
    throughput: Sequence[Line],
    cpu: Sequence[Line],
    levels: Sequence[Level],
    warmup: float,
    seconds: float,
    spans: Sequence[tuple[float, float, str]] = (),
) -> str:
    """Throughput over time, and below it each end's busiest core in percent; `spans` are shaded parts with names."""
    seconds = max(1.0, seconds)
    highest = max([v for line in throughput for _, v in line.points] + [level.value for level in levels] + [1.0])
    unit, factor = units.rate_unit(highest)
    top = nice(highest / factor) * factor
    upper, lower = (31.0, 197.0), (229.0, 299.0)
    height = 365 if cpu else 263
    if not cpu:
        lower = (197.0, 197.0)

    def x(t: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(t, 0.0), seconds) / seconds

    parts: list[str] = []
    shaded = [(0.0, warmup, "warm-up")] if warmup > 0 else []
    for first, last, name in (*shaded, *spans):
        parts.append(
            f'<rect class="warm" x="{x(first):.1f}" y="{upper[0]}" width="{x(last) - x(first):.1f}" '
            f'height="{lower[1] - upper[0]:.1f}"/>'
            f'<text class="s" x="{x(first) + 3:.1f}" y="{upper[1] - 5}">{escape(name)}</text>'
        )
    parts.append(_grid(upper, [f"{top / factor * k / 4:.4g}" for k in range(5)], unit))
    parts += [_line(line, x, lambda v: upper[1] - (upper[1] - upper[0]) * min(v, top) / top) for line in throughput]
    for n, level in enumerate(levels):
        y = upper[1] - (upper[1] - upper[0]) * level.value / top
        parts.append(f'<line class="lv l{n}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    if cpu:
        parts.append(_grid(lower, ["0", "50", "100"], "% of the busiest core"))
        parts += [_line(line, x, lambda v: lower[1] - (lower[1] - lower[0]) * min(v, 100) / 100) for line in cpu]
    parts.append(_time_axis(x, seconds, lower[1]))
    parts.append(_legend([*throughput, *cpu], levels, factor, unit, lower[1] + 34))
    return picture(title, height, _words(throughput, cpu, levels, unit, factor, spans), parts)


@dataclass(frozen=True)
class LadderRung:
    """A rung of the picture."""

    name: str
    verdict: str
    css: str  # class of the verdict
    rates: tuple[tuple[str, float | None], ...]  # each way in words, and what is carried that way in bit/s


def ladder(title: str, rungs: Sequence[LadderRung], needed: float | None) -> str:
    """The ladder as bars, top rung first, with a line at the needed rate if there is one."""
    known = [v for v in (needed, *(bps for rung in rungs for _, bps in rung.rates)) if v]
    top = max([*known, 1.0])
    low = min(known, default=1.0) / 4
    row, height = 66, 40 + 66 * len(rungs) + 26
    left, right = 170, 150

    def x(bps: float) -> float:
        """The place of a rate on a logarithmic scale, since localhost carries ten times what a link does."""
        if bps <= low:
            return left
        return left + (WIDTH - left - right) * math.log(bps / low) / math.log(top * 1.05 / low)

    said = "; ".join(
        f"{rung.name}: {rung.verdict}, {', '.join(f'{units.rate(bps)} {which}' for which, bps in rung.rates)}"
        for rung in rungs
    )
    parts = []
    for i, rung in enumerate(reversed(rungs)):
        y = 28 + i * row
        parts.append(f'<text class="b" x="6" y="{y + 17}">{escape(rung.name)}</text>')
        for k, word in enumerate(rung.verdict.split(", ")):
            parts.append(f'<text class="s v-{rung.css}" x="6" y="{y + 35 + 17 * k}">{escape(word)}</text>')
        for k, (which, bps) in enumerate(rung.rates):
            if bps is None:
                continue
            end = x(bps)
            parts.append(
                f'<rect class="f{k}" x="{left}" y="{y + k * 19}" width="{max(2.0, end - left):.1f}" height="15"/>'
                f'<text class="s" x="{end + 5:.1f}" y="{y + k * 19 + 12}">'
                f"{escape(units.rate(bps))} {escape(which)}</text>"
            )
    if needed:
        at, bottom = x(needed), 28 + row * len(rungs)
        parts.append(f'<line class="lv l0" x1="{at:.1f}" x2="{at:.1f}" y1="18" y2="{bottom}"/>')
        parts.append(
            f'<text class="s" x="{at:.1f}" y="{bottom + 14}" text-anchor="middle">needed: '
            f"{escape(units.rate(needed))}</text>"
        )
    parts.append(f'<text class="s" x="{WIDTH - RIGHT}" y="13" text-anchor="end">logarithmic scale</text>')
    return picture(title, height, f"{said}.{f' Needed: {units.rate(needed)}.' if needed else ''}", parts)


def picture(title: str, height: float, words: str, parts: Sequence[str]) -> str:
    """The parts as one image with its title; `words`: what it shows, for people who cannot see it."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}. {escape(words)}">'
        f"<title>{escape(title)}</title><desc>{escape(words)}</desc>"
        f'<text class="b" x="6" y="13">{escape(title)}</text>{"".join(parts)}</svg>'
    )


def _grid(box: tuple[float, float], labels: list[str], unit: str) -> str:
    top, bottom = box
    parts = []
    for k, label in enumerate(labels):
        y = bottom - (bottom - top) * k / (len(labels) - 1)
        parts.append(f'<line class="gr" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="s" x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    parts.append(f'<text class="s" x="{WIDTH - RIGHT}" y="{top - 4:.1f}" text-anchor="end">{escape(unit)}</text>')
    return "".join(parts)


def _line(line: Line, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    drawn = []
    for piece in _pieces(line):
        places = [(at, y(v)) for at, v in _drawn([(x(t), v) for t, v in piece])]
        if len(places) == 1:  # of one point nothing would be seen
            places = [(places[0][0] + pixels, places[0][1]) for pixels in (-1, 1)]
        points = " ".join(f"{at:.1f},{height:.1f}" for at, height in places)
        drawn.append(f'<polyline class="ln {line.style}{" th" if line.thin else ""}" points="{points}"{dash}/>')
    return "".join(drawn)


def _pieces(line: Line) -> list[list[tuple[float, float]]]:
    """The points of a curve, apart where it has a gap between them."""
    return [list(group) for _, group in groupby(line.points, lambda point: sum(point[0] > end for end, _ in line.gaps))]


def _drawn(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """The points, but if there are more than two per pixel, only each pixel's lowest and highest one, so that a dead
    second stays visible.
    """
    if len(points) <= 2 * (WIDTH - LEFT - RIGHT):
        return points
    drawn: list[tuple[float, float]] = []
    for _, group in groupby(points, lambda point: int(point[0])):
        ones = list(group)
        low, high = min(ones, key=lambda point: point[1]), max(ones, key=lambda point: point[1])
        drawn += sorted({low, high})
    return drawn


def _time_axis(x: Callable[[float], float], seconds: float, y: float) -> str:
    step = next(s for s in (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600, 10**9) if seconds / s <= 12)
    marks = [t for t in range(0, int(seconds) + 1, step)]
    labels = "".join(f'<text class="s" x="{x(t):.1f}" y="{y + 14}" text-anchor="middle">{t}</text>' for t in marks)
    return labels + f'<text class="s" x="{WIDTH - RIGHT}" y="{y + 27}" text-anchor="end">seconds</text>'


def _legend(lines: Sequence[Line], levels: Sequence[Level], factor: float, unit: str, y: float) -> str:
    parts, at = [], float(LEFT)
    entries = [(escape(n.name), f"ln {n.style}", n.dash) for n in lines if n.name]
    entries += [(f"{escape(v.name)} {v.value / factor:.4g} {unit}", f"lv l{n}", "") for n, v in enumerate(levels)]
    for name, css, dash in entries:
        width = 34 + 8 * len(name)  # wide enough for a phone's larger letters
        if at + width > WIDTH and at > LEFT:
            at, y = float(LEFT), y + 18
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<line class="{css}" x1="{at:.0f}" x2="{at + 20:.0f}" y1="{y:.0f}" y2="{y:.0f}"{extra}/>')
        parts.append(f'<text class="s" x="{at + 25:.0f}" y="{y + 4:.0f}">{name}</text>')
        at += width
    return "".join(parts)


def _words(
    throughput: Sequence[Line],
    cpu: Sequence[Line],
    levels: Sequence[Level],
    unit: str,
    factor: float,
    spans: Sequence[tuple[float, float, str]],
) -> str:
    """The chart in words, for people who cannot see it."""
    said = []
    for line in throughput:
        values = [v for _, v in line.points]
        if values:
            without = "".join(f", no figure from {first:.1f} s to {last:.1f} s" for first, last in line.gaps)
            rates = f"{min(values) / factor:.4g} to {max(values) / factor:.4g} {unit}"
            said.append(f"{line.name or 'repeat'}: {rates}{without}")
    for line in cpu:
        values = [v for _, v in line.points]
        if values:
            said.append(f"{line.name}: {min(values):.0f} to {max(values):.0f} %")
    said += [f"{level.name}: {level.value / factor:.4g} {unit}" for level in levels]
    said += [f"{name} from {first:.1f} s to {last:.1f} s" for first, last, name in spans]
    return "; ".join(said)
