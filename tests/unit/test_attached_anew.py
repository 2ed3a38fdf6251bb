"""A card attached anew for other queues or rings: what the helper does to a pretended FreeBSD, and what it refuses."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
import types
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import host, privilege
from linkladder.host import freebsd, freebsd_queues
from linkladder.model import SettingKind
from linkladder.model.settings import tunables_of_queues
from linkladder.priv import accepted, appliance, attaching, card_state, verbs
from linkladder.priv.checks import Refused
from linkladder.priv.running import Failed
from linkladder.settings import Lease, SettingsError, journal, recover, reversible
from linkladder.settings.journal import Entry
from pretended_em import BEFORE, IFLIB, NAMES, FreeBSD, asked, system

__all__ = ["system"]


CHANGES = [
    ("ring", "512", {"override_nrxds": "512", "override_ntxds": "512"}, "default"),
    ("ring", "256/128", {"override_nrxds": "256", "override_ntxds": "128"}, "default"),
    ("queues", "1", {"override_nrxqs": "1", "override_ntxqs": "1"}, "default"),
    ("queue-core", "3", {"core_offset": "3"}, "1"),
]


@pytest.mark.parametrize(("kind", "value", "but", "old"), CHANGES)
def test_one_thing_changes_and_all_else_comes_back_both_times(
    system: FreeBSD, kind: str, value: str, but: dict[str, str], old: str
) -> None:
    asked(kind, value)
    system.as_before(**but)
    told = len(system.done)
    asked(kind, value)
    assert len(system.done) == told, "a second time changes nothing"
    asked(kind, old)
    system.as_before()


def test_two_things_change_and_go_back_one_after_the_other(system: FreeBSD) -> None:
    asked("ring", "512")
    asked("queues", "1")
    system.as_before(override_nrxds="512", override_ntxds="512", override_nrxqs="1", override_ntxqs="1")
    asked("queues", "default")
    asked("ring", "default")
    system.as_before()


def steps_of(system: FreeBSD) -> int:
    asked("ring", "512")
    count = len(system.done)
    asked("ring", "default")
    return count


def killed_at(system: FreeBSD, step: int, ring: str) -> None:
    """The helper in the middle of this; the next one that is asked for what was there brings it back."""
    system.done.clear()
    system.dies_at = step
    with pytest.raises(KeyboardInterrupt):
        asked("ring", ring)
    system.dies_at = -1
    asked("ring", "default")
    system.as_before()


def test_killed_at_any_step_the_undo_brings_it_back(
    system: FreeBSD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the card is gone by then, which no other verb would take."""
    count = steps_of(system)
    assert count > 15
    for step in range(count):
        killed_at(system, step, "512")


def test_killed_at_any_step_of_the_undo_the_next_one_brings_it_back(system: FreeBSD) -> None:
    count = steps_of(system)
    for step in range(count):
        asked("ring", "512")
        killed_at(system, step, "default")


def test_a_card_that_does_not_come_back_is_told_and_comes_back_with_what_it_had(system: FreeBSD) -> None:
    system.fails_with = {"4096"}
    with pytest.raises(Failed, match="em0 did not come back when it was attached anew"):
        asked("ring", "4096")
    assert system.em is None and system.kernel == system.kernel_at_first and not os.path.exists(system.ours)
    system.fails_with = {"4096", "0"}
    with pytest.raises(Failed, match="em0 did not come back"):
        asked("ring", "default")
    system.fails_with = set()
    asked("ring", "default")
    system.as_before()


def test_what_of_it_does_not_come_back_is_told_and_stays_written_down(system: FreeBSD) -> None:
    asked("ring", "512")
    system.keeps = "tso4"
    with pytest.raises(Failed, match=r"em0 .*tso4.* could not be put back"):
        asked("ring", "default")
    assert os.path.exists(attaching.RECORD.format("em0"))
    system.keeps = ""
    asked("ring", "default")
    system.as_before()


