"""Whose linkladder it is: on an appliance the operator's is the appliance's own."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from linkladder import cli, state


@pytest.fixture
def appliance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """One with a folder that only linkladder enters, seen by the operator; what was started in its place."""
    started: list[list[str]] = []
    doas = tmp_path / "doas"
    doas.write_text("")
    doas.chmod(0o755)
    (tmp_path / "linkladder").mkdir()
    monkeypatch.delenv("LINKLADDER_STATE", raising=False)
    monkeypatch.setattr(state, "DOAS", str(doas))
    monkeypatch.setattr(state, "APPLIANCE", tmp_path / "linkladder")
    monkeypatch.setattr(state, "OPERATOR", pwd.getpwuid(os.getuid()).pw_name)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))

    def start(program: str, words: list[str]) -> None:
        started.append([program, *words])
        raise KeyboardInterrupt  # nothing of this process comes after it

    monkeypatch.setattr(os, "execv", start)
    return started


def test_the_operators_linkladder_is_the_appliances(appliance: list[list[str]]) -> None:
    assert cli.main(["runs", "--json"]) == 130
    assert cli.main([]) == 130
    asked = [state.DOAS, state.DOAS, "-n", "-u", "linkladder", "/usr/local/bin/linkladder"]
    assert appliance == [[*asked, "runs", "--json"], asked]


@pytest.mark.parametrize("why", ["another user", "a folder of his own", "his to write", "no appliance", "no doas"])
def test_nobody_elses(appliance: list[list[str]], why: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    match why:
        case "another user":
            monkeypatch.setattr(state, "OPERATOR", "nobody-else")
        case "a folder of his own":
            monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path))
        case "his to write":
            monkeypatch.setattr(os, "access", lambda path, mode: True)
        case "no appliance":
            (tmp_path / "linkladder").rmdir()
        case "no doas":
            (tmp_path / "doas").unlink()
    state.hand_over(["runs"])
    assert appliance == []
