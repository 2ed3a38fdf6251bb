"""Defines everything that the screens ask of the rest of linkladder, so that a replay can take its place.

Plain methods may block (store, files, sysctl) and are called in threads only; coroutines must not block.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the first frame must not wait for the rest of linkladder
    from linkladder.findings import Finding
    from linkladder.host.disks import Disk
    from linkladder.host.switches import Appliance, Stick
    from linkladder.keeping import Confirm, Winners
    from linkladder.model import Document, HostFacts, Plan
    from linkladder.plan import Asked, Link
    from linkladder.run.eventlog import Entry
    from linkladder.settings.overview import OnLoan
    from linkladder.store import RunSummary
    from linkladder.upgrade import Manifest
    from linkladder.upgrade.status import Status
    from linkladder.verdicts import Ceiling, Comparison, DocumentJudgement


@dataclass(frozen=True)
class Setting:
    """A tunable or offload: what the image ships, what is in force, and why they differ."""

    name: str
    shipped: str = ""
    current: str = ""
    in_force: bool | None = None  # None if that cannot be told here
    why: str = ""  # why it is not in force
    purpose: str = ""


@dataclass(frozen=True)
class Reach:
    """How another computer can fetch a report from here by ssh."""

    user: str = ""
    address: str = ""  # '' if there is none
    ssh: bool | None = None  # whether ssh is on; None if linkladder does not manage it


@dataclass(frozen=True)
class PeerView:
    """A paired appliance as the screens show it."""

    name: str
    addresses: tuple[str, ...] = ()
    reachable: bool | None = None
    rtt_ms: float | None = None
    fingerprint: str = ""
    reason: str = ""  # why it cannot be reached
    port: int = 8622  # of its control channel


@dataclass(frozen=True)
class PlanChoice:
    """A plan that may be chosen, with its number of trials and its time."""

    name: str
    title: str = ""
    seconds: float = 0.0  # if every verdict is settled as early as can be
    trials: int = 0
    longest: float = 0.0  # seconds if none is settled early


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
    note: str = ""  # its other addresses, the name it is already paired by, or that another one has its name


@dataclass(frozen=True)
class PairingState:
    """How far a pairing has come."""

    stage: PairStage = PairStage.CLOSED
    left: float = 0.0  # seconds until the window closes
    heard: tuple[Heard, ...] = ()
    peer: str = ""
    code: str = ""
    words: tuple[str, ...] = ()
    message: str = ""

    @property
    def waits(self) -> bool:
        """Whether a code is shown, so that leaving would end a pairing in progress."""
        return self.stage in (PairStage.COMPARE, PairStage.CONFIRMED, PairStage.STORING)


def _no_link() -> Link:
    from linkladder.plan import Link

    return Link()


@dataclass(frozen=True)
class HomeView:
    """What Home shows at once; the doctor's findings and the peers' answers come later."""

    host: HostFacts
    troubles: tuple[Finding, ...] = ()  # troubles with the stored runs and the link's description
    peers: tuple[PeerView, ...] = ()
    link: Link = field(default_factory=_no_link)
    last: RunSummary | None = None
    resumable: RunSummary | None = None
    last_plan: str = ""  # the plan of the newest run
    unreadable: str = ""  # why the stored runs cannot be read
    hosts: dict[str, HostFacts] = field(default_factory=dict)  # each host's facts from its latest run
    restart: str = ""  # about a run that waits for a restart, or was ended by one
    lost_runs: str = ""  # how many could be recovered when the stored runs were found damaged; '' if they never were
    lost_link: bool = False  # whether a damaged description of the link was set aside
    lost_peers: str = ""  # why the list of peers cannot be read, or was damaged
    empty: RunSummary | None = None  # the newest run, if it is complete and nothing was measured in it


class Session(Protocol):
    """A run in progress; this TUI watches it, and steers it if it holds the controls."""

    run_id: str

    @property
    def log(self) -> str:
        """The name of the log, which identifies the run."""

    @property
    def controlling(self) -> bool:
        """Whether this TUI may steer the run."""

    @property
    def holder(self) -> str:
        """Who holds the controls, in words."""

    async def poll(self) -> list[Entry]:
        """What has come into the log since the last call."""

    async def control(self, verb: str, text: str = "") -> None:
        """Send an order; `verb` is skip, repeat, pause, resume, cancel, proceed or note."""

    async def take_over(self) -> None: ...

    async def now(self) -> float:
        """Seconds since the log began."""


class Backend(Protocol):
    def home(self) -> HomeView: ...

    def facts(self) -> HostFacts:
        """What this machine is, without the rest of `home`."""

    def findings(self, anew: bool = False) -> tuple[Finding, ...]:
        """The doctor's findings, kept for a while unless `anew`; a small machine may take a minute to examine."""

    def settings(self) -> tuple[Setting, ...]: ...

    def log_lines(self, count: int) -> list[str]: ...

    async def probe(self, peer: PeerView) -> PeerView:
        """The peer, with whether it answers now."""

    def leaves_by(self, address: str, local: str = "") -> str:
        """The interface through which packets to this address (from `local`) leave; '' if that is not known."""

    # --- link and plans

    def link(self) -> Link: ...

    def save_link(self, link: Link) -> None: ...

    def plans(self, link: Link) -> tuple[PlanChoice, ...]: ...

    def plan(self, name: str, link: Link, asked: Asked | None = None) -> Plan: ...

    def soonest(self, made: Plan) -> float:
        """The seconds that a plan takes at best, as far as this machine knows."""

    def vain(self, made: Plan) -> str:
        """Why no boot of this machine can measure anything of the plan; '' if one can."""

    def unpaired(self, made: Plan, resume: str = "") -> tuple[str, ...]:
        """The ends that are not paired with this one and that what is left of the plan in that run needs."""

    def ceiling(self, link: Link) -> Ceiling | None: ...

    # --- runs

    def runs(self, words: str = "") -> list[RunSummary]: ...

    def load(self, run_id: str) -> Document: ...

    def judge(self, document: Document) -> DocumentJudgement: ...

    def compare(self, run_a: str, run_b: str) -> Comparison: ...

    def delete(self, run_id: str) -> None: ...

    def export(self, run_id: str, kind: str) -> tuple[str, ...]:
        """Write the run as html, json or csv, and return the paths of the files."""

    def reach(self) -> Reach: ...

    def sticks(self) -> tuple[Stick, ...]:
        """USB sticks that are plugged in and could be mounted."""

    async def to_stick(self, paths: tuple[str, ...], stick: Stick | None) -> str:
        """Copy files to the stick and unmount it; without one, to a stick that is already mounted.

        Returns what was done, in words.
        """

    async def start(self, plan: Plan, resume: str = "") -> Session: ...

    def current(self) -> Session | None:
        """The run that goes on here, whoever began it; None if none does."""

    def used_by(self) -> str:
        """Who measures with this appliance now, from here or from another end; '' if nobody does."""

    def on_loan(self) -> OnLoan | None:
        """What is on loan here, left behind, or to be told of an earlier loan; None if there is nothing of it."""

    # --- pairing

    async def open_pairing(self, minutes: float = 10) -> None: ...

    def pairing(self) -> PairingState: ...

    async def pair_with(self, address: str) -> None: ...

    async def answer_code(self, typed: str) -> None:
        """Confirm the pairing if `typed` is the code that the other end's screen shows, else refuse it."""

    async def refuse_code(self) -> None: ...

    async def close_pairing(self) -> None: ...

    def paired(self) -> tuple[PeerView, ...]: ...

    def rename_peer(self, name: str, new: str) -> None: ...

    def remove_peer(self, name: str) -> None: ...

    # --- system

    def appliance(self) -> Appliance: ...

    def disks(self) -> tuple[Disk, ...]:
        """The disks onto which this medium can be installed; () if it has nothing to install."""

    def upgrade_status(self) -> Status: ...

    async def upgrade(
        self,
        source: str,
        progress: Callable[[str, int, int, float], None],
        agreed: Callable[[Manifest], Awaitable[bool]],
    ) -> str:
        """Write the system from `source` (a file, an https address or "stick") into the other slot if a person agrees.

        Returns what was done, in words; '' if the person did not agree.
        """

    async def keep(self, found: Winners, confirmed: Confirm) -> tuple[str, ...]:
        """Try a staircase's winning settings on loan, keep them if a person confirms in time, and return those kept."""

    async def system(self, verb: str, *words: str, said: str = "") -> str:
        """Run a verb of the privileged helper with `said` as its standard input, and return what it printed."""
