# ruff: noqa: RUF001
"""Replaces characters that a terminal lacks by ones that it has, in the last step before the terminal."""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from linkladder.app.terminal import Glyphs

# Characters beyond ASCII that both the VGA text font and Terminus have.
CP437 = frozenset(
    "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
    "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■•◘○◙♂♀♪♫►◄↕‼¶§▬↨↑↓→←∟↔▲▼"
)

_LIKE = {
    "▁": "▄", "▂": "▄", "▃": "▄", "▅": "█", "▆": "█", "▇": "█",
    "▏": "▌", "▎": "▌", "▍": "▌", "▋": "█", "▊": "█", "▉": "█", "▕": "▐", "▔": "▀",
    "━": "═", "┃": "║", "╸": "═", "╺": "═", "╴": "─", "╶": "─", "╭": "┌", "╮": "┐", "╰": "└", "╯": "┘",
    "┄": "-", "┈": "-", "…": "~", "–": "-", "—": "-", "‹": "<", "›": ">", "×": "x", "✓": "v", "✗": "x",
    "●": "•", "◉": "•", "⭘": "○", "⏵": "►", "▶": "►", "◀": "◄", "▸": "►", "▪": "■", "☐": "□", "☑": "■",
    "“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "⌄": "v", "▷": "►", "□": "○", "❯": ">", "^": "^",
}  # fmt: skip

_ASCII = {
    **dict.fromkeys("│║┃▌▐", "|"),
    **dict.fromkeys("─═━▬", "-"),
    **dict.fromkeys("┤╡╢╖╕╣╗╝╜╛┐└┴┬├┼╞╟╚╔╩╦╠╬╧╨╤╥╙╘╒╓╫╪┘┌", "+"),
    **dict.fromkeys("█▓■", "#"),
    "▒": "=", "░": ".", "▄": "_", "▀": "^", "•": "*", "·": ".", "∙": ".", "○": "o", "◘": "o", "◙": "o",
    "►": ">", "◄": "<", "▲": "^", "▼": "v", "→": ">", "←": "<", "↑": "^", "↓": "v", "↔": "-", "↕": "|", "↨": "|",
    "≥": ">", "≤": "<", "±": "~", "µ": "u", "°": "o", "≈": "~", "²": "2", "½": "/", "÷": "/", "√": "v", "≡": "=",
}  # fmt: skip


@lru_cache(4096)
def plain(text: str, tier: Glyphs) -> str:
    """The text with only characters of that tier; each character still takes one cell."""
    if tier is Glyphs.UNICODE or text.isascii():
        return text
    return "".join(_fit(char, tier) for char in text)


def _fit(char: str, tier: Glyphs) -> str:
    if char.isascii():
        return char
    if char not in CP437:
        char = _LIKE.get(char, "?")
    if char in CP437 and tier is Glyphs.ASCII:
        return _ASCII.get(char, "?")
    return char if char in CP437 or char.isascii() else _ASCII.get(char, "?")


class MonoFilter(LineFilter):
    """Turns a coloured background, which marks what is highlighted, into reverse video on terminals without colour."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(text, _marked(style), control) for text, style, control in segments]


@lru_cache(1024)
def _marked(style: Style | None) -> Style | None:
    if style is None or style.bgcolor is None or style.bgcolor.is_default:
        return style
    return style + Style(reverse=True)


class GlyphFilter(LineFilter):
    """Applies `plain` to every line that Textual sends to the terminal."""

    def __init__(self, tier: Glyphs) -> None:
        super().__init__(enabled=tier is not Glyphs.UNICODE)
        self.tier = tier

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [Segment(plain(text, self.tier), style, control) for text, style, control in segments]
