"""What is asked: the contract, the rungs and their experiments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from linkladder.model.settings import MOST_CORES, Setting
from linkladder.model.words import Affinity, Company, Direction, End, Layer, Protocol, RungName

KERNEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LONGEST_NAME = 120  # characters of an experiment's name, and of its label


@dataclass(frozen=True)
class Contract:
    """What the link is sold as."""

    port_bps: float = 10e9
    rate_bps: float | None = None  # contracted rate where it is lower than the port's
    layer: Layer = Layer.L2  # the layer rate_bps counts; a port counts L1
    fcs: bool = False  # whether a rate of L2 frames counts their four bytes of FCS, as MEF's do
    mtu: int = 1500
    vlan_tags: int = 0
    encap_bytes: int = 0
    ip_version: int = 4
    dscp: int = 0
    timestamps: bool = True
    pass_ratio: float = 0.97
    circuit: str = ""
    expected_rtt_ms: float | None = None
    loss_percent: float = 0.1  # of datagrams at and below the contracted rate, and of pings on the idle link
    delay_ms: float | None = None  # the idle round trip's median may not be longer; None: nothing was promised
    jitter_ms: float | None = None  # of paced UDP at and below the contracted rate
    availability_percent: float = 99.9  # of the seconds measured
    shared_bps: float | None = None  # what all paths of a rung share, counted on the same layer; None: nothing is said


@dataclass(frozen=True)
class Path:
    """One way for a rung's traffic: from `local` at its near side to `remote` at its far one."""

    local: str = ""
    remote: str = ""
    peer: str = ""  # the paired peer at the far side; empty on the localhost rung
    local_interface: str = ""
    remote_interface: str = ""
    origin: str = ""  # the paired peer at the near side; empty: this appliance
    origin_site: str = ""  # paths within one site do not cross what the contract says is shared
    peer_site: str = ""

    @property
    def peers(self) -> tuple[str, ...]:
        """The paired appliances at its sides."""
        return tuple(dict.fromkeys(name for name in (self.origin, self.peer) if name))

    def side(self, end: End) -> tuple[str, str]:
        """The interface and the address of that side, '' where the path names none."""
        return (self.local_interface, self.local) if end is End.NEAR else (self.remote_interface, self.remote)

    def ends(self, way: Direction) -> tuple[str, str]:
        """Who sends and who receives, by name, where traffic goes that way."""
        here, there = self.origin or "near", self.peer or "far"
        return (here, there) if way is Direction.FORWARD else (there, here)

    def sites(self, way: Direction) -> tuple[str, str]:
        """The sites of who sends and who receives; "" where none is said."""
        here, there = self.origin_site, self.peer_site
        return (here, there) if way is Direction.FORWARD else (there, here)


@dataclass(frozen=True)
class Experiment:
    """One setting to be measured, `repeats` times."""

    id: str
    tool: str = "iperf"  # a name of linkladder.tools.registry
    protocol: Protocol = Protocol.TCP
    direction: Direction = Direction.FORWARD
    streams: int = 1  # on each path
    window: int | None = None  # socket buffer at both ends; None leaves the system's autotuning
    write_size: int | None = None
    duration: float = 10.0  # counted seconds, after the warm-up
    warmup: float = 3.0
    repeats: int = 1
    at_most: int = 0  # repeats, one more at a time while the verdict is not settled; 0: as many as `repeats`
    udp_rate_bps: float | None = None  # total of all streams on all paths
    contends: bool = False  # repeated only where it may be the best of its kind, which have at_most each on average
    request: int = 700  # netperf rr
    response: int = 700
    sessions: int = 1  # netperf rr: concurrent processes
    count: int = 100  # ping
    interval: float = 0.05  # ping
    sizes: tuple[int, ...] = ()  # ping df: MTUs to probe; empty: the contract's, and what is below it
    dscp: int = 0
    ping_under_load: bool = False  # a 5 Hz ping beside the throughput trial
    label: str = ""
    client_port: int | None = None  # of the first stream, the others follow; None: the system's choice
    incompressible: bool = False  # netperf tcp: payload that no device on the way can make smaller
    zero_copy: bool = False  # the tool hands the kernel a file, where it can
    strongest: bool = False  # tool, streams and sizes are left open: as the generator is strongest, once that is known
    cores: int | None = None  # so many, and no more, has the tool at each end; None: all that the end has
    on_cores: tuple[int, ...] = ()  # these, by number, has the tool at each end; none: `cores` says how many
    affinity: Affinity = Affinity.FREE  # of the tool at each end to the cores that serve its adapter
    kernel: str = ""  # that this appliance must have booted, anew for each repeat; '': whichever runs
    settings: tuple[Setting, ...] = ()  # in force while it is measured, and put back after each trial
    baseline: str = ""  # the id of the same experiment without what it changes, with which it runs in pairs
    discard_first: bool = False  # a short load before it is not counted: the arm, or one beside it, restarts adapters
    step: int = 0  # of a staircase, from 1
    begins: bool = False  # of the arms of a comparison the coin chose this one to begin
    company: Company = Company.ALL  # which of the rung's paths are loaded at once
    paths: tuple[int, ...] = ()  # those paths by number; none: all of them

    @property
    def bundled(self) -> str:
        """The protocol of the bundle that the adapters of all paths are while it is measured; '' for none."""
        return next((one.value for one in self.settings if one.of_bundle), "")

    @property
    def member_down(self) -> tuple[float, float] | None:
        """From when to when, in seconds of the trial, a member of a bundle is to be down; None where none is."""
        one = next((one for one in self.settings if one.of_member), None)
        return (self.warmup + one.since, self.warmup + one.until) if one else None


