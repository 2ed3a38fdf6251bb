"""All that the screens ask of the rest of linkladder, so that a replay can stand in for it.

Plain methods may block (store, files, sysctl) and are called in threads only; coroutines must not block.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the first frame must not wait for the rest of linkladder
    from linkladder.host.disks import Disk
    from linkladder.host.switches import Appliance, Stick
    from linkladder.keeping import Confirm, Winners
    from linkladder.model import Document, HostFacts, Plan
    from linkladder.plan import Link
    from linkladder.run.eventlog import Entry
    from linkladder.settings import OnLoan
    from linkladder.store import RunSummary
    from linkladder.upgrade import Manifest
    from linkladder.upgrade.status import Status
    from linkladder.verdicts import Ceiling, Comparison, DocumentJudgement


class Health(StrEnum):
    OK = "ok"
    WARN = "look at this"
    BAD = "wrong"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Finding:
    """One thing the doctor looked at."""

    title: str
    health: Health = Health.OK
    detail: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Setting:
    """A tunable or offload: what the image ships, what is in force, and why they differ."""

    name: str
    shipped: str = ""
    current: str = ""
    in_force: bool | None = None
    why: str = ""  # it is not in force
    purpose: str = ""


@dataclass(frozen=True)
class Reach:
    """How another computer comes here for a report."""

    user: str = ""
    address: str = ""  # '' where there is none
    ssh: bool | None = None  # whether it is on; None where that is not linkladder's to know


@dataclass(frozen=True)
class PeerView:
    """A paired appliance as the screens show it."""

    name: str
    addresses: tuple[str, ...] = ()
    reachable: bool | None = None
    rtt_ms: float | None = None
    fingerprint: str = ""
    reason: str = ""  # why it is out of reach
    port: int = 8622  # of its control channel


@dataclass(frozen=True)
class PlanChoice:
    """A plan that may be chosen, with what it takes."""

    name: str
    title: str = ""
    seconds: float = 0.0
    trials: int = 0
    longest: float = 0.0  # seconds, where no verdict is settled early


class PairStage(StrEnum):
    CLOSED = "closed"
    LISTENING = "listening"
    CALLING = "calling"
    COMPARE = "compare"
    CONFIRMED = "waiting for the other end"
    STORING = "storing the keys"
    PAIRED = "paired"
    FAILED = "failed"


@dataclass(frozen=True)
class Heard:
    """An appliance on the segment whose pairing window is open."""

    name: str
    address: str
    interface: str = ""
    age: float = 0.0
    rtt_ms: float | None = None
    fingerprint: str = ""
    note: str = ""  # its other addresses, the peer that it is already, that another has its name


@dataclass(frozen=True)
class PairingState:
    """Where pairing stands."""

    stage: PairStage = PairStage.CLOSED
    left: float = 0.0  # seconds until the window closes
    heard: tuple[Heard, ...] = ()
    peer: str = ""
    code: str = ""
    words: tuple[str, ...] = ()
    message: str = ""

    @property
    def waits(self) -> bool:
        """A code is shown: to leave now would end a pairing that has come this far."""
        return self.stage in (PairStage.COMPARE, PairStage.CONFIRMED, PairStage.STORING)


def _no_link() -> Link:
    from linkladder.plan import Link

    return Link()


@dataclass(frozen=True)
class HomeView:
    """What Home shows at once; what the doctor finds and the peers answer comes later."""

    host: HostFacts
    troubles: tuple[Finding, ...] = ()  # with what is stored, and with the link's description
    peers: tuple[PeerView, ...] = ()
    link: Link = field(default_factory=_no_link)
    last: RunSummary | None = None
    resumable: RunSummary | None = None
    last_plan: str = ""  # the plan of the newest run
    unread: str = ""  # why the stored runs cannot be read
    hosts: dict[str, HostFacts] = field(default_factory=dict)  # as each told of itself in the last run that it was in


class Session(Protocol):
    """A run that goes on somewhere; this TUI watches it, and steers it if it holds the controls."""

    run_id: str

    @property
    def log(self) -> str:
        """The log's name, which tells this run from the next."""

    @property
    def controlling(self) -> bool:
        """Whether this TUI may steer the run."""

    @property
    def holder(self) -> str:
        """Who holds the controls, in words."""

    async def poll(self) -> list[Entry]: ...

    async def control(self, verb: str, text: str = "") -> None:
        """skip, repeat, pause, resume, cancel, proceed, note."""

    async def take_over(self) -> None: ...

    async def now(self) -> float:
        """Seconds since the log began."""