def test_the_address_that_a_card_sends_from_stands_first_again(system: FreeBSD) -> None:
    """Somebody has given it the second one meanwhile."""
    was = card_state.present("em0")
    system.em = replace(BEFORE, addresses=BEFORE.addresses[1:])
    card_state.put_back(was)
    assert card_state.present("em0") == was
    assert [a for a in system.em.addresses if ":" not in a] == list(BEFORE.addresses[:2])


def test_a_driver_that_takes_another_size_is_not_believed(system: FreeBSD) -> None:
    with pytest.raises(Failed, match="em0 took 4096 descriptors, not 8192"):
        asked("ring", "8192")
    system.as_before(override_nrxds="8192", override_ntxds="8192")
    asked("ring", "default")
    system.as_before()


def test_what_the_machine_itself_asks_for_in_vain_goes_back_to_that(system: FreeBSD) -> None:
    variables = {"override_nrxds": "8192", "override_ntxds": "8192"}
    system.kernel = {IFLIB + name: value for name, value in variables.items()}
    system.kernel_at_first = dict(system.kernel)
    system.em = replace(BEFORE, asked=BEFORE.asked | variables)
    asked("ring", "512")
    asked("ring", "8192")
    system.as_before(**variables)


def test_a_card_with_what_would_not_come_back_is_refused_before_anything_is_done(
    system: FreeBSD, tmp_path: Path
) -> None:
    def refused(words: str) -> None:
        with pytest.raises(Failed, match=words):
            asked("ring", "512")
        assert system.done == []
        system.as_before()

    system.odd = "\n\tdescription: the carrier's"
    refused('em0 has "description: the carrier\'s", which would not come back')
    system.odd, system.routes = "", "default            10.77.0.254        UGS     3     1500     em0\n"
    refused("em0 leads to default through a router")
    system.routes, system.others = "", "vlan7: flags=1<UP>\n\tvlan: 7 vlanproto: 802.1q parent interface: em0\n"
    refused("em0 has a VLAN on it")
    system.others = ""
    system.em = replace(BEFORE, sysctls=BEFORE.sysctls | {"dev.em.0.fc": "0"})
    with pytest.raises(Failed, match="flow control of em0 is not the driver's own"):
        asked("ring", "512")
    system.em = BEFORE
    (tmp_path / "rule").unlink()
    refused("without which devd would set em0 up by rc.conf")


def test_a_card_in_use_stays_as_it_is(system: FreeBSD) -> None:
    system.others = "of some other kind: vlan"
    with pytest.raises(Failed, match="em0 is in use and cannot be detached"):
        asked("ring", "512")
    system.others = ""
    system.as_before()


def test_the_helper_takes_cards_of_known_drivers_and_whole_numbers(system: FreeBSD) -> None:
    for kind, *words in (
        ("ring", "em0", "500"), ("ring", "em0", "32768"), ("ring", "em0", "0"), ("ring", "em0", "512;x"),
        ("queues", "em0", "129"), ("queues", "em0", "x"), ("queue-core", "em0", "any"), ("queue-core", "em0", "1024"),
        ("ring", "em9", "512"), ("ring", "em0"), ("ring", "em0", "512", "512"), ("ring", "../em0", "512"),
    ):  # fmt: skip
        with pytest.raises(Refused):
            verbs.build("measure", kind, words, "FreeBSD")
    for card in ("vmx1", "ix0", "igb", "em", "em0.7", "xem0"):
        with pytest.raises(Refused, match="FreeBSD reads this when it attaches a card, which may stop the kernel"):
            verbs.build("measure", "ring", [card, "512"], "FreeBSD")
    assert system.done == []


def test_the_management_adapter_stays_as_it_is(system: FreeBSD, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appliance, "setting", lambda name: "em0")
    with pytest.raises(Refused, match="management adapter"):
        asked("ring", "512")
    Path(attaching.RECORD.format("em0")).touch()
    with pytest.raises(Refused, match="management adapter"):
        asked("ring", "512")


# --- what the unprivileged side reads


