"""Changes interfaces and kernel settings on loan, and always restores them.

Before its first change, a `Lease` writes the present values to disk (`journal`) and starts a process of root's that can
undo it (`arming`, `priv/undo.py`). The changes go through the privileged helper and are read back (`reversible`). The
old values are restored in any case: by `release()`, after an error, by the undo process if the holder dies or stops
renewing, and by `recover()` if both were killed. Values that were not restored, or that cannot be read, stay in the
journal, which keeps runs from starting until they are right or a person accepts them. `overview` tells what is changed
now, what was left, and what a restart did to a loan. `tunables` compares the settings that an appliance ships with
those in force.
"""

from __future__ import annotations

from linkladder.settings.arming import Undo, Unguarded
from linkladder.settings.lease import Lease, StillLent, recover, settle
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

__all__ = [
    "FLAGS",
    "Change",
    "Lease",
    "SettingsError",
    "StillLent",
    "Undo",
    "Unguarded",
    "bundle",
    "flag",
    "member_down",
    "mtu",
    "of_machine",
    "on_adapter",
    "recover",
    "settle",
    "sysctl",
]
