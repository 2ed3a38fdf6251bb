"""Defines judgements and everything that they rest on, from a trial's to the whole run's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from linkladder.verdicts.conclusions import BundleJudgement, Landing, MemberDown
from linkladder.verdicts.kinds import NO_RATE_ASKED, Answer, Cause, LimiterKind, Measured, Verdict


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
    payload_bytes: int = 0  # bytes of user data in a full packet
    wire_bytes: int = 0  # bytes that such a packet takes on Ethernet, preamble and gap included


@dataclass(frozen=True)
class Spread:
    """Several measurements of the same thing; low and high are the bounds of the mean's t interval, at 95 % or more."""

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
    """What kept a result from being higher; `candidates` are other kinds that the evidence fits as well."""

    kind: LimiterKind
    sentence: str
    candidates: tuple[LimiterKind, ...] = ()
    evidence: tuple[str, ...] = ()
    experiment: str = ""  # an experiment that would tell the candidates apart, in words

    @property
    def known(self) -> bool:
        return self.kind is not LimiterKind.UNKNOWN


@dataclass(frozen=True)
class FollowUp:
    """An experiment that should be measured next: the question that it answers, and its text for a plan file."""

    question: str
    tells: str  # what its outcomes mean
    plan: str  # TOML: one or more [[experiment]] tables


@dataclass(frozen=True)
class Concern:
    """One thing that was seen; `best` is the best verdict that it allows, None if it is only reported."""

    cause: Cause
    sentence: str
    best: Verdict | None = None
    provisional: bool = False  # it makes the verdict provisional; with best=PASS, only if the verdict is a PASS
    excuses: bool = False  # it may have caused a shortfall, so that a FAIL becomes CANNOT JUDGE
    figures: dict[str, float] = field(default_factory=dict)
    paths: tuple[int, ...] = ()  # of the rung's paths those that it rests on; none if it may rest on any


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
    concerns: tuple[Concern, ...] = ()  # what `findings` report, with causes and figures
    text: str = ""  # the sentence without the verdict's own word
    rate_asked: bool = True  # false if it is INCOMPLETE only as nothing but transactions or pings was asked for

    @property
    def word(self) -> str:
        """The verdict's word for people."""
        return self.verdict.value if self.rate_asked else NO_RATE_ASKED

    def left_open(self, cause: Cause, more: str, *remedies: str) -> Judgement:
        """The same as CANNOT JUDGE, with one more sentence that says why."""
        said = f"{self.sentence} {more}"
        return replace(
            self, verdict=Verdict.CANNOT_JUDGE, cause=cause, sentence=said, reasons=(said,), remedies=remedies
        )


@dataclass(frozen=True)
class TrialJudgement:
    """One trial compared with the ceiling, in percent of it for each direction."""

    trial: str
    ok: bool
    percent_of_ceiling: dict[str, float] = field(default_factory=dict)  # "forward"/"reverse"
    error_percent: float = 0.0  # measurement error, in percent of the result
    impossible: bool = False
    limiter: Limiter | None = None


@dataclass(frozen=True)
class ExperimentJudgement:
    """The judgement of one setting in one direction (a duplex setting has one for each direction)."""

    experiment: str  # Experiment.id
    direction: str
    protocol: str
    judgement: Judgement
    spread: Spread | None = None
    percent_of_ceiling: float | None = None  # the median's; None if no ceiling applies to the rung
    ceiling_bps: float | None = None
    limiter: Limiter | None = None
    counts: bool = True  # whether the rung's verdict rests on it
    trials: tuple[TrialJudgement, ...] = ()


