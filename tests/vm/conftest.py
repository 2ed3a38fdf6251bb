"""Machines for the tests of a built image; nothing here runs unless LINKLADDER_IMAGE names one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from .machine import Machine, Network, can_run

IMAGE = os.environ.get("LINKLADDER_IMAGE", "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = "LINKLADDER_IMAGE names no built image" if not IMAGE else can_run()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.vm)
            item.add_marker(pytest.mark.timeout(3600))
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def image() -> Path:
    return Path(IMAGE).resolve()


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    made = Network()
    yield made
    made.close()


@pytest.fixture(scope="module")
def booted(image: Path, network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One machine by UEFI, up to the TUI, for all tests that only look."""
    folder = tmp_path_factory.mktemp("vm")
    machine = Machine(folder, image, "alpha", 1, space=network.name, taps=network.taps(1))
    machine.start()
    try:
        machine.await_tui()
        yield machine
    finally:
        machine.cut()
