"""Where a person can go, each place by its name: screens ask for one another here, and none imports another."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from textual.screen import Screen

SCREENS = "linkladder.app.screens"


@dataclass(frozen=True)
class Place:
    """A screen's class, loaded when somebody goes there; in the command palette where it has words."""

    module: str
    screen: str
    title: str = ""
    words: str = ""


PLACES = {
    "home": Place("home", "HomeScreen"),
    "pair": Place("pair", "PairScreen", "Pair", "Find another appliance and swap codes"),
    "link": Place("link", "LinkScreen", "Link", "Describe the link: rate, MTU, addresses, plan"),
    "ladder": Place("ladder", "LadderScreen", "Ladder", "The run that goes on"),
    "mesh": Place("mesh", "MeshScreen", "Mesh", "Every pair or path: alone, with all, what they share"),
    "experiments": Place(
        "experiments", "ExperimentsScreen", "Experiments", "What to set, what offloads cost, how many vCPUs it takes"
    ),
    "runs": Place("runs", "RunsScreen", "Runs", "What was measured before"),
    "system": Place("system", "SystemScreen", "System", "Host name, addresses, time zone, ssh, kernel, shutdown"),
    "machine": Place(
        "reading", "MachineScreen", "Machine", "This machine: interfaces, drivers, addresses, offloads, queues"
    ),
    "tunables": Place("reading", "SettingsScreen", "Tunables", "Settings and offloads: shipped, in force, why not"),
    "doctor": Place("reading", "DoctorScreen", "Doctor", "What this machine lacks, and what to do about it"),
    "log": Place("reading", "LogScreen", "Log", "What linkladder wrote down"),
    "results": Place("results", "ResultsScreen"),
    "compare": Place("compare", "CompareScreen"),
    "export": Place("export", "ExportScreen"),
    "trusted": Place("trusted", "TrustedScreen"),
    "help": Place("help", "HelpScreen"),
}


def screen(name: str, *about: Any) -> Screen[Any]:
    """The screen of that name, on what it is about."""
    place = PLACES[name]
    made: Screen[Any] = getattr(import_module(f"{SCREENS}.{place.module}"), place.screen)(*about)
    return made
