"""Documents and databases of before: real lab runs, kept as they were written, are read and judged as they were then.

tests/documents holds them in the form that its folder is named after, beside the verdicts that were given when they
were kept.  None of it is ever made again: who changes the form adds a step to linkladder.formats and a folder here.
"""

from __future__ import annotations

import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkladder import cli, formats
from linkladder.codec import CodecError, from_json, to_json
from linkladder.judge import judge_document
from linkladder.model import SCHEMA, Document
from linkladder.store import Store, StoreFault
from linkladder.verdicts import DocumentJudgement

FOLDER = Path(__file__).parents[1] / "documents"
KEPT = sorted(f"{path.parent.name}/{path.name.partition('.')[0]}" for path in FOLDER.glob("*/*.json.xz"))
VERDICTS = {
    f"{path.parent.name}/{name}": verdict
    for path in FOLDER.glob("*/verdicts.json")
    for name, verdict in json.loads(path.read_text()).items()
}
every = pytest.mark.parametrize("name", KEPT)
Say = Callable[..., str]


def text_of(name: str) -> str:
    return lzma.decompress((FOLDER / f"{name}.json.xz").read_bytes()).decode()


def verdict(judged: DocumentJudgement) -> dict[str, Any]:
    """What must stay as it is, whatever becomes of the words."""
    return {
        "verdict": judged.verdict,
        "provisional": judged.provisional,
        "rungs": {
            r.rung: {
                "verdict": r.verdict,
                "provisional": r.provisional,
                "best": r.best_experiment,
                "carried": {way: round(bps) for way, bps in r.by_direction.items()},
                "limiter": r.limiter.kind if r.limiter else None,
            }
            for r in judged.rungs
        },
    }


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """A command of linkladder's, and what it prints; it must do what it was asked."""

    def run(*argv: str, code: int = 0) -> str:
        assert cli.main([str(a) for a in argv]) == code, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_every_form_of_before_is_kept_and_each_document_has_its_verdict() -> None:
    kept = {form: len([name for name in KEPT if name.startswith(f"{form}/")]) for form in ("v1", "v2", "v3")}
    assert kept["v1"] >= 20 and kept["v2"] >= 11 and kept["v3"] >= 1, "none is ever taken away"
    assert set(KEPT) == set(VERDICTS)


@every
def test_it_is_judged_as_it_was(name: str) -> None:
    stored = json.loads(text_of(name))
    assert stored["schema"] == f"linkladder/{name[1]}"
    read = formats.document(stored)
    assert json.loads(json.dumps(verdict(judge_document(read)))) == VERDICTS[name]
    assert from_json(Document, to_json(read)) == read and read.schema == SCHEMA


@every
def test_every_command_reads_it(name: str, say: Say, tmp_path: Path) -> None:
    file, page = tmp_path / "document.json", tmp_path / "page.html"
    file.write_text(text_of(name))
    expected = VERDICTS[name]

    def same(value: Any) -> bool:
        found = from_json(DocumentJudgement, value, extra=True)
        return bool(json.loads(json.dumps(verdict(found))) == expected)

    assert same(json.loads(say("judge", file, "--json")))
    run = json.loads(file.read_text())["run"]["id"]
    trials, _, verdict_line = say("show", file).rpartition("\n\n")
    assert trials.startswith(f"run {run}: plan ") and verdict_line.startswith(expected["verdict"])
    shown = json.loads(say("show", file, "--json"))
    assert shown["schema"] == SCHEMA and same(shown["judgement"])
    compared = json.loads(say("judge", file, "--compare", file, "--json"))["comparison"]
    assert (compared["a"], compared["b"]) == (run, run) and not any(d["beyond_noise"] for d in compared["differences"])
    say("report", file, "--html", page, "--csv", tmp_path / "t.csv", "--openmetrics", tmp_path / "t.txt", "--unsigned")
    assert expected["verdict"] in page.read_text()
    assert json.loads(say("verify", page, "--json", code=1))["state"] == "unsigned"  # and so not altered
    assert same(json.loads(say("judge", page, "--json")))
    count = sum(len(e["trials"]) for r in shown["rungs"] for e in r["experiments"])
    assert len((tmp_path / "t.csv").read_text().splitlines()) == count + 1


