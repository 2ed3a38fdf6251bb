"""Draws the pairing code in figures that can be read across a room."""

from __future__ import annotations

_ROWS = {
    "0": "███ █ █ █ █ █ █ ███", "1": " █   █   █   █   █ ", "2": "███   █ ███ █   ███", "3": "███   █ ███   █ ███",
    "4": "█ █ █ █ ███   █   █", "5": "███ █   ███   █ ███", "6": "███ █   ███ █ █ ███", "7": "███   █   █   █   █",
    "8": "███ █ █ ███ █ █ ███", "9": "███ █ █ ███   █ ███", " ": "                   ",
}  # fmt: skip


def big(code: str) -> str:
    """The code in five lines; each pixel is two cells wide, so that figures keep their shape."""
    lines = []
    for row in range(5):
        parts = []
        for char in code:
            pixels = _ROWS.get(char, _ROWS[" "])[row * 4 : row * 4 + 3]
            parts.append("".join(pixel * 2 for pixel in pixels) if char != " " else "    ")
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)
