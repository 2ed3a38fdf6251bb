"""The live lines of `linkladder run` on a terminal: what each path carries, and nothing left of it afterwards."""

from __future__ import annotations

import re
from pathlib import Path as FilePath

import pytest

import linkladder
from linkladder import events
from linkladder.commands.run_lines import Lines
from linkladder.model import (
    Evidence,
    Experiment,
    Fault,
    Interval,
    Leg,
    Outcome,
    Path,
    Plan,
    Rung,
    RungName,
    RungResult,
    RunState,
    TrialResult,
)
from linkladder.run.progress import Progress

SOURCE = FilePath(linkladder.__file__).parent
LOAD = Experiment("tcp-1s-default-forward")


def shown(capsys: pytest.CaptureFixture[str], paths: int) -> tuple[str, str]:
    """What a second of a trial over so many paths prints, and the notice after it."""
    rung = Rung(RungName.DC_LINK, tuple(Path(peer=f"peer{n}") for n in range(paths)), (LOAD,))
    each = tuple(events.PathRate(n, 100e6 * (n + 1)) for n in range(paths)) if paths > 1 else ()
    lines = Lines(quiet=False, terminal=True)
    lines.show(events.RunStarted("r", Plan("p", rungs=(rung,)), 60.0, 1), 0.0)
    lines.show(events.TrialStarted(rung.name, LOAD.id, 0, 0, 20.0), 0.0)
    capsys.readouterr()
    lines.show(events.IntervalSeen(Interval(0, 1, 75_000_000), each), 1.0)
    live = capsys.readouterr().err
    lines.show(events.Notice("something"), 1.5)
    return live, capsys.readouterr().err


def test_one_path_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    live, after = shown(capsys, 1)
    assert "600 Mb/s" in live and "\n" not in live and "\x1b" not in live + after


def test_each_of_several_paths_has_a_line_below_and_the_cursor_is_back_on_the_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    live, after = shown(capsys, 3)
    lines = live.split("\r\n")
    assert "600 Mb/s" in lines[0] and "near to peer1: 200 Mb/s" in lines[2]
    assert len(lines) == 4 and live.endswith("\x1b[3A") and all(len(line.strip("\r")) <= 83 for line in lines)
    assert after.startswith("\r") and "\x1b[J  something" in after, "what was below is wiped away first"


def test_of_very_many_paths_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    live, _ = shown(capsys, 30)
    assert live.count("\n") == 12 and "and 19 more" in live


def test_a_reason_that_many_trials_failed_for_is_said_once_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    why = "sh0 of the near end has no link"
    rung = Rung(RungName.DC_LINK, (Path(peer="beta"),), (LOAD,))
    lines = Lines(quiet=False, terminal=False)
    lines.show(events.RunStarted("r", Plan("p", rungs=(rung,)), 60.0, 3), 0.0)
    for repeat, reason in enumerate((why, why, "refused", why)):
        failed = TrialResult("x", repeat, (Leg(Outcome(False, Fault.PATH, reason)),))
        lines.show(events.TrialFinished(rung.name, LOAD.id, failed), 1.0)
    during = capsys.readouterr().err
    assert during.count(why) == 1 and during.count("failed (path): for the same reason") == 2
    lines.show(events.RungFinished(rung.name, RungResult(rung.name, rung.paths, ())), 2.0)
    assert capsys.readouterr().err.splitlines() == [f"  dc-link: 3 trials failed: {why}"]


def test_one_failed_trial_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    for failed, words in ((1, "1 trial failed;"), (2, "2 trials failed;")):
        Lines(quiet=False, terminal=False).show(events.RunFinished("r", RunState.COMPLETE, failed), 1.0)
        said = capsys.readouterr()
        assert words in said.out + said.err


LOST = events.PeerLost("beta", "the connection broke?", 4.2)
ELSEWHERE = Evidence("another host", ("one subnet", "no router between"), True, against=("one subnet",))


def test_what_happens_has_the_same_words_on_a_terminal_and_on_a_screen(capsys: pytest.CaptureFixture[str]) -> None:
    lines, progress = Lines(quiet=False, terminal=False), Progress()
    for event in (LOST, events.PeerBack("beta"), events.EvidenceFound(RungName.SAME_HOST, ELSEWHERE)):
        lines.show(event, 1.0)
        progress.apply(event, 1.0)
    printed = [line.strip() for line in capsys.readouterr().err.splitlines()]
    lost, back, place = (notice.text for notice in progress.notices)
    assert (
        printed[:2]
        == [lost, back]
        == ["beta is out of reach: the connection broke, trying again in 5 s", "beta is back"]
    )
    assert place == "The facts contradict the claim: one subnet; no router between."
    assert printed[2] == "same-host: The facts contradict the claim: one subnet.", "and briefly what speaks against it"


@pytest.mark.parametrize(
    "words", ["out of reach", "is lost: ", "{peer} is back", "contradict the claim", "evidence contradicts"]
)
def test_these_words_stand_in_the_phrasebook_alone(words: str) -> None:
    rooms = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".j2") and "phrases" not in path.parts]
    code = {path.name: re.sub(r'"""[\s\S]*?"""', "", path.read_text()) for path in rooms}
    found = [name for name, text in code.items() if any(words in line.split("  #")[0] for line in text.splitlines())]
    assert not found
