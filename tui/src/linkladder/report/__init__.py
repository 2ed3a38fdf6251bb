"""A document for people and machines: HTML, JSON, CSV, OpenMetrics, and the check that nobody altered it.

html(document, ...) -> str            one self-contained page; the document is embedded, hashed and may be signed
json_text(document) -> str            the run command's document with its judgement
csv_trials(document), csv_intervals(document) -> str
openmetrics(document) -> str
verify.check(text, signers) -> Verification
"""

from __future__ import annotations
