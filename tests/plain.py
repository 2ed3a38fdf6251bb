"""The rules of plain words, by which everything that people read is tested.

After a percentage (or two of the same thing) stands "of" and what, "busy" (a core or a CPU), or "sure".  A direction is
"near to far"; its name in files is not for people.
"""

from __future__ import annotations

import re

PERCENTAGE = re.compile(r"[\d.]+ ?%(?: (?:and|to) [\d.]+ ?%)?")
OF_WHAT = re.compile(r"\s(?:of|busy|sure)\b")
FILE_WORDS = re.compile(r"\b(?:forward|reverse|duplex)\b", re.IGNORECASE)


def faults(text: str) -> list[str]:
    """What breaks the rules."""
    bare = [m[0] for m in PERCENTAGE.finditer(text) if not OF_WHAT.match(text, m.end())]
    return [*bare, *FILE_WORDS.findall(text)]
