"""Keeps the tools' raw output in one compressed file per trial, beside the database; older files are gzip."""

from __future__ import annotations

import gzip
import json
import lzma
import shutil
import zlib
from dataclasses import replace
from pathlib import Path as FilePath

from linkladder import atomic_files, packing
from linkladder.model import Command


def _file(folder: FilePath, run: str, trial: str) -> FilePath:
    return folder / "raw" / run / f"{trial}.json.xz"


def write(folder: FilePath, run: str, trial: str, commands: tuple[Command, ...]) -> None:
    """Write a trial's file completely, sync and rename it; the row in the database is written afterwards."""
    path = _file(folder, run, trial)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps([[c.output, c.errors] for c in commands]).encode()
    atomic_files.replace(path, lzma.compress(text, filters=packing.XZ_FILTERS))
    path.with_suffix(".gz").unlink(missing_ok=True)  # left by an earlier try of the same trial


def read(folder: FilePath, run: str, trial: str, commands: tuple[Command, ...]) -> tuple[Command, ...]:
    """The commands with their output; if the file is lost or damaged, the commands without output."""
    try:
        path = _file(folder, run, trial)
        before = path.with_suffix(".gz")
        data = gzip.decompress(before.read_bytes()) if before.exists() else lzma.decompress(path.read_bytes())
        texts = json.loads(data)
        return tuple(replace(c, output=o, errors=e) for c, (o, e) in zip(commands, texts, strict=True))
    except (OSError, ValueError, TypeError, EOFError, zlib.error, lzma.LZMAError):
        return commands


def delete(folder: FilePath, run: str) -> None:
    shutil.rmtree(folder / "raw" / run, ignore_errors=True)
