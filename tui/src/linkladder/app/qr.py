"""Draws a QR code of a short address (ISO/IEC 18004: byte mode, level L, versions 1 to 5) in half blocks."""

from __future__ import annotations

from collections.abc import Callable

# version -> (data codewords, error correction codewords): one block each at level L
SIZES = {1: (19, 7), 2: (34, 10), 3: (55, 15), 4: (80, 20), 5: (108, 26)}
MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda r, c: (r + c) % 2 == 0,
    lambda r, c: r % 2 == 0,
    lambda r, c: c % 3 == 0,
    lambda r, c: (r + c) % 3 == 0,
    lambda r, c: (r // 2 + c // 3) % 2 == 0,
    lambda r, c: r * c % 2 + r * c % 3 == 0,
    lambda r, c: (r * c % 2 + r * c % 3) % 2 == 0,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2 == 0,
)
Grid = list[list[bool | None]]


def matrix(text: str, mask: int | None = None) -> list[list[bool]]:
    """Rows of modules without the quiet zone, True for dark; raises ValueError if the text is too long."""
    data = text.encode()
    version = next((v for v, (room, _) in SIZES.items() if len(data) + 2 <= room), None)
    if version is None:
        raise ValueError(f"at most 106 bytes fit, got {len(data)}")
    bits = _bits(_codewords(data, version))
    drawn = [_drawn(version, bits, m) for m in (range(8) if mask is None else (mask,))]
    return min(drawn, key=_penalty)


def picture(text: str, quiet: int = 2) -> list[str]:
    """Lines of half blocks with the light modules lit, so that it looks on a dark screen as on white paper."""
    rows = matrix(text)
    size = len(rows) + 2 * quiet
    light = [[True] * size for _ in range(size + size % 2)]
    for r, row in enumerate(rows):
        for c, dark in enumerate(row):
            light[r + quiet][c + quiet] = not dark
    glyphs = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
    return [
        "".join(glyphs[top, low] for top, low in zip(light[r], light[r + 1], strict=True))
        for r in range(0, len(light), 2)
    ]


def wide(text: str, quiet: int = 2) -> list[str]:
    """Rows of '1' (light) and '0' (dark), two for each module, for terminals without half blocks."""
    rows = matrix(text)
    edge = ["11" * (len(rows) + 2 * quiet)] * quiet
    return [
        *edge,
        *("11" * quiet + "".join("00" if dark else "11" for dark in row) + "11" * quiet for row in rows),
        *edge,
    ]


def _codewords(data: bytes, version: int) -> bytes:
    room, extra = SIZES[version]
    number = (0b0100 << 8 | len(data)) << 8 * len(data) | int.from_bytes(data, "big")
    words = bytearray((number << 4).to_bytes(len(data) + 2, "big"))
    while len(words) < room:
        words.append((0xEC, 0x11)[(len(words) - len(data)) % 2])
    return bytes(words) + _correction(bytes(words), extra)


def _times(a: int, b: int) -> int:
    """Product in GF(256) modulo x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a = a << 1 ^ (0x11D if a & 0x80 else 0)
        b >>= 1
    return product


def _correction(data: bytes, count: int) -> bytes:
    generator = [1]
    root = 1
    for _ in range(count):
        generator = [a ^ _times(b, root) for a, b in zip([*generator, 0], [0, *generator], strict=True)]
        root = _times(root, 2)
    rest = [0] * count
    for byte in data:
        factor = byte ^ rest[0]
        rest = [a ^ _times(g, factor) for a, g in zip([*rest[1:], 0], generator[1:], strict=True)]
    return bytes(rest)


def _bits(words: bytes) -> list[bool]:
    return [bool(word >> shift & 1) for word in words for shift in range(7, -1, -1)]


def _drawn(version: int, bits: list[bool], mask: int) -> list[list[bool]]:
    size = 17 + 4 * version
    grid: Grid = [[None] * size for _ in range(size)]
    for row, column in ((0, 0), (0, size - 7), (size - 7, 0)):
        _finder(grid, row, column)
    if version > 1:
        _square(grid, size - 7, size - 7, 2)
    for i in range(8, size - 8):
        grid[6][i] = grid[i][6] = i % 2 == 0
    _format(grid, mask)
    _data(grid, bits, mask)
    return [[bool(module) for module in row] for row in grid]


def _finder(grid: Grid, row: int, column: int) -> None:
    size = len(grid)
    for r in range(row - 1, row + 8):
        for c in range(column - 1, column + 8):
            if 0 <= r < size and 0 <= c < size:
                ring = max(abs(r - row - 3), abs(c - column - 3))
                grid[r][c] = ring in (0, 1, 3)


def _square(grid: Grid, row: int, column: int, radius: int) -> None:
    for r in range(row - radius, row + radius + 1):
        for c in range(column - radius, column + radius + 1):
            grid[r][c] = max(abs(r - row), abs(c - column)) != 1


def _format(grid: Grid, mask: int) -> None:
    """Draw level L and the mask, protected by a BCH code, in both places."""
    size = len(grid)
    value = 0b01 << 3 | mask
    rest = value << 10
    for shift in range(14, 9, -1):
        if rest >> shift & 1:
            rest ^= 0b10100110111 << shift - 10
    word = (value << 10 | rest) ^ 0b101010000010010
    bits = [bool(word >> i & 1) for i in range(15)]  # least significant first
    for i in range(6):
        grid[i][8] = bits[i]
    grid[7][8], grid[8][8], grid[8][7] = bits[6], bits[7], bits[8]
    for i in range(9, 15):
        grid[8][14 - i] = bits[i]
    for i in range(8):
        grid[8][size - 1 - i] = bits[i]
    for i in range(8, 15):
        grid[size - 15 + i][8] = bits[i]
    grid[size - 8][8] = True


def _data(grid: Grid, bits: list[bool], mask: int) -> None:
    """Draw the data, two columns at a time from the right, up and down in turn, leaving out the timing column."""
    size = len(grid)
    stream = iter(bits)
    upward = True
    for right in [*range(size - 1, 6, -2), 5, 3, 1]:
        for step in range(size):
            row = size - 1 - step if upward else step
            for column in (right, right - 1):
                if grid[row][column] is None:
                    grid[row][column] = next(stream, False) ^ MASKS[mask](row, column)
        upward = not upward


def _penalty(rows: list[list[bool]]) -> int:
    """How hard a code is to read, by its long runs and its uneven share of dark modules."""
    total = 0
    for lines in (rows, list(zip(*rows, strict=True))):
        for line in lines:
            run, last = 0, None
            for module in line:
                run = run + 1 if module == last else 1
                last = module
                total += 3 if run == 5 else 1 if run > 5 else 0
    dark = sum(sum(row) for row in rows) / len(rows) ** 2
    return total + 10 * int(abs(dark - 0.5) * 20)
