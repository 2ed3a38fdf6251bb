"""A judgement and all that it rests on, from a trial's to the whole run's."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkladder.verdicts.kinds import Answer, Cause, LimiterKind, Measured, Verdict


@dataclass(frozen=True)
class Ceiling:
    """The best goodput that port and contract allow; `which` of the two sets it ("port" or "contract")."""

    bps: float
    port_bps: float
    contract_bps: float | None
    which: str
    sentence: str
    protocol: str = "tcp"
    mtu: int = 1500
    payload_bytes: int = 0  # of user data in a full packet
    wire_bytes: int = 0  # of Ethernet that such a packet takes, preamble and gap included


@dataclass(frozen=True)
class Spread:
    """Several measurements of the same thing; low and high bound the mean at 95 % (t) where that can be said."""

    count: int
    median: float
    minimum: float
    maximum: float
    mean: float
    low: float
    high: float
    cv: float | None = None  # coefficient of variation, 0..
    basis: str = "repeats"  # "repeats", "intervals" (one repeat: its own seconds), "none" (one bare number)


@dataclass(frozen=True)
class Limiter:
    """What kept a result from being higher; candidates beside `kind` are named where the evidence fits both."""

    kind: LimiterKind
    sentence: str
    candidates: tuple[LimiterKind, ...] = ()
    evidence: tuple[str, ...] = ()
    experiment: str = ""  # what would tell the candidates apart

    @property
    def known(self) -> bool:
        return self.kind is not LimiterKind.UNKNOWN


@dataclass(frozen=True)
class FollowUp:
    """An experiment that the evidence asks for: what it decides, and as a plan file would ask for it."""

    question: str
    tells: str  # what its outcomes mean
    plan: str  # TOML: one or more [[experiment]] tables


@dataclass(frozen=True)
class Concern:
    """One thing that was seen, and the best verdict that it leaves; None where it is only said."""

    cause: Cause
    sentence: str
    best: Verdict | None = None
    provisional: bool = False  # it takes the firmness from the verdict; where it leaves a PASS, from that alone
    excuses: bool = False  # a shortfall may come of it, so that a FAIL is none
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """A verdict, the rule that decided and its reasons; `figures` have the units of their names (bps, ms, percent)."""

    verdict: Verdict
    provisional: bool
    sentence: str
    reasons: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)
    cause: Cause = Cause.REACHED
    concerns: tuple[Concern, ...] = ()  # what `findings` say, with codes and figures
    text: str = ""  # the sentence without the verdict's own word


@dataclass(frozen=True)
class TrialJudgement:
    """One trial beside the ceiling, per direction in percent of it."""

    trial: str
    ok: bool
    percent_of_ceiling: dict[str, float] = field(default_factory=dict)  # "forward"/"reverse"
    error_percent: float = 0.0  # measurement error, of the result
    impossible: bool = False
    limiter: Limiter | None = None


@dataclass(frozen=True)
class ExperimentJudgement:
    """One setting in one direction (duplex gives one for each way)."""

    experiment: str  # Experiment.id
    direction: str
    protocol: str
    judgement: Judgement
    spread: Spread | None = None
    percent_of_ceiling: float | None = None  # of the median; None where no ceiling applies to the rung
    ceiling_bps: float | None = None
    limiter: Limiter | None = None
    counts: bool = True  # whether the rung's verdict rests on it
    trials: tuple[TrialJudgement, ...] = ()


@dataclass(frozen=True)
class Rfc6349:
    """The figures of RFC 6349 for one direction; None where the measurement for it was not made."""

    direction: str
    path_mtu: int | None = None
    black_hole: bool = False
    baseline_rtt_ms: float | None = None
    loaded_rtt_ms: float | None = None
    bdp_bytes: float | None = None
    window_per_stream_bytes: float | None = None
    streams: int = 1
    transfer_time_ratio: float | None = None  # slow start included
    transfer_bytes: int | None = None  # of the trial that the ratio is of,
    transfer_seconds: float | None = None  # and how long it took them
    efficiency_percent: float | None = None
    buffer_delay_percent: float | None = None


@dataclass(frozen=True)
class Bucket:
    """How many round trips took from `low_ms` to less than `high_ms`."""

    low_ms: float
    high_ms: float
    count: int


@dataclass(frozen=True)
class Latency:
    """Round trips while one way was filled; the grade is by how far the 95th percentile rises over the idle median."""

    direction: str
    samples: int
    median_ms: float
    p95_ms: float
    p99_ms: float
    jitter_ms: float  # mean difference between one round trip and the next
    idle_ms: float | None = None
    tcp_ms: float | None = None  # what TCP itself saw, at the end that sends
    tcp_end: str = ""
    grade: str = ""  # "" where no idle round trip was measured
    histogram: tuple[Bucket, ...] = ()


@dataclass(frozen=True)
class ChangedFigure:
    """One figure without the change and with it; ratios are after/before, their interval is at `confidence`."""

    measured: Measured
    answer: Answer
    before: float  # median: bits a second, transactions a second, cores, ms
    after: float
    pairs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    more_pairs: int | None = None  # undecided: about so many more would tell
    outlier: int | None = None  # the pair, counted from 1, without which the answer would be another


@dataclass(frozen=True)
class Change:
    """What the settings of one experiment did against the same experiment without them."""

    experiment: str  # Experiment.id
    baseline: str
    direction: str
    pairs: int
    void: int = 0  # pairs of which a trial failed
    figures: tuple[ChangedFigure, ...] = ()


@dataclass(frozen=True)
class Cell:
    """From one end to another over one path: what it carries alone, and what is left of it beside others."""

    path: int
    sender: str  # "near", or a peer's name
    receiver: str
    direction: str  # of the path
    judgement: Judgement
    alone_bps: float | None = None
    beside_bps: float | None = None  # side by side with pairs that share no end with it
    together_bps: float | None = None  # with all others
    ceiling_bps: float | None = None
    loss_percent: float | None = None  # of datagrams, else of pings
    rtt_ms: float | None = None

    @property
    def lost_share(self) -> float | None:
        """Of what it carries alone, how much all others take from it."""
        if not self.alone_bps or self.together_bps is None:
            return None
        return max(0.0, 1 - self.together_bps / self.alone_bps)


@dataclass(frozen=True)
class Sharing:
    """Paths that take from each other share something; what it carried for them together."""

    paths: tuple[int, ...]
    direction: str
    bps: float
    sentence: str


@dataclass(frozen=True)
class Neighbour:
    """The rung's first path beside one of the others: what it keeps of what it has alone."""

    path: int  # the other one
    direction: str  # of both
    alone_bps: float
    beside_bps: float
    takes: bool  # in every repeat, and more than the noise of repeats
    once: bool = False  # measured no second time
    common_end: str = ""  # which both paths use
    busy: str = ""  # an end of the first path that had no core to spare
    visits: int = 0  # times that it came and went while the first one was loaded
    alone_rtt_ms: float | None = None  # under its own load
    beside_rtt_ms: float | None = None
    alone_lost_percent: float | None = None  # of pings
    beside_lost_percent: float | None = None


