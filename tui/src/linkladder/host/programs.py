"""Finds the measuring tools and their versions, and reads the output of the system's programs and its files."""

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
    """The folders in which tools are searched; the lab and tests put their own first by LINKLADDER_TOOLS_PATH."""
    first = os.environ.get("LINKLADDER_TOOLS_PATH", "")
    return f"{first}:{TOOLS_PATH}" if first else TOOLS_PATH


def find(program: str) -> str:
    """A tool's absolute path; '' if it is not installed."""
    return shutil.which(program, path=search_path()) or ""


def tool_versions() -> dict[str, str]:
    """The version of each tool that is installed, by name."""
    return {name: version for name in tools.TOOLS if (version := tool_version(name))}


def tool_version(name: str) -> str:
    """A tool's version such as '2.1.8'; '' if it is not installed, 'present' if it tells no version."""
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
    """The standard output of a program; '' if it is missing, cannot be run or takes longer than `timeout` seconds."""
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
    """The value of a JSON text; {} if it is not JSON. If a key occurs twice, the last value is used."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def read(path: str) -> str:
    """A small file's text without the newlines at its end; '' if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""
