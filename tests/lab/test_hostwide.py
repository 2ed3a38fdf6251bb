"""What a lab raises on its host comes back, whichever lab goes last and however."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import hostwide

HOST = {
    "net.core.rmem_max": "212992",
    "net.core.wmem_max": "134217728",
    "net.ipv4.tcp_allowed_congestion_control": "reno bbr",
    "net.ipv4.tcp_available_congestion_control": "reno bbr cubic",
}


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A host of files, and the names of the labs whose namespaces are there."""
    labs: list[str] = []
    for key, value in HOST.items():
        (tmp_path / key).write_text(value + "\n")
    monkeypatch.setattr(hostwide, "_proc", lambda key: tmp_path / key)
    monkeypatch.setattr(hostwide, "KEPT", tmp_path / "kept.json")

    def run(*_: Any, **__: Any) -> CompletedProcess[str]:
        return CompletedProcess([], 0, "".join(f"{lab}-alpha (id: 1)\n{lab}-beta\n" for lab in labs))

    monkeypatch.setattr(hostwide.subprocess, "run", run)
    return labs


def settings(tmp_path: Path) -> dict[str, str]:
    return {key: (tmp_path / key).read_text().strip() for key in HOST}


def test_the_last_lab_puts_everything_back(there: list[str], tmp_path: Path) -> None:
    for lab in ("one", "two"):
        hostwide.raise_for(lab, "cubic")
        there.append(lab)
    raised = settings(tmp_path)
    assert raised["net.core.rmem_max"] == str(64 << 20)
    assert hostwide.before("net.core.rmem_max") == HOST["net.core.rmem_max"]
    assert raised["net.core.wmem_max"] == HOST["net.core.wmem_max"], "the host's own is larger"
    assert raised["net.ipv4.tcp_allowed_congestion_control"] == "reno bbr cubic"
    there.remove("one")
    hostwide.lower_after("one")
    assert settings(tmp_path) == raised, "the other lab needs it"
    there.remove("two")
    hostwide.lower_after("two")
    assert settings(tmp_path) == HOST
    assert not (tmp_path / "kept.json").exists()
    assert hostwide.before("net.core.rmem_max") == HOST["net.core.rmem_max"]


def test_a_lab_that_is_gone_holds_nothing_up(there: list[str], tmp_path: Path) -> None:
    hostwide.raise_for("crashed", "cubic")  # and its namespaces were never made
    hostwide.raise_for("one", "cubic")
    hostwide.lower_after("one")
    assert settings(tmp_path) == HOST


def test_no_two_files_of_tests_have_a_lab_of_one_name() -> None:
    """They run side by side, and one would wait until the other's lab is gone."""
    owners = defaultdict(set)
    for file in Path(__file__).parents[1].glob("*/test_*.py"):
        for name in re.findall(r"(?:^NAME = |\b(?:Lab|Bundle|ManyEnds)\()\"(l\w\w)\"", file.read_text(), re.MULTILINE):
            owners[name].add(file.name)
    assert len(owners) > 20
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}
