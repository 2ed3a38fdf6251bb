"""The JSON of a run of days is read trial by trial: its JSON values all at once would take a small machine's memory."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest

from linkladder import report
from linkladder.commands import read_documents
from linkladder.errors import UsageError
from linkladder.laid_on_disk import Shelved
from test_long_pages import LONGER, soak, trials_of

OVER = 2.5  # of the text's length: the file's bytes and the text of them stand beside each other for a moment


def written(folder: Path, trials: int) -> Path:
    file = folder / f"{trials}.json"
    file.write_text("".join(report.json_pieces(soak(LONGER, trials))))
    return file


def test_reading_takes_little_more_than_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_documents, "LARGE", 0)
    few, more = written(tmp_path, 2), written(tmp_path, 6)
    most = []
    for file in (few, few, more):  # the first puts the decoders together
        gc.collect()
        tracemalloc.start()
        read_documents.read_document(str(file))
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    longer = more.stat().st_size - few.stat().st_size
    print(f"{longer} bytes more of JSON take {most[2] - most[1]} more of memory")
    assert most[2] - most[1] < OVER * longer


@pytest.mark.parametrize("large", [0, 1 << 40])
def test_it_is_the_same_document(large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_documents, "LARGE", large)
    file = written(tmp_path, 2)
    found = read_documents.read_document(str(file))
    assert "".join(report.json_pieces(found)) == file.read_text()
    shelved = [isinstance(trial.loads[0].intervals, Shelved) for trial in trials_of(found)]
    assert shelved == [large == 0] * 2


def test_what_is_wrong_in_a_trial_is_named_by_its_place(tmp_path: Path) -> None:
    file = written(tmp_path, 2)
    text = file.read_text()
    end = text.rindex('"started": "')
    file.write_text(f'{text[:end]}"started": 7, "was": "{text[end + 12 :]}')
    with pytest.raises(UsageError) as refused:
        read_documents.read_document(str(file))
    assert "experiments[0].trials[1].started: expected str, got int" in refused.value.cause
