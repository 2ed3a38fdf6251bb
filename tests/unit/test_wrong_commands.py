"""What a wrong command line is told: what happened, why, and what to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkladder import cli
from linkladder.app.live_backend import LiveBackend
from linkladder.errors import LinkladderError
from linkladder.model import Plan, RungName, RunState
from linkladder.run import lock
from linkladder.store import Store


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it prints for people."""
    code = cli.main(list(words))
    return code, capsys.readouterr().err


def test_a_run_that_goes_on_is_not_deleted(own_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(own_state)
    earlier, run = store.begin(Plan("p")), store.begin(Plan("p"))
    store.finish(earlier, RunState.INCOMPLETE)
    with lock.locked(own_state) as mine:
        mine.announce(log=str(own_state / "log"), run=run)
        code, said = told(capsys, "runs", "--delete", run, "--yes")
        assert code == 3 and f"run {run} is going on" in said and "  do:  cancel it first" in said
        with pytest.raises(LinkladderError, match="going on"):
            LiveBackend().delete(run)
        assert told(capsys, "runs", "--delete", earlier, "--yes")[0] == 0
        assert [one.id for one in store.runs()] == [run]
    assert told(capsys, "runs", "--delete", run, "--yes")[0] == 0


def test_without_a_person_nothing_is_deleted(own_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Store(own_state).begin(Plan("p"))
    code, said = told(capsys, "runs", "--delete", run)
    assert code == 2 and "there is nobody to ask" in said and "  do:  --yes" in said
    assert Store(own_state).runs()


def test_a_misspelt_rung_is_answered_with_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--rung", "dc-lnk"])
    said = capsys.readouterr().err
    assert all(f"'{name.value}'" in said for name in RungName) and "RungName" not in said