@dataclass(frozen=True)
class Generator:
    """How a load is made where the plan asks what the link can do; some settings are stronger than others."""

    tool: str = Experiment.tool
    streams: int = 1
    window: int | None = None
    write_size: int | None = None
    zero_copy: bool = False

    @classmethod
    def of_load(cls, exp: Experiment) -> Self:
        """How this experiment's load is made."""
        return cls(exp.tool, exp.streams, exp.window, exp.write_size, exp.zero_copy)

    def of(self, exp: Experiment) -> Experiment:
        """The experiment with its load made in this way."""
        made = replace(exp, tool=self.tool, streams=self.streams, window=self.window)
        return replace(made, write_size=self.write_size, zero_copy=self.zero_copy)


@dataclass(frozen=True)
class Looked:
    """What short looks at a setting came to, on the mean."""

    generator: Generator
    bps: float
    looks: int = 1


@dataclass(frozen=True)
class Strength:
    """All settings that were looked at, the strongest first; the default keeps its place where it is as strong."""

    looked: tuple[Looked, ...] = ()
    seconds: float = 0.0  # that it took to find out
    when: str = ""  # ISO 8601, UTC


@dataclass(frozen=True)
class Stair:
    """Steps still to come of a staircase: what is tried in each, as it would be beside the first arm of all."""

    first: Experiment
    steps: tuple[tuple[Experiment, ...], ...] = ()


@dataclass(frozen=True)
class Rung:
    """A step of the ladder; where it has several paths, a trial loads all of them at once or those it names."""

    name: RungName
    paths: tuple[Path, ...] = (Path(),)
    experiments: tuple[Experiment, ...] = ()
    move: str = ""  # what the operator must do before it: "Move beta to another host ..."
    stairs: tuple[Stair, ...] = ()  # whose next steps the results choose

    @property
    def path(self) -> Path:
        """The first, which mostly is the only one."""
        return self.paths[0] if self.paths else Path()

    @property
    def peers(self) -> tuple[str, ...]:
        """The paired appliances at the sides of its paths."""
        return tuple(dict.fromkeys(name for path in self.paths for name in path.peers))


@dataclass(frozen=True)
class Plan:
    """What a run is to measure: the contract and the rungs to climb."""

    name: str
    title: str = ""
    contract: Contract = Contract()
    rungs: tuple[Rung, ...] = ()
    mesh: bool = False  # every pair of its ends is a path
    ends: tuple[str, ...] = ()  # of the mesh, "near" for this appliance; none: this one and all that it is paired with

    @property
    def peers(self) -> tuple[str, ...]:
        """The paired appliances at the sides of all paths."""
        return tuple(dict.fromkeys(name for rung in self.rungs for name in rung.peers))


# So many streams tell what a path carries both ways at once.  The acknowledgements of each way wait behind the other's
# data and come in bursts, so that few streams leave a good link empty now and then: of 1 Gb/s one carried 120 to 958
# Mb/s each way, two 290 to 970, four 660 to 955, eight 904 to 965, sixteen 942 to 970.
BOTH_WAYS = 16

# Within these lie the numbers of an experiment: a plan is checked by them, and no end trusts its peer's.
BOUNDS: dict[str, tuple[float, float]] = {
    "streams": (1, 128),
    "duration": (1, 7 * 86400),
    "warmup": (0, 60),
    "repeats": (1, 100_000),  # an end runs one at a time, and of a week's load a plan makes hundreds
    "at_most": (0, 100_000),
    "request": (1, 65536),
    "response": (1, 65536),
    "sessions": (1, 128),
    "count": (1, 10_000_000),
    "interval": (0.01, 10),
    "dscp": (0, 63),
    "window": (1024, 1 << 30),
    "step": (0, 100),
    "cores": (1, MOST_CORES),
    "on_cores": (0, MOST_CORES - 1),
    "client_port": (10_000, 65_000),
    "write_size": (1, 1 << 26),
    "udp_rate_bps": (1e3, 1e12),
    "sizes": (68, 65535),
}
MOST = {"on_cores": MOST_CORES, "sizes": 32, "settings": 16}  # how many there may be


def beyond(exp: Experiment) -> tuple[str, str] | None:
    """The first key of an experiment that is not within its bounds, and what was expected; None if all are."""
    for key, most in MOST.items():
        if (many := len(getattr(exp, key))) > most:
            return key, f"expected at most {most}, got {many}"
    for key, value in _numbers(exp):
        low, high = BOUNDS[key]
        if not low <= value <= high:
            return key, f"expected from {low:g} to {high:g}, got {str(value)[:40]}"
    return None


def _numbers(exp: Experiment) -> Iterator[tuple[str, float]]:
    for key in BOUNDS:
        value = getattr(exp, key)
        if isinstance(value, tuple):
            yield from ((key, one) for one in value)
        elif value is not None:
            yield key, value
