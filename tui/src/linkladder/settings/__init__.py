"""Changes on loan to interfaces and kernel settings, always put back.

A `Lease` writes the present values to disk (`journal`) and arms a process of its own (`undo`) before its first change;
the changes go through the privileged helper and are read back (`reversible`).  Whatever ends it, the old values return:
`release()`, an error, the undo when the holder dies or no longer renews, and `recover()` where both were killed.  What
could not be put back stays journalled, and `left_behind()` says so; `on_loan()` tells what is changed, and how long.
`tunables` holds what an appliance ships against what is in force.
"""

from __future__ import annotations

from linkladder.settings.lease import Lease, OnLoan, left_behind, on_loan, recover, settle
from linkladder.settings.reversible import (
    FLAGS,
    Change,
    SettingsError,
    bundle,
    flag,
    member_down,
    mtu,
    of_machine,
    on_adapter,
    sysctl,
)
from linkladder.settings.undo import Undo

__all__ = [
    "FLAGS",
    "Change",
    "Lease",
    "OnLoan",
    "SettingsError",
    "Undo",
    "bundle",
    "flag",
    "left_behind",
    "member_down",
    "mtu",
    "of_machine",
    "on_adapter",
    "on_loan",
    "recover",
    "settle",
    "sysctl",
]
