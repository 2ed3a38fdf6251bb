"""Where a person can go: one table for the command palette, Home's menu and Home's keys.

Screens ask for one another by name here, and none imports another.  The table is apart from the screens because Home
shows all of it before any of them is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from textual.binding import Binding
from textual.screen import Screen

SCREENS = "linkladder.app.screens"


@dataclass(frozen=True)
class Step:
    """A line of Home's menu."""

    label: str
    words: str
    needs_link: bool = False  # offered once there is a peer and the link is described


@dataclass(frozen=True)
class Place:
    """A screen's class, loaded when somebody goes there; in the command palette where it has words."""

    module: str
    screen: str
    title: str = ""
    words: str = ""
    step: Step | None = None
    key: str = ""  # on Home
    in_footer: bool = False  # of Home, which has room for a few keys


PLACES = {  # in the order in which Home offers them
    "home": Place("home", "HomeScreen"),
    "experiments": Place(
        "experiments", "ExperimentsScreen", "Experiments", "What to set, what offloads cost, how many vCPUs it takes",
        Step("Try a change", "what to set, what offloads cost, how many vCPUs", needs_link=True), "t",
    ),
    "pair": Place(
        "pair", "PairScreen", "Pair", "Find another appliance and swap codes",
        Step("Open pairing", "find the other appliance and swap codes"), "p",
    ),
    "link": Place(
        "link", "LinkScreen", "Link", "Describe the link: rate, MTU, addresses, plan",
        Step("Describe the link", "rate, MTU, addresses, plan"), "e",
    ),
    "ceilings": Place(
        "ceilings", "CeilingsScreen", "Ceilings", "What this link can carry at most, by MTU and layer", key="c"
    ),
    "ladder": Place("ladder", "LadderScreen", "Ladder", "The run that goes on"),
    "mesh": Place("mesh", "MeshScreen", "Mesh", "Every pair or path: alone, with all, what they share"),
    "doctor": Place(
        "reading", "DoctorScreen", "Doctor", "What this machine lacks, and what to do about it", key="d", in_footer=True
    ),
    "runs": Place(
        "runs", "RunsScreen", "Runs", "What was measured before",
        Step("Earlier runs", "open, compare, export, delete"), "r", in_footer=True,
    ),
    "system": Place(
        "system", "SystemScreen", "System", "Host name, addresses, time zone, ssh, kernel, shutdown",
        Step("This appliance", "tunables, host name, ssh, shutdown"), "s", in_footer=True,
    ),
    "machine": Place(
        "reading", "MachineScreen", "Machine", "Interfaces, drivers, addresses, offloads, queues", key="m"
    ),
    "tunables": Place("reading", "SettingsScreen", "Tunables", "Settings and offloads: shipped, in force, why not"),
    "log": Place("reading", "LogScreen", "Log", "What linkladder wrote down"),
    "results": Place("results", "ResultsScreen"),
    "compare": Place("compare", "CompareScreen"),
    "export": Place("export", "ExportScreen"),
    "trusted": Place("trusted", "TrustedScreen"),
    "help": Place("help", "HelpScreen"),
}  # fmt: skip


def screen(name: str, *about: Any) -> Screen[Any]:
    """The screen of that name, on what it is about."""
    place = PLACES[name]
    made: Screen[Any] = getattr(import_module(f"{SCREENS}.{place.module}"), place.screen)(*about)
    return made


def keys() -> list[Binding]:
    """Home's keys that lead to places."""
    found = [(name, place) for name, place in PLACES.items() if place.key]
    return [Binding(place.key, f"open({name!r})", place.title, show=place.in_footer) for name, place in found]


def keys_in_words() -> str:
    """The same as lines of Home's help."""
    return "\n".join(f"  {place.key}   {place.title:<12}  {place.words}" for place in PLACES.values() if place.key)
