"""One trial written down twice is found by its odd seconds; a shaper's equal ones are none."""

from __future__ import annotations

from linkladder.judge.copies import copies, moved_or_changed
from linkladder.model import (
    CpuUse,
    Direction,
    Document,
    EndRecord,
    Experiment,
    ExperimentResult,
    Interval,
    Leg,
    Outcome,
    Plan,
    Rung,
    RungName,
    RungResult,
    RunInfo,
    RunState,
    TrialResult,
)

EVEN = 23913720  # 16515 segments: what a bucket of 200 Mb/s let through in most seconds of real trials
FIRST = [23998632, EVEN, 23848560, *[EVEN] * 10, 3543736]
SECOND = [23985560, EVEN, EVEN, EVEN, EVEN, 23881864, *[EVEN] * 7, 1557424]


def run(*trials: list[int], loads: tuple[float, ...] = (12.5, 12.5)) -> Document:
    made = tuple(trial(n, seconds, load) for n, (seconds, load) in enumerate(zip(trials, loads, strict=True)))
    p = Experiment("tcp", duration=14.0, repeats=len(made))
    rung = RungResult(RungName.DC_LINK, experiments=(ExperimentResult(p, made),))
    plan = Plan("p", rungs=(Rung(RungName.DC_LINK, experiments=(p,)),))
    return Document(RunInfo("r", "2026-11-22T10:00:00+00:00", plan, RunState.COMPLETE), (rung,))


def copied(*trials: list[int], loads: tuple[float, ...] = (12.5, 12.5)) -> bool:
    return bool(copies(run(*trials, loads=loads)))


def trial(number: int, seconds: list[int], load: float) -> TrialResult:
    intervals = tuple(Interval(float(n), n + 1.0, size, Direction.FORWARD, True) for n, size in enumerate(seconds))
    total = sum(seconds) * 8 / len(seconds)
    outcome = Outcome(True, goodput_bps=total, by_direction={"forward": total}, intervals=intervals)
    ends = (EndRecord("near", cpu=CpuUse(load, load, load / 100)),)
    return TrialResult(f"t{number}", number, (Leg(outcome),), ends)


def test_seconds_that_a_shaper_makes_equal_are_no_copy() -> None:
    assert not copied(FIRST, SECOND)
    assert not copied([FIRST[0], EVEN, EVEN, EVEN], [FIRST[0], EVEN, EVEN, EVEN]), "short, and one odd value alone"


def test_two_trials_that_carried_nothing_are_no_copy() -> None:
    odd = [23_000_000 + 7919 * n * n % 100_003 for n in range(14)]
    for first, second, doubted in (([0] * 14, [0] * 14, False), (odd, [*odd[:-1], odd[-1] + 1], True)):
        nearly = run(first, second)
        assert bool(moved_or_changed(nearly.rungs[0], nearly)) is doubted


def test_the_same_odd_seconds_are_one_trial() -> None:
    assert copied(FIRST, FIRST)
    changed = [23000000 + 71 * n for n in range(14)]
    assert copied(changed, [*changed[:3], 1, *changed[4:9], 2, *changed[10:]]), "also where two were altered"
    assert copied([1, 5, 9, 9], [1, 5, 9, 9])
    assert copied([1, 5, 7, 9], [1, 5, 7, 9], loads=(12.5, 31.0)), "all are odd"


def test_a_bucket_s_first_and_last_second_are_alike_in_two_trials() -> None:
    """Seen of two pairs, each through a bucket of its own: what the last second has is what the first left."""
    shaped = [24342500, EVEN, EVEN, EVEN, 909680]
    assert not copied(shaped, shaped, loads=(12.5, 31.0)) and copied(shaped, shaped)


def test_a_long_trial_that_was_written_down_twice_is_found_by_some_of_its_seconds() -> None:
    noisy = [[110_000_000 + 1448 * (n * n * prime % 9973) for n in range(3600)] for prime in (17, 29, 31)]
    assert not copied(*noisy, loads=(12.5,) * 3)
    altered = [size + 1 if n % 5 == 0 else size for n, size in enumerate(noisy[0])]
    assert copied(*noisy, altered, loads=(12.5,) * 4), "of which a fifth was altered"
    half = [size + n % 2 for n, size in enumerate(noisy[0])]
    assert not copied(*noisy, half, loads=(12.5,) * 4)
    shaped = [EVEN] * 3600
    shaped[700:710] = FIRST[:1] + [EVEN - 1448 * n for n in range(9)]
    other = [EVEN] * 3600
    other[100:110] = [EVEN + 1448 * n for n in range(10)]
    assert copied(shaped, shaped) and not copied(shaped, other)
