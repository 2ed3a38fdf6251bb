from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from linkladder.codec import to_json
from linkladder.formats.published import document_schema
from test_codec import sample

PUBLISHED = Path(__file__).parents[2] / "docs" / "document.schema.json"


def test_the_published_schema_is_the_code_s() -> None:
    """When it is not: python -m json.tool of document_schema() into docs/document.schema.json."""
    assert json.loads(PUBLISHED.read_text()) == document_schema()


def test_documents_fit_it_and_others_do_not() -> None:
    good = to_json(sample())
    jsonschema.validate(good, document_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**good, "surprise": 1}, document_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**good, "run": {**good["run"], "state": "splendid"}}, document_schema())