def test_what_a_card_was_attached_with_is_told_of_known_drivers_alone() -> None:
    def told(kind: str, card: str = "em0", **asked: str) -> str:
        values = {IFLIB + n: asked.get(n, BEFORE.asked[n]) for n in NAMES}
        values |= {f"{IFLIB}{side}{n}.cpu": str(1 - n) for side in ("rxq", "txq") for n in (0, 1)}
        return freebsd_queues.chosen(kind, card, values)

    assert told("ring") == told("queues") == "default" and told("queue-core") == "1"
    assert told("ring", override_nrxds="512", override_ntxds="512") == "512"
    assert told("ring", override_nrxds="512") == "512/default"
    assert told("queues", override_nrxqs="64", override_ntxqs="64") == "2", "as many as there are"
    assert told("ring", "vmx0") == told("ring", "em1") == ""
    asked_of_igb = {f"dev.igb.1.iflib.{name}": "512" for name in ("override_nrxds", "override_ntxds")}
    assert freebsd_queues.chosen("ring", "igb1", asked_of_igb) == "512"
    assert tunables_of_queues(SettingKind.RING, "igb1", "512") == asked_of_igb
    assert told("queue-core", core_offset="0") == "", "its queues do not follow it"


def test_nobody_reads_the_sysctls_of_a_card_that_is_attached_anew(
    machine: FreeBSD, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their handlers use what the card has not got then: whoever began before has time, and nobody begins."""
    waited: list[tuple[float, bool]] = []

    def sleep(seconds: float) -> None:
        assert os.path.exists(attaching.RECORD.format("em0")) and not freebsd._driver("em0")
        waited.append((seconds, machine.em is not None))

    assert freebsd._driver("em0")
    monkeypatch.setattr(attaching, "GRACE", 0.5)
    monkeypatch.setattr("linkladder.priv.attaching.time.sleep", sleep)
    asked("ring", "512")
    assert (0.5, True) in waited, "before it is detached"
    assert freebsd._driver("em0")


@pytest.mark.parametrize("kind", reversible.OF_QUEUES)
def test_a_card_that_its_helper_detached_is_not_taken_for_gone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "vmx0")])
    monkeypatch.setattr(host, "system", lambda: "FreeBSD")
    assert reversible.missing(Entry(kind, "em0", "default", "1")) == ""
    assert reversible.missing(Entry("mtu", "em0", "1500", "9000")) == "em0"
    monkeypatch.setattr(host, "system", lambda: "Linux")
    assert reversible.missing(Entry(kind, "em0", "4", "1")) == "em0"


@pytest.fixture
def machine(system: FreeBSD, monkeypatch: pytest.MonkeyPatch) -> FreeBSD:
    """The same as the unprivileged side sees and changes it, through the helper's verbs."""

    def output(argv: list[str]) -> str:
        assert argv == ["sysctl", "-ie", *(f"dev.em.0.{part}" for part in ("iflib", "mac_stats", "fc", "enable_aim"))]
        if system.em is None:
            return ""
        count = int(system.em.asked["override_nrxqs"]) or 2
        cores = {f"{IFLIB}{side}{n}.cpu": str(n) for side in ("rxq", "txq") for n in range(count)}
        values = {IFLIB + n: value for n, value in system.em.asked.items()} | cores
        return "".join(f"{name}={value}\n" for name, value in values.items())

    async def run(verb: str, *words: str) -> privilege.Completed:
        try:
            asked(verb, words[1], words[0])
        except (Failed, Refused) as why:
            return privilege.Completed(1, "", str(why))
        except KeyboardInterrupt:
            system.dies_at = -1
            return privilege.Completed(1, "", "killed")
        return privilege.Completed(0, "", "")

    seen = freebsd.FreeBSD.__new__(freebsd.FreeBSD)
    monkeypatch.setattr(freebsd, "RECORD", attaching.RECORD)
    monkeypatch.setattr(freebsd, "output", output)
    monkeypatch.setattr(host, "setting", seen.setting)
    monkeypatch.setattr(host, "system", lambda: "FreeBSD")
    monkeypatch.setattr(host, "boot_id", lambda: "this boot")
    monkeypatch.setattr(privilege, "run", run)
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "vmx0"), *([(2, "em0")] if system.em else [])])
    return system


