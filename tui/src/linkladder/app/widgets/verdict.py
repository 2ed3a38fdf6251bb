"""A verdict as every screen shows it."""

from __future__ import annotations

from rich.text import Text

STYLES = {  # the words of linkladder.verdicts, which the first frame does not wait for
    "PASS": "green",
    "FAIL": "bold red",
    "IMPOSSIBLE": "bold magenta",
    "CANNOT JUDGE": "yellow",
    "INCOMPLETE": "yellow",
}


def verdict(word: str, provisional: bool = False) -> Text:
    """The verdict as a word; colour only repeats it."""
    return Text(f"{word}{' (provisional)' if provisional else ''}", STYLES.get(word, ""))
