"""Gathers from a judged document everything that the page shows; the template only places it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markupsafe import Markup

from linkladder import phrases, units
from linkladder.judge.all_cards import held_against
from linkladder.judge.ceilings import ceiling
from linkladder.judge.evidence import direction_bps, ways
from linkladder.judge.families import over_its_paths
from linkladder.judge.staircase import flights
from linkladder.model import (
    Contract,
    Direction,
    Document,
    End,
    Experiment,
    ExperimentResult,
    Interval,
    Path,
    Protocol,
    RungName,
    RungResult,
    TrialResult,
)
from linkladder.model.same_setting import Identity, family
from linkladder.phrases.member_down import card_down
from linkladder.phrases.stairs import which_way
from linkladder.report import bundle_tables, card_queues, compared, cost_tables, page_text, svg
from linkladder.report.paths_picture import paths_picture
from linkladder.verdicts import ChangedFigure, DocumentJudgement, ExperimentJudgement, MemberDown, RungJudgement

WAYS = tuple(Direction)
ENDS = ((End.NEAR, "c1", ""), (End.FAR, "c2", "5 3"))
DRAWN = 6  # most repeats in one chart
REST = 0.5  # seconds; a tool's last line of less is no second of its own


@dataclass(frozen=True)
class Cell:
    """One cell of a matrix: a setting's rate, CPU and memory."""

    text: str
    heat: int = 0  # 0..8
    best: bool = False
    server: str = "-"
    client: str = "-"
    memory: str = "-"
    failed: str = ""


@dataclass(frozen=True)
class Matrix:
    """Rates in one direction by number of streams and window."""

    which: str  # the direction, or the pairs of more than two ends, in words
    special: str  # what its settings have in common apart from streams and windows; mostly ''
    windows: tuple[str, ...]
    rows: tuple[tuple[int, tuple[Cell | None, ...]], ...]


@dataclass(frozen=True)
class Row:
    """A setting's line in the table of a rung."""

    setting: str
    judged: ExperimentJudgement
    repeats: str
    range: str
    cpu: str
    per_core: str
    retransmits: str
    loaded: str


