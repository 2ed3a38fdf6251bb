"""Installs a new system from one signed file: verifies the file, and writes it to the slot that is not running.

`parcel` has the file's form and its signature, `slots` the two places on the disk, and `writing` writes one to the
other as root. Root verifies the file itself, and trusts nothing that the console user says about it.
"""

from linkladder.upgrade.parcel import Head, Manifest, UpgradeFault, admit, read_head, verify
from linkladder.upgrade.slots import Slot, Slots

__all__ = ["Head", "Manifest", "Slot", "Slots", "UpgradeFault", "admit", "read_head", "verify"]
