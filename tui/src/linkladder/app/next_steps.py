"""What a person can do next from Home, and which of it a newcomer should."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkladder.app.backend import HomeView

STEPS = {
    "watch": ("Watch the run", "a run is going on"),
    "confirm": ("Go on pairing", "the code is on the screen still, for the other end"),
    "resume": ("Go on with the last run", "it stopped early; what it measured is kept"),
    "pair": ("Open pairing", "find the other appliance and swap codes"),
    "link": ("Describe the link", "rate, MTU, addresses, plan"),
    "climb": ("Climb the ladder", "measure every rung that has addresses"),
    "experiments": ("Try a change", "what to set, what offloads cost, how many vCPUs"),
    "report": ("Read the report", "what the last run showed"),
    "runs": ("Earlier runs", "open, compare, export, delete"),
    "system": ("This appliance", "tunables, host name, ssh, shutdown"),
}


def next_step(view: HomeView, running: bool, code_waits: bool = False) -> str:
    """The one thing a newcomer should do now."""
    if running:
        return "watch"
    if code_waits:
        return "confirm"
    if view.resumable:
        return "resume"
    if not view.peers:
        return "pair"
    if view.link.contract is None:
        return "link"
    return "report" if view.last else "climb"


def offered(view: HomeView, running: bool, code_waits: bool = False) -> list[str]:
    """The steps that make sense now, the next one first."""
    first = next_step(view, running, code_waits)
    rest = ["climb", "report", "experiments", "pair", "link", "runs", "system"]
    out = {first, *(["climb"] if running else []), *(["pair"] if code_waits else [])}
    if not view.peers or view.link.contract is None:
        out.add("experiments")
    if not view.last:
        out.add("report")
    return [first, *(s for s in rest if s not in out)]