@pytest.mark.parametrize("form", sorted(path.parent.name for path in FOLDER.glob("*/page.html.xz")))
def test_a_page_of_before_is_genuine_and_holds_its_document(form: str, say: Say, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(lzma.decompress((FOLDER / form / "page.html.xz").read_bytes()))
    signers = FOLDER / form / "page.signers"
    found = json.loads(say("verify", page, "--signers", signers, "--json"))
    assert found["state"] == "valid" and found["signer"] == "alpha"
    judged = from_json(DocumentJudgement, json.loads(say("judge", page, "--json")), extra=True)
    assert json.loads(json.dumps(verdict(judged))) == VERDICTS[f"{form}/loss"]
    altered = page.read_text().replace("b/s", "B/s", 1)
    page.write_text(altered)
    assert json.loads(say("verify", page, "--json", code=1))["state"] == "altered"


@pytest.mark.parametrize("form", sorted(path.parent.name for path in FOLDER.glob("*/state.tar.xz")))
def test_a_database_of_before_is_opened_listed_judged_and_reported(form: str, say: Say, own_state: Path) -> None:
    with tarfile.open(FOLDER / form / "state.tar.xz") as kept:
        kept.extractall(own_state, filter="data")
    listed = json.loads(say("runs", "--json"))
    assert len(listed) >= 3
    for run in listed:
        name = f"{form}/{run['plan']}"
        judged = from_json(DocumentJudgement, json.loads(say("judge", run["id"], "--json")), extra=True)
        assert json.loads(json.dumps(verdict(judged))) == VERDICTS[name]
        shown = formats.document(json.loads(say("show", run["id"], "--json")))
        assert any(c.output for r in shown.rungs for e in r.experiments for t in e.trials for c in t.commands)
        assert VERDICTS[name]["verdict"] in say("report", run["id"], "--html", "-", "--unsigned")
    store = Store(own_state)
    unfinished = next(r["id"] for r in listed if r["state"] == "incomplete")
    before = store.load(unfinished)
    store.resume(unfinished)  # today's trials join those of before
    done = next(e for r in before.rungs for e in r.experiments if e.trials)
    rung = next(r.name for r in before.rungs if done in r.experiments)
    store.keep_trial(unfinished, rung, done.parameters.id, done.trials[0])
    after = store.load(unfinished)
    assert [r.experiments for r in after.rungs] == [r.experiments for r in before.rungs]
    assert after.run.ends == before.run.ends and all(end.facts.sysctls for end in after.run.ends)
    store.close()


def test_flow_control_that_once_stood_among_the_tunables_is_its_card_s() -> None:
    value = json.loads(text_of("v2/tools"))
    value["run"]["hosts"]["beta"]["tunables"]["dc0 flow control"] = "set to both"
    facts = formats.document(value).run.facts("beta")
    assert facts is not None and "dc0 flow control" not in facts.sysctls and facts.sysctls
    assert {nic.name for nic in facts.nics if nic.flow_control == "set to both"} == {"dc0"}


def test_what_a_later_linkladder_of_this_form_adds_is_passed_over() -> None:
    value = json.loads(text_of(KEPT[0]))
    plain = formats.document(json.loads(text_of(KEPT[0])))

    def add(part: Any) -> None:
        for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            add(inner)
        if isinstance(part, dict) and "mtu" in part:
            part["more"] = {"added": [1]}

    add(value)
    assert formats.document({**value, "more": 1}) == plain
    value["run"]["state"] = "splendid"
    with pytest.raises(CodecError, match=r"run\.state: expected one of"):
        formats.document(value)


@pytest.mark.parametrize("schema", [f"linkladder/{int(SCHEMA.partition('/')[2]) + 1}", "linkladder/99"])
def test_a_newer_form_is_refused_by_its_name(schema: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "document.json"
    file.write_text(json.dumps({"schema": schema, "everything": "else is new as well"}))
    for argv in (["judge"], ["show"], ["report", "--html", "-"], ["plan", "follow-up"]):
        assert cli.main([*argv, str(file)]) == 3
        told = capsys.readouterr().err
        assert f"written by a newer linkladder, in the form {schema}" in told
        assert "this linkladder reads linkladder/1, linkladder/2, linkladder/3" in told
        assert "do:  update linkladder" in told


@pytest.mark.parametrize("schema", [None, 1, "", "linkladder/0", "linkladder/x", "xfr/1", "linkladder/1\x1b[2J"])
def test_what_has_no_form_of_linkladder_s_is_no_document(schema: object, tmp_path: Path) -> None:
    file = tmp_path / "document.json"
    file.write_text(json.dumps({**json.loads(text_of(KEPT[0])), "schema": schema}))
    assert cli.main(["judge", str(file)]) == 2


def test_a_stored_run_of_a_newer_form_is_refused_by_its_name_and_the_others_stay(own_state: Path) -> None:
    from test_store import PLAN

    store = Store(own_state)
    mine, newer = store.begin(PLAN), store.begin(PLAN)
    store._db.execute("UPDATE runs SET schema = 'linkladder/99' WHERE id = ?", (newer,))
    assert {run.id for run in store.runs()} == {mine, newer}
    assert store.load(mine).run.id == mine
    with pytest.raises(formats.NewerSchema, match="linkladder/99"):
        store.load(newer)
    store._db.execute("UPDATE runs SET schema = '?' WHERE id = ?", (newer,))
    with pytest.raises(StoreFault, match="a stored run cannot be read") as found:
        store.load(newer)
    assert "--delete RUN removes this one" in found.value.hint
