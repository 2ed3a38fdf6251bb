"""A document for people and machines: HTML, JSON, CSV, OpenMetrics, and the check that nobody altered it.

html(document, ...) -> str            one self-contained page; the data are embedded, hashed and may be signed
json_text(document) -> str            the run command's document with its judgement
csv_trials(document), csv_intervals(document) -> str
openmetrics(document) -> str
verify.check(text, signers) -> Verification
"""

from __future__ import annotations

from linkladder.codec import to_text
from linkladder.judge import AS_PLANNED, Overrides, with_judgement
from linkladder.model import Document
from linkladder.report.html_page import html
from linkladder.report.page_text import rfc6349_words
from linkladder.report.tables import csv_intervals, csv_trials, openmetrics

__all__ = ["csv_intervals", "csv_trials", "html", "json_text", "openmetrics", "rfc6349_words"]


def json_text(document: Document, overrides: Overrides = AS_PLANNED) -> str:
    """The whole document, judged, in the schema that the run command writes."""
    return to_text(with_judgement(document, overrides))