@dataclass(frozen=True)
class RungSection:
    """A rung as the page shows it."""

    name: str
    words: str
    result: RungResult
    judged: RungJudgement
    css: str
    company: str = ""  # a picture of the matrix of several paths
    bundles: tuple[bundle_tables.Table, ...] = ()
    stairs: tuple[bundle_tables.Table, ...] = ()
    costs: tuple[bundle_tables.Table, ...] = ()
    queues: tuple[bundle_tables.Table, ...] = ()
    compared: tuple[Markup, ...] = ()  # for each direction a staircase, and every change with its interval
    matrices: tuple[Matrix, ...] = ()
    rows: tuple[Row, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
    charts: tuple[Markup, ...] = ()
    more_charts: tuple[Markup, ...] = ()
    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each trial of several paths, and what each of them carried
    failed: tuple[tuple[str, TrialResult], ...] = ()
    rfc6349: tuple[tuple[str, str], ...] = field(default=())


def rungs(document: Document, judged: DocumentJudgement, deal: Contract) -> tuple[RungSection, ...]:
    """Every rung, in the order of the document."""
    return tuple(_rung(document, r, j, deal) for r, j in zip(document.rungs, judged.rungs, strict=True))


def _compared(result: RungResult, judged: RungJudgement) -> tuple[Markup, ...]:
    asked = {e.parameters.id: e.parameters for e in result.experiments}
    made = [compared.staircase(mine) for mine in flights(judged.staircase)]
    by_way: dict[str, list[tuple[str, tuple[ChangedFigure, ...]]]] = {}
    for c in judged.changes:
        p, base = asked[c.experiment], asked[c.baseline]
        beside = phrases.beside(p, base, result.paths)
        name = phrases.difference(p, base) + (f" ({beside})" if beside else "")
        way = which_way(c.direction, p.direction is Direction.DUPLEX, result.paths)
        by_way.setdefault(way, []).append((name, c.figures))
    made += [compared.intervals(changed, way if len(by_way) > 1 else "") for way, changed in by_way.items()]
    return tuple(Markup(drawn) for drawn in made if drawn)


def of_the_link(document: Document, deal: Contract) -> Contract | None:
    """What the rates of the link's best setting are held against; None where no contract says what its paths carry
    together.
    """
    link = next((r for r in document.rungs if r.name is RungName.DC_LINK), None)
    return held_against(over_its_paths(deal, link), link.paths, (), document) if link else deal


def ladder(document: Document, judged: DocumentJudgement, deal: Contract | None) -> Markup:
    """The picture on the first page: each rung with the rate of its best TCP setting in each direction."""
    rows = []
    for measured, r in zip(document.rungs, judged.rungs, strict=True):
        verdict = f"{r.word}{', provisional' if r.provisional else ''}"
        one_way = (Direction.FORWARD, Direction.REVERSE)
        rates = tuple((phrases.way(way, measured.paths), r.by_direction.get(way)) for way in one_way)
        rows.append(svg.LadderRung(r.rung, verdict, page_text.css(r.verdict), rates))
    needed = deal.pass_ratio * ceiling(deal).bps if deal else None
    return Markup(svg.ladder("The ladder: TCP goodput of each rung's best setting", rows, needed))


def _rung(document: Document, result: RungResult, judged: RungJudgement, deal: Contract) -> RungSection:
    parameters = {e.parameters.id: e for e in result.experiments}
    streams = [e for e in result.experiments if e.parameters.protocol in (Protocol.TCP, Protocol.UDP)]
    counting = [e.experiment for e in judged.experiments if e.counts]
    of_all = [name for name in counting if not parameters[name].parameters.paths]  # the others are in the matrix
    main = {*(of_all or counting), *(one.experiment for one in judged.members)}
    bounded = judged.ceiling is not None
    downs = [one for one in judged.members if one.believed]
    charts = {
        e.parameters.id: _charts(
            e,
            held_against(over_its_paths(deal, result), result.paths, e.parameters.paths, document) if bounded else None,
            [one for one in downs if one.experiment == e.parameters.id],
            result.paths,
        )
        for e in streams
    }
    return RungSection(
        name=str(result.name),
        words=page_text.RUNG_WORDS[RungName(result.name)],
        result=result,
        judged=judged,
        css=page_text.css(judged.verdict),
        company=Markup(paths_picture(judged.company, "Every path by itself and with all")) if judged.company else "",
        bundles=bundle_tables.tables(document, result, judged.bundles),
        queues=card_queues.tables(result),
        stairs=tuple(compared.table(mine) for mine in flights(judged.staircase)),
        costs=cost_tables.tables(document, result, judged.changes),
        compared=_compared(result, judged),
        matrices=_matrices(result),
        rows=tuple(_row(j, parameters[j.experiment], result.paths) for j in judged.experiments),
        others=tuple(
            (phrases.arm(e.parameters, paths=result.paths), phrases.outcome(e.parameters, t, paths=result.paths))
            for e in result.experiments
            if e not in streams
            for t in e.trials
        ),
        charts=tuple(c for name, drawn in charts.items() if name in main for c in drawn),
        more_charts=tuple(c for name, drawn in charts.items() if name not in main for c in drawn),
        paths=tuple(
            (phrases.trial(e.parameters, t.repeat, paths=result.paths), lines)
            for e in result.experiments
            for t in e.trials
            if (lines := phrases.each_path(e.parameters, t, result.paths))
        ),
        failed=tuple(
            (phrases.arm(e.parameters, paths=result.paths), t) for e in result.experiments for t in e.trials if not t.ok
        ),
        rfc6349=tuple((phrases.way(r.direction, result.paths), page_text.rfc6349_words(r)) for r in judged.rfc6349),
    )


def _row(j: ExperimentJudgement, e: ExperimentResult, paths: Sequence[Path]) -> Row:
    good = [t for t in e.trials if t.ok]
    spread = j.spread
    text = units.rates(spread.minimum, spread.maximum) if spread else "-"
    way = Direction(j.direction)
    cores = [use.gbps_per_core for t in good if (use := t.sender(way).cpu)]
    known = [c for c in cores if c is not None]
    again = [tcp.retransmits for t in good if (tcp := t.sender(way).tcp)]
    counted = [a for a in again if a is not None]
    loaded = [t.rtt_under_load.p50_ms for t in good if t.rtt_under_load and t.rtt_under_load.p50_ms is not None]
    busiest = [max((use.busiest for t in good if (use := t.end(end).cpu)), default=None) for end in End]
    shown = " / ".join("-" if b is None else f"{b:.0f} %" for b in busiest)
    return Row(
        setting=_named(e.parameters, j.direction, paths),
        judged=j,
        repeats=f"{len(good)} of {max(len(e.trials), e.parameters.repeats)}",
        range=text,
        cpu=shown,
        per_core=f"{statistics.median(known):.3g} Gb/s" if known else "-",
        retransmits=f"{statistics.median(counted):.0f}" if counted and j.protocol == Protocol.TCP else "-",
        loaded=units.milliseconds(statistics.median(loaded)) if loaded else "-",
    )  # fmt: skip


def _matrices(result: RungResult) -> tuple[Matrix, ...]:
    """A matrix of streams by window for each direction, and for each group of settings that differ in anything else."""
    families: dict[tuple[Direction, Identity], list[ExperimentResult]] = {}
    for e in result.experiments:
        if e.parameters.protocol is Protocol.TCP:
            families.setdefault((e.parameters.direction, family(e.parameters)), []).append(e)
    found = []
    for _, cells in sorted(families.items(), key=lambda item: WAYS.index(item[0][0])):
        windows = list(dict.fromkeys(e.parameters.window for e in cells))
        best = max((e.median_bps or 0.0 for e in cells), default=0.0)
        by = {(e.parameters.streams, e.parameters.window): e for e in cells}
        rows = tuple(
            (n, tuple(_cell(by.get((n, w)), best) for w in windows))
            for n in sorted({e.parameters.streams for e in cells})
        )
        asked = cells[0].parameters
        which = phrases.loaded(asked, result.paths)
        special = phrases.special(asked, result.paths)
        found.append(Matrix(which, special, tuple(phrases.window(w) for w in windows), rows))
    return tuple(found)


def _cell(e: ExperimentResult | None, best: float) -> Cell | None:
    if e is None:
        return None
    client = _client(e)
    server = End.FAR if client == End.NEAR else End.NEAR
    broken = [t for t in e.trials if not t.ok]
    median = e.median_bps or 0.0
    return Cell(
        text=_range(e),
        heat=round(8 * median / best) if best else 0,
        best=median > 0 and median == best,
        server=page_text.cpu(e, server),
        client=page_text.cpu(e, client),
        memory=f"{page_text.memory(e, server)} / {page_text.memory(e, client)}",
        failed=f"{len(broken)} of {len(e.trials)} failed" if broken else "",
    )


def _range(e: ExperimentResult) -> str:
    if e.median_bps is None:
        return "failed" if e.trials else "not run"
    return units.rates(e.min_bps, e.max_bps)


def _client(e: ExperimentResult) -> End:
    """The end that ran the client, which is the far one if a window must apply in reverse; near if not known."""
    ran = (c.end for t in e.trials for c in t.commands if c.role == "client")
    return End.NEAR if next(ran, "near") == "near" else End.FAR


def _named(p: Experiment, way: str, paths: Sequence[Path]) -> str:
    """The setting with its direction; if it measures both at once, with the direction `way`."""
    name = phrases.arm(p, paths=paths)
    if p.direction == way:
        return name
    return f"{name}: {phrases.loaded(p, paths, way)}"


def _charts(
    e: ExperimentResult, deal: Contract | None, downs: Sequence[MemberDown], paths: Sequence[Path]
) -> list[Markup]:
    """`deal`: what its rate is held against; None: nothing."""
    drawn = []
    for way in ways(e.parameters):
        good = [t for t in e.trials if t.intervals]
        if good:
            drawn.append(Markup(_chart(e.parameters, way, _telling(good, way), deal, downs, paths)))
    return drawn


def _telling(trials: list[TrialResult], way: Direction) -> list[TrialResult]:
    """As many trials as fit into a chart: the first one, and those of the others with the lowest single seconds."""
    if len(trials) <= DRAWN:
        return trials

    def least(t: TrialResult) -> float:
        return min((i.bps for i in t.intervals if i.counted and i.direction is way), default=0.0)

    others = sorted(range(1, len(trials)), key=lambda n: least(trials[n]))
    return [trials[n] for n in sorted((0, *others[: DRAWN - 1]))]


def _whole_seconds(t: TrialResult, way: Direction) -> list[Interval]:
    """The seconds of one direction without the rest of one that a tool may print last: it would look like an outage."""
    seconds = [i for i in t.intervals if i.direction is way]
    rest = len(seconds) > 1 and seconds[-1].end - seconds[-1].start < REST
    return seconds[:-1] if rest else seconds


def _chart(
    p: Experiment,
    way: Direction,
    trials: list[TrialResult],
    deal: Contract | None,
    downs: Sequence[MemberDown],
    paths: Sequence[Path],
) -> str:
    lines = []
    for n, t in enumerate(trials):
        known = _whole_seconds(t, way)
        points = tuple(((i.start + i.end) / 2, i.bps) for i in known)
        gaps = tuple((a.end, b.start) for a, b in pairwise(known) if b.start - a.end > REST)
        name = f"repeat {t.repeat + 1}" if len(trials) > 1 else "goodput"
        lines.append(svg.Line(name, points, f"c{3 + n % 2}" if n else "c0", svg.DASHES[n % 4], n > 0, gaps))
    typical = min(trials, key=lambda t: abs(direction_bps(t, p, way) - statistics.median(
        direction_bps(x, p, way) for x in trials)))  # fmt: skip
    cpu = [
        svg.Line(
            f"{end} CPU",
            tuple((s.t, max((c.busy for c in s.cores), default=0.0)) for s in typical.end(end).samples if s.t >= 0),
            style,
            dash,
        )
        for end, style, dash in ENDS
        if typical.end(end).samples
    ]
    levels = []
    if deal:
        best = ceiling(deal, p.protocol, p.write_size).bps
        levels = [svg.Level("ceiling", best), svg.Level("needed", deal.pass_ratio * best)]
    seconds = max([x.end for t in trials for x in t.intervals])
    warm = next((x.start for x in trials[0].intervals if x.counted), 0.0)
    spans = [(m.since, m.until, card_down(m)) for m in downs if (m.repeat, m.direction) == (typical.repeat, way)]
    return svg.over_time(_named(p, way, paths), lines, cpu, levels, warm, seconds, spans)
