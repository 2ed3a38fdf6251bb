"""What a wrong command line is told: what happened, why, and what to do next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from linkladder import cli, host, privilege
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


@pytest.mark.parametrize("words", [("mtu",), ("hostname", "x"), ("reboot",), ("ssh", "on"), ("upgrade", "f")])
def test_a_machine_that_is_no_appliance_is_told_so_by_the_word_that_was_typed(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "system", lambda: "Linux")
    code, said = told(capsys, "system", *words)
    assert code == 2 and f"{words[0]} changes an appliance\n  why: this is Linux" in said


def test_what_the_helper_refuses_leads_to_the_command_s_help(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(verb: str, *words: str, **_: object) -> privilege.Completed:
        found = subprocess.run(
            [sys.executable, "-m", "linkladder.priv", "operator", verb, *words],
            capture_output=True,
            text=True,
            check=False,
        )
        return privilege.Completed(found.returncode, found.stdout, found.stderr)

    monkeypatch.setattr(privilege, "run", run)
    monkeypatch.setattr(host, "system", lambda: "FreeBSD")
    code, said = told(capsys, "system", "mtu")
    assert code == 2 and "  do:  linkladder system mtu --help says" in said


READING = (("run", "--plan"), ("plan", "check"), ("show",), ("verify",), ("parse", "iperf"),
           ("verify", __file__, "--signers"), ("pair", "--minutes", "0.01", "--secret-file"))  # fmt: skip
NO_TEXT = b"\xff\xfe"


@pytest.mark.parametrize("name", ["given.toml", "given"])
@pytest.mark.parametrize("words", READING)
def test_a_file_that_cannot_be_read_is_named_once_with_the_reason_and_what_to_do(
    words: tuple[str, ...], name: str, own_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / name

    def refused(why: str) -> None:
        code, said = told(capsys, *words, str(given))
        assert code in (2, 3) and f"{given} cannot be read\n  why: {why}" in said and "\n  do:  " in said
        assert said.count(str(given)) == 1

    refused("No such file or directory\n")
    if "parse" not in words:  # a tool may print anything
        given.write_bytes(NO_TEXT)
        given.chmod(0o600)
        refused("it is no text in UTF-8\n")
        given.unlink()
    given.mkdir()
    refused("Is a directory\n")


@pytest.mark.parametrize("text", ["contract = 3", "[contract]\nrat = 3", "["])
def test_a_broken_description_of_the_link_does_not_lead_to_a_command_that_needs_it(
    text: str, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_state / "link.toml").write_text(text)
    code, said = told(capsys, "plan", "show", "quick")
    assert code == 2 and "link.toml" in said and "linkladder plan" not in said
    assert "  do:  mend the file, or delete it" in said


def test_where_damaged_runs_are_is_said_when_none_are_left(own_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own_state / "linkladder.db").write_bytes(b"x" * 9000)
    for _ in range(2):
        code, said = told(capsys, "runs")
        assert code == 0 and f"linkladder.db was set aside in {own_state / 'damaged'}" in said


def test_a_folder_that_is_named_for_the_document_is_refused_before_measuring(
    own_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = told(capsys, "run", "--dry-run", "--rung", "localhost", "--json", str(tmp_path))
    assert code == 2 and f"{tmp_path} cannot be written\n  do:  name a file" in said


@pytest.mark.parametrize("words", [("--resume", "x", "--follow-up", "y"), ("--plan", "circuit", "--resume", "x"),
                                   ("--follow-up", "x", "--plan", "quick")])  # fmt: skip
def test_a_run_is_named_by_one_option(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """The other would be ignored, and something else be measured than was asked for."""
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "--dry-run", *words])
    assert ended.value.code == 2 and "not allowed with argument" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("tune", "--also", "lro"), ("run", "--thorough"), ("run", "--long")])
@pytest.mark.parametrize("earlier", ["--resume", "--follow-up"])
def test_what_shapes_a_plan_is_refused_beside_a_run_that_has_one(
    earlier: str, words: tuple[str, ...], own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = told(capsys, *words, earlier, "last")
    assert code == 2 and f"{words[1]} is for a new run" in said


def test_two_forms_of_a_report_do_not_share_a_file(own_state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = told(capsys, "report", "last", "--csv", "-", "--json", "-")
    assert code == 2 and "two forms cannot be written to one place\n  do:  name a file for each" in said


@pytest.mark.parametrize("given", ["/dev/null", __file__])
def test_an_agent_without_a_pipe_says_so(given: str) -> None:
    with open(given, "rb") as no_pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "linkladder", "agent", "--near"], stdin=no_pipe, capture_output=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"linkladder: an agent speaks through pipes\n  do:  linkladder run")


def test_a_plan_that_a_rung_cannot_have_leads_to_another_rung(
    own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = told(capsys, "tune", "--rung", "localhost", "--dry-run")
    assert code == 2 and "plan tune cannot be measured on localhost\n  why: " in said
    assert "  do:  name another rung with --rung" in said
