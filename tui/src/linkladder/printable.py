"""Text of strangers made fit to print: no control characters, no characters that turn the reading direction."""

from __future__ import annotations

import html
import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def clean(value: object) -> object:
    """Strings without what a reader cannot see; everything else as it is."""
    return _UNSEEN.sub("\ufffd", value.replace("\r\n", "\n")) if type(value) is str else value


def one_line(text: str) -> str:
    """A stranger's words as one line of a terminal, which they must not steer."""
    return str(clean(text)).replace("\n", " ")


def escape(value: object) -> str:
    """Clean text, safe in markup and in quoted attributes."""
    return html.escape(str(clean(str(value))), quote=True)
