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
    from linkladder.app.screens.runs import RunsScreen
    from linkladder.app.screens.system import LogScreen, SystemScreen

    return [
        ("Pair", "Find another appliance and compare a code", PairScreen),
        ("Link", "Describe the link: rate, MTU, addresses, plan", LinkScreen),
        ("Ladder", "The run that goes on", LadderScreen),
        ("Runs", "What was measured before", RunsScreen),
        ("System", "Tunables, offloads, host name, ssh, shutdown", SystemScreen),
        ("Log", "What linkladder wrote down", LogScreen),
    ]
