"""The download address works once, for who knows it; its QR code says what it should."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from textual.app import App
from textual.strip import Strip

import synth
from helpers import present, until
from linkladder.app import qr
from linkladder.app.backend import Reach
from linkladder.app.download import AT_ONCE, Download
from linkladder.app.main import LadderApp
from linkladder.app.screens.export import ExportScreen
from linkladder.app.terminal import Glyphs
from terminals import PATIENCE


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "run.html"
    path.write_text("<p>a report</p>", encoding="utf-8")
    return path


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bytes(answer.read())


def shut(offer: Download) -> None:
    """Wait until nobody listens there: a request that is answered with 404 is an error of urllib's as well."""
    there = urllib.parse.urlsplit(offer.url)
    last = time.monotonic() + PATIENCE
    with pytest.raises(ConnectionRefusedError):
        while time.monotonic() < last:
            with contextlib.suppress(ConnectionResetError):  # who comes while it closes was let in, and is sent away
                socket.create_connection((str(there.hostname), there.port or 0), 5).close()
            time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has all of 127/8 on its loopback interface")
def test_who_connects_and_says_nothing_takes_no_threads_of_the_consoles(report: Path) -> None:
    """Each connection had a thread for fifteen seconds: a thousand of them, and the console had a thousand."""
    offer = Download(report, "127.0.0.1")
    there = urllib.parse.urlsplit(offer.url)
    before, held = threading.active_count(), []
    for number in range(200):
        held.append(socket.create_connection(("127.0.0.1", there.port or 0), 5, (f"127.0.5.{1 + number % 100}", 0)))
    last = time.monotonic() + PATIENCE
    while threading.active_count() - before > AT_ONCE + 1 and time.monotonic() < last:
        time.sleep(0.05)
    assert threading.active_count() - before <= AT_ONCE + 1
    assert get(offer.url) == b"<p>a report</p>", "and who knows the address is served"
    shut(offer)
    for one in held:
        one.close()


def test_one_download_and_no_more(report: Path) -> None:
    offer = Download(report, "127.0.0.1")
    base = offer.url.rsplit("/", 1)[0]
    for wrong in ("/", "/../run.html", "/" + "a" * 19, "/run.html"):
        with pytest.raises(urllib.error.HTTPError):
            get(base + wrong)
    assert get(offer.url) == b"<p>a report</p>"
    with pytest.raises(OSError):
        get(offer.url)
    shut(offer)


def test_it_closes_by_itself(report: Path) -> None:
    shut(Download(report, "127.0.0.1", seconds=0.2))


