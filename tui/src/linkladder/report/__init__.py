"""Writes a document as HTML, JSON, CSV or OpenMetrics, and checks that nobody altered an HTML report.

html(document, ...) -> str            one self-contained page; the data are embedded, hashed and may be signed
json_pieces(document)                 the run command's document with its judgement, in pieces of text
csv_trials(document) -> str
csv_intervals(document)               a row for each second, yielded one by one
openmetrics(document) -> str
verify.check(text, signers) -> Verification
"""

from __future__ import annotations

from collections.abc import Iterator

from linkladder.codec import pieces
from linkladder.judge import AS_PLANNED, Overrides, with_judgement
from linkladder.model import Document
from linkladder.report.html_page import html
from linkladder.report.page_text import rfc6349_words
from linkladder.report.tables import csv_intervals, csv_trials, openmetrics

__all__ = ["csv_intervals", "csv_trials", "html", "json_pieces", "openmetrics", "rfc6349_words"]


def json_pieces(document: Document, overrides: Overrides = AS_PLANNED) -> Iterator[str]:
    """The whole document, judged, in the schema that the run command writes."""
    return pieces(with_judgement(document, overrides))
