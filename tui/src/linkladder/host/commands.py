"""Running a system's own small programs and reading what they print."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

PATH = "/sbin:/usr/sbin:/bin:/usr/bin:/usr/local/sbin:/usr/local/bin"


def output(argv: Sequence[str], timeout: float = 5.0) -> str:
    """Standard output, '' if the program is missing, fails to run or hangs."""
    program = shutil.which(argv[0], path=PATH)
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *argv[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            env={"PATH": PATH, "LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def document(text: str) -> Any:
    """The JSON in a text, {} if there is none; a key told twice keeps its last value."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def read(path: str) -> str:
    """A small file's text without the newline at its end, '' if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""
