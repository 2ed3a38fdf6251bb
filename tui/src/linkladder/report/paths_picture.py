"""Draws the matrix of several paths as SVG: from row to column, darker for higher rates, with a verdict per cell."""

from __future__ import annotations

from linkladder.phrases import company as words
from linkladder.printable import escape
from linkladder.report import page_text
from linkladder.report.svg import WIDTH
from linkladder.verdicts import CompanyJudgement

ROW, TOP, NAMES = 34, 44, 110
LONGEST = 12  # letters of a name that are shown
LETTER = 7.0  # the width of one, of most fonts


def paths_picture(seen: CompanyJudgement, title: str) -> str:
    """The matrix: in each cell what the path carries alone, and below it what it carries with all others."""
    grid = words.grid(seen.cells)
    wide = (WIDTH - NAMES) / max(1, len(grid.columns))
    height = TOP + ROW * len(grid.rows) + 22
    top = max((cell.alone_bps or cell.together_bps or 0.0 for cell in seen.cells), default=0.0) or 1.0
    columns = words.shortened(grid.columns, min(LONGEST, int(wide / LETTER) - 1))
    rows = words.shortened(grid.rows, LONGEST)
    parts = [f'<text class="b" x="0" y="14">{escape(title)}</text>']
    for n, name in enumerate(columns):
        x = NAMES + (n + 0.5) * wide
        parts.append(f'<text class="s" x="{x:.0f}" y="{TOP - 8}" text-anchor="middle">{escape(name)}</text>')
    for r, row in enumerate(grid.rows):
        y = TOP + r * ROW
        parts.append(f'<text x="0" y="{y + 20}">{escape(rows[r])}</text>')
        for n, column in enumerate(grid.columns):
            cell = grid.cells.get((row, column))
            if cell is None:
                continue
            x = NAMES + n * wide
            dark = 0.08 + 0.42 * (cell.alone_bps or cell.together_bps or 0.0) / top
            css = page_text.css(cell.judgement.verdict)
            mark = words.MARKS[cell.judgement.verdict]
            box = f'x="{x + 1:.0f}" y="{y}" width="{wide - 2:.0f}" height="{ROW - 2}"'
            middle = f'x="{x + wide / 2:.0f}" text-anchor="middle"'
            parts.append(f'<rect class="f0" {box} fill-opacity="{dark:.2f}"/>')
            alone, beside = words.figure(cell, "alone"), words.figure(cell, "with all")
            parts.append(f'<text class="b v-{css}" {middle} y="{y + 14}">{escape(alone)} {escape(mark)}</text>')
            parts.append(f'<text class="s" {middle} y="{y + 28}">{escape(beside)}</text>')
    description = f"from row to column: alone, below it with all at once; {words.LEGEND}"
    parts.append(f'<text class="s" x="0" y="{height - 6}">{escape(description)}</text>')
    said = "; ".join(words.cell_line(f"{c.sender} to {c.receiver}", c) for c in seen.cells)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(said)}">{"".join(parts)}</svg>'
