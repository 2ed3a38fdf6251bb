"""One pairing as a state machine without I/O: lines in, lines out; see the package for the protocol."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import json
import re
import secrets
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from linkladder.codec import CodecError, from_json, to_json
from linkladder.pairing.words import WORDS

VERSION = 1
LIMIT = 4096  # bytes in a message, its newline included
MAX_ADDRESSES = 16
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
HEX = re.compile(r"[0-9a-f]{64}")
TIE = re.compile(r"[0-9a-f]{32}")
PLAIN = re.compile(r"[A-Za-z0-9.+_-]{1,40}")


class Role(StrEnum):
    INITIATOR = "initiator"
    RESPONDER = "responder"

    @property
    def other(self) -> Role:
        return Role.RESPONDER if self is Role.INITIATOR else Role.INITIATOR


class Method(StrEnum):
    PERSON = "person"
    SECRET = "secret"


class Step(StrEnum):
    """What this end waits for."""

    HELLO = "hello"
    COMMIT = "commit"
    REVEAL = "reveal"
    CONFIRM = "confirm"  # of both ends
    DONE = "done"
    FAILED = "failed"


class Reason(StrEnum):
    """Why an end ends a pairing; the only words that it lets out."""

    BUSY = "busy"
    CROSSING = "crossing"
    REFUSED = "refused"
    CLOSED = "closed"
    VERSION = "version"
    METHOD = "method"
    SELF = "self"
    FORMAT = "format"
    OPENING = "opening"
    SECRET = "secret"


EXPLAINED = {
    Reason.BUSY: "it is pairing with another appliance just now",
    Reason.CROSSING: "it is calling another appliance itself",
    Reason.REFUSED: "the other end refused",
    Reason.CLOSED: "the other end closed its pairing window",
    Reason.VERSION: "the two ends speak different versions of the pairing protocol",
    Reason.METHOD: "one end confirms by a site secret and the other by a person",
    Reason.SELF: "this is the appliance itself, or somebody who shows it its own keys",
    Reason.FORMAT: "what was sent is not of the pairing protocol",
    Reason.OPENING: "what was revealed is not what was committed to: somebody may sit in between",
    Reason.SECRET: "the other end does not have the same site secret, or somebody sits in between",
}


class ProtocolError(Exception):
    """The pairing is over; `ours` says whether this end found the fault or the other one said so."""

    def __init__(self, reason: Reason, detail: str = "", ours: bool = True) -> None:
        super().__init__(EXPLAINED[reason] + (f" ({detail})" if detail else ""))
        self.reason = reason
        self.ours = ours


@dataclass(frozen=True)
class Hello:
    protocol: int
    version: str  # linkladder's
    role: Role
    method: Method
    tie: str  # random in each process: tells an end from itself, and which of two crossing calls holds


@dataclass(frozen=True)
class Commit:
    commitment: str


@dataclass(frozen=True)
class Reveal:
    """Who an end is."""

    name: str
    addresses: tuple[str, ...]
    port: int
    user: str
    host_key: str
    user_key: str
    nonce: str = ""


@dataclass(frozen=True)
class Confirm:
    tag: str


@dataclass(frozen=True)
class Done:
    pass


@dataclass(frozen=True)
class Refuse:
    reason: Reason


Message = Hello | Commit | Reveal | Confirm | Done | Refuse
KINDS: dict[str, type[Message]] = {
    "hello": Hello, "commit": Commit, "reveal": Reveal, "confirm": Confirm, "done": Done, "refuse": Refuse,
}  # fmt: skip


@dataclass(frozen=True)
class Code:
    """The same value twice over: six digits in two groups, three words."""

    digits: str
    words: tuple[str, ...]

    def fits(self, typed: str) -> bool:
        return re.sub(r"[\s-]", "", typed) == self.digits.replace(" ", "")


def encode(message: Message) -> bytes:
    kind = next(k for k, t in KINDS.items() if t is type(message))
    return json.dumps({"t": kind, **to_json(message)}, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Strictly one message, or a ProtocolError."""
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
    """One JSON object: no key twice, no NaN, nothing that makes the reader stumble."""
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
        _need(HEX.fullmatch(message.tag), "confirm.tag")
    elif isinstance(message, Reveal):
        check_identity(message)
        _need(HEX.fullmatch(message.nonce), "reveal.nonce")


