"""Tells which steps Home offers, and which one a newcomer should take next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkladder.app.places import PLACES, Step

if TYPE_CHECKING:
    from linkladder.app.backend import HomeView

ACTIONS = {  # steps that do more than open a screen
    "watch": Step("Watch the run", "a run is going on"),
    "confirm": Step("Go on pairing", "the code is on the screen still, for the other end"),
    "resume": Step("Go on with the last run", "it stopped early; what it measured is kept"),
    "climb": Step("Climb the ladder", "measure every rung that has addresses"),
    "report": Step("Read the report", "what the last run showed"),
}


def step(name: str) -> Step:
    """The line of Home's menu for a step."""
    found = ACTIONS.get(name) or PLACES[name].step
    assert found, name
    return found


def next_step(view: HomeView, running: bool, code_waits: bool = False) -> str:
    """The step that a newcomer should take now."""
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
    places = {name: place.step for name, place in PLACES.items() if place.step}
    out = {first, *(["climb"] if running else []), *(["pair"] if code_waits else [])}
    if not view.peers or view.link.contract is None:
        out |= {name for name, step in places.items() if step.needs_link}
    if not view.last:
        out.add("report")
    return [first, *(s for s in ("climb", "report", *places) if s not in out)]
