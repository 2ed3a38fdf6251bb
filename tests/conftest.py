"""What every test has: the captures, and the rule that a skipped test says why."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS / part) for part in ("lab", "seeds", "security", "unit", "bench")]
hypothesis.settings.register_profile(  # the machine may be busy with other tests, and slow at what it is given
    "shared", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("shared")


@pytest.fixture
def captures() -> Path:
    return TESTS / "captures"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test may touch the state of the person who runs it."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("LINKLADDER_STATE", str(folder))
    return folder


def pytest_collection_finish() -> None:
    """What all lanes load stays to the end: looking for garbage in it would take a tenth of a test's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # as the console has it


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    root = os.geteuid() == 0
    image = os.environ.get("LINKLADDER_IMAGE")
    for item in items:
        if any(map(item.get_closest_marker, ("alone", "calm"))) and not item.get_closest_marker("lab"):
            raise pytest.UsageError(f"{item.nodeid}: run.sh looks for alone and calm tests among those marked lab")
        if item.get_closest_marker("lab") and not (root and sys.platform == "linux"):
            item.add_marker(pytest.mark.skip(reason="lab tests need root and Linux network namespaces"))
        if item.get_closest_marker("vm") and not image:
            item.add_marker(pytest.mark.skip(reason="vm tests need LINKLADDER_IMAGE, a built appliance image"))
