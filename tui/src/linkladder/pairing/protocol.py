"""A pairing as a state machine without I/O, from lines to lines; the package's docstring describes the protocol."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

from linkladder.pairing.codes import Codes, code_of
from linkladder.pairing.messages import (
    VERSION,
    Commit,
    Confirm,
    Done,
    Hello,
    Method,
    ProtocolError,
    Reason,
    Refuse,
    Reveal,
    Role,
    decode,
    encode,
)


class Step(StrEnum):
    """The message that this end waits for."""

    HELLO = "hello"
    COMMIT = "commit"
    REVEAL = "reveal"
    CONFIRM = "confirm"  # of both ends
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True)
class Proofs:
    """Signatures of one statement by both keys of an end."""

    host: str
    user: str


class Prover(Protocol):
    """Signs with this end's keys and checks the other end's signatures; both may take a while."""

    def sign(self, statement: bytes) -> Proofs: ...

    def holds(self, statement: bytes, proofs: Proofs, of: Reveal) -> bool: ...


def digest(label: str, *parts: bytes) -> bytes:
    """SHA-256 over a label and parts, each with its length before it, so that different inputs never look the same."""
    whole = hashlib.sha256()
    for part in (f"linkladder pairing {VERSION} {label}".encode(), *parts):
        whole.update(struct.pack(">I", len(part)) + part)
    return whole.digest()


def codes_of(transcript: bytes, role: Role) -> Codes:
    """The codes that the end in this role shows and expects."""
    return Codes(*(code_of(digest("code", one.encode(), transcript)) for one in (role, role.other)))


def _seal(stored: str) -> str:
    """The hash of the random bits of Done, which an end sends in its yes before it reveals the bits."""
    return hashlib.sha256(bytes.fromhex(stored)).hexdigest()


class Handshake:
    """One end of a pairing; every fault raises ProtocolError and ends the pairing."""

    def __init__(
        self, role: Role, me: Reveal, tie: str, version: str, prover: Prover, secret: bytes | None = None
    ) -> None:
        self.role = role
        self.me = me
        self.step = Step.HELLO
        self.method = Method.PERSON if secret is None else Method.SECRET
        self.peer_hello: Hello | None = None
        self.peer: Reveal | None = None
        self.codes: Codes | None = None
        self.revealed = False  # from then on a failure counts as a guess
        self.confirmed = False
        self.peer_confirmed = False
        self.claim: Confirm | None = None  # the other end's yes, whose signatures may not be checked yet
        self.transcript = b""
        self._tie = tie
        self._secret = secret
        self._prover = prover
        self._stored = secrets.token_bytes(32).hex()
        self._sealed = _seal(self._stored)
        nonce = secrets.token_bytes(32).hex()
        self._lines: dict[tuple[Role, str], bytes] = {}
        self._reveal = encode(Reveal(me.name, me.addresses, me.port, me.user, me.host_key, me.user_key, nonce))
        self._hello = encode(Hello(VERSION, version, role, self.method, tie))
        self._note(role, "hello", self._hello)

    def start(self) -> bytes:
        """The initiator's first line."""
        return self._hello

    def take(self, line: bytes) -> bytes:
        """Take a line of the other end and return the answer to it; if it sets `claim`, `judge` must be called next."""
        try:
            return self._take(line)
        except ProtocolError:
            self.step = Step.FAILED
            raise

    @property
    def agreed(self) -> bool:
        """Whether both ends have confirmed, so that the revealed keys may be stored."""
        return self.step in (Step.CONFIRM, Step.DONE) and self.confirmed and self.peer_confirmed

    # --- saying and checking a yes: a step with keys, which may run in a thread, and a step that changes the state

    def sign(self) -> Proofs:
        return self._prover.sign(self._statement(self.role, self._sealed))

    def confirm(self, proofs: Proofs) -> bytes:
        """The message with this end's yes, from its person or the site secret."""
        if self.step is not Step.CONFIRM or self.confirmed:
            raise ProtocolError(Reason.FORMAT, "there is nothing to confirm")
        self.confirmed = True
        return encode(Confirm(self._sealed, proofs.host, proofs.user, self._tag(self.role, self._sealed)))

    def proven(self) -> bool:
        """Whether the other end's yes is signed with the keys that it revealed."""
        claim, peer = self.claim, self.peer
        if claim is None or peer is None:
            return False
        proofs = Proofs(claim.host_proof, claim.user_proof)
        return self._prover.holds(self._statement(self.role.other, claim.stored), proofs, peer)

    def judge(self, proven: bool) -> None:
        if self.step is not Step.CONFIRM or self.claim is None or not proven:
            self.step = Step.FAILED
            raise ProtocolError(Reason.PROOF)
        self.peer_confirmed = True

    def refuse(self, reason: Reason = Reason.REFUSED) -> bytes:
        self.step = Step.FAILED
        return encode(Refuse(reason))

    def done(self) -> bytes:
        """The message that this end has stored the other end's keys."""
        if not self.agreed:
            raise ProtocolError(Reason.FORMAT, "it was not confirmed at both ends")
        return encode(Done(self._stored))

    # --- messages that come in

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
            case Step.CONFIRM, Confirm() if self.claim is None:
                return self._claimed(message)
            case Step.CONFIRM, Done() if self.agreed:
                return self._finished(message)
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
        self.codes = codes_of(self.transcript, self.role)
        self.step = Step.CONFIRM
        return b""

    def _claimed(self, message: Confirm) -> bytes:
        if not hmac.compare_digest(message.tag, self._tag(self.role.other, message.stored)):
            raise ProtocolError(Reason.SECRET if self._secret is not None else Reason.FORMAT)
        self.claim = message
        return b""

    def _finished(self, message: Done) -> bytes:
        assert self.claim
        if not hmac.compare_digest(_seal(message.stored), self.claim.stored):
            raise ProtocolError(Reason.FORMAT, "done.stored")
        self.step = Step.DONE
        return b""

    # --- hashes

    def _commitment(self, role: Role, reveal: bytes) -> str:
        return digest("commitment", role.encode(), reveal.rstrip(b"\n")).hex()

    def _statement(self, role: Role, stored: str) -> bytes:
        """What an end signs to say yes in this role to exactly this transcript."""
        return digest("yes", role.encode(), self.transcript, stored.encode())

    def _tag(self, role: Role, stored: str) -> str:
        """The HMAC that proves knowledge of the site secret; '' without a secret."""
        if self._secret is None:
            return ""
        whole = digest("secret", role.encode(), self.transcript, stored.encode())
        return hmac.new(self._secret, whole, hashlib.sha256).hexdigest()

    def _note(self, role: Role, kind: Literal["hello", "commit", "reveal"], line: bytes) -> None:
        self._lines[role, kind] = line.rstrip(b"\n")
