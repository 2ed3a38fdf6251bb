"""Whose these keys are: the machine's that they were made on, and not its copies'.

The appliance draws a host id at its first boot, and again where it finds itself on another machine than before: a copy
of a disk that has booted, or one that was moved.  The keys note for which host id they were made.
"""

from __future__ import annotations

from pathlib import Path

from linkladder import damage, state
from linkladder.trust import files, keys, sshd

NOTE = "machine"
WHY = (
    "this machine is not the one that its keys were made for (a copy, a disk that was moved, or reset by hand): it has "
    "new keys, and no peers. Remove it at each peer (linkladder peers remove NAME), then pair again"
)


def bind(base: Path, host_id: str) -> bool:
    """Keys and no peers, where there were none or they are another machine's; whether they were another's."""
    folder = keys.folder(base)
    note = folder / NOTE
    others = note.exists() and note.read_text().strip() != host_id
    if others:
        for one in folder.iterdir():
            if one != note:
                one.unlink()
        damage.set_aside([base / "identity", base / "peers.json"], WHY)
    keys.host_key(base)
    keys.user_key(base)
    state.ensure(base / "sshd")
    sshd.write_authorized(base)
    files.write(note, host_id + "\n")  # last: cut off before it, all of this is done once more
    return others
