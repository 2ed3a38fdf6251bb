"""Makes the report page: one self-contained HTML file, which depends only on the data that it embeds."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from linkladder import __version__, phrases, units
from linkladder.codec import from_json, to_json
from linkladder.judge import AS_PLANNED, Overrides, judge_document
from linkladder.model import Document, TrialResult
from linkladder.printable import clean
from linkladder.report import page_data, page_text, seal, signing, view
from linkladder.report.condense import condensed
from linkladder.verdicts import Comparison, DocumentJudgement

MADE_OF = ("linkladder.report", "linkladder.judge", "linkladder.phrases", "linkladder")
UNCOUNTED = ("signing.py", "verify.py", "tables.py", "cli.py")  # modules that do not affect the page


def html(
    document: Document,
    overrides: Overrides = AS_PLANNED,
    comparison: Comparison | None = None,
    key: Path | None = None,
) -> str:
    """The sealed page, signed if a key is given."""
    shown, judged = condensed(document, overrides)
    value = {
        "renderer": renderer(),
        "version": __version__,
        "signer": signing.fingerprint(key) if key else "",
        "overrides": to_json(overrides),
        "comparison": to_json(comparison),
    }
    data = page_data.embedded(value, replace(shown, judgement=judged))
    bare = _render(value, data, shown, judged, overrides, comparison)
    return seal.seal(bare, (lambda statement: signing.sign(statement, key)) if key else None)


def made_again(page: str) -> str | None:
    """The page without data and seal, made again from its data; None if their judgement is not the one made here."""
    read = partial(from_json, Document), lambda one, _: from_json(TrialResult, one)
    value, carried, sha256 = page_data.document(page, *read)
    document = replace(carried, judgement=None)
    overrides = from_json(Overrides, value["overrides"])
    comparison = from_json(Comparison, value["comparison"]) if value["comparison"] else None
    judged = judge_document(document, overrides)
    if judged != carried.judgement:
        return None
    return _render(value, page_data.Data("", sha256), document, judged, overrides, comparison)


def _render(
    value: dict[str, Any],
    data: page_data.Data,
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
            ladder=view.ladder(document, judged, view.of_the_link(document, deal)),
            comparison=comparison,
            method=page_text.METHOD,
            phrases=phrases,
            units=units,
            words=page_text,
            data=Markup(data.element),
            seal=Markup(seal.BLANK),
            data_sha256=data.sha256,
        )
    )


@cache
def renderer() -> str:
    """A fingerprint of all code that affects the page, as only the same code makes the same page again."""
    digest = hashlib.sha256()
    for package in MADE_OF:
        for entry in sorted(files(package).iterdir(), key=lambda e: e.name):
            if entry.is_file() and entry.name.endswith((".py", ".j2", ".css")) and entry.name not in UNCOUNTED:
                digest.update(entry.name.encode() + b"\0" + entry.read_bytes())
    return digest.hexdigest()


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # imported late, as checking a page does not need it

    environment = Environment(
        loader=PackageLoader("linkladder.report", "."),
        autoescape=True,
        finalize=clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # each template is used once, so optimizing takes longer than it saves
    )
    environment.globals["checked"] = phrases.checked
    environment.globals["style"] = Markup(environment.get_template("page.css").render())
    return environment.get_template("page.html.j2")
