"""Percent is written one way for people, a space before the sign, in pages, sentences and what commands print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from linkladder import cli
from test_kept_documents import KEPT, text_of

CLOSE = re.compile(r"[^\n]{0,40}\d%(?![0-9A-Fa-f]{2}|\w)[^\n]{0,20}")
UNSEEN = re.compile(r"<(script|style|pre|details)\b.*?</\1>|<[^>]*>", re.DOTALL)  # what tools printed stays as it was


def close(text: str) -> list[str]:
    return CLOSE.findall(text)


def told(file: Path, page: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[str]:
    for argv in (("show", file), ("judge", file), ("judge", file, "--compare", file)):
        assert cli.main([*map(str, argv)]) == 0
        yield capsys.readouterr().out
    assert cli.main(["report", str(file), "--html", str(page), "--unsigned"]) == 0
    yield unescape(UNSEEN.sub(" ", page.read_text()))


@pytest.mark.parametrize("name", KEPT)
def test_a_space_stands_before_each_percent_sign(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "document.json"
    file.write_text(text_of(name))
    seen = list(told(file, tmp_path / "page.html", capsys))
    assert any(" %" in text for text in seen), "or the test looks at nothing"
    assert not [line for text in seen for line in close(text)]


def test_it_would_be_seen() -> None:
    assert close("lost 3% of it") and not close("lost 3 % of it") and not close("fe80::1%vmx1")
