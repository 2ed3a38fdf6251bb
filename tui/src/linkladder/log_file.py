"""Writes this appliance's log, a file that stays short and is never opened through a link."""

from __future__ import annotations

import io
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

NAME = "linkladder.log"
MOST = 1 << 20  # bytes; a full file is kept beside the new one, and older ones are deleted


class LogFile(RotatingFileHandler):
    def __init__(self, folder: Path, level: int) -> None:
        super().__init__(folder / NAME, maxBytes=MOST, backupCount=1, encoding="utf-8", delay=True)
        self.setLevel(level)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")


def start(folder: Path, level: int) -> None:
    """Start logging to a file in this folder, instead of the one used before."""
    top = logging.getLogger("linkladder")
    for old in [handler for handler in top.handlers if isinstance(handler, LogFile)]:
        top.removeHandler(old)
        old.close()
    top.addHandler(LogFile(folder, level))
    top.setLevel(min(level, logging.WARNING))
