"""Turns the error of a failed exchange into an event: who refused, or what went wrong and what to do."""

from __future__ import annotations

from enum import StrEnum

from linkladder.errors import LinkladderError
from linkladder.pairing import window_events as say
from linkladder.pairing.messages import ProtocolError, Reason

START_AGAIN = "start again at both consoles; if it happens again, look for what sits in between"
HINTS = {
    Reason.VERSION: "put the same version of linkladder on both appliances",
    Reason.METHOD: "give both ends the same site secret, or neither",
    Reason.SECRET: "give both ends the same site secret; if they have it, look for what sits in between",
    Reason.BUSY: "finish or refuse that pairing first",
    Reason.SELF: "choose another address: this one leads back here",
}


class Answer(StrEnum):
    """The answer of this end's person to a code."""

    YES = "yes"
    NO = "no"
    OTHER_CODE = "other code"  # the person typed a code that is not the other end's


class RefusedHere(Exception):
    def __init__(self, answer: Answer) -> None:
        self.other_code = answer is Answer.OTHER_CODE


def as_event(error: Exception, who: str, left: int, called: bool = True) -> say.Refused | say.Failed:
    """`called`: whether it was this end that called."""
    if isinstance(error, RefusedHere):
        return say.Refused(True, who, left, error.other_code)
    if isinstance(error, LinkladderError):
        return say.Failed(error.title, error.cause, error.hint, left, called)
    if isinstance(error, ProtocolError) and error.reason is Reason.REFUSED:
        return say.Refused(False, who, left)
    hint = HINTS.get(error.reason, START_AGAIN) if isinstance(error, ProtocolError) else START_AGAIN
    words = isinstance(error, (ProtocolError, ConnectionError)) and str(error)
    cause = words or "it stopped answering, or nobody answered in time"
    return say.Failed(f"pairing with {who} failed", cause, hint, left, called)
