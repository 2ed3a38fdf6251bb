"""The page of a run of days: no larger than a day's, made and read in little memory, and judged like every second."""

from __future__ import annotations

import gc
import html
import json
import lzma
import random
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soaked
from judge_documents import GIGABIT, big, document, ladder, rung, tcp, trial
from linkladder import cli, formats, report
from linkladder.engine.long_trial import thinned
from linkladder.judge import judge_document
from linkladder.judge.decided import decided
from linkladder.judge.outages import dead_seconds
from linkladder.laid_on_disk import Shelf, shelved
from linkladder.model import (
    Direction,
    Document,
    EndRecord,
    ExperimentResult,
    HostFacts,
    Interval,
    NicCounters,
    Plan,
    RunEnd,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    TrialResult,
)
from linkladder.model import Path as RungPath
from linkladder.report import condense, page_data, rounding, seal, svg, verify
from linkladder.verdicts import Cause, DocumentJudgement
from trials import changed

HOUR, WEEK = 3600.0, 168
CHARTS = 130_000  # bytes that six repeats and two ends take in a chart at most
EACH = 350_000  # bytes of memory that a trial adds; its seconds alone take more
LONGER = 310.0
DOCUMENTS = Path(__file__).parents[1] / "documents"
FORWARD, DUPLEX = Direction.FORWARD, Direction.DUPLEX
ODD = {(flow, second): share for flow in (1, 2) for second, share in ((44, 0.0), (45, 0.0), (200, 0.03), (250, 0.4))}
read = page_data.document


def soak(
    seconds: float,
    trials: int,
    way: Direction = FORWARD,
    udp: float | None = None,
    bps: float = 9.3e8,
    steady: bool = False,
) -> Document:
    """A run of so many trials, every second one with seconds that carried little, as the store gives it back."""
    exp = replace(soaked.experiment(seconds, 2, way, udp), repeats=trials)
    shelf = Shelf()
    made = (soaked.trial(exp, bps, None if steady or n % 2 == 0 else ODD, seed=n, repeat=n) for n in range(trials))
    kept = tuple(shelved(thinned(counted(one), exp), shelf) for one in made)
    paths = (RungPath(soaked.NEAR, soaked.FAR, "beta"),)
    plan = Plan("soak", contract=GIGABIT, rungs=(Rung(RungName.DC_LINK, paths, (exp,)),))
    facts = HostFacts("x", os="Linux", tools=dict(soaked.MODERN.found))
    ends = tuple(RunEnd(name, facts) for name in ("near", "beta"))
    rung = RungResult(RungName.DC_LINK, paths, (ExperimentResult(exp, kept),))
    return Document(RunInfo("r", "2026-11-22T10:00:00+00:00", plan, ends=ends), (rung,))