@dataclass(frozen=True)
class CompanyJudgement:
    """The paths of a rung each by itself and all together; rates of each way of the paths."""

    cells: tuple[Cell, ...]
    whole: Judgement
    sum_bps: dict[str, float] = field(default_factory=dict)  # of all at once
    alone_bps: dict[str, float] = field(default_factory=dict)  # what each carries alone, added up
    ceiling_bps: float | None = None  # of what is declared as shared
    fairness: dict[str, float] = field(default_factory=dict)  # Jain's index of what each keeps: 1 is even
    sharing: tuple[Sharing, ...] = ()
    lacking: tuple[str, ...] = ()  # legs that are not in the sums, and why
    findings: tuple[str, ...] = ()
    skew_ms: float | None = None  # between the starts of the first and the last leg, the worst trial's
    neighbours: tuple[Neighbour, ...] = ()  # of the first path


@dataclass(frozen=True)
class Landing:
    """One arm of a step of a staircase: the best so far, or what was tried beside it."""

    direction: str
    step: int
    words: str
    bps: float
    low: float
    high: float
    kept: bool  # the next step was built on it
    answer: Answer | None = None  # against the best so far
    ratio: float | None = None


@dataclass(frozen=True)
class BundleJudgement:
    """One way over what may be a bundle of links: one flow against many."""

    direction: str
    one_bps: float
    most_flows: int
    most_bps: float  # of the best block of ports
    members: int  # the most likely number
    chance: float  # of that number, 0..1
    steps: dict[str, float] = field(default_factory=dict)  # flows -> bps
    odds: float = 0.0  # that hashing puts 70 % of the flows or more on one member
    unused: float = 0.0  # of what so many members carry
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True)
class MemberDown:
    """A member of a bundle that was taken down for a part of a trial, and what the bundle did meanwhile, one way."""

    experiment: str
    repeat: int
    direction: str
    end: str
    card: str
    since: float  # seconds of the trial
    until: float
    believed: bool  # its own counters stood still meanwhile; else nothing of what follows is known
    sends: bool = False  # that end, this way
    before_bps: float | None = None
    without_bps: float | None = None
    after_bps: float | None = None
    resolution_s: float | None = None  # between two looks
    silent_down_s: float | None = None  # the longest time in which nothing arrived, from when it went down
    silent_back_s: float | None = None  # and from when it came back
    flows: int = 0
    stopped: int = 0  # of them, for a second or longer
    longest_stop_s: float = 0.0
    not_back: int = 0  # that did not go on
    again: int | None = None  # segments sent again from then on
    again_before: int | None = None
    lost: int | None = None  # datagrams
    share_before: float | None = None  # its own, of what that end's members moved
    share_without: float | None = None
    share_after: float | None = None
    sentences: tuple[str, ...] = ()


