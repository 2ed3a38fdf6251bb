"""The page of shipped settings: every value stands in its column, or on a line of its own."""

from __future__ import annotations

import re
from pathlib import Path

from linkladder.app.backend import Setting
from linkladder.app.screens.reading import SettingsScreen, settings_page

LLTUNE = Path(__file__).parents[2] / "overlay/etc/rc.d/lltune"


def test_long_values_do_not_run_into_each_other() -> None:
    rows = (
        Setting("kern.ipc.maxsockbuf", ">=134217728", "134217728", True),
        Setting("kernels", "kernel kernel.GENERIC", "kernel kernel.GENERIC", True),
        Setting("hostname", "linkladder", "linkladder-1b0900", None, "this machine's own choice", "its name"),
    )
    lines = settings_page(rows).plain.splitlines()
    assert re.fullmatch(r"kern\.ipc\.maxsockbuf +>=134217728 +134217728 +yes", lines[3])
    place = lines.index(next(line for line in lines if line.startswith("kernels")))
    assert lines[place].split() == ["kernels", "yes"]
    assert lines[place + 1 : place + 3] == ["  shipped kernel kernel.GENERIC", "  now     kernel kernel.GENERIC"]
    assert lines[-3:] == [
        "  shipped linkladder",
        "  now     linkladder-1b0900",
        "  this machine's own choice; its name",
    ]
    assert max(map(len, lines)) <= 80


def test_help_says_what_is_turned_on() -> None:
    """rc.d/lltune turns LRO on, which vmx has off by itself."""
    flags = set(re.findall(r" ([A-Z]+)\w*:[a-z]+\d?\b", LLTUNE.read_text()))
    assert flags == {"TSO", "LRO", "RXCSUM", "TXCSUM"}
    assert "TSO, LRO\nand checksums are turned on" in SettingsScreen.HELP
