"""Decides who may steer the run: of all screens and shells that watch it, one at a time has the controls."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from linkladder import atomic_files, locks

OTHER = "another screen"


class Seat:
    """A console or a `linkladder run` that may steer; it holds its file under a lock for as long as it exists."""

    def __init__(self, folder: Path, who: str) -> None:
        self.who = who
        self._seats = folder / "seats"
        self._record = folder / "controller.json"
        self._file = locks.HeldFile(self._seats / f"{os.getpid()}-{secrets.token_hex(4)}")

    @property
    def steers(self) -> bool:
        return self._file.mine and self._read().get("seat") == self._file.path.name

    @property
    def holder(self) -> str:
        """Who has the controls, in words for people."""
        return "this screen" if self.steers else str(self._read().get("who") or OTHER)

    def take_over(self) -> None:
        if not self._file.mine:
            self._sweep()
            self._file.take()
        atomic_files.replace(self._record, json.dumps({"seat": self._file.path.name, "who": self.who}))

    def take_if_free(self) -> None:
        if not self.steers and not self._taken():
            self.take_over()

    def leave(self) -> None:
        if self._file.mine:
            with contextlib.suppress(OSError):  # if the disk cannot be written, the next seat removes the file
                self._file.path.unlink(missing_ok=True)
            self._file.release()

    def _taken(self) -> bool:
        seat = str(self._read().get("seat") or "")
        return bool(seat) and "/" not in seat and locks.held(self._seats / seat)

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _sweep(self) -> None:
        """Remove the files of seats whose processes ended without leaving."""
        for path in self._seats.glob("*"):
            if not locks.held(path):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def seated(folder: Path, who: str) -> Iterator[Seat]:
    seat = Seat(folder, who)
    try:
        yield seat
    finally:
        seat.leave()


def terminal() -> str:
    """A description of this terminal that helps people to find it."""
    try:
        tty = os.ttyname(sys.stdin.fileno()).removeprefix("/dev/")
    except (OSError, ValueError):
        tty = "no terminal"
    far = os.environ.get("SSH_CONNECTION", "").split()
    return tty + (f" (ssh from {far[0]})" if far else "")
