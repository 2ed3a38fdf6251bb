"""Formats a verdict for all screens."""

from __future__ import annotations

from rich.text import Text

STYLES = {  # by the values of linkladder.verdicts, which is not imported, so that the first frame comes sooner
    "PASS": "green",
    "FAIL": "bold red",
    "IMPOSSIBLE": "bold magenta",
    "CANNOT JUDGE": "yellow",
    "INCOMPLETE": "yellow",
}


def verdict(word: str, provisional: bool = False) -> Text:
    """The verdict as a word in its colour."""
    return Text(f"{word}{' (provisional)' if provisional else ''}", STYLES.get(word, ""))