def decode(rows: list[list[bool]]) -> str:
    """An independent reading: format bits, unmask, walk the columns, take the bytes."""
    size = len(rows)
    version = (size - 17) // 4
    word = sum(rows[8][c] << (14 - i) for i, c in enumerate([0, 1, 2, 3, 4, 5, 7, 8]))
    word |= sum(rows[r][8] << (14 - 8 - i) for i, r in enumerate([7, 5, 4, 3, 2, 1, 0]))
    plain = word ^ 0b101010000010010
    level, mask = plain >> 13, plain >> 10 & 7
    assert level == 0b01
    rules = [
        lambda i, j: (i + j) % 2, lambda i, j: i % 2, lambda i, j: j % 3, lambda i, j: (i + j) % 3,
        lambda i, j: (i // 2 + j // 3) % 2, lambda i, j: (i * j) % 2 + (i * j) % 3,
        lambda i, j: ((i * j) % 2 + (i * j) % 3) % 2, lambda i, j: ((i + j) % 2 + (i * j) % 3) % 2,
    ]  # fmt: skip

    def fixed(r: int, c: int) -> bool:
        corner = (r < 9 and c < 9) or (r < 9 and c >= size - 8) or (r >= size - 8 and c < 9)
        middle = version > 1 and size - 9 <= r <= size - 5 and size - 9 <= c <= size - 5
        return corner or middle or r == 6 or c == 6

    bits = []
    up = True
    column = size - 1
    while column > 0:
        if column == 6:
            column -= 1
        for r in range(size - 1, -1, -1) if up else range(size):
            for c in (column, column - 1):
                if not fixed(r, c):
                    bits.append(rows[r][c] ^ (rules[mask](r, c) == 0))
        up = not up
        column -= 2
    number = int("".join("01"[b] for b in bits), 2)
    total = len(bits)
    assert number >> total - 4 == 0b0100
    count = number >> total - 12 & 0xFF
    return bytes(number >> total - 20 - 8 * i & 0xFF for i in range(count)).decode()


@pytest.mark.parametrize("text", ["a", "http://10.7.0.1:40001/" + "x" * 22, "http://[2001:db8::1]:40001/" + "y" * 60])
@pytest.mark.parametrize("mask", [None, 0, 3, 7])
def test_qr_reads_back(text: str, mask: int | None) -> None:
    assert decode(qr.matrix(text, mask)) == text


def test_qr_remainder_is_a_code_word() -> None:
    """Data and correction together divide by the generator: all syndromes are zero."""
    words = qr._codewords(b"http://10.7.0.1:40001/abc", 2)
    for power in range(10):
        root = 1
        for _ in range(power):
            root = qr._times(root, 2)
        value = 0
        for word in words:
            value = qr._times(value, root) ^ word
        assert value == 0


def test_qr_too_long_is_said() -> None:
    with pytest.raises(ValueError, match="106"):
        qr.matrix("x" * 107)


def test_qr_picture_fits_the_console() -> None:
    lines = qr.picture("http://10.7.0.1:40001/" + "x" * 22)
    assert len(lines) <= 19 and max(map(len, lines)) <= 40


def light(strips: list[Strip], row: int, column: int, half: int) -> bool:
    """Whether a half of a cell is lit on a dark terminal, by its glyph, its colours and reverse video."""
    for text, style, _ in strips[row]:  # noqa: B007  # that of the segment which has the column
        if column < len(text):
            break
        column -= len(text)
    else:
        return False
    colours = [sum(colour.get_truecolor()) if colour and not colour.is_default else default
               for colour, default in ((style and style.color, 510), (style and style.bgcolor, 0))]  # fmt: skip
    if style and style.reverse:
        colours.reverse()
    covered = text[column] == "█" or text[column] == "▀▄"[half]
    return colours[0 if covered else 1] > 300


@pytest.mark.asyncio
@pytest.mark.parametrize("plain", [False, True], ids=["colours", "no-colour"])
@pytest.mark.parametrize("tier", list(Glyphs))
async def test_the_code_on_the_screen_reads_back(
    tier: Glyphs, plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a phone sees it: light modules are the lighter ones, in each tier, with colours and without."""
    if plain:
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setattr(App.__dict__["theme"], "_default", "ansi-dark")  # as TEXTUAL_THEME does for the program
    backend = synth.settled()
    backend.export_folder = str(tmp_path)
    backend.reach = lambda: Reach("admin", "127.0.0.1", True)
    app = LadderApp(backend, tier)
    async with app.run_test(size=(80, 45)) as pilot:
        await until(pilot, "Next step")
        app.push_screen(ExportScreen(synth.RUN))
        await until(pilot, "Download link")
        await pilot.press("end", "enter")
        await until(pilot, "Good for one download")
        assert isinstance(app.screen, ExportScreen)
        url = present(app.screen.download).url
        await until(pilot, url)
        strips = app.screen._compositor.render_strips()  # as the terminal gets them
    top = next(i for i, strip in enumerate(strips) if url in strip.text) + 1
    wide = tier is Glyphs.ASCII
    size = len(qr.matrix(url))
    read = [
        [
            not (
                light(strips, top + r + 2, 1 + 2 * (c + 2), 0)
                if wide
                else light(strips, top + (r + 2) // 2, 1 + c + 2, r % 2)
            )
            for c in range(size)
        ]
        for r in range(size)
    ]
    assert decode(read) == url
