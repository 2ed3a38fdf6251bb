"""Lists all screens in one table, for the command palette, Home's menu and Home's keys.

Screens open one another by name through this table, so that none imports another. The table is separate from the
screens because Home shows it before any of them is loaded.
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
    needs_link: bool = False  # whether it is offered only once there is a peer and the link is described


@dataclass(frozen=True)
class Place:
    """A screen, whose class is loaded when it is opened; it is in the command palette if it has a title."""

    module: str
    screen: str
    title: str = ""
    words: str = ""
    step: Step | None = None
    key: str = ""  # the key that opens it on Home
    in_footer: bool = False  # whether Home's footer shows the key, as it has room only for a few


PLACES = {  # in the order of Home's menu
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
    """A new screen of that name; `about` are its constructor's arguments."""
    place = PLACES[name]
    made: Screen[Any] = getattr(import_module(f"{SCREENS}.{place.module}"), place.screen)(*about)
    return made


def keys() -> list[Binding]:
    """Home's keys that open screens."""
    found = [(name, place) for name, place in PLACES.items() if place.key]
    return [Binding(place.key, f"open({name!r})", place.title, show=place.in_footer) for name, place in found]


def keys_in_words() -> str:
    """Home's keys as lines for its help."""
    return "\n".join(f"  {place.key}   {place.title:<12}  {place.words}" for place in PLACES.values() if place.key)
