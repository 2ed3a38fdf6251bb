"""Documents with one key damaged everywhere: every command that reads them judges them or refuses them in words."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linkladder import cli, formats
from linkladder.codec import to_json

KEPT = Path(__file__).parents[1] / "documents"
Value = Any
Keys = tuple[str, ...]  # "*" for every item of a list

DAMAGE: dict[type, tuple[Callable[[Value], Value], ...]] = {
    dict: (lambda v: {}, lambda v: None),
    list: (lambda v: [], lambda v: [*v, *v], lambda v: v[:1], lambda v: v[1:], lambda v: v[::-1], lambda v: None),
    bool: (lambda v: not v,),
    int: (lambda v: 0, lambda v: -1, lambda v: 3 * v, lambda v: 10**16, lambda v: None),
    float: (lambda v: 0.0, lambda v: -1.0, lambda v: 3 * v, lambda v: 1e16, lambda v: 1e300, lambda v: None),
    str: (lambda v: "", lambda v: "near", lambda v: "reverse", lambda v: "ping", lambda v: "0001-01-01T00:00:00"),
    type(None): (lambda v: 0, lambda v: -1.5, lambda v: "path", lambda v: []),
}


def kept(name: str) -> Value:
    """A kept run in today's form, as JSON."""
    text = lzma.decompress((KEPT / f"{name}.json.xz").read_bytes())
    return to_json(formats.document(json.loads(text)))


def places(value: Value, keys: Keys = ()) -> Iterator[tuple[Keys, type]]:
    """The keys to every kind of value, and its type."""
    if keys:
        yield keys, type(value)
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*keys, key))
    if isinstance(value, list):
        for part in value:
            yield from places(part, (*keys, "*"))


def damaged(value: Value, keys: Keys, kind: type, change: Callable[[Value], Value]) -> None:
    """Change every value of that type to which these keys lead."""
    first, *rest = keys
    inside: list[Value] = []
    if first == "*" and isinstance(value, list):
        inside = list(range(len(value)))
    if isinstance(value, dict) and first in value:
        inside = [first]
    for key in inside:
        if rest:
            damaged(value[key], tuple(rest), kind, change)
        elif type(value[key]) is kind:
            value[key] = change(value[key])


def written(value: Value, folder: Path) -> str:
    file = folder / "damaged.json"
    file.write_text(json.dumps(value))
    return str(file)


def commands(file: str, folder: Path) -> list[list[str]]:
    made = [f"--{kind}={folder / kind}" for kind in ("html", "json", "csv", "openmetrics")]
    return [["judge", file], ["report", file, "--unsigned", *made]]


def told(argv: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """The exit code of a command that has told what is wrong, if anything."""
    code = cli.main(argv)
    out, err = capsys.readouterr()
    assert code in (0, 2) and "Traceback" not in out + err
    assert code == 0 or ("why:" in err and "do:" in err) or "newer linkladder" in err, (argv, err)
    return code


@pytest.mark.parametrize(("name", "first"), [("v2/neighbours", 0), ("v2/tools", 2)])
def test_one_key_damaged_everywhere(name: str, first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every fourth key in one way, another for each, so that all of them take part."""
    text = json.dumps({key: value for key, value in kept(name).items() if key != "judgement"})
    kinds = dict(places(json.loads(text)))
    assert len(kinds) > 300
    codes = set()
    for number, (keys, kind) in list(enumerate(kinds.items()))[first::4]:
        value = json.loads(text)
        damaged(value, keys, kind, DAMAGE[kind][number // 4 % len(DAMAGE[kind])])
        argv = commands(written(value, tmp_path), tmp_path)
        codes.add(told(argv[number % 5 == 0], capsys))
    assert codes == {0, 2}


TRIALS = "rungs.*.experiments.*.trials.*"


@pytest.mark.parametrize(
    ("name", "keys", "new"),
    [
        ("v2/neighbours", f"{TRIALS}.legs.*.path", 0),
        ("v2/neighbours", "rungs.*.paths.*.peer_site", "here"),
        ("v2/neighbours", f"{TRIALS}.ends.*.tcp.segments_sent", -1),
        ("v2/until-settled", f"{TRIALS}.legs", []),
        ("v2/tools", f"{TRIALS}.legs.*.outcome.intervals.*.end", 1e20),
        ("v2/tools", f"{TRIALS}.legs.*.outcome.rtt.min_ms", 1e300),
    ],
)
def test_what_once_ended_a_command(
    name: str, keys: str, new: Value, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = kept(name)
    damaged(value, tuple(keys.split(".")), type(new), lambda v: new)
    for argv in commands(written(value, tmp_path), tmp_path):
        told(argv, capsys)


def test_trials_in_the_keys_of_another_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Keys that today's form does not know are passed over, so that the trials have no loads at all."""
    old = json.loads(lzma.decompress((KEPT / "v1/udp-and-marks.json.xz").read_bytes()))
    for argv in commands(written(old | {"schema": "linkladder/3"}, tmp_path), tmp_path):
        told(argv, capsys)


@pytest.mark.parametrize("command", ["judge", "report", "show", "verify"])
@pytest.mark.parametrize("content", [None, b"\x1f\x8b\xff"])
def test_what_is_no_text_is_refused(
    command: str, content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of that name, or something compressed."""
    file = tmp_path / "odd.json"
    if content is not None:
        file.write_bytes(content)
    assert cli.main([command, str(file)]) == 3
    said = capsys.readouterr().err
    assert "cannot be read" in said and "why:" in said and "do:" in said
