"""What several unit tests need."""

from __future__ import annotations

from pathlib import Path

import pytest

import pairing_ends
from linkladder import state


@pytest.fixture
def two_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Both ends run in this process; the context of the task that asks tells whose state folder is meant."""
    folders = {name: tmp_path / name for name in ("alpha", "beta")}
    for one in folders.values():
        one.mkdir(mode=0o700)

    def folder() -> Path:
        return folders[pairing_ends.THIS_END.get()]

    monkeypatch.setattr(state, "folder", folder)
    return folders
