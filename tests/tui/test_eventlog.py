"""A log comes back as it went in; a torn end and foreign lines harm nobody."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

import recordings
import run_logs
from linkladder.codec import CodecError
from linkladder.errors import EnvironmentFault
from linkladder.events import PeerBack
from linkladder.model import RunState
from linkladder.run import eventlog
from linkladder.run.progress import Progress, Stage

LOG = recordings.load("quick").entries


def test_tail_sees_lines_as_they_are_finished(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    tail = eventlog.Tail(path)
    assert tail.poll() == []
    lines = [eventlog.dump(event, at) for at, event in LOG[:3]]
    path.write_text(lines[0] + "\n" + lines[1][:20], encoding="utf-8")
    assert len(tail.poll()) == 1
    with path.open("a") as file:
        file.write(lines[1][20:] + "\n" + lines[2][:-1])
    assert [at for at, _ in tail.poll()] == [LOG[1][0]]
    assert len(run_logs.whole(path)) == 2  # the third line was cut short


def test_a_log_says_its_form_and_another_one_is_refused_by_name(tmp_path: Path) -> None:
    """Old logs, as the recorded ones are, have no such line; a later linkladder of the same form may add keys."""
    path = tmp_path / "log.jsonl"
    recorder = eventlog.Recorder(path)
    recorder.write(PeerBack("beta"))
    recorder.close()
    first, line = path.read_text(encoding="utf-8").splitlines()
    assert first == '{"form": "linkladder-events/1"}'
    assert [event for _, event in run_logs.whole(path)] == [PeerBack("beta")]
    path.write_text(line + "\n", encoding="utf-8")
    assert [event for _, event in run_logs.whole(path)] == [PeerBack("beta")], "of before forms were told"
    path.write_text(f"{first}\n" + line.replace('"beta"', '"beta","since":3') + "\n", encoding="utf-8")
    assert [event for _, event in run_logs.whole(path)] == [PeerBack("beta")]
    path.write_text('{"form": "linkladder-events/2"}\n{"happened": "much"}\n', encoding="utf-8")
    with pytest.raises(EnvironmentFault, match="another linkladder") as refused:
        run_logs.whole(path)
    assert "linkladder-events/2" in refused.value.cause


@pytest.mark.parametrize("line", ["", "{", "[]", '{"event": "Nothing"}', '{"event": "PeerBack", "data": {}, "at": 1}'])
def test_foreign_lines_are_named(line: str) -> None:
    with pytest.raises(CodecError):
        eventlog.parse(line)


def test_progress_at_the_end_of_a_run() -> None:
    progress = Progress()
    for at, event in LOG:
        progress.apply(event, at)
    assert progress.over and progress.state is RunState.COMPLETE
    assert [r.stage for r in progress.rungs] == [Stage.DONE] * 4
    assert progress.done == progress.trials
    assert progress.whole_left() == pytest.approx(0.0, abs=1.0)
    told = recordings.load("quick").verdict("dc-link")
    assert progress.rung("dc-link").best_bps == pytest.approx(told.best_bps)


def test_time_left_only_falls_within_a_trial() -> None:
    progress = Progress()
    left = []
    for at, event in LOG[:20]:
        progress.apply(event, at)
        left.append(progress.whole_left())
    assert left == sorted(left, reverse=True)
    assert left[0] == pytest.approx(progress.seconds)


def test_a_spoilt_line_does_not_take_the_others_along(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [eventlog.dump(event, at) for at, event in LOG[:3]]
    path.write_text(f"{lines[0]}\n{lines[1][:30]}\n{lines[2]}\n", encoding="utf-8")
    assert [at for at, _ in run_logs.whole(path)] == [LOG[n][0] for n in (0, 2)]


def test_what_is_kept_back_makes_room_for_the_last_words(tmp_path: Path) -> None:
    """A real full disk is in the end-to-end tests; here the first write of the file fails as it would there."""
    path = tmp_path / "log.jsonl"
    log = eventlog.Recorder(path, spare=4096)
    assert path.with_suffix(".spare").stat().st_size == 4096
    real, full = log._file.flush, [OSError(28, "No space left on device")]

    def flush() -> None:
        if full:
            raise full.pop()
        real()

    log._file.flush = flush
    log.write(LOG[0][1])
    assert log.fault and not path.with_suffix(".spare").exists()
    log._file.flush = real
    log.write(LOG[-1][1])
    log.close()
    assert [type(event).__name__ for _, event in run_logs.whole(path)] == ["RunStarted", "RunFinished"]


def test_a_disk_that_takes_nothing_more_raises_nothing(tmp_path: Path) -> None:
    """A drive that fails under a file system; here /dev/full answers as it would."""
    path = tmp_path / "log.jsonl"
    log = eventlog.Recorder(path, spare=4096)
    log._file.close()
    log._file = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115
    for _, event in LOG:
        log.write(event)
    assert log.fault and log.fault.errno == errno.ENOSPC
    log.close()
    log.close()
