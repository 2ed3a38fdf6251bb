"""What is shipped, and the lines of FreeBSD's source that its settings' names are known from.

The overlay cites file and line; `cited-15.1.txt` keeps what stands there, so that nobody needs the source to check it:

    python tests/image/cited.py /usr/src        # writes it anew from FreeBSD 15.1's source
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OVERLAY = Path(__file__).resolve().parents[2] / "overlay"
KEPT = Path(__file__).with_name("cited-15.1.txt")
FILES = ("boot/loader.conf", "etc/sysctl.conf", "etc/rc.conf")
SETTING = re.compile(r'^([A-Za-z]\w*(?:\.\w+)*)=(?:"([^"]*)"|([^"\s]*))(.*)$')
SOURCE = re.compile(r"\[([\w./-]+):(\d+)\]$")
NEVER = "0"


@dataclass(frozen=True)
class Setting:
    file: str
    name: str
    value: str
    comment: str


@dataclass(frozen=True)
class Cited:
    """A line of the source: under which `#if` it is compiled, and what it says."""

    place: str  # file:line
    condition: str
    text: str


def settings() -> list[Setting]:
    """Every shipped line that sets something."""
    found = []
    for file in FILES:
        for line in (OVERLAY / file).read_text().splitlines():
            if match := SETTING.match(line):
                found.append(Setting(file, match[1], match[2] or match[3] or "", match[4].strip()))
    return found


def kept() -> dict[str, Cited]:
    lines = (line.split("\t") for line in KEPT.read_text().splitlines() if not line.startswith("#"))
    return {place: Cited(place, condition, text) for place, condition, text in lines}


def conditions(lines: list[str]) -> Iterator[str]:
    """For each line the `#if`s around it, joined; an include guard is none."""
    around: list[str] = []
    for number, line in enumerate(lines):
        match = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(.*?)\s*(?:/\*.*)?$", line)
        word, what = (match[1], match[2]) if match else ("", "")
        if word == "if":
            around.append(what)
        elif word == "ifdef":
            around.append(f"defined({what})")
        elif word == "ifndef":
            guard = re.match(rf"\s*#\s*define\s+{re.escape(what)}\b", [*lines, "", ""][number + 1])
            around.append("" if guard else f"!defined({what})")
        elif word == "elif":
            around[-1] = f"!({around[-1]}) && {what}"
        elif word == "else":
            around[-1] = f"!({around[-1]})"
        elif word == "endif":
            around.pop()
        yield " && ".join(filter(None, around))


def look_up(source: Path) -> list[Cited]:
    """Each cited line as the source has it."""
    found = {}
    for setting in settings():
        if match := SOURCE.search(setting.comment):
            file, number = match[1], int(match[2])
            lines = (source / file).read_text(errors="replace").splitlines()
            around = list(conditions(lines)) if file.endswith((".c", ".h")) else [""] * len(lines)
            place = f"{file}:{number}"
            found[place] = Cited(place, around[number - 1], " ".join(lines[number - 1].split()))
    return [found[place] for place in sorted(found)]


if __name__ == "__main__":
    head = "# Cited lines of FreeBSD 15.1: place, condition, text; written by tests/image/cited.py.\n"
    KEPT.write_text(head + "".join(f"{c.place}\t{c.condition}\t{c.text}\n" for c in look_up(Path(sys.argv[1]))))
