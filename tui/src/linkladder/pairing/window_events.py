"""What the pairing service tells the console and the command line."""

from __future__ import annotations

from dataclasses import dataclass

from linkladder.trust.peers import Peer


@dataclass(frozen=True)
class Appliance:
    """An appliance heard on the segment; all of it is hearsay until a code was compared."""

    id: str  # of its window's opening
    name: str
    version: str
    addresses: tuple[str, ...]  # the one it was heard from first
    interface: str
    fingerprint: str
    port: int  # of its pairing window
    heard: float  # time.monotonic() of the last beacon
    rtt_ms: float | None = None
    known_as: str = ""  # the peer of that fingerprint, when there is one
    same_name: bool = False  # another one heard, or this appliance, has the same name


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
    """An appliance of the segment has its window open."""

    appliance: Appliance


@dataclass(frozen=True)
class Gone:
    """An appliance that was heard before is heard no more."""

    appliance: Appliance


@dataclass(frozen=True)
class Dialling:
    """A connection to an appliance is being made."""

    address: str


@dataclass(frozen=True)
class CodeReady:
    """Both people may read out their codes."""

    code: str  # '123 456', for the other end's person to type
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
    """Both have said yes; each end stores the other's keys, which takes a slow machine a while."""

    name: str


@dataclass(frozen=True)
class Paired:
    """Both ends trust each other from now on."""

    peer: Peer
    certain: bool  # the other end said that it has stored its pin too
    renamed: bool  # another appliance had its name already


OTHER_CODE = (
    "The other end must show another code than that. If it was read out right, it is another appliance, or somebody "
    "sits in between."
)


@dataclass(frozen=True)
class Refused:
    """One end said no."""

    here: bool
    name: str
    left: int  # attempts until the window closes
    other_code: bool = False  # what was typed here is a code, and not the one that the other end must show


@dataclass(frozen=True)
class Failed:
    """This attempt came to nothing."""

    title: str
    cause: str
    hint: str
    left: int


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
