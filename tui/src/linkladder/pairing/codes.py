"""The short codes of a pairing: one that this end shows, and one that its person must read at the other end.

Both are derived from the same transcript, each with its end's role, so a person who sees only one screen cannot know
the other code. Typing the code of the other screen compares it completely; there is no yes to press without looking.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from linkladder.errors import UsageError
from linkladder.pairing.wordlist import WORDS

FORM = "it is six digits, or three words, and the other end's screen shows it"


@dataclass(frozen=True)
class Code:
    """A code in its two spellings: six digits in two groups, or three words."""

    digits: str
    words: tuple[str, ...]

    def matches(self, typed: str) -> bool:
        found = plain(typed)
        return any(
            hmac.compare_digest(found.encode(), plain(mine).encode()) for mine in (self.digits, " ".join(self.words))
        )


@dataclass(frozen=True)
class Codes:
    """The code that this end shows, and the code that the other end's screen must show."""

    shown: Code
    due: Code

    def is_due(self, typed: str) -> bool:
        """Whether this is the other end's code; raises UsageError, which is no answer, if the text cannot be from
        there."""
        if self.due.matches(typed):
            return True
        if self.shown.matches(typed):
            raise UsageError(
                "this is the code that is shown here", hint="type the one that the other end's screen shows"
            )
        if not well_formed(typed):
            raise UsageError("this is no code", FORM, "type it again")
        return False


def code_of(seed: bytes) -> Code:
    """The code made from 256 random bits; all codes are about equally likely."""
    number = int.from_bytes(seed[:8], "big") % 1_000_000
    return Code(f"{number // 1000:03d} {number % 1000:03d}", tuple(WORDS[b] for b in seed[8:11]))


def plain(typed: str) -> str:
    """The form in which codes are compared: digits without gaps, words separated by one blank."""
    text = " ".join(typed.lower().replace("-", " ").split())
    digits = text.replace(" ", "")
    return digits if digits.isdecimal() else text


def well_formed(typed: str) -> bool:
    text = plain(typed)
    words = text.split()
    return (text.isdecimal() and len(text) == 6) or (len(words) == 3 and set(words) <= set(WORDS))