@dataclass(frozen=True)
class Rfc6349:
    """The figures of RFC 6349 for one direction; None for a figure that was not measured."""

    direction: str
    path_mtu: int | None = None
    black_hole: bool = False
    baseline_rtt_ms: float | None = None
    loaded_rtt_ms: float | None = None
    bdp_bytes: float | None = None
    window_per_stream_bytes: float | None = None
    streams: int = 1
    transfer_time_ratio: float | None = None  # slow start included
    transfer_bytes: int | None = None  # bytes of the trial from which the ratio comes
    transfer_seconds: float | None = None  # seconds that this trial took for them
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
    """Round trips while one direction was loaded; the grade tells how far the 95th percentile exceeds the idle one."""

    direction: str
    samples: int
    median_ms: float
    p95_ms: float
    p99_ms: float
    jitter_ms: float  # mean difference between one round trip and the next
    idle_ms: float | None = None
    tcp_ms: float | None = None  # the median round trip that TCP itself saw at the sending end
    tcp_end: str = ""
    grade: str = ""  # "" if no idle round trip was measured
    histogram: tuple[Bucket, ...] = ()
    pinged_by: str = "near"  # the end whose pings beside the load these are, the slower ones of both ends'


LEAST_PAIRS = 4  # to compare two settings
MOST_LOOKS = 10  # at the repeats of what goes on until it is settled
MOST_MORE = 40  # pairs; more are not proposed, as nobody would wait for them


@dataclass(frozen=True)
class ChangedFigure:
    """One figure without a change and with it; `ratio` is after/before, with its interval at `confidence`.

    Of segments sent again, 0.01 % is added to each share before they are divided, as many are zero.
    """

    measured: Measured
    answer: Answer
    before: float  # geometric mean (of what was sent again median): b/s, transactions a second, cores, ms, share
    after: float
    pairs: int
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    more_pairs: int | None = None  # if undecided: how many more pairs would decide in 4 of 5 cases; None if too many
    outlier: int | None = None  # if two tests disagree: the repeat, from 1, of the most extreme pair, if it decides
    rank_p: float | None = None  # of the exact signed-rank test, from eight pairs on
    floor: float | None = None  # the ratio that the unchanged setting may have to itself; no smaller change is told


@dataclass(frozen=True)
class Uncompared:
    """A figure that some pairs lack, so that it is not compared: those that have it are no fair choice of them."""

    measured: Measured
    unknown: int  # pairs in which a trial does not tell it
    zero: int  # pairs in which a trial had none of it, so that there is no ratio


@dataclass(frozen=True)
class Change:
    """What the settings of one experiment changed compared with the same experiment without them."""

    experiment: str  # Experiment.id
    baseline: str
    direction: str
    pairs: int
    void: int = 0  # pairs in which a trial failed
    figures: tuple[ChangedFigure, ...] = ()
    planned: int = 0  # pairs that the plan asks for; 0 if that is not known
    uncompared: tuple[Uncompared, ...] = ()

    @property
    def short(self) -> bool:
        """Whether it rests on fewer pairs than the plan asks for."""
        return self.pairs < max(self.planned, self.pairs + self.void)


@dataclass(frozen=True)
class Cell:
    """One path in one direction: what it carries alone, and what it carries beside other paths."""

    path: int
    sender: str  # "near", or a peer's name
    receiver: str
    direction: str  # of the path
    judgement: Judgement
    alone_bps: float | None = None
    beside_bps: float | None = None  # beside some of the other paths, as a rule those that share no end with it
    together_bps: float | None = None  # with all other paths
    ceiling_bps: float | None = None
    loss_percent: float | None = None  # of pings on the idle path
    rtt_ms: float | None = None

    @property
    def lost_share(self) -> float | None:
        """The share of what it carries alone that all other paths together take from it."""
        if not self.alone_bps or self.together_bps is None:
            return None
        return max(0.0, 1 - self.together_bps / self.alone_bps)


@dataclass(frozen=True)
class Sharing:
    """Paths that are slower side by side than alone, so that they share something, and their rate together."""

    paths: tuple[int, ...]
    direction: str
    bps: float
    sentence: str


@dataclass(frozen=True)
class OwnLimit:
    """An end that sends or receives no more over all its paths than over one."""

    end: str
    sends: bool
    direction: str  # of the paths
    bps: float
    sentence: str


