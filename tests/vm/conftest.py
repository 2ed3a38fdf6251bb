"""Machines for the tests of a built image; nothing here runs unless LINKLADDER_IMAGE names one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .machine import Machine, can_run
from .network import Network, ThreeCards
from .pair import Pair, addressed

IMAGE = os.environ.get("LINKLADDER_IMAGE", "")
GIVEN = all(os.environ.get(f"LINKLADDER_{name}") for name in ("ALPHA", "BETA"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    reason = "LINKLADDER_IMAGE names no built image" if not IMAGE else can_run()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(7200))
            if item.path.name in ("test_failures.py", "test_bundle_on_loan.py", "test_member_on_loan.py") and GIVEN:
                continue
            item.add_marker(pytest.mark.vm)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def image() -> Path:
    return Path(IMAGE).resolve()


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """The raw image as it is written to a disk or a stick; the other forms of it are as large as their whole disk."""
    named = os.environ.get("LINKLADDER_RAW", "")
    if not named:
        pytest.skip("LINKLADDER_RAW names no raw image")
    if not named.endswith(".xz"):
        return Path(named).resolve()
    unpacked = tmp_path / "written.img"
    with unpacked.open("wb") as file:
        subprocess.run(["xz", "-dcT0", named], stdout=file, check=True)
    return unpacked


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    made = Network()
    yield made
    made.close()


class Machines:
    """What is powered on: two machines as a pair, with one test card each or with two, or one alone; nothing else."""

    def __init__(self, image: Path, network: Network, folder: Path) -> None:
        self.image, self.network, self.folder = image, network, folder
        self.pair_running: Pair | None = None
        self.of_two_cards: ThreeCards | None = None  # their network, where these are the ones that run

    def pair(self) -> Pair:
        if self.pair_running is None or self.of_two_cards:
            self.end_pair()
            self.pair_running = Pair(self.image, self.network, self.folder)
            self.pair_running.start()
        return self.pair_running

    def with_two_cards(self) -> Pair:
        """Paired, and with an address on each test card."""
        if self.pair_running is None or self.of_two_cards is None:
            self.end_pair()
            self.of_two_cards = ThreeCards()
            made = self.pair_running = Pair(self.image, self.of_two_cards, self.folder / "two-cards")
            made.start()
            made.paired()
            addressed(made.alpha)
            addressed(made.beta)
        return self.pair_running

    def end_pair(self) -> None:
        if self.pair_running is not None:
            self.pair_running.close()
            self.pair_running = None
        if self.of_two_cards is not None:
            self.of_two_cards.close()
            self.of_two_cards = None


@pytest.fixture(scope="session")
def machines(image: Path, network: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    made = Machines(image, network, tmp_path_factory.mktemp("pair"))
    yield made
    made.end_pair()


@pytest.fixture
def pair(machines: Machines) -> Pair:
    """Two machines up to their TUIs; started once for all tests that use them."""
    return machines.pair()


@pytest.fixture(scope="module")
def two_cards(machines: Machines) -> Pair:
    if GIVEN:
        pytest.skip("it needs machines that the tests start themselves: LINKLADDER_ALPHA and LINKLADDER_BETA are given")
    return machines.with_two_cards()


@pytest.fixture(scope="module")
def booted(
    machines: Machines, image: Path, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """One machine by UEFI, up to the TUI, for all tests that only look."""
    machines.end_pair()
    folder = tmp_path_factory.mktemp("vm")
    machine = Machine(folder, image, "single", 5, space=network.name, taps=network.taps(5))
    machine.start()
    try:
        machine.await_tui()
        yield machine
    finally:
        machine.cut()
