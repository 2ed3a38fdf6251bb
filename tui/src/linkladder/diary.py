"""What is written down of this appliance's own doings: a file that stays short, and that nobody can turn elsewhere."""

from __future__ import annotations

import io
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

NAME = "linkladder.log"
MOST = 1 << 20  # bytes; the file before is kept beside it, and none before that


class Diary(RotatingFileHandler):
    def __init__(self, folder: Path, level: int) -> None:
        super().__init__(folder / NAME, maxBytes=MOST, backupCount=1, encoding="utf-8", delay=True)
        self.setLevel(level)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")


def keep(folder: Path, level: int) -> None:
    """From now on, in place of another one that this process kept."""
    top = logging.getLogger("linkladder")
    for old in [handler for handler in top.handlers if isinstance(handler, Diary)]:
        top.removeHandler(old)
        old.close()
    top.addHandler(Diary(folder, level))
    top.setLevel(min(level, logging.WARNING))
