"""Verdicts in words."""

from __future__ import annotations

from linkladder.model import RungName
from linkladder.verdicts import Verdict


def verdict_word(verdict: str, provisional: bool) -> str:
    """'PASS (provisional)'."""
    return f"{verdict}{' (provisional)' if provisional else ''}"


def headed(verdict: Verdict, provisional: bool, text: str) -> str:
    """A judgement's sentence with the verdict's word before it."""
    return f"{verdict_word(verdict, provisional)}: {text}"


def opening(text: str) -> str:
    """As a sentence begins; the name of a rung stays as it is written."""
    return text if text.partition(" ")[0].rstrip(":") in list(RungName) else text[:1].upper() + text[1:]


def short_list(texts: list[str], most: int, what: str) -> list[str]:
    """The first few, and how many more there are."""
    rest = len(texts) - most
    return texts if rest <= 0 else [*texts[:most], f"{rest} more {what}."]