def counted(trial: TrialResult) -> TrialResult:
    """With what the ends' cards saw of it, and without their sockets, which know of no more than a second."""
    moved = {way: round(1.05 * sum(f.total_bytes for f in trial.flows if f.direction is way)) for way in Direction}
    out, back = moved[FORWARD], moved[Direction.REVERSE]
    sides = ((back, out), (out, back))  # received and sent, near and far
    cards = (NicCounters("vmx1", rx, tx, rx // 1448, tx // 1448) for rx, tx in sides)
    ends = zip(trial.ends, cards, strict=True)
    return replace(trial, ends=tuple(counting(end, card) for end, card in ends))


def counting(end: EndRecord, card: NicCounters) -> EndRecord:
    """An end whose card counted evenly, second by second, what it counted in all."""
    every = len(end.samples)
    seen = [(card.rx_bytes * n // every, card.tx_bytes * n // every) for n in range(1, every + 1)]
    cards = [NicCounters(card.name, rx, tx, rx // 1448, tx // 1448) for rx, tx in seen]
    looks = tuple(replace(s, nics=(*s.nics[:2], one)) for s, one in zip(end.samples, cards, strict=True))
    return replace(end, nics=(card,), samples=looks, sockets=None)


def trials_of(document: Document) -> list[TrialResult]:
    return [t for r in document.rungs for e in r.experiments for t in e.trials]


def embedded(page: str) -> Document:
    return read(page, formats.document, lambda value, schema: formats.record(TrialResult, value, schema))[1]


def causes(judged: DocumentJudgement) -> set[Cause]:
    return {concern.cause for rung in judged.rungs for concern in rung.judgement.concerns}


def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of minutes are taken for runs of days."""
    monkeypatch.setattr(rounding, "MOST", 100)
    monkeypatch.setattr(rounding, "ANSWERS", 500)


@pytest.mark.parametrize(
    ("way", "udp", "bps"), [(FORWARD, None, 9.3e8), (FORWARD, None, 6e8), (DUPLEX, None, 9.3e8), (FORWARD, 4e7, 4e7)]
)
def test_a_rounded_page_is_judged_like_every_second(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    way: Direction, udp: float | None, bps: float,
) -> None:  # fmt: skip
    whole = soak(LONGER, 3, way, udp, bps)
    wanted = judge_document(whole)
    few(monkeypatch)
    page = report.html(whole)
    found = verify.check(page, {})
    assert found.state is verify.State.UNSIGNED and "Rendered again from its data: identical." in found.details
    shown = embedded(page)
    assert shown.abridged and html.unescape(page).count(shown.abridged) == 1
    again = judge_document(shown)
    assert decided(again) == decided(wanted) and again == shown.judgement
    for one, other in zip(trials_of(whole), trials_of(shown), strict=True):
        assert len(one.intervals) == len(other.intervals) and one.by_direction == other.by_direction
        for leg, cut in zip(one.loads, other.loads, strict=True):
            for each in (FORWARD, Direction.REVERSE):
                mine, theirs = ([i for i in o.intervals if i.direction is each] for o in (leg, cut))
                assert dead_seconds(mine) == dead_seconds(theirs)
                sizes = [[i.bytes for i in seconds] for seconds in (mine, theirs)]
                usual = max(sizes[0], default=0)
                assert abs(sum(sizes[0]) - sum(sizes[1])) <= usual / rounding.LEVELS
                assert all(abs(a - b) <= 1.5 * usual / rounding.LEVELS for a, b in zip(*sizes, strict=True))
    file = tmp_path / "r.html"
    file.write_text(page, encoding="utf-8")
    assert cli.main(["judge", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judgement"]["verdict"] == wanted.verdict
    assert cli.main(["judge", str(file)]) == 0 and shown.abridged in capsys.readouterr().out


@settings(max_examples=200)
@given(st.lists(st.one_of(st.integers(0, 1 << 40), st.integers(9 << 20, 10 << 20)), max_size=400))
def test_no_bytes_are_lost_by_rounding_and_small_seconds_stay(sizes: list[int]) -> None:
    made = rounding._levels(sizes)
    alive = sorted(size for size in sizes if size)
    usual = (alive[(len(alive) - 1) // 2] + alive[len(alive) // 2]) / 2 if alive else 0
    level = max(1.0, usual / rounding.LEVELS)
    assert abs(sum(made) - sum(sizes)) <= level / 2 + 1
    for n, (before, after) in enumerate(zip(sizes, made, strict=True)):
        assert abs(after - before) <= level + 1
        assert after == before or (before >= rounding.LITTLE * usual and n % rounding.SPAN)
        assert after == before or rounding.SPAN <= n < len(sizes) - rounding.SPAN
        assert sum(made[: n + 1]) - sum(sizes[: n + 1]) <= level / 2 + 1


@pytest.mark.parametrize("file", sorted(DOCUMENTS.rglob("*.json.xz")), ids=lambda file: file.name)
def test_a_page_of_a_real_run_is_judged_like_its_document(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = formats.document(json.loads(lzma.decompress(file.read_bytes())))
    for lines, raw, samples in ((10**6, 10**9, 10**9), (0, 0, 10)):
        monkeypatch.setattr(page_data, "LONG", lines)
        monkeypatch.setattr(condense, "RAW_BUDGET", raw)
        monkeypatch.setattr(condense, "SAMPLE_BUDGET", samples)
        page = report.html(document)
        assert verify.check(page, {}).state is verify.State.UNSIGNED
        assert decided(judge_document(embedded(page))) == decided(judge_document(replace(document, judgement=None)))


def test_output_that_contradicts_is_carried_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortened it would bear out anything, and the page would say what no exact document does."""
    whole = soak(LONGER, 3, steady=True)
    (rung,) = whole.rungs
    (measured,) = rung.experiments
    claimed = tuple(
        replace(t, legs=tuple(replace(g, commands=tuple(
            replace(c, output=re.sub(r"(\d)0 Bytes", r"\1 Bytes", c.output)) for c in g.commands)) for g in t.legs))
        for t in measured.trials
    )  # fmt: skip
    forged = replace(whole, rungs=(replace(rung, experiments=(replace(measured, trials=claimed),)),))
    wanted = judge_document(forged)
    assert causes(wanted) - causes(judge_document(whole)) == {Cause.RAW_OUTPUT}
    few(monkeypatch)
    monkeypatch.setattr(condense, "RAW_BUDGET", 1000)
    *_, cut = condense._cuts(forged, condense._amount(forged))
    assert Cause.RAW_OUTPUT not in causes(judge_document(cut)), "shortened nothing is seen of it"
    shown = embedded(report.html(forged))
    assert shown.judgement is not None and decided(shown.judgement) == decided(wanted)
    assert [t.commands for t in trials_of(shown)] == [t.commands for t in trials_of(forged)]


def test_a_copied_trial_is_known_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = soak(LONGER, 3, steady=True)
    (rung,) = whole.rungs
    (measured,) = rung.experiments
    copied = (*measured.trials[:2], replace(measured.trials[0], id="c", repeat=2))
    forged = replace(whole, rungs=(replace(rung, experiments=(replace(measured, trials=copied),)),))
    few(monkeypatch)
    shown, judged = condense.condensed(forged)
    assert shown.abridged and Cause.COPIED in causes(judged)


@pytest.mark.parametrize("budget", ["FLOW_SECONDS", "RAW_BUDGET", "SAMPLE_BUDGET"])
def test_a_page_of_a_short_run_carries_all_of_it(budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is judged once; of a longer one the flows' own seconds are left out, and what is shown is judged again."""
    whole = replace(big(40), judgement=None)
    judged = []
    monkeypatch.setattr(condense, "RAW_BUDGET", 10_000_000)
    monkeypatch.setattr(condense, "judge_document", lambda *of: judged.append(of) or judge_document(*of))
    second = Interval(0.0, 1.0, 1_000_000)
    whole = condense._with_trials(whole, lambda _, t: flowing(t, second))
    assert condense.condensed(whole)[0] == whole
    assert len(judged) == 1 and flows_of(whole)
    monkeypatch.setattr(condense, budget, 1)
    *_, cut = condense._cuts(whole, condense._amount(whole))
    assert not flows_of(cut)
    condense.condensed(whole)
    assert len(judged) > 2


def flowing(trial: TrialResult, second: Interval) -> TrialResult:
    legs = tuple(
        replace(g, outcome=replace(g.outcome, flows=tuple(replace(f, intervals=(second,)) for f in g.outcome.flows)))
        for g in trial.legs
    )
    return replace(trial, legs=legs)


def flows_of(document: Document) -> list[Interval]:
    return [i for t in trials_of(document) for f in t.flows for i in f.intervals]


def test_a_week_takes_no_more_room_than_a_day_did() -> None:
    """Made of what a trial adds to a page as a week's are cut, and of what a page has without trials."""
    sizes = []
    for hours in (1, 2):
        whole = soak(HOUR, hours)
        share = hours / WEEK
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(rounding, "MOST", rounding.MOST * share)
            patched.setattr(rounding, "ANSWERS", round(rounding.ANSWERS * share))
            patched.setattr(condense, "RAW_BUDGET", condense.RAW_BUDGET * share)
            patched.setattr(condense, "SAMPLE_BUDGET", round(condense.SAMPLE_BUDGET * share))
            page = report.html(whole)
        assert embedded(page).abridged
        sizes.append(len(re.sub(r"<svg.*?</svg>", "", page).encode()))
    each = sizes[1] - sizes[0]
    size = sizes[0] + (WEEK - 1) * each + CHARTS
    print(f"an hour adds {each / 1e3:.1f} kB, a week takes {size / 1e6:.1f} MB")
    assert size < 6_000_000


def memory(count: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """At most, while a page is made of so many trials, and while it is verified."""
    few(monkeypatch)
    document = soak(LONGER, count)
    most = []
    page = report.html(document)
    usual = gc.get_threshold()
    gc.set_threshold(200, 2, 2)  # so that what is garbage is none of it
    try:
        for made in (lambda: report.html(document), lambda: verify.check(page, {})):
            gc.collect()
            tracemalloc.start()
            made()
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    finally:
        tracemalloc.stop()
        gc.set_threshold(*usual)
    return most[0], most[1]


def test_a_page_is_made_and_verified_in_the_memory_of_few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = memory(2, monkeypatch), memory(4, monkeypatch)
    made, verified = ((more - less) / 2 for less, more in zip(short, long, strict=True))
    print(f"a trial more takes {made / 1e3:.0f} kB while a page is made, {verified / 1e3:.0f} kB while it is verified")
    assert made < EACH and verified < EACH


def test_a_page_of_before_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of before had all of a long run deflated."""
    whole = soak(LONGER, 2)
    monkeypatch.setattr(page_data, "LONG", 10**6)
    page = report.html(whole)
    assert 'data-encoding="deflate"' in page
    monkeypatch.undo()
    assert decided(judge_document(embedded(page))) == decided(judge_document(whole))
    assert verify.check(page, {}).state is verify.State.UNSIGNED


HOSTILE = [
    '{"document":{"run":1}}\n', "\n", "", "[1]\n", '{"trials":[[1]]}\n', '{"trials":[[-1,1]]}\n{}\n', "{",
    '{"document":{},"trials":"x"}\n', '{"document":null,"trials":[]}\n',
]  # fmt: skip


@pytest.fixture(scope="module")
def short_page() -> str:
    return report.html(ladder(950e6))


@pytest.mark.parametrize("text", HOSTILE)
def test_lines_that_no_page_has_are_refused(
    text: str, short_page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = page_data._in_lines(iter(text.split("\n")[:-1] if text else []))
    other = page_data.DATA.sub(lambda _: forged.element, short_page)
    bare = other.replace(seal.SEAL.findall(other)[0][0], "")
    assert verify.check(seal.seal(bare, None), {}).state is not verify.State.VALID
    file = tmp_path / "r.html"
    file.write_text(other)
    assert cli.main(["judge", str(file)]) == 2 and "no linkladder document" in capsys.readouterr().err


TRIALS = [
    '{"~columns":{"a":1}}', '{"~columns":[]}', '{"~steps":["a","b"]}', '{"~steps":[1],"~digits":999999999}',
    '{"~rows":3}', '{"id":"x","id":"y"}', "[]", "nonsense", '{"~steps":[1e400]}',
]  # fmt: skip


@pytest.fixture(scope="module")
def of_one() -> str:
    return report.html(soak(LONGER, 1))


@pytest.mark.parametrize("line", TRIALS)
def test_a_line_that_is_no_trial_is_refused(
    line: str, of_one: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_ = page_data._texts(of_one)
    other = page_data.DATA.sub(lambda _: page_data._in_lines(iter([first[:-1], line])).element, of_one)
    file = tmp_path / "r.html"
    file.write_text(other)
    assert cli.main(["judge", str(file)]) == 2 and "no linkladder document" in capsys.readouterr().err
    with pytest.raises(ValueError):
        embedded(other)


def test_what_unpacks_without_end_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_data._in_lines(iter(["{}", *(" " * 100_000 for _ in range(30))])).element
    monkeypatch.setattr(page_data, "PIECE", 10_000)
    for name, most in (("MOST", 1_000_000), ("LONGEST", 50_000)):
        with monkeypatch.context() as less, pytest.raises(ValueError):
            less.setattr(page_data, name, most)
            list(page_data._texts(page))
    assert sum(map(len, page_data._texts(page))) == 3 + 30 * 100_001


def test_a_dead_second_of_an_hour_stays_in_the_chart() -> None:
    draw = random.Random(1)
    values = [(t + 0.5, draw.gauss(9e8, 5e7) if t != 1234 else 0.0) for t in range(3600)]
    chart = svg.over_time("an hour", [svg.Line("goodput", tuple(values))], [], [], 3.0, 3600.0)
    (points,) = re.findall(r'points="([^"]*)"', chart)
    drawn = [tuple(map(float, point.split(","))) for point in points.split()]
    across = svg.WIDTH - svg.LEFT - svg.RIGHT
    assert across < len(drawn) <= 2 * (across + 1) and drawn == sorted(drawn, key=lambda point: point[0])
    lowest = max(drawn, key=lambda point: point[1])
    assert abs(lowest[0] - (svg.LEFT + across * 1234.5 / 3600)) < 1 and lowest[1] == 197.0
    assert "goodput: 0 to" in chart


def test_seconds_that_no_figure_is_known_of_leave_a_gap_in_the_chart() -> None:
    """The line ran straight over an outage, and said that nothing below 949.6 Mb/s had been carried."""
    whole = trial(950e6)
    holed = changed(whole, intervals=tuple(i for i in whole.intervals if int(i.start) not in (6, 7, 8, 10)))
    for one, pieces, said in ((whole, [13], ""), (holed, [6, 2, 2], "from 6.0 s to 9.0 s, no figure from 10.0 s")):
        page = report.html(document(rung(RungName.DC_LINK, tcp(Direction.FORWARD, [one]))))
        (chart,) = (c for c in re.findall(r"<svg.*?</svg>", page) if ">goodput<" in c)
        lines = re.findall(r'<polyline class="ln c0" points="([^"]*)"', chart)
        assert [len(points.split()) for points in lines] == pieces, "one second alone is a dash of two points"
        assert ("no figure" in chart) is bool(said) and said in chart


def test_of_many_repeats_those_with_the_least_seconds_are_drawn() -> None:
    page = report.html(soak(LONGER, 10))
    (chart,) = (c for c in re.findall(r"<svg.*?</svg>", page) if ">repeat " in c)
    named = set(map(int, re.findall(r">repeat (\d+)<", chart)))
    assert named == {1, 2, 4, 6, 8, 10}, "the first, and those with dead seconds"


def test_a_page_without_long_trials_is_as_before() -> None:
    assert 'data-encoding="json"' in report.html(ladder(950e6)) and 'data-encoding="deflate"' in report.html(big(200))