def check_identity(one: Reveal) -> None:
    """Each field goes into files and command lines later, so nothing odd gets past here."""
    _need(NAME.fullmatch(one.name), "reveal.name")
    _need(len(one.addresses) <= MAX_ADDRESSES and all(map(is_address, one.addresses)), "reveal.addresses")
    _need(0 < one.port < 65536, "reveal.port")
    _need(USER.fullmatch(one.user), "reveal.user")
    _need(key_blob(one.host_key), "reveal.host_key")
    _need(key_blob(one.user_key), "reveal.user_key")


def _need(holds: object, what: str) -> None:
    if not holds:
        raise ProtocolError(Reason.FORMAT, what)


def is_address(text: str) -> bool:
    """A plain unicast address without zone."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text and not (found.is_multicast or found.is_unspecified)


def key_blob(text: str) -> bytes | None:
    """The bytes of 'ssh-ed25519 AAAA...', None for anything else."""
    kind, _, data = text.partition(" ")
    try:
        blob = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    right = kind == "ssh-ed25519" and len(blob) == 51 and blob.startswith(b"\0\0\0\x0bssh-ed25519\0\0\0\x20")
    return blob if right and base64.b64encode(blob).decode() == data else None


def fingerprint(key: str) -> str:
    """As ssh-keygen -l shows it; empty for what is no key."""
    blob = key_blob(key)
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=") if blob else ""


def digest(label: str, *parts: bytes) -> bytes:
    """SHA-256 over a label and parts, each with its length before it so that no two inputs read the same."""
    whole = hashlib.sha256()
    for part in (f"linkladder pairing {VERSION} {label}".encode(), *parts):
        whole.update(struct.pack(">I", len(part)) + part)
    return whole.digest()


def code_of(transcript: bytes) -> Code:
    raw = digest("code", transcript)
    number = int.from_bytes(raw[:8], "big") % 1_000_000  # 64 bits: no digit is likelier than another
    return Code(f"{number // 1000:03d} {number % 1000:03d}", tuple(WORDS[b] for b in raw[8:11]))


class Handshake:
    """One end's view; every fault is a ProtocolError and ends it."""

    def __init__(self, role: Role, me: Reveal, tie: str, version: str, secret: bytes | None = None) -> None:
        self.role = role
        self.me = me
        self.step = Step.HELLO
        self.method = Method.PERSON if secret is None else Method.SECRET
        self.peer_hello: Hello | None = None
        self.peer: Reveal | None = None
        self.code: Code | None = None
        self.revealed = False  # from here on, a failure was somebody's guess
        self.confirmed = False
        self.peer_confirmed = False
        self.transcript = b""
        self._tie = tie
        self._secret = secret
        nonce = secrets.token_bytes(32).hex()
        self._lines: dict[tuple[Role, str], bytes] = {}
        self._reveal = encode(Reveal(me.name, me.addresses, me.port, me.user, me.host_key, me.user_key, nonce))
        self._hello = encode(Hello(VERSION, version, role, self.method, tie))
        self._note(role, "hello", self._hello)

    def start(self) -> bytes:
        """The initiator's first line."""
        return self._hello

    def take(self, line: bytes) -> bytes:
        """What the other end said; what to say in answer."""
        try:
            return self._take(line)
        except ProtocolError:
            self.step = Step.FAILED
            raise

    @property
    def agreed(self) -> bool:
        """Both ends have confirmed: what was revealed may be stored."""
        return self.step in (Step.CONFIRM, Step.DONE) and self.confirmed and self.peer_confirmed

    def confirm(self) -> bytes:
        """This end's person (or secret) says yes."""
        if self.step is not Step.CONFIRM or self.confirmed:
            raise ProtocolError(Reason.FORMAT, "there is nothing to confirm")
        self.confirmed = True
        return encode(Confirm(self._tag(self.role)))

    def refuse(self, reason: Reason = Reason.REFUSED) -> bytes:
        self.step = Step.FAILED
        return encode(Refuse(reason))

    def done(self) -> bytes:
        """Said after storing."""
        if not self.agreed:
            raise ProtocolError(Reason.FORMAT, "it was not confirmed at both ends")
        return encode(Done())

    def _take(self, line: bytes) -> bytes:
        if self.step in (Step.DONE, Step.FAILED):
            raise ProtocolError(Reason.FORMAT, "a message after the end")
        message = decode(line)
        if isinstance(message, Refuse):
            raise ProtocolError(message.reason, ours=False)
        match self.step, message:
            case Step.HELLO, Hello():
                return self._greet(message, line)
            case Step.COMMIT, Commit():
                return self._committed(message, line)
            case Step.REVEAL, Reveal():
                return self._opened(message, line)
            case Step.CONFIRM, Confirm() if not self.peer_confirmed:
                return self._confirmed(message)
            case Step.CONFIRM, Done() if self.agreed:
                self.step = Step.DONE
                return b""
        raise ProtocolError(Reason.FORMAT, f"{type(message).__name__.lower()} came, {self.step} was due")

    def _greet(self, hello: Hello, line: bytes) -> bytes:
        if hello.tie == self._tie:
            raise ProtocolError(Reason.SELF)
        if hello.role is not self.role.other:
            raise ProtocolError(Reason.FORMAT, "both ends claim the same role")
        if hello.method is not self.method:
            raise ProtocolError(Reason.METHOD)
        self.peer_hello = hello
        self._note(self.role.other, "hello", line)
        self.step = Step.COMMIT
        commit = encode(Commit(self._commitment(self.role, self._reveal)))
        self._note(self.role, "commit", commit)
        return commit if self.role is Role.INITIATOR else self._hello + commit

    def _committed(self, message: Commit, line: bytes) -> bytes:
        mine = self._commitment(self.role, self._reveal)
        if message.commitment == mine:
            raise ProtocolError(Reason.SELF)
        self._commitment_due = message.commitment
        self._note(self.role.other, "commit", line)
        self.step = Step.REVEAL
        self.revealed = True
        self._note(self.role, "reveal", self._reveal)
        return self._reveal

    def _opened(self, message: Reveal, line: bytes) -> bytes:
        if not hmac.compare_digest(self._commitment(self.role.other, line), self._commitment_due):
            raise ProtocolError(Reason.OPENING)
        own = {self.me.host_key, self.me.user_key}
        if own & {message.host_key, message.user_key}:
            raise ProtocolError(Reason.SELF)
        self._note(self.role.other, "reveal", line)
        self.peer = message
        self.transcript = digest("transcript", *(
            self._lines[role, kind] for kind in ("hello", "commit", "reveal") for role in Role
        ))  # fmt: skip
        self.code = code_of(self.transcript)
        self.step = Step.CONFIRM
        return b""

    def _confirmed(self, message: Confirm) -> bytes:
        if not hmac.compare_digest(message.tag, self._tag(self.role.other)):
            raise ProtocolError(Reason.SECRET if self._secret is not None else Reason.FORMAT)
        self.peer_confirmed = True
        return b""

    def _commitment(self, role: Role, reveal: bytes) -> str:
        return digest("commitment", role.encode(), reveal.rstrip(b"\n")).hex()

    def _tag(self, role: Role) -> str:
        """With a secret only its holders can make it; without one it just ties a yes to this very transcript."""
        if self._secret is None:
            return digest("confirmed", role.encode(), self.transcript).hex()
        return hmac.new(self._secret, digest("secret", role.encode(), self.transcript), hashlib.sha256).hexdigest()

    def _note(self, role: Role, kind: Literal["hello", "commit", "reveal"], line: bytes) -> None:
        self._lines[role, kind] = line.rstrip(b"\n")
