"""Changes interfaces and kernel settings on loan, and always restores them.

Before its first change, a `Lease` writes the present values to disk (`journal`) and starts a separate process (`undo`).
The changes go through the privileged helper and are read back (`reversible`). The old values are restored in any case:
by `release()`, after an error, by the undo process if the holder dies or stops renewing, and by `recover()` if both
were killed. Values that could not be restored stay in the journal, and `left_behind()` reports it. `on_loan()` tells
what is changed now and for how long. `tunables` compares the settings that an appliance ships with those in force.
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
