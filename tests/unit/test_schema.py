from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from linkladder.codec import to_json
from linkladder.formats.published import document_schema
from test_codec import sample

PUBLISHED = Path(__file__).parents[2] / "docs" / "document.schema.json"


def test_the_published_schema_is_the_code_s() -> None:
    made = subprocess.run([sys.executable, "-m", "linkladder.formats.published"], capture_output=True, check=True)
    assert PUBLISHED.read_bytes() == made.stdout, "python -m linkladder.formats.published >docs/document.schema.json"
    assert json.loads(made.stdout) == document_schema()


def test_documents_fit_it_and_others_do_not() -> None:
    good = to_json(sample())
    jsonschema.validate(good, document_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**good, "surprise": 1}, document_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**good, "run": {**good["run"], "state": "splendid"}}, document_schema())