class Judged:
    """What has a judgement has its verdict."""

    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def provisional(self) -> bool:
        return self.judgement.provisional

    @property
    def sentence(self) -> str:
        return self.judgement.sentence


@dataclass(frozen=True)
class RungJudgement(Judged):
    """A rung's verdict, and all that it rests on."""

    rung: str
    judgement: Judgement
    ceiling: Ceiling | None = None  # None on the rungs that the contract does not bound
    best_bps: float | None = None  # best median of one direction
    best_experiment: str = ""
    by_direction: dict[str, float] = field(default_factory=dict)  # best TCP median of each direction, bps
    limiter: Limiter | None = None  # of the best setting's worse direction
    experiments: tuple[ExperimentJudgement, ...] = ()
    rfc6349: tuple[Rfc6349, ...] = ()
    latency: tuple[Latency, ...] = ()
    rests_on: tuple[str, ...] = ()  # for each way: which interval, of what, of how many repeats
    follow_up: tuple[FollowUp, ...] = ()
    changes: tuple[Change, ...] = ()  # what settings on loan did, measured in pairs
    company: CompanyJudgement | None = None  # of a rung with several paths
    staircase: tuple[Landing, ...] = ()
    answers: tuple[str, ...] = ()  # of the experiments: what was gained and what it cost, a sentence each
    bundles: tuple[BundleJudgement, ...] = ()  # where single flows and many were measured from named ports
    members: tuple[MemberDown, ...] = ()  # that were taken down in mid-trial


@dataclass(frozen=True)
class DocumentJudgement(Judged):
    """The whole run: its verdict is that of the highest rung measured, its diagnosis compares the rungs in words."""

    judgement: Judgement
    rungs: tuple[RungJudgement, ...] = ()
    diagnosis: tuple[str, ...] = ()
    ceilings: dict[str, Ceiling] = field(default_factory=dict)  # "tcp", "udp"
    assumptions: dict[str, str] = field(default_factory=dict)  # the contract judged against, in words
    overridden: tuple[str, ...] = ()  # which of them differ from the run's own plan

    @property
    def follow_up(self) -> tuple[FollowUp, ...]:
        return tuple(f for r in self.rungs for f in r.follow_up)
