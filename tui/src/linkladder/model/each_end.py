"""Takes settings apart by the ends that they are for, as one of a kind may be made at one end and not at the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from linkladder.model.settings import Setting, SettingKind
from linkladder.model.words import End


def by_end(settings: Iterable[Setting]) -> dict[tuple[SettingKind, End], Setting]:
    """Each setting at each of its ends alone."""
    return {(one.kind, end): replace(one, ends=(end,)) for one in settings for end in one.ends}


def together(alone: Iterable[Setting]) -> tuple[Setting, ...]:
    """Settings of one end each, with what is made alike at both as one setting again."""
    found: dict[Setting, tuple[End, ...]] = {}
    for one in alone:
        same = replace(one, ends=())
        found[same] = (*found.get(same, ()), *one.ends)
    return tuple(replace(one, ends=tuple(end for end in End if end in ends)) for one, ends in found.items())


def merged(before: Iterable[Setting], more: Iterable[Setting]) -> tuple[Setting, ...]:
    """What holds once `more` is made where `before` holds: the rest of it stays, also at the other end."""
    later = by_end(more)
    kept = (one for key, one in by_end(before).items() if key not in later)
    return together((*kept, *later.values()))


def beyond(settings: Iterable[Setting], others: Iterable[Setting]) -> tuple[Setting, ...]:
    """What of the first is not among the others, at the end where it is not."""
    there = by_end(others)
    return together(one for key, one in by_end(settings).items() if there.get(key) != one)
