"""Screens are places: Home, Pair, Link, Ladder, Results, Runs, System, Log; dialogs only ask or tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.screen import Screen


def places() -> list[tuple[str, str, Callable[[], Screen[Any]]]]:
    """What the command palette offers."""
    from linkladder.app.screens.ladder import LadderScreen
    from linkladder.app.screens.link import LinkScreen
    from linkladder.app.screens.pair import PairScreen
    from linkladder.app.screens.reading import DoctorScreen, LogScreen, MachineScreen, SettingsScreen
    from linkladder.app.screens.runs import RunsScreen
    from linkladder.app.screens.system import SystemScreen

    return [
        ("Pair", "Find another appliance and compare a code", PairScreen),
        ("Link", "Describe the link: rate, MTU, addresses, plan", LinkScreen),
        ("Ladder", "The run that goes on", LadderScreen),
        ("Runs", "What was measured before", RunsScreen),
        ("System", "Host name, addresses, time zone, ssh, kernel, shutdown", SystemScreen),
        ("Machine", "This machine: interfaces, drivers, addresses, offloads, queues", MachineScreen),
        ("Tunables", "Settings and offloads: shipped, in force, why not", SettingsScreen),
        ("Doctor", "What this machine lacks, and what to do about it", DoctorScreen),
        ("Log", "What linkladder wrote down", LogScreen),
    ]
