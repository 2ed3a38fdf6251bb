"""Raw tool output, one compressed file a trial, beside the database."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path as FilePath

from linkladder import drafts
from linkladder.model import Command


def _file(folder: FilePath, run: str, trial: str) -> FilePath:
    return folder / "raw" / run / f"{trial}.json.gz"


def write(folder: FilePath, run: str, trial: str, commands: tuple[Command, ...]) -> None:
    """Written whole, synced and renamed before the row that needs it."""
    path = _file(folder, run, trial)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = gzip.compress(json.dumps([[c.output, c.errors] for c in commands]).encode(), 5)
    drafts.replace(path, data)


def read(folder: FilePath, run: str, trial: str, commands: tuple[Command, ...]) -> tuple[Command, ...]:
    """The commands with their output; a lost or damaged file leaves them bare rather than hiding the result."""
    try:
        texts = json.loads(gzip.decompress(_file(folder, run, trial).read_bytes()))
        return tuple(replace(c, output=o, errors=e) for c, (o, e) in zip(commands, texts, strict=True))
    except (OSError, ValueError, EOFError):
        return commands


def delete(folder: FilePath, run: str) -> None:
    shutil.rmtree(folder / "raw" / run, ignore_errors=True)