@dataclass(frozen=True)
class Neighbour:
    """The rung's first path beside one of the others: how much it keeps of what it carries alone."""

    path: int  # the other path
    direction: str  # of both paths
    alone_bps: float
    beside_bps: float
    takes: bool  # whether the first path loses to it in every repeat, by more than the repeats scatter
    once: bool = False  # whether one of the two was measured only once
    common_end: str = ""  # an end that both paths use
    busy: str = ""  # an end of the first path that had no CPU core to spare
    visits: int = 0  # times that the other path came and went while the first one was loaded
    alone_rtt_ms: float | None = None  # under its own load
    beside_rtt_ms: float | None = None
    alone_lost_percent: float | None = None  # of pings
    beside_lost_percent: float | None = None


@dataclass(frozen=True)
class CompanyJudgement:
    """The paths of a rung each by itself and all together; sums are by direction of the paths."""

    cells: tuple[Cell, ...]
    whole: Judgement
    sum_bps: dict[str, float] = field(default_factory=dict)  # of all paths loaded at once
    alone_bps: dict[str, float] = field(default_factory=dict)  # the sum of what each carries alone
    ceiling_bps: float | None = None  # of the link that the paths are declared to share
    fairness: dict[str, float] = field(default_factory=dict)  # Jain's index of the share that each keeps: 1 is even
    sharing: tuple[Sharing, ...] = ()
    lacking: tuple[str, ...] = ()  # sentences on paths that failed and are not in the sums
    findings: tuple[str, ...] = ()
    skew_ms: float | None = None  # between the starts of the first and the last leg, in the worst trial
    neighbours: tuple[Neighbour, ...] = ()  # of the first path
    own_limits: tuple[OwnLimit, ...] = ()


class Judged:
    """Gives a record with a judgement that judgement's verdict and sentence as properties."""

    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def word(self) -> str:
        return self.judgement.word

    @property
    def provisional(self) -> bool:
        return self.judgement.provisional

    @property
    def sentence(self) -> str:
        return self.judgement.sentence


@dataclass(frozen=True)
class RungJudgement(Judged):
    """A rung's verdict, and everything that it rests on."""

    rung: str
    judgement: Judgement
    ceiling: Ceiling | None = None  # None on rungs to which the contract does not apply
    best_bps: float | None = None  # best median of the direction that carries less: what a link is held to
    best_experiment: str = ""  # that carries the most, in the other direction if that is the better one
    by_direction: dict[str, float] = field(default_factory=dict)  # best TCP median of each direction, bps
    limiter: Limiter | None = None  # of the best setting's worse direction
    experiments: tuple[ExperimentJudgement, ...] = ()
    rfc6349: tuple[Rfc6349, ...] = ()
    latency: tuple[Latency, ...] = ()
    rests_on: tuple[str, ...] = ()  # for each direction: which interval of which setting, from how many repeats
    follow_up: tuple[FollowUp, ...] = ()
    changes: tuple[Change, ...] = ()  # what settings on loan did, measured in pairs
    company: CompanyJudgement | None = None  # of a rung with several paths
    staircase: tuple[Landing, ...] = ()
    answers: tuple[str, ...] = ()  # a sentence for each experiment: what a change gained and what it cost
    bundles: tuple[BundleJudgement, ...] = ()  # if single flows and many were measured from stated client ports
    members: tuple[MemberDown, ...] = ()  # members of a bundle that were taken down during a trial


@dataclass(frozen=True)
class DocumentJudgement(Judged):
    """The whole run: its verdict is that of the highest rung, and its diagnosis compares the rungs in words."""

    judgement: Judgement
    rungs: tuple[RungJudgement, ...] = ()
    diagnosis: tuple[str, ...] = ()
    ceilings: dict[str, Ceiling] = field(default_factory=dict)  # "tcp", "udp"
    assumptions: dict[str, str] = field(default_factory=dict)  # the contract judged against, in words
    overridden: tuple[str, ...] = ()  # names of assumptions that differ from the run's own plan

    @property
    def follow_up(self) -> tuple[FollowUp, ...]:
        return tuple(f for r in self.rungs for f in r.follow_up)
