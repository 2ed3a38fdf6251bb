"""Writes and reads the data that a page embeds: its document as JSON text, which no script engine runs.

A small document is embedded as plain text, a larger one deflated. A run with long trials becomes compressed lines: one
for the document without trials, and one for each trial with its seconds as columns, so that neither writer nor reader
holds more than one of them in memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from linkladder import codec, packing
from linkladder.codec import to_json
from linkladder.laid_on_disk import Shelf, shelved
from linkladder.model import LONG, Document, ExperimentResult, TrialResult

DATA = re.compile(
    r'<script type="application/json" id="linkladder-data" data-encoding="(json|deflate|lines)">([^<]*)</script>'
)
PLAIN = 300_000  # characters; larger data is deflated
MOST = 256 << 20  # bytes to which a page's data may unpack
LONGEST = 32 << 20  # bytes of one line
PIECE = 1 << 16  # bytes that are unpacked at a time
UNREADABLE = "the page's data cannot be unpacked"
Json = dict[str, Any]


@dataclass(frozen=True)
class Data:
    """Embedded data: the HTML element for the page, and the SHA-256 of the JSON text."""

    element: str
    sha256: str


def embedded(value: Json, document: Document) -> Data:
    """The data of a page: `value` with the document in it."""
    if any(len(leg.outcome.intervals) > LONG for t in document.trials for leg in t.legs):
        return _in_lines(_lines(value, document))
    text = harmless(codec.text({**value, "document": document}))
    digest = hashlib.sha256(text.encode()).hexdigest()
    if len(text) <= PLAIN:
        return Data(_element("json", text), digest)
    return Data(_element("deflate", base64.b64encode(zlib.compress(text.encode(), 6)).decode()), digest)


def harmless(value: str) -> str:
    """The same JSON text with the characters that have a meaning in HTML escaped."""
    return value.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _element(encoding: str, text: str) -> str:
    return f'<script type="application/json" id="linkladder-data" data-encoding="{encoding}">{text}</script>'


def _lines(value: Json, document: Document) -> Iterator[str]:
    counts = [[len(e.trials) for e in rung.experiments] for rung in document.rungs]
    bare = _with_trials(document, [[() for _ in rung] for rung in counts])
    yield json.dumps({**value, "document": to_json(bare), "trials": counts}, separators=(",", ":"))
    for trial in document.trials:
        yield packing.text(to_json(trial))


def _in_lines(lines: Iterator[str]) -> Data:
    digest, machine, packed = hashlib.sha256(), lzma.LZMACompressor(filters=packing.XZ_FILTERS), bytearray()
    for line in lines:
        data = f"{line}\n".encode()
        digest.update(data)
        packed += machine.compress(data)
    packed += machine.flush()
    return Data(_element("lines", base64.b64encode(packed).decode()), digest.hexdigest())


def head(page: str) -> Json:
    """What a page embeds besides its document's trials; raises ValueError if it embeds nothing."""
    return _object(json.loads(next(_texts(page), "")))


def document(
    page: str, whole: Callable[[Any], Document], one: Callable[[Any, Any], TrialResult], **reading: Any
) -> tuple[Json, Document, str]:
    """What a page embeds, its document, and the SHA-256 of the text; raises ValueError if it cannot be read.

    `whole` makes a document from JSON, `one` a trial from JSON and the document's schema; `reading` goes to json.loads.
    """
    digest, texts = hashlib.sha256(), _texts(page)
    digest.update((first := next(texts, "")).encode())
    value = _object(json.loads(first, **reading))
    made = whole(value.get("document"))
    if not first.endswith("\n"):
        return value, made, digest.hexdigest()
    of_pairs = reading.pop("object_pairs_hook", dict)
    shelf, counts = Shelf(), _counts(value.get("trials"))
    trials: list[TrialResult] = []
    for line in texts:
        digest.update(line.encode())
        given = json.loads(line, object_pairs_hook=lambda pairs: packing.restored(of_pairs(pairs)), **reading)
        trials.append(shelved(one(given, value["document"].get("schema")), shelf))
    left = iter(trials)
    if sum(map(sum, counts)) != len(trials):
        raise ValueError(UNREADABLE)
    made = _with_trials(made, [[tuple(islice(left, count)) for count in rung] for rung in counts])
    return value, made, digest.hexdigest()


def _counts(value: Any) -> list[list[int]]:
    """Check that `value` lists how many trials each rung's experiments have; raises ValueError if not."""
    rungs: list[Any] = value if isinstance(value, list) else [None]
    if not all(isinstance(rung, list) and all(type(n) is int and n >= 0 for n in rung) for rung in rungs):
        raise ValueError(UNREADABLE)
    return rungs


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise ValueError(UNREADABLE)
    return value


def _texts(page: str) -> Iterator[str]:
    """The embedded text, or its lines one by one."""
    found = DATA.findall(page)
    if len(found) != 1:
        raise ValueError("the page embeds no linkladder data")
    kind, text = found[0]
    if kind == "json":
        yield text
        return
    try:
        packed = base64.b64decode(text, validate=True)
        if kind == "deflate":
            machine = zlib.decompressobj()
            value = machine.decompress(packed, MOST)
            if machine.unconsumed_tail or not machine.eof:
                raise ValueError
            yield value.decode("utf-8")
        else:
            yield from (line.decode("utf-8") for line in _unpacked(packed))
    except (ValueError, zlib.error, lzma.LZMAError):
        raise ValueError(UNREADABLE) from None


def _unpacked(packed: bytes) -> Iterator[bytes]:
    machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=64 << 20)
    waiting, total, given = bytearray(), 0, packed
    while not machine.eof:
        piece = machine.decompress(given, PIECE)
        given, total = b"", total + len(piece)
        if not piece and machine.needs_input:
            raise ValueError
        waiting += piece
        *lines, rest = waiting.split(b"\n")
        if total > MOST or len(rest) > LONGEST:
            raise ValueError
        waiting = rest
        yield from (bytes(line) + b"\n" for line in lines)
    if waiting or machine.unused_data:
        raise ValueError


def _with_trials(document: Document, trials: Sequence[Sequence[tuple[TrialResult, ...]]]) -> Document:
    """The document with these trials for each rung's experiments; raises ValueError if their numbers do not fit."""
    return replace(
        document,
        rungs=tuple(
            replace(rung, experiments=tuple(_with(e, own) for e, own in zip(rung.experiments, each, strict=True)))
            for rung, each in zip(document.rungs, trials, strict=True)
        ),
    )


def _with(experiment: ExperimentResult, trials: tuple[TrialResult, ...]) -> ExperimentResult:
    return replace(experiment, trials=trials)
