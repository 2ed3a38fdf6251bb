"""State that cannot be read is set aside under a dated name, and told of until somebody has removed it.

What can still work works on without it.  `damaged/20261122-101530-peers.json/` in the state folder holds the file as it
was found, and `why.txt` says in words what was wrong and what became of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from linkladder import state

FOLDER = "damaged"
WHY = "why.txt"
MOST = 50  # more are not told of; each is a folder that a person can look at


@dataclass(frozen=True)
class Damage:
    """One thing that was set aside."""

    folder: Path
    why: str

    @property
    def name(self) -> str:
        """'peers.json', of a folder named by date, time and file."""
        return self.folder.name.split("-", 2)[-1]


def set_aside(files: Sequence[Path], why: str) -> Damage:
    """Move the files, of which the first gives the name, to a dated folder of their own beside them."""
    base = state.ensure(files[0].parent / FOLDER)
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{files[0].name}"
    place, number = base / name, 1
    while place.exists():
        number += 1
        place = base / f"{name}.{number}"
    place.mkdir(mode=0o700)
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            file.rename(place / file.name)
    return explain(place, why)


def explain(place: Path, why: str) -> Damage:
    """Say what became of it; where not even that can be written, the dated name has to do."""
    with contextlib.suppress(OSError):
        (place / WHY).write_text(why + "\n", encoding="utf-8")
    return Damage(place, why)


def found(folder: Path) -> tuple[Damage, ...]:
    """Everything that was set aside in this state folder and is still there, the oldest first."""
    try:
        places = sorted(p for p in (folder / FOLDER).iterdir() if p.is_dir())
    except OSError:
        return ()
    return tuple(Damage(p, _why(p)) for p in places[:MOST])


def _why(place: Path) -> str:
    try:
        return (place / WHY).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "it could not be read"