class Backend(Protocol):
    def home(self) -> HomeView: ...

    def facts(self) -> HostFacts: ...

    def findings(self, anew: bool = False) -> tuple[Finding, ...]:
        """The doctor's; they stand for a while, and may take a minute where the machine is small."""

    def settings(self) -> tuple[Setting, ...]: ...

    def log_lines(self, count: int) -> list[str]: ...

    async def probe(self, peer: PeerView) -> PeerView:
        """The peer with what it answered just now."""

    def way(self, address: str) -> str:
        """The own interface that packets to this address leave by; '' where that is not known."""

    # --- link and plans

    def link(self) -> Link: ...

    def save_link(self, link: Link) -> None: ...

    def plans(self, link: Link) -> tuple[PlanChoice, ...]: ...

    def plan(self, name: str, link: Link) -> Plan: ...

    def ceiling(self, link: Link) -> Ceiling | None: ...

    # --- runs

    def runs(self, words: str = "") -> list[RunSummary]: ...

    def load(self, run_id: str) -> Document: ...

    def judge(self, document: Document) -> DocumentJudgement: ...

    def compare(self, run_a: str, run_b: str) -> Comparison: ...

    def delete(self, run_id: str) -> None: ...

    def export(self, run_id: str, kind: str) -> tuple[str, ...]:
        """Write html, json or csv; the paths."""

    def reach(self) -> Reach: ...

    def sticks(self) -> tuple[Stick, ...]:
        """USB sticks that are in and could be mounted."""

    async def to_stick(self, paths: tuple[str, ...], stick: Stick | None) -> str:
        """Copy files, leaving the stick fit to be pulled out; without one, to a stick that is mounted already."""

    async def start(self, plan: Plan, resume: str = "") -> Session: ...

    def current(self) -> Session | None: ...

    def used_by(self) -> str:
        """Who measures with this appliance now, be it from here or from the other end; '' for nobody."""

    def on_loan(self) -> OnLoan | None:
        """What an experiment has changed here for now; None for nothing."""

    # --- pairing

    async def open_pairing(self, minutes: float = 10) -> None: ...

    def pairing(self) -> PairingState: ...

    async def pair_with(self, address: str) -> None: ...

    async def answer_code(self, typed: str) -> None:
        """What the other end's screen shows: confirms if it is that; another code refuses."""

    async def refuse_code(self) -> None: ...

    async def close_pairing(self) -> None: ...

    def paired(self) -> tuple[PeerView, ...]: ...

    def rename_peer(self, name: str, new: str) -> None: ...

    def remove_peer(self, name: str) -> None: ...

    # --- system

    def appliance(self) -> Appliance: ...

    def disks(self) -> tuple[Disk, ...]:
        """What this medium could be installed onto; () where it carries nothing to install."""

    def upgrade_status(self) -> Status: ...

    async def upgrade(
        self,
        source: str,
        progress: Callable[[str, int, int, float], None],
        agreed: Callable[[Manifest], Awaitable[bool]],
    ) -> str:
        """A file, an https address or "stick" into the other slot, if a person agrees to what it holds; '' if not."""

    async def keep(self, found: Winners, confirmed: Confirm) -> tuple[str, ...]:
        """What a staircase won, tried on loan and kept if a person says so in time; what is kept, () for nothing."""

    async def system(self, verb: str, *words: str, said: str = "") -> str:
        """A verb of the privileged helper; `said` goes to its standard input. What it said."""
