"""The live lines of `linkladder run` on a terminal: what each path carries, and nothing left of it afterwards."""

from __future__ import annotations

import pytest

from linkladder import events
from linkladder.commands.run_lines import Lines
from linkladder.model import Experiment, Interval, Path, Plan, Rung, RungName

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
