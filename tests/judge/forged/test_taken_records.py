"""Records of the ends of a real run, taken from one repeat and put into another."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from typing import Any

import pytest
from forge_pairs import KEPT, Json

from linkladder import formats
from linkladder.codec import to_json
from linkladder.engine.leg import PING_INTERVAL
from linkladder.judge.accounts import doubted
from linkladder.judge.odd_records import odd_records
from linkladder.judge.pinged import PINGS_BESIDE
from linkladder.model import RunState
from linkladder.verdicts import Cause

RUN = "v2/too-slow"


def causes(change: Callable[[Json, Json], Any]) -> set[Cause]:
    """Of the doubts about the run's link, the second repeat of each load having something of the first."""
    made: Json = to_json(formats.document(json.loads(lzma.decompress((KEPT / f"{RUN}.json.xz").read_bytes()))))
    for e in made["rungs"][-1]["experiments"]:
        if e["parameters"]["protocol"] == "tcp":
            for first, second in zip(e["trials"][0]["ends"], e["trials"][1]["ends"], strict=True):
                change(second, first)
    document = formats.document(made)
    return {cause for cause, _ in doubted(document.rungs[-1], document).values()}


def of(key: str) -> Callable[[Json, Json], Any]:
    return lambda end, other: end.update({key: other[key]})


def test_the_run_itself_has_none() -> None:
    assert causes(lambda end, other: None) == set()


@pytest.mark.parametrize("change", [of("nics"), of("samples")], ids=["cards", "samples"])
def test_counts_of_another_repeat_are_a_copy(change: Callable[[Json, Json], Any]) -> None:
    assert Cause.COPIED in causes(change)


def test_pings_beside_a_load_are_expected_as_often_as_they_are_sent() -> None:
    assert PINGS_BESIDE == PING_INTERVAL


REAL = sorted(f"{path.parent.name}/{path.name.partition('.')[0]}" for path in KEPT.glob("v[23]/*.json.xz"))


@pytest.mark.parametrize("run", REAL)
def test_no_real_run_has_a_copy_or_windows_cores_and_tools_of_others(run: str) -> None:
    """A path without other traffic may repeat a load to the packet, as it did for two trials of quiet-path."""
    document = formats.document(json.loads(lzma.decompress((KEPT / f"{run}.json.xz").read_bytes())))
    for rung in document.rungs:
        assert Cause.COPIED not in {cause for cause, _ in doubted(rung, document).values()}
        assert document.run.state is RunState.INCOMPLETE or not odd_records(rung, document)


@pytest.mark.parametrize("old,new,found", [("3.12", "3.13", True), ("3.12", "3.12", False), ('"iperf 3', '"x', False)])
def test_iperf3_names_its_version_in_its_output(old: str, new: str, found: bool) -> None:
    text = lzma.decompress((KEPT / "v2/tools.json.xz").read_bytes()).decode()
    made = json.loads(text)
    for t in (t for e in made["rungs"][-1]["experiments"] for t in e["trials"]):
        for command in (c for leg in t["legs"] for c in leg["commands"]):
            command["output"] = command["output"].replace(old, new)
    document = formats.document(made)
    assert found is any(c.cause is Cause.RAW_OUTPUT for c in odd_records(document.rungs[-1], document))
