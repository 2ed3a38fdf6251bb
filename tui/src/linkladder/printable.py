"""Makes foreign text safe to print: without control characters and characters that change the reading direction."""

from __future__ import annotations

import html
import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def clean(value: object) -> object:
    """A string with its invisible characters replaced; other values unchanged."""
    return _UNSEEN.sub("\ufffd", value.replace("\r\n", "\n")) if type(value) is str else value


def controls_terminal(char: str) -> bool:
    """Whether a terminal or its text's direction would be changed by this character."""
    return char in "\t\n" or _UNSEEN.match(char) is not None


def one_line(text: str) -> str:
    """Foreign text as one line for a terminal, without control characters."""
    return str(clean(text)).replace("\n", " ")


def escape(value: object) -> str:
    """Clean text that is safe in HTML and in quoted attributes."""
    return html.escape(str(clean(str(value))), quote=True)
