"""The Help screen: the keys and words of another screen, and those of all."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from linkladder.app.page import Page

COMMON = """
Everywhere
  Enter         do what is highlighted
  arrows, hjkl  move
  Tab           next field
  Esc           back
  ? or F1       this help
  Ctrl+P        every command by name
  Ctrl+L        draw the screen anew
  q             leave linkladder; a run goes on without the screen

The ladder
  localhost     this machine alone: what can the guest's own stack do
  same-host     two machines on one hypervisor host: adds the virtual switch
  same-vlan     two hosts in one VLAN: adds the physical NICs and the switch
  dc-link       the interconnect itself
  The rung where the throughput drops names the part that limits.

Verdicts
  PASS          the contract is met, both ways
  FAIL          it is not, and this machine could have shown it
  CANNOT JUDGE  this machine or the scatter is the limit, not the link
  IMPOSSIBLE    more than the link can carry: it is not what was entered
  INCOMPLETE    not enough was measured
  NO RATE ASKED all is there that was asked for, and it was no rate
  (provisional) one repeat only
"""


def flowing(text: str) -> str:
    """Join lines of prose into paragraphs, which the screen breaks by its width; indented lines stay."""
    out: list[str] = []
    for line in text.splitlines():
        if line and line[0] != " " and out and out[-1] and out[-1][0] != " ":
            out[-1] += f" {line}"
        else:
            out.append(line)
    return "\n".join(out)


class HelpScreen(Page):
    NAME = "Help"

    def __init__(self, place: str, text: str) -> None:
        super().__init__()
        self._place, self._text = place, text

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="body") as scroll:
            scroll.can_focus = True
            yield Static(self._place, classes="heading", markup=False)
            yield Static(flowing(self._text.strip("\n").rstrip()) + "\n" + COMMON, markup=False)
