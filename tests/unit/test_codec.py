from __future__ import annotations

import contextlib
import json
import lzma
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkladder import formats
from linkladder.codec import CodecError, from_json, pieces, text, to_json
from linkladder.model import Contract, Document, Experiment, Fault, Outcome, Plan, Rung, RungName, RunInfo, TrialResult
from linkladder.tools import Layout
from linkladder.wire.requests import Clock

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def sample() -> Document:
    plan = Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(Experiment("e", sizes=(1500, 9000)),)),))
    return Document(RunInfo("r", "2026-11-21T00:00:00+00:00", plan))


def test_a_document_survives_json() -> None:
    document = sample()
    assert from_json(Document, json.loads(json.dumps(to_json(document)))) == document


@given(JSON)
def test_the_text_of_a_record_is_that_of_its_value(value: object) -> None:
    """Numbers that JSON does not have and records without fields included."""
    whole = {"document": sample(), "any": value, "endless": [math.inf, 1.5], "empty": Clock()}
    assert text(whole) == json.dumps(to_json(whole), separators=(",", ":"))
    assert json.loads(text(whole))["endless"] == [None, 1.5]
    assert text([sample(), Clock()]) == json.dumps(to_json([sample(), Clock()]), separators=(",", ":"))


def test_a_choice_of_words_is_checked() -> None:
    good = {"server": "far", "client": "near", "protocol_port": "tcp"}
    assert from_json(Layout, good).protocol_port == "tcp"
    with pytest.raises(CodecError, match="protocol_port"):
        from_json(Layout, {**good, "protocol_port": "sctp"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"surprise": 1}, "unknown key 'surprise'"),
        ({"mtu": "1500"}, "Contract.mtu: expected int"),
        ({"mtu": True}, "Contract.mtu: expected int"),
        ({"port_bps": math.nan}, "finite"),
        ({"port_bps": 10**400}, "too large"),
        ({"mtu": 10**400}, "Contract.mtu: the number is too large"),
        ({"vlan_tags": -(10**400)}, "Contract.vlan_tags: the number is too large"),
        ({"layer": "L4"}, "one of L1, L2, L3"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], words: str) -> None:
    with pytest.raises(CodecError, match=words):
        from_json(Contract, change)


@given(JSON)
def test_foreign_json_is_refused_or_decoded_never_worse(value: object) -> None:
    with contextlib.suppress(CodecError):
        assert isinstance(from_json(TrialResult, value), TrialResult)


def test_deep_nesting_is_refused() -> None:
    from typing import Any

    deep: Any = {}
    for _ in range(200):
        deep = {"run": deep}
    with pytest.raises(CodecError):
        from_json(Document, deep)


def test_text_says_what_the_values_say_with_a_second_to_a_line(captures: Path) -> None:
    kept = sorted((captures.parent / "documents" / "v2").glob("*.json.xz"))
    assert kept
    for file in kept:
        document = formats.document(json.loads(lzma.decompress(file.read_bytes())))
        text = "".join(pieces(document))
        assert json.loads(text) == json.loads(json.dumps(to_json(document)))
        seconds = sum(len(leg.outcome.intervals) for r in document.rungs for e in r.experiments for t in e.trials
                      for leg in t.legs)  # fmt: skip
        assert sum(line.lstrip().startswith('{"start": ') for line in text.splitlines()) >= seconds
    odd = Outcome(True, by_direction={"a\n": float("inf")}, flows=(), warnings=("<é>",), fault=Fault.PATH)
    assert json.loads("".join(pieces(odd))) == to_json(odd)
