"""The Compare screen: two runs side by side, and for each setting whether it differs beyond its repeats' noise."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from linkladder import phrases, units
from linkladder.app.page import Page
from linkladder.phrases.comparison import MEANS
from linkladder.verdicts import Answer, Comparison, Difference

FIGURES = 46  # columns for the figures beside a setting's name


def word(difference: Difference) -> tuple[str, str]:
    """Words on whether a setting differs, and their style."""
    if difference.answer is Answer.DIFFERS:
        return "differs", "bold yellow"
    if difference.answer is Answer.SAME:
        return "same within 2 %", "dim"
    return "cannot tell", "yellow"


def comparison_page(found: Comparison, width: int) -> Text:
    """The page: the sentence, a row for each setting, then what else differs."""
    out = Text(f"first   {found.a}\nsecond  {found.b}\n\n")
    out.append(f"{found.sentence}\n", "bold")
    names = min(44, max(20, width - FIGURES))
    above = ("", "")
    for d in found.differences:
        if d.rung != above[0]:
            out.append(f"\n{d.rung:<{names}} {'first':>9} {'second':>9}  change\n", "bold")
        if (d.rung, d.experiment) != above:
            out.append(f" {d.experiment}\n")
            above = (d.rung, d.experiment)
        said, style = word(d)
        out.append(f"{f'   {d.pair or phrases.way(d.direction)}':<{names}} ")
        change = f"{d.change_percent:+6.1f} %" if d.a_bps > 0 else f"{'-':>8}"
        out.append(f"{units.rate(d.a_bps):>9} {units.rate(d.b_bps):>9} {change} ")
        out.append(f"{said}\n", style)
    if found.differences:
        out.append(f"\n{MEANS}\n", "dim")
    if any(d.answer is Answer.UNDECIDED and not d.doubt for d in found.differences):
        out.append("Cannot tell: the noise of the repeats is larger, or with one repeat not known.\n", "dim")
    out.append("".join(f"Cannot tell: {d.sentence}\n" for d in found.differences if d.doubt))
    moved = [f for f in found.figures if f.answer is not Answer.SAME]
    if found.figures:
        alike = len(found.figures) - len(moved)
        out.append(f"\nBeside the throughput ({alike} of {len(found.figures)} figures are the same):\n", "bold")
        out.append("".join(f"  {phrases.compared(f)}\n" for f in moved))
    for line in found.only_in_one:
        out.append(f"Only in one run: {line}\n")
    if found.environment:
        out.append("\nNot the same about the machines (first / second):\n", "bold")
        out.append("".join(f"  {line}\n" for line in found.environment))
    return out


class CompareScreen(Page):
    NAME = "Compare"
    HELP = """
Two runs side by side, a row for each setting that both measured. A difference
counts only if it is larger than what the repeats of one run differ among
themselves; with one repeat that cannot be told. Below stands what else is not
the same: systems, tunables, tools.
"""

    def __init__(self, found: Comparison) -> None:
        super().__init__()
        self._found = found

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body") as scroll:
            scroll.can_focus = True
            yield Static("", id="page", markup=False)

    def on_resize(self) -> None:
        self.query_one("#page", Static).update(comparison_page(self._found, self.size.width - 3))
