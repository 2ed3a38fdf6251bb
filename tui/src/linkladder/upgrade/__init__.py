"""A new system by one signed file: what the file holds, whether it is to be believed, and the slot it is written to.

`parcel` is the file's form and its signature, `slots` the two places on the disk, `writing` puts one into the other as
root.  Root verifies for itself: nothing that the console user says about a file is believed.
"""

from linkladder.upgrade.parcel import Head, Manifest, UpgradeFault, admit, read_head, verify
from linkladder.upgrade.slots import Slot, Slots

__all__ = ["Head", "Manifest", "Slot", "Slots", "UpgradeFault", "admit", "read_head", "verify"]
