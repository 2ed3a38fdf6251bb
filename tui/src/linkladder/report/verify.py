"""Whether a page is as it was written.

The page embeds the data it was made from, and ends in a seal: a SHA-256 over every character of the page (the seal's
own place left empty) and a signature over that.  So a changed digit, wherever a reader may see it, breaks the hash; a
forger who makes a new hash cannot sign it.  A page of this very version is also rendered again from its data, so that
words and data cannot be made to differ even by who holds a key.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from linkladder.report import signing

DATA = re.compile(
    r'<script type="application/json" id="linkladder-data" data-encoding="(json|deflate)">([^<]*)</script>'
)
SEAL = re.compile(
    r'<script type="application/json" id="linkladder-seal">'
    r'(\{"sha256": "([0-9a-f]{64})", "signature": ("[-A-Za-z0-9+/= \\]*"|null)\})</script>'
)
BLANK = '<script type="application/json" id="linkladder-seal"></script>'
PLAIN = 300_000  # larger data is deflated
MOST = 256 << 20  # no page unpacks to more


class State(StrEnum):
    VALID = "valid"
    UNKNOWN_KEY = "unknown key"
    UNSIGNED = "unsigned"
    ALTERED = "altered"


@dataclass(frozen=True)
class Verification:
    """What became of holding a report against its signature."""

    state: State
    sentence: str
    details: tuple[str, ...] = ()
    signer: str = ""
    fingerprint: str = ""
    sha256: str = ""

    @property
    def genuine(self) -> bool:
        """Only what a known key signed and nobody altered."""
        return self.state is State.VALID


def harmless(value: str) -> str:
    """JSON text that says the same without a character that means something to markup."""
    return value.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def embed(value: str) -> str:
    """Harmless JSON text as a data block that no script engine runs."""
    if len(value) <= PLAIN:
        return f'<script type="application/json" id="linkladder-data" data-encoding="json">{value}</script>'
    packed = base64.b64encode(zlib.compress(value.encode(), 6)).decode()
    return f'<script type="application/json" id="linkladder-data" data-encoding="deflate">{packed}</script>'


def payload(page: str) -> str:
    """The JSON text that a page was made from; ValueError where there is none."""
    found = DATA.findall(page)
    if len(found) != 1:
        raise ValueError("the page embeds no linkladder data")
    kind, text = found[0]
    if kind == "json":
        return str(text)
    try:
        machine = zlib.decompressobj()
        value = machine.decompress(base64.b64decode(text, validate=True), MOST)
    except (ValueError, zlib.error):
        raise ValueError("the page's data cannot be unpacked") from None
    if machine.unconsumed_tail or not machine.eof:
        raise ValueError("the page's data cannot be unpacked")
    return value.decode("utf-8")


def embedded(page: str) -> str:
    """The document inside a page, as JSON text."""
    return json.dumps(json.loads(payload(page))["document"])


def seal(page: str, sign: Callable[[str], str] | None) -> str:
    """The page with its blank seal filled."""
    digest = hashlib.sha256(page.encode()).hexdigest()
    signature = json.dumps(sign(_statement(digest)) if sign else None)
    filled = f'{{"sha256": "{digest}", "signature": {signature}}}'
    return page.replace(BLANK, BLANK.replace("></script>", f">{filled}</script>"))


def check(page: str, known: dict[str, str]) -> Verification:
    """Hash, signature and, for pages of this version, the page itself made again."""
    seals = SEAL.findall(page)
    if len(seals) != 1 or page.count('id="linkladder-seal"') != 1:
        return Verification(State.ALTERED, "ALTERED or no linkladder report: it has no seal that can be read.")
    whole, digest, quoted = seals[0]
    bare = page.replace(whole, "", 1)
    if hashlib.sha256(bare.encode()).hexdigest() != digest:
        return Verification(
            State.ALTERED, "ALTERED: the page is not as it was written (its SHA-256 differs).", sha256=digest
        )
    try:
        again = _made_again(bare)
    except Exception as error:  # whatever a forged page holds, the answer is that it is no report
        return Verification(State.ALTERED, f"ALTERED: the page's data cannot be read ({type(error).__name__}).")
    if again is False:
        return Verification(State.ALTERED, "ALTERED: the page does not say what its data say.", sha256=digest)
    details = [f"SHA-256 of the page: {digest}"]
    details.append(
        "Rendered again from its data: identical."
        if again
        else "Written by another version of linkladder: its data were not rendered again."
    )
    signature = json.loads(quoted)
    if signature is None:
        said = "UNSIGNED: intact by its own SHA-256, but nobody signed it, so anybody may have written it."
        return Verification(State.UNSIGNED, said, tuple(details), sha256=digest)
    found = signing.check(_statement(digest), signature, known)
    details.append(f"Key: {found.fingerprint or 'unreadable'}")
    if not found.fits:
        said = "ALTERED: the signature does not fit the page."
        return Verification(State.ALTERED, said, tuple(details), "", found.fingerprint, digest)
    if json.loads(payload(bare))["signer"] != found.fingerprint:
        said = "ALTERED: the page names another key than the one that signed it."
        return Verification(State.ALTERED, said, tuple(details), "", found.fingerprint, digest)
    if not found.valid:
        said = "UNKNOWN KEY: intact, but signed by a key that is not known here, so it proves nothing."
        return Verification(State.UNKNOWN_KEY, said, tuple(details), "", found.fingerprint, digest)
    said = f"VALID: unaltered, signed by {found.signer}."
    return Verification(State.VALID, said, tuple(details), found.signer, found.fingerprint, digest)


def _statement(digest: str) -> str:
    return f"linkladder report sha256:{digest}\n"


def _made_again(bare: str) -> bool | None:
    """Whether the same data give the same page; None where another version wrote it."""
    from linkladder.report import html_page  # late: the page seals itself with this module

    text = payload(bare)
    if json.loads(text).get("renderer") != html_page.renderer():
        return None
    again = html_page.made_again(text)
    # Packed data may differ from one zlib to the next though they hold the same, so they are left out here.
    return again is not None and DATA.sub("", again) == DATA.sub("", bare)