BOTH = [reversible.Change("ring", "em0", "512"), reversible.Change("queues", "em0", "1")]


async def test_a_loan_is_in_force_and_goes_back(machine: FreeBSD, own_state: Path) -> None:
    lease = Lease(BOTH)
    assert await lease.acquire() == ("ring em0: default -> 512", "queues em0: default -> 1")
    machine.as_before(override_nrxds="512", override_ntxds="512", override_nrxqs="1", override_ntxqs="1")
    await lease.release()
    machine.as_before()
    assert not (own_state / journal.NAME).exists()


async def test_a_helper_killed_at_any_step_leaves_nothing_changed_and_nothing_said_to_be_somebody_else_s(
    machine: FreeBSD, own_state: Path
) -> None:
    for step in range(steps_of(machine)):
        machine.done.clear()
        machine.dies_at = step
        with pytest.raises(SettingsError, match="ring em0 could not be set to 512"):
            await Lease(BOTH).acquire()
        machine.as_before()
        assert not (own_state / journal.NAME).exists() and journal.Journal(own_state).notice() == ""


async def test_nor_does_one_killed_at_any_step_of_giving_back(machine: FreeBSD, own_state: Path) -> None:
    """Also where the value is the old one by then, and the addresses are not there yet."""
    for step in range(2 * steps_of(machine)):  # as two things go back
        lease = Lease(BOTH)
        await lease.acquire()
        machine.done.clear()
        machine.dies_at = step
        await lease.release()
        machine.as_before()
        assert not (own_state / journal.NAME).exists() and journal.Journal(own_state).notice() == ""


async def test_a_card_that_does_not_come_back_is_a_loan_that_is_not_put_back_until_it_does(
    machine: FreeBSD, own_state: Path
) -> None:
    lease = Lease(BOTH[:1])
    await lease.acquire()
    machine.fails_with = {"0"}
    with pytest.raises(reversible.NotPutBack) as caught:
        await lease.release()
    assert caught.value.cause == (
        "ring em0 could not be set to default (em0 did not come back when it was attached anew)"
    )
    assert (own_state / journal.NAME).exists() and machine.em is None
    machine.fails_with = set()
    await recover(own_state)
    machine.as_before()
    assert not (own_state / journal.NAME).exists()


def test_what_a_person_takes_as_it_is_is_not_put_back_later(
    system: FreeBSD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.fails_with = {"512"}
    with pytest.raises(Failed):
        asked("ring", "512")
    monkeypatch.setattr(accepted, "ATTACHING", str(tmp_path / "record.*"))
    accepted.accept(str(tmp_path))
    assert not os.path.exists(attaching.RECORD.format("em0"))


def test_who_asks_for_all_interfaces_waits_until_the_card_is_there_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FreeBSD panics in if_detach where a card goes that is being asked."""
    monkeypatch.setattr(attaching, "TURN", str(tmp_path / "turn"))
    assert attaching.at_rest(0.0), "there was none since the machine started"
    asked_at: list[float] = []
    monkeypatch.setattr(freebsd, "output", lambda argv: str(asked_at.append(time.monotonic()) or ""))
    machine = freebsd.FreeBSD.__new__(freebsd.FreeBSD)
    machine._calls = types.SimpleNamespace(links=lambda: iter(()))  # type: ignore[assignment]
    with (tmp_path / "turn").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not attaching.at_rest(0.1), "it does not wait for ever"
        reads = threading.Thread(target=machine._nics)
        reads.start()
        time.sleep(0.3)
        assert not asked_at
        fcntl.flock(held, fcntl.LOCK_UN)
        freed = time.monotonic()
        reads.join(30)
        assert asked_at and asked_at[0] >= freed
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # who has asked holds nothing


def test_everybody_may_see_that_a_card_is_attached_anew(system: FreeBSD) -> None:
    before = os.umask(0o077)
    try:
        asked("ring", "512")
    finally:
        os.umask(before)
    assert os.stat(attaching.TURN).st_mode & 0o777 == 0o644
