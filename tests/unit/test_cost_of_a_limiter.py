"""What a limiter costs: its code, its rule and its words; all that shows one shows another without knowing it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import jsonschema
import pytest

import linkladder
from judge_documents import both, document
from linkladder import cli, report
from linkladder.app.screens.results import limiter_line
from linkladder.codec import from_json, to_json
from linkladder.formats.published import document_schema
from linkladder.judge import judge_document, limiters
from linkladder.judge.evidence import Evidence
from linkladder.model import Document, RungName
from linkladder.phrases.limiters import Said
from linkladder.report import csv_trials
from linkladder.verdicts import DocumentJudgement, Limiter, LimiterKind

SOURCE = Path(linkladder.__file__).parent
ROOMS = {
    "verdicts/kinds.py", "verdicts/judgements.py", "judge/limiters.py", "judge/to_tell.py", "phrases/limiters.py"
}  # fmt: skip
SENTENCE = "Twice the same: a loop on the way sends every packet back."


def _another() -> LimiterKind:
    """A code that is in none of the sources."""
    made = str.__new__(LimiterKind, "loop")
    made._name_, made._value_ = "LOOP", "loop"
    return made


def test_nobody_else_asks_which_limiter_it_is() -> None:
    asked = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "LimiterKind"
    }
    assert asked <= ROOMS, "what is asked of a limiter is a function of judge/limiters.py or judge/to_tell.py"


def test_a_limiter_that_is_new_is_shown_wherever_one_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = _another()

    def rule(_: Evidence) -> Limiter:
        said = Said(SENTENCE, ("each came twice",), "Unplug one cable.")
        return Limiter(kind, said.sentence, (kind,), said.evidence, said.experiment)

    monkeypatch.setattr(limiters, "RULES", (rule, *limiters.RULES))
    made: Document = document(both(RungName.SAME_HOST, 4e9), both(RungName.DC_LINK, 300e6))
    judged = judge_document(made)
    link = judged.rungs[-1]
    assert link.limiter is not None and link.limiter.kind is kind and link.limiter.known
    assert SENTENCE in link.judgement.sentence and SENTENCE in limiter_line(made.rungs[-1], link)
    assert SENTENCE in report.html(made) and "Unplug one cable." in report.html(made)
    assert any(",loop," in line for line in csv_trials(made).splitlines())
    file = tmp_path / "document.json"
    file.write_text(json.dumps(to_json(made)))
    assert cli.main(["judge", str(file)]) in (0, 1)
    told = capsys.readouterr().out
    assert SENTENCE in told and "to tell: Unplug one cable." in told


def test_one_that_only_a_later_linkladder_knows_is_unknown_and_its_sentence_stays() -> None:
    judged = to_json(judge_document(document(both(RungName.DC_LINK, 300e6))))
    for rung in judged["rungs"]:
        rung["limiter"] = {
            "kind": "loop",
            "sentence": SENTENCE,
            "candidates": ["loop"],
            "evidence": [],
            "experiment": "",
        }
    read = from_json(DocumentJudgement, judged).rungs[-1].limiter
    assert read is not None and not read.known and read.sentence == SENTENCE
    whole = {**to_json(document(both(RungName.DC_LINK, 300e6))), "judgement": judged}
    jsonschema.validate(whole, document_schema())
