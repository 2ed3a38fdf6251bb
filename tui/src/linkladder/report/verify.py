"""Checks whether a page is as it was written.

The page embeds the data from which it was made, and ends in a seal: a SHA-256 over every character of the page (with
the seal itself left empty) and a signature of that hash. So a changed digit anywhere breaks the hash, and a forger who
makes a new hash cannot sign it. A page of this very version is also rendered again from its data, so that not even the
owner of a key can make words and data differ.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from linkladder.report import html_page, page_data, signing
from linkladder.report.seal import SEAL, statement


class State(StrEnum):
    VALID = "valid"
    UNKNOWN_KEY = "unknown key"
    UNSIGNED = "unsigned"
    ALTERED = "altered"


@dataclass(frozen=True)
class Verification:
    """The result of checking a page against its seal."""

    state: State
    sentence: str
    details: tuple[str, ...] = ()
    signer: str = ""
    fingerprint: str = ""
    sha256: str = ""

    @property
    def genuine(self) -> bool:
        """Whether a known key signed the page and nobody altered it."""
        return self.state is State.VALID


def check(page: str, known: dict[str, str]) -> Verification:
    """Check the hash, the signature and, for pages of this version, the page itself by making it again.

    `known` has the known keys with their names.
    """
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
        head = page_data.head(bare)
        signer, signature = head["signer"], json.loads(quoted)
        assumed = _assumed(head) if again else ""
        str(signature).encode()  # half of a pair of surrogates is no text
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
    if assumed:
        details.append(f"Judged under other assumptions than the plan's: {assumed}.")
    if signature is None:
        said = "UNSIGNED: intact by its own SHA-256, but nobody signed it, so anybody may have written it."
        return Verification(State.UNSIGNED, said, tuple(details), sha256=digest)
    found = signing.check(statement(digest), signature, known)
    details.append(f"Key: {found.fingerprint or 'unreadable'}")
    if not found.fits:
        said = "ALTERED: the signature does not fit the page."
        return Verification(State.ALTERED, said, tuple(details), "", found.fingerprint, digest)
    if signer != found.fingerprint:
        said = "ALTERED: the page names another key than the one that signed it."
        return Verification(State.ALTERED, said, tuple(details), "", found.fingerprint, digest)
    if not found.valid:
        said = "UNKNOWN KEY: intact, but signed by a key that is not known here, so it proves nothing."
        return Verification(State.UNKNOWN_KEY, said, tuple(details), "", found.fingerprint, digest)
    said = f"VALID: unaltered, signed by {found.signer}."
    return Verification(State.VALID, said, tuple(details), found.signer, found.fingerprint, digest)


def _assumed(head: page_data.Json) -> str:
    """The assumptions of a page's judgement that are not its plan's, as they are the writer's choice; '' if none."""
    judged = head["document"]["judgement"]
    return ", ".join(f"{name} {judged['assumptions'][name]}" for name in judged["overridden"])


def _made_again(bare: str) -> bool | None:
    """Whether the same data give the same page; None if another version wrote it."""
    if page_data.head(bare).get("renderer") != html_page.renderer():
        return None
    # Compressed data may differ between versions of a compressor though they mean the same, so they are left out.
    return html_page.made_again(bare) == page_data.DATA.sub("", bare)
