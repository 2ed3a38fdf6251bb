"""The seal of a page: a SHA-256 over every character of it, and a signature of that hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

SEAL = re.compile(
    r'<script type="application/json" id="linkladder-seal">'
    r'(\{"sha256": "([0-9a-f]{64})", "signature": ("[-A-Za-z0-9+/= \\]*"|null)\})</script>'
)
BLANK = '<script type="application/json" id="linkladder-seal"></script>'


def seal(page: str, sign: Callable[[str], str] | None) -> str:
    """The page with its blank seal filled."""
    digest = hashlib.sha256(page.encode()).hexdigest()
    signature = json.dumps(sign(statement(digest)) if sign else None)
    filled = f'{{"sha256": "{digest}", "signature": {signature}}}'
    return page.replace(BLANK, BLANK.replace("></script>", f">{filled}</script>"))


def statement(digest: str) -> str:
    """The text that is signed."""
    return f"linkladder report sha256:{digest}\n"
