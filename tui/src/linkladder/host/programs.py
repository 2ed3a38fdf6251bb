"""Finding the measuring tools and their versions, and reading what the system's own programs and files tell."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

from linkladder import tools

PATH = "/sbin:/usr/sbin:/bin:/usr/bin:/usr/local/sbin:/usr/local/bin"
TOOLS_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


def search_path() -> str:
    """Where tools are looked for; LINKLADDER_TOOLS_PATH goes first, which is how lab and tests choose tools."""
    first = os.environ.get("LINKLADDER_TOOLS_PATH", "")
    return f"{first}:{TOOLS_PATH}" if first else TOOLS_PATH


def find(program: str) -> str:
    """A tool's absolute path, '' where it is not installed."""
    return shutil.which(program, path=search_path()) or ""


def tool_versions() -> dict[str, str]:
    """Each tool that is here, and its version."""
    return {name: version for name in tools.TOOLS if (version := tool_version(name))}


def tool_version(name: str) -> str:
    """'2.1.8', or '' where the tool is not there; a tool that is there but tells no version is 'present'."""
    path = find(name)
    if not path:
        return ""
    argv = [path, *tools.named(name).version_argv[1:]]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return tools.named(name).version(done.stdout + done.stderr)


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
