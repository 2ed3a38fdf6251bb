"""The events that the pairing service sends to the console and the command line."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder.trust.peers import Peer


@dataclass(frozen=True)
class Appliance:
    """An appliance whose beacon was received; nothing of it is proven until a code was compared."""

    id: str  # random for each window
    name: str
    version: str
    addresses: tuple[str, ...]  # the one from which its beacon came is first
    interface: str
    fingerprint: str
    port: int  # of its pairing window
    heard: float  # time.monotonic() of the last beacon
    rtt_ms: float | None = None
    known_as: str = ""  # the name of the peer with this fingerprint, if there is one
    same_name: bool = False  # another appliance, heard or this one, has the same name
    answers: bool = False  # it has answered a question that was sent to the address from which its beacon came


@dataclass(frozen=True)
class WindowOpened:
    """Pairing is possible from now on."""

    seconds: float
    name: str
    fingerprint: str
    addresses: tuple[str, ...]
    port: int
    by_secret: bool


@dataclass(frozen=True)
class WindowClosed:
    """Pairing is no longer possible: the window was closed."""

    reason: str


@dataclass(frozen=True)
class Heard:
    """An appliance on the segment has its window open."""

    appliance: Appliance


@dataclass(frozen=True)
class Gone:
    """An appliance that was heard before has gone silent."""

    appliance: Appliance


@dataclass(frozen=True)
class Dialling:
    """A connection to an appliance is being made."""

    address: str


@dataclass(frozen=True)
class CodeReady:
    """Both ends show their codes, which the persons may now read to each other."""

    code: str  # such as '123 456', which the other end's person must type
    words: tuple[str, ...]
    name: str
    address: str
    fingerprint: str
    by_secret: bool


@dataclass(frozen=True)
class Confirmed:
    """The person at this end has said yes."""


@dataclass(frozen=True)
class PeerConfirmed:
    """The person at the other end has said yes."""

    name: str


@dataclass(frozen=True)
class Storing:
    """Both have said yes, and each end stores the other's keys, which may take a while on a slow machine."""

    name: str


@dataclass(frozen=True)
class Paired:
    """Both ends trust each other from now on."""

    peer: Peer
    certain: bool  # the other end reported that it has stored this end's keys too
    own_name: str  # what the peer calls itself: another may have that name here, or the operator renamed the peer


OTHER_CODE = (
    "The other end must show another code than that. If it was read out right, it is another appliance, or somebody "
    "sits in between."
)


@dataclass(frozen=True)
class Refused:
    """One end said no."""

    here: bool
    name: str
    left: int  # attempts left until the window closes
    other_code: bool = False  # a code was typed here that is not the other end's


@dataclass(frozen=True)
class Failed:
    """This attempt failed."""

    title: str
    cause: str
    hint: str
    left: int
    called: bool = True  # whether it was this end that called


Event = (
    WindowOpened
    | WindowClosed
    | Heard
    | Gone
    | Dialling
    | CodeReady
    | Confirmed
    | PeerConfirmed
    | Storing
    | Paired
    | Refused
    | Failed
)
