"""Sets aside files of state that cannot be read, in a dated folder, and lists them until somebody removes them.

linkladder goes on without the file. `damaged/20261122-101530-peers.json/` in the state folder then has the file as it
was found, and `why.txt` says in words what was wrong and what was done.
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
MOST = 50  # more are not listed


@dataclass(frozen=True)
class Damage:
    """A folder with what was set aside at one time."""

    folder: Path
    why: str

    @property
    def name(self) -> str:
        """The file's name, such as 'peers.json', from a folder's name of date, time and file."""
        return self.folder.name.split("-", 2)[-1]


def set_aside(files: Sequence[Path], why: str) -> Damage:
    """Move the files to a new dated folder beside them, which is named after the first file."""
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
    """Write the reason into the folder; an error while writing it is ignored."""
    with contextlib.suppress(OSError):
        (place / WHY).write_text(why + "\n", encoding="utf-8")
    return Damage(place, why)


def found(folder: Path) -> tuple[Damage, ...]:
    """Everything in this state folder that was set aside and is still there, the oldest first."""
    try:
        places = sorted(p for p in (folder / FOLDER).iterdir() if p.is_dir())
    except OSError:
        return ()
    return tuple(Damage(p, _why(p)) for p in places[:MOST])


def lines(folder: Path, file: str = "") -> list[str]:
    """A line on each damage in this state folder, or only on those by which this file was set aside."""
    return [f"{one.name} was set aside in {one.folder}: {one.why}" for one in found(folder)
            if (one.folder / file).exists()]  # fmt: skip


def why(folder: Path, file: str) -> str:
    """Why this file was set aside last; '' if it never was, or somebody has removed what was kept of it."""
    return next((one.why for one in reversed(found(folder)) if (one.folder / file).exists()), "")


def _why(place: Path) -> str:
    try:
        return (place / WHY).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "it could not be read"
