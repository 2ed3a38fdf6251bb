"""Makes sure that this appliance's keys were made on this machine, so that copies of a disk do not share keys.

The appliance draws a host id at its first boot, and a new one when it boots on another machine: from a copy of a disk
that has booted, or from a disk that was moved. The file `machine` beside the keys notes for which host id they are.
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
    """Make new keys, and forget all peers, if the keys are missing or another machine's; returns whether another's."""
    folder = keys.folder(base)
    note = folder / NOTE
    others = note.exists() and note.read_text(errors="replace").strip() != host_id
    if others:
        for one in folder.iterdir():
            if one != note:
                one.unlink()
        damage.set_aside([base / "identity", base / "peers.json"], WHY)
    keys.host_key(base)
    keys.user_key(base)
    state.ensure(base / "sshd")
    sshd.write_authorized(base)
    files.write(note, host_id + "\n")  # written last, so that all of this is repeated if it is interrupted
    return others
