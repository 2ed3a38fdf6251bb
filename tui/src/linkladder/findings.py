"""What a check of this machine found: made by `doctor`, shown by screens and commands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the first frame must not wait for the shipped settings
    from linkladder.settings.tunables import InForce


class Health(StrEnum):
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    title: str
    state: Health = Health.OK
    detail: str = ""
    remedy: str = ""
    setting: InForce | None = None  # if it is about a shipped setting: its present and its shipped value
