"""The short codes of a pairing: one that this end shows, and one that its person has to read off the other end.

Both are drawn from the same transcript, each with its end's role, so that they tell nothing of one another to who only
sees one of the screens.  A person who types what the other screen shows has compared all of it, whether he meant to or
not: there is nothing to say yes to.
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
    """What this end shows, and what is due from the other end's screen."""

    shown: Code
    due: Code

    def is_due(self, typed: str) -> bool:
        """Whether this is the code of the other end; UsageError if nobody can have read it there, which answers
        nothing."""
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
    """The code of 256 random bits; no digit is likelier than another."""
    number = int.from_bytes(seed[:8], "big") % 1_000_000
    return Code(f"{number // 1000:03d} {number % 1000:03d}", tuple(WORDS[b] for b in seed[8:11]))


def plain(typed: str) -> str:
    """The form in which codes are compared: digits without gaps, words with one between them."""
    text = " ".join(typed.lower().replace("-", " ").split())
    digits = text.replace(" ", "")
    return digits if digits.isdecimal() else text


def well_formed(typed: str) -> bool:
    text = plain(typed)
    words = text.split()
    return (text.isdecimal() and len(text) == 6) or (len(words) == 3 and set(words) <= set(WORDS))
