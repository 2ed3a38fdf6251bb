"""The page: one HTML file that needs nothing else, made by a pure function of the data it embeds."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from linkladder import __version__, phrases, units
from linkladder.codec import from_json, to_json
from linkladder.judge import AS_PLANNED, Overrides, judge_document
from linkladder.model import Document
from linkladder.printable import clean
from linkladder.report import page_text, signing, verify, view
from linkladder.report.condense import condense
from linkladder.verdicts import Comparison, DocumentJudgement

MADE_OF = ("linkladder.report", "linkladder.judge", "linkladder.phrases", "linkladder")
UNCOUNTED = ("signing.py", "verify.py", "tables.py", "cli.py")  # they do not shape the page


def html(
    document: Document,
    overrides: Overrides = AS_PLANNED,
    comparison: Comparison | None = None,
    key: Path | None = None,
) -> str:
    """The sealed page, signed where a key is given."""
    shown = condense(document)
    judged = judge_document(shown, overrides)
    value = {
        "renderer": renderer(),
        "version": __version__,
        "signer": signing.fingerprint(key) if key else "",
        "overrides": to_json(overrides),
        "comparison": to_json(comparison),
        "document": to_json(replace(shown, judgement=judged)),
    }
    text = verify.harmless(json.dumps(value, separators=(",", ":")))
    bare = _render(value, text, shown, judged, overrides, comparison)
    return verify.seal(bare, (lambda statement: signing.sign(statement, key)) if key else None)


def made_again(text: str) -> str | None:
    """The page with an empty seal, from the data that a page embeds; None where the data carry a foreign judgement."""
    value = json.loads(text)
    carried = from_json(Document, value["document"])
    document = replace(carried, judgement=None)
    overrides = from_json(Overrides, value["overrides"])
    comparison = from_json(Comparison, value["comparison"]) if value["comparison"] else None
    judged = judge_document(document, overrides)
    if judged != carried.judgement:
        return None
    return _render(value, text, document, judged, overrides, comparison)


def _render(
    value: dict[str, Any],
    text: str,
    document: Document,
    judged: DocumentJudgement,
    overrides: Overrides,
    comparison: Comparison | None,
) -> str:
    deal = overrides.apply(document.run.plan.contract)
    return str(
        _template().render(
            value=value,
            document=document,
            run=document.run,
            deal=deal,
            judged=judged,
            css=page_text.css(judged.verdict),
            rungs=view.rungs(document, judged, deal),
            ladder=view.ladder(document, judged, deal),
            comparison=comparison,
            method=page_text.METHOD,
            phrases=phrases,
            units=units,
            words=page_text,
            data=Markup(verify.embed(text)),
            seal=Markup(verify.BLANK),
            data_sha256=hashlib.sha256(text.encode()).hexdigest(),
        )
    )


@cache
def renderer() -> str:
    """A fingerprint of everything that shapes the page: only the same code can be asked to make the same page again."""
    digest = hashlib.sha256()
    for package in MADE_OF:
        for entry in sorted(files(package).iterdir(), key=lambda e: e.name):
            if entry.is_file() and entry.name.endswith((".py", ".j2", ".css")) and entry.name not in UNCOUNTED:
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return digest.hexdigest()


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # late: a check of a page does without

    environment = Environment(
        loader=PackageLoader("linkladder.report", "."),
        autoescape=True,
        finalize=clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = Markup(environment.get_template("page.css").render())
    return environment.get_template("page.html.j2")
