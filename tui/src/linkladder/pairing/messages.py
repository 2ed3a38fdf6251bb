"""The lines of a pairing: each is a JSON object of a known kind, and all its fields are checked before use."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from linkladder.codec import CodecError, from_json, to_json
from linkladder.trust import keys
from linkladder.trust.peers import NAME, USER

VERSION = 3  # since 3 each end shows its own code
LIMIT = 4096  # bytes in a message, including its newline
MAX_ADDRESSES = 16
HEX = re.compile(r"[0-9a-f]{64}")
TIE = re.compile(r"[0-9a-f]{32}")
PLAIN = re.compile(r"[A-Za-z0-9.+_-]{1,40}")
PROOF = re.compile(r"-----BEGIN SSH SIGNATURE-----\n[A-Za-z0-9+/=\n]{100,700}\n-----END SSH SIGNATURE-----\n?")


class Role(StrEnum):
    INITIATOR = "initiator"
    RESPONDER = "responder"

    @property
    def other(self) -> Role:
        return Role.RESPONDER if self is Role.INITIATOR else Role.INITIATOR


class Method(StrEnum):
    PERSON = "person"
    SECRET = "secret"


class Reason(StrEnum):
    """Why an end ends a pairing; nothing else about the reason is sent."""

    BUSY = "busy"
    CROSSED = "crossed"
    REFUSED = "refused"
    CLOSED = "closed"
    VERSION = "version"
    METHOD = "method"
    SELF = "self"
    FORMAT = "format"
    OPENING = "opening"
    SECRET = "secret"
    PROOF = "proof"


EXPLAINED = {
    Reason.BUSY: "it is pairing with another appliance just now",
    Reason.CROSSED: "both ends called each other, and the other call goes on",
    Reason.REFUSED: "the other end refused",
    Reason.CLOSED: "the other end closed its pairing window",
    Reason.VERSION: "the two ends speak different versions of the pairing protocol",
    Reason.METHOD: "one end confirms by a site secret and the other by a person",
    Reason.SELF: "this is the appliance itself, or somebody who shows it its own keys",
    Reason.FORMAT: "what was sent is not of the pairing protocol",
    Reason.OPENING: "what was revealed is not what was committed to: somebody may sit in between",
    Reason.SECRET: "the other end does not have the same site secret, or somebody sits in between",
    Reason.PROOF: "who confirmed does not own the keys that were shown: somebody sits in between",
}


class ProtocolError(Exception):
    """The pairing has failed; `ours` says whether this end found the fault or the other end sent it."""

    def __init__(self, reason: Reason, detail: str = "", ours: bool = True) -> None:
        super().__init__(EXPLAINED[reason] + (f" ({detail})" if detail else ""))
        self.reason = reason
        self.ours = ours


@dataclass(frozen=True)
class Hello:
    """The first message: the sender's role, version and method of confirming."""

    protocol: int
    version: str  # of linkladder
    role: Role
    method: Method
    tie: str  # random; shows a call to oneself, and decides which of two crossing calls goes on


@dataclass(frozen=True)
class Commit:
    """Binds the sender to its reveal and nonce before it knows the other end's."""

    commitment: str


@dataclass(frozen=True)
class Reveal:
    """An end's identity and nonce, to which its Commit has bound it."""

    name: str
    addresses: tuple[str, ...]
    port: int
    user: str
    host_key: str
    user_key: str
    nonce: str = ""


@dataclass(frozen=True)
class Confirm:
    """A yes to one transcript, signed with both keys that the sender revealed."""

    stored: str  # SHA-256 of the bits that `done` will send
    host_proof: str
    user_proof: str
    tag: str = ""  # the HMAC if a site secret confirms


@dataclass(frozen=True)
class Done:
    """The sender has stored the other end's keys; `stored` has the bits whose hash was in its Confirm."""

    stored: str


@dataclass(frozen=True)
class Refuse:
    """The sender ends the exchange for this reason."""

    reason: Reason


Message = Hello | Commit | Reveal | Confirm | Done | Refuse
KINDS: dict[str, type[Message]] = {
    "hello": Hello, "commit": Commit, "reveal": Reveal, "confirm": Confirm, "done": Done, "refuse": Refuse,
}  # fmt: skip


def encode(message: Message) -> bytes:
    kind = next(k for k, t in KINDS.items() if t is type(message))
    return json.dumps({"t": kind, **to_json(message)}, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """The message in a line; raises ProtocolError if it is not exactly one valid message."""
    if len(line) > LIMIT:
        raise ProtocolError(Reason.FORMAT, f"a message is at most {LIMIT} bytes long")
    value = strict_json(line)
    kind = KINDS.get(value["t"]) if isinstance(value.get("t"), str) else None
    if kind is None:
        raise ProtocolError(Reason.FORMAT, "an unknown message")
    if kind is Hello and value.get("protocol") != VERSION:
        raise ProtocolError(Reason.VERSION)
    try:
        message: Message = from_json(kind, {k: v for k, v in value.items() if k != "t"}, kind.__name__.lower())
    except CodecError as error:
        raise ProtocolError(Reason.FORMAT, str(error)[:200]) from None
    _check(message)
    return message


def strict_json(line: bytes) -> dict[str, Any]:
    """The JSON object in a line; raises ProtocolError for anything else, and for a key twice or NaN."""
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_never)
    except (ValueError, RecursionError):
        raise ProtocolError(Reason.FORMAT, "not one JSON object") from None
    if not isinstance(value, dict):
        raise ProtocolError(Reason.FORMAT, "not one JSON object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _never(text: str) -> None:
    raise ValueError(text)


def _check(message: Message) -> None:
    if isinstance(message, Hello):
        _need(PLAIN.fullmatch(message.version), "hello.version")
        _need(TIE.fullmatch(message.tie), "hello.tie")
    elif isinstance(message, Commit):
        _need(HEX.fullmatch(message.commitment), "commit.commitment")
    elif isinstance(message, Confirm):
        _need(HEX.fullmatch(message.stored), "confirm.stored")
        _need(PROOF.fullmatch(message.host_proof), "confirm.host_proof")
        _need(PROOF.fullmatch(message.user_proof), "confirm.user_proof")
        _need(not message.tag or HEX.fullmatch(message.tag), "confirm.tag")
    elif isinstance(message, Done):
        _need(HEX.fullmatch(message.stored), "done.stored")
    elif isinstance(message, Reveal):
        check_identity(message)
        _need(HEX.fullmatch(message.nonce), "reveal.nonce")


def check_identity(one: Reveal) -> None:
    """Check every field strictly, as they are later used in files and command lines."""
    _need(NAME.fullmatch(one.name), "reveal.name")
    _need(len(one.addresses) <= MAX_ADDRESSES and all(map(is_address, one.addresses)), "reveal.addresses")
    _need(0 < one.port < 65536, "reveal.port")
    _need(USER.fullmatch(one.user), "reveal.user")
    _need(keys.well_formed(one.host_key), "reveal.host_key")
    _need(keys.well_formed(one.user_key), "reveal.user_key")
    _need(one.host_key != one.user_key, "reveal.user_key")


def _need(holds: object, what: str) -> None:
    if not holds:
        raise ProtocolError(Reason.FORMAT, what)


def is_address(text: str) -> bool:
    """Whether the text is a unicast address without a zone."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and not (found.is_multicast or found.is_unspecified)
