"""Which addresses a peer had knocked at in vain is remembered for an hour, whatever becomes of the file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from linkladder.agent.knocks import LARGEST, REMEMBERED, SILENT, Knocks


def used_up(knocks: Knocks) -> None:
    assert all(knocks.may(f"192.0.2.{n}") for n in range(SILENT))
    assert not knocks.may("198.51.100.1")


def test_who_answers_makes_room_and_an_hour_does(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used_up(Knocks("eve"))
    Knocks("eve").answered("192.0.2.3")
    assert Knocks("eve").may("198.51.100.1") and not Knocks("eve").may("198.51.100.2")
    assert Knocks("beta").may("198.51.100.2"), "each peer has its own"
    later = time.monotonic() + REMEMBERED + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    used_up(Knocks("eve"))


def test_this_ends_own_console_is_remembered_for_a_run() -> None:
    own = Knocks()
    used_up(own)
    own.forget()
    used_up(own)


def test_a_link_in_the_place_of_the_memory_is_not_followed(own_state: Path, tmp_path: Path) -> None:
    Knocks("eve").may("192.0.2.1")
    (path,) = (own_state / "run" / "knocks").iterdir()
    path.unlink()
    kept = tmp_path / "kept"
    kept.write_text("kept")
    path.symlink_to(kept)
    used_up(Knocks("eve"))
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("text", ["", "[", "[1]", '{"a": "b"}', '{"192.0.2.1": 1e300}', "x" * (2 * LARGEST)])
def test_a_spoilt_memory_begins_anew(own_state: Path, text: str) -> None:
    Knocks("eve").may("192.0.2.1")
    (path,) = (own_state / "run" / "knocks").iterdir()
    path.write_text(text)
    used_up(Knocks("eve"))
    assert len(path.read_text()) < 2000
