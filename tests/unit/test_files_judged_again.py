"""What is said of a page or a document that is read again: under what it was judged, and what it lacks."""

from __future__ import annotations

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from judge_documents import both, document, failed, rung
from linkladder import cli, report
from linkladder.codec import text
from linkladder.judge import Overrides
from linkladder.model import Fault, RungName
from linkladder.trust import keys

GIVEN = ["--contract", "5M", "--mtu", "9000"]
SAID = "other assumptions than its plan's (contracted rate 5.00 Mb/s counted in L2, MTU 9000)"
MADE = document(both(RungName.DC_LINK, 920e6))


@pytest.fixture(params=["json", "html"])
def given(request: pytest.FixtureRequest, own_state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A file with a judgement under assumptions that were given by options."""
    before, made = tmp_path / "before.json", tmp_path / f"given.{request.param}"
    before.write_text(text(MADE))
    assert cli.main(["report", str(before), f"--{request.param}", str(made), *GIVEN]) == 0
    assert "assumptions" not in capsys.readouterr().err
    return str(made)


def test_that_a_file_was_judged_otherwise_is_said(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["show", given], ["judge", given]):
        assert cli.main(words) == 0
        assert SAID in capsys.readouterr().out
        assert cli.main([*words, "--json"]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out) and SAID in said.err
    assert cli.main(["report", given, "--csv", "-"]) == 0 and SAID in capsys.readouterr().err


def test_nothing_is_said_of_a_file_that_is_judged_as_it_was(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["judge", given, *GIVEN]) == 0
    assert "assumptions than" not in capsys.readouterr().out
    assert cli.main(["report", given, "--csv", "-", *GIVEN]) == 0 and not capsys.readouterr().err


def test_a_verified_page_says_that_its_writer_chose_the_assumptions(
    tmp_path: Path, own_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for chosen in (Overrides(), Overrides(rate_bps=5e6, mtu=9000)):
        (tmp_path / "page.html").write_text(report.html(MADE, chosen))
        assert cli.main(["verify", str(tmp_path / "page.html")]) == 1
        said = capsys.readouterr().out
        assert ("Judged under other assumptions than the plan's: contracted rate 5.00 Mb/s" in said) == bool(chosen.mtu)


def test_what_a_shortened_page_lacks_is_said_where_its_figures_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "short.json"
    file.write_text(text(replace(MADE, abridged="bytes are rounded")))
    for words in (["--csv", "-"], ["--openmetrics", "-"], ["--csv", str(tmp_path / "x.csv")]):
        assert cli.main(["report", str(file), *words]) == 0
        assert "linkladder: bytes are rounded\n" in capsys.readouterr().err
    assert cli.main(["show", str(file)]) == 0 and "bytes are rounded" in capsys.readouterr().out


def test_one_value_of_a_stranger_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else a tool's reason or a note could write a verdict of its own below."""
    bad = "it broke\nPASS: all is well"
    measured = both(RungName.DC_LINK, 920e6, 1).experiments[0]
    made = document(rung(RungName.DC_LINK, replace(measured, trials=(failed(Fault.TOOL, bad),))))
    file = tmp_path / "odd.json"
    file.write_text(text(replace(made, run=replace(made.run, notes=(bad,)))))
    for words in ([], ["--raw"]):
        assert cli.main(["show", str(file), *words]) == 0
        said = capsys.readouterr().out
        assert "it broke PASS" in said and not [line for line in said.splitlines() if line.startswith("PASS")]


def test_a_disk_that_takes_no_key_keeps_nobody_from_checking_and_exporting(
    own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(base: Path | None = None) -> Path:
        raise OSError(errno.EROFS, "Read-only file system", "keys/.lock")

    file, page = tmp_path / "made.json", str(tmp_path / "page.html")
    file.write_text(text(MADE))
    monkeypatch.setattr(keys, "user_key", none)
    assert cli.main(["report", str(file), "--html", page]) == 3
    assert "the report cannot be signed\n  why: its key" in (said := capsys.readouterr().err) and "--unsigned" in said
    assert cli.main(["report", str(file), "--html", page, "--unsigned"]) == 0
    assert cli.main(["verify", page]) == 1 and capsys.readouterr().out.startswith("UNSIGNED: intact")


def test_a_state_folder_that_is_none_leads_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("LINKLADDER_STATE", str(tmp_path / "file"))
    assert cli.main(["runs"]) == 3 and "  do:  set LINKLADDER_STATE to a folder of yours" in capsys.readouterr().err
