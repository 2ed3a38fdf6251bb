"""Finds out what the terminal can show, once and before Textual is imported.

Textual reads its environment at import, so `prepare` must run first. The FreeBSD console (vt) misreads 24-bit colours,
and has no alternate screen and no SGR mouse; serial lines are vt100.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from enum import StrEnum


class Glyphs(StrEnum):
    """Which characters may be printed: those of Terminus, those of the VGA font, or only ASCII."""

    UNICODE = "unicode"
    CP437 = "cp437"
    ASCII = "ascii"


@dataclass(frozen=True)
class Surface:
    """The terminal's abilities."""

    glyphs: Glyphs = Glyphs.UNICODE
    console: bool = False  # a local console or serial line: 16 colours, no mouse, no alternate screen
    colour: str = "auto"  # Textual's colour system
    escape_ms: int = 100  # milliseconds to wait for the rest of a key's sequence after an Esc


PLAIN_TERMS = ("vt", "dumb", "ansi", "cons25", "linux", "xterm")
ASCII_TERMS = ("vt52", "vt100", "vt102", "vt220", "dumb", "ansi")


def survey(environ: Mapping[str, str], tty: str = "", glyphs: str | None = None) -> Surface:
    """The abilities by TERM, the locale and the name of the tty; `glyphs` is the person's own choice."""
    term = environ.get("TERM", "")
    name = tty.rsplit("/", 1)[-1]
    console = name.startswith(("ttyv", "ttyu", "ttyS", "console")) or term in ASCII_TERMS or term == "linux"
    choice = glyphs or environ.get("LINKLADDER_GLYPHS") or None
    if choice is not None:
        tier = Glyphs(choice)
    elif term in ASCII_TERMS or term.startswith("vt") or not _utf8(environ):
        tier = Glyphs.ASCII
    elif console:
        tier = Glyphs.CP437
    else:
        tier = Glyphs.UNICODE
    plain = console or term in PLAIN_TERMS or term.startswith("vt")
    return Surface(tier, console, "standard" if plain else "auto", _escape_ms(name, term))


def prepare(environ: MutableMapping[str, str], surface: Surface) -> None:
    """Set the environment that Textual reads at import, so that its first output is already right."""
    environ.setdefault("TEXTUAL_THEME", "ansi-dark")
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    environ.setdefault("ESCDELAY", str(surface.escape_ms))
    if surface.colour == "standard":
        environ.pop("COLORTERM", None)
        environ["TEXTUAL_COLOR_SYSTEM"] = "standard"
    if surface.console:
        environ["TEXTUAL_DISABLE_KITTY_KEY"] = "1"


def _escape_ms(tty: str, term: str) -> int:
    """Milliseconds to wait after an Esc: a local keyboard sends a key at once, serial over LAN splits its sequence."""
    if tty.startswith("ttyv"):
        return 50
    return 300 if tty.startswith(("ttyu", "ttyS")) or term in ASCII_TERMS else 100


def _utf8(environ: Mapping[str, str]) -> bool:
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or "UTF-8"
    return "utf" in locale.lower()
