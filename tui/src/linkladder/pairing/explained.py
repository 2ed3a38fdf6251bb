"""Why an attempt at pairing came to nothing, and what to do about it."""

from __future__ import annotations

from linkladder.errors import LinkladderError
from linkladder.pairing.events import Failed
from linkladder.pairing.messages import ProtocolError, Reason

HINTS = {
    Reason.VERSION: "put the same version of linkladder on both appliances",
    Reason.METHOD: "give both ends the same site secret, or neither",
    Reason.SECRET: "give both ends the same site secret; if they have it, look for what sits in between",
    Reason.BUSY: "finish or refuse that pairing first",
    Reason.SELF: "choose another address: this one leads back here",
}


def failed(who: str, error: Exception, left: int) -> Failed:
    """`left`: attempts until the window closes."""
    if isinstance(error, LinkladderError):
        return Failed(error.title, error.cause, error.hint, left)
    hint = "start again at both consoles; if it happens again, look for what sits in between"
    if isinstance(error, ProtocolError):
        hint = HINTS.get(error.reason, hint)
    words = isinstance(error, (ProtocolError, ConnectionError)) and str(error)
    return Failed(
        f"pairing with {who} failed", words or "it stopped answering, or nobody confirmed in time", hint, left
    )
