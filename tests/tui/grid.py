"""A terminal of 80 x 25 as a grid: what is sent to it that it could not show is an error at once."""

from __future__ import annotations

import re

from linkladder.app.glyphs import CP437

# What Terminus, the font of FreeBSD's vt, has of the blocks that are drawn with; in hexadecimal.
_VT_FONT = """
    20-7e a0-17f 2000-2022 2026 2030 2032-2033 2039-203a 203c 203e 2070-2071 2074-208e 20ac 2190-2195 21a8 21b5
    21d0-21d5 2212-2216 2219-221a 221e-221f 2225 2248 2260-2261 2264-2265 2300 2302 2308-230b 2310 2320-2321 23ba-23bd
    2500-2503 2508-254b 2550-2593 2596-25a0 25ac 25ae 25b2 25b6 25ba 25bc 25c0 25c4 25c6 25ca-25cb 25cf 25d8-25d9
    263a-263c 2640 2642 2660 2663 2665-2666 266a-266b 2713-2714 2717-2718 2800-28ff"""
# Greek, for units.
VT_FONT = frozenset("ΓΘΣΦΩαβδεμπστφ") | {
    chr(code)
    for first, last in re.findall(r"(\w+)(?:-(\w+))?", _VT_FONT)
    for code in range(int(first, 16), int(last or first, 16) + 1)
}
SEVEN_BITS = frozenset(map(chr, range(0x20, 0x7F)))
CODE_PAGE = CP437 | SEVEN_BITS
TRUECOLOUR = 1 << 24


class Grid:
    """Cursor moves, erasing and colours; `characters` are those of its font, None where it has them all."""

    TOKEN = re.compile(r"\x1b\[([0-9;?<>=]*)(\$?[a-zA-Z])|\x1b[()].|\x1b[=>78]|\x1b\][^\x07]*\x07|([^\x1b])")

    def __init__(self, characters: frozenset[str] | None, colours: int) -> None:
        self.characters, self.colours = characters, colours
        self.cells = [[" "] * 80 for _ in range(25)]
        self.row = self.column = 0
        self.reverse = False
        self.shown: set[str] = set()
        self.modes: dict[str, bool] = {}  # what was switched on, or off again
        self._rest = ""

    def feed(self, data: bytes) -> None:
        if self.characters is SEVEN_BITS:
            assert max(data, default=0) <= 0x7E, sorted({b for b in data if b > 0x7E})
        text = self._rest + data.decode(errors="surrogateescape")
        whole = text.rfind("\x1b") if re.search(r"\x1b(\][^\x07]*|[^a-zA-Z\]]*)$", text) else len(text)
        text, self._rest = text[:whole], text[whole:]
        for match in self.TOKEN.finditer(text):
            if match[2]:
                self.sequence(match[1], match[2])
            elif match[3] == "\r":
                self.column = 0
            elif match[3] == "\n":
                self.row += 1
            elif match[3] and match[3] >= " " and self.row < 25 and self.column < 80:
                self.show(match[3])

    def show(self, char: str) -> None:
        torn = "\udc80" <= char <= "\udcff"  # a character that came in two pieces
        assert torn or self.characters is None or char in self.characters, f"{char} (U+{ord(char):04X})"
        self.shown |= set() if torn else {char}
        self.cells[self.row][self.column] = char
        self.column += 1

    def sequence(self, numbers: str, kind: str) -> None:
        parts = [int(p or 0) for p in numbers.split(";")] if re.fullmatch(r"[0-9;]*", numbers) else []
        if kind == "m" and parts:
            self.paint(parts)
        elif kind in "Hf" and parts:
            self.row, self.column = max(0, parts[0] - 1), max(0, (parts[1] if len(parts) > 1 else 1) - 1)
        elif kind == "J" and parts == [2]:
            self.cells = [[" "] * 80 for _ in range(25)]
        elif kind == "K" and not numbers and self.row < 25:
            self.cells[self.row][self.column :] = [" "] * (80 - self.column)
        elif kind in "hl" and numbers.startswith("?"):
            self.modes.update(dict.fromkeys(numbers[1:].split(";"), kind == "h"))

    def paint(self, parts: list[int]) -> None:
        """A console's own emulator takes eight numbers and sixteen colours; 38;5 and 38;2 are for what has more."""
        deep = [way for at, way in enumerate(parts) if at and parts[at - 1] in (38, 48)]
        colours = [p for p in parts if 30 <= p <= 37 or 40 <= p <= 47 or 90 <= p <= 107]
        assert self.colours or not (colours or deep), parts
        assert self.colours > 16 or (len(parts) <= 8 and not deep), parts
        assert self.colours == TRUECOLOUR or 2 not in deep, parts
        self.reverse = self.reverse or 7 in parts or any(p >= 40 for p in colours) or 48 in parts

    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def left_clean(self) -> bool:
        """Cursor and wrapping are on, as they were, and all else is off again."""
        return all(on is (mode in ("7", "25")) for mode, on in self.modes.items())
