"""A card attached anew for other queues or rings: what the helper does to a pretended FreeBSD, and what it refuses."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from linkladder import host
from linkladder.host import freebsd_queues
from linkladder.priv import accepted, appliance, attaching, card_state, verbs
from linkladder.priv.checks import Refused
from linkladder.priv.running import Failed
from linkladder.settings import reversible
from linkladder.settings.journal import Entry

ON = ("rxcsum", "txcsum", "tso4", "tso6", "lro", "vlanhwtag")
IFLIB = "dev.em.0.iflib."
NAMES = tuple(one for ones in attaching.VARIABLES.values() for one in ones)


@dataclass(frozen=True)
class Em:
    """em0 as the kernel has it; what stands here is what a card that was just attached has."""

    asked: dict[str, str]
    mtu: int = 1500
    up: bool = False
    offloads: tuple[str, ...] = ("rxcsum", "txcsum", "lro", "vlanhwtag")  # if_em.c leaves TSO off
    addresses: tuple[str, ...] = ()
    neighbours: tuple[str, ...] = ("PERFORMNUD", "AUTO_LINKLOCAL", "IFDISABLED")
    sysctls: dict[str, str] = field(default_factory=lambda: {"dev.em.0.fc": "3", "dev.em.0.iflib.rx_budget": "0"})


BEFORE = Em(
    {**dict.fromkeys(NAMES, "0"), "core_offset": "1"},
    mtu=9000,
    up=True,
    offloads=ON,
    addresses=("10.78.0.1/24", "10.77.0.1/24", "fe80::1/64"),
    neighbours=("PERFORMNUD", "AUTO_LINKLOCAL"),
    sysctls={"dev.em.0.fc": "3", "dev.em.0.iflib.rx_budget": "16"},
)


class FreeBSD:
    """Does to em0 what 15.1 was seen to do to an 82574L: the interface goes, and comes back as a new one."""

    def __init__(self, ours: str) -> None:
        self.em: Em | None = BEFORE
        self.enabled = True
        self.kernel = {IFLIB + "override_ntxds": "2048"}
        self.kernel_at_first = dict(self.kernel)
        self.ours = ours
        self.set_up_by_devd = 0
        self.next_core = 0  # of a card that is attached without being told
        self.messages = ["em0: Using 1024 TX descriptors and 1024 RX descriptors"]
        self.odd = self.routes = self.others = ""
        self.fails_with: set[str] = set()  # sizes of rings for which there is no memory
        self.keeps = ""  # an option that ifconfig does not change
        self.done: list[str] = []
        self.dies_at = -1

    def alive(self) -> None:
        if 0 <= self.dies_at <= len(self.done):
            raise KeyboardInterrupt  # killed, and nothing is tidied up afterwards

    def capture(self, argv: list[str]) -> str:
        self.alive()
        program, *words = argv
        em = self.em
        if program == attaching.DEVCTL or (program == attaching.KENV and words[0] != "-q"):
            with contextlib.suppress(Failed, KeyError):
                self.run(argv, False)
            return ""
        if program == attaching.KENV:
            return self.kernel.get(words[1], "")
        if program == attaching.SYSCTL:
            if words[1] == "kern.msgbuf":
                return "\n".join(self.messages)
            if words[1] == "kern.boot_id":
                return "this boot"
            if em is None:
                return ""
            if words[0] == "-eW":
                return "\n".join(f"{n}={v}" for n, v in {**em.sysctls, f"{IFLIB}override_nrxqs": "7"}.items())
            if words[1] == "dev.em.0.%location":
                return "slot=3 function=0 dbsf=pci0:0:3:0 handle=\\_SB_.PCI0.S18_\n"
            return em.asked[words[1].removeprefix(IFLIB)]
        if program == "/usr/bin/netstat":
            return self.routes
        if words == ["-l"]:
            return "vmx0 em0 lo0" if em else "vmx0 lo0"
        if words == ["-a"]:
            return self.others
        return self.shown(em) if em else ""

    def shown(self, em: Em) -> str:
        on = ",".join(theirs for theirs, ours in card_state.OFFLOADS.items() if ours in em.offloads)
        lines = [f"em0: flags=1<{'UP,' if em.up else ''}BROADCAST,SIMPLEX,MULTICAST> metric 0 mtu {em.mtu}"]
        lines += [f"\toptions=1<{on}>", "\tether 52:54:00:1b:01:01"]
        lines += [f"\tinet{'6' if ':' in a else ''} {a.replace('/', '%em0/') if ':' in a else a}" for a in em.addresses]
        lines += ["\tmedia: Ethernet autoselect (1000baseT <full-duplex>)", "\tstatus: active"]
        return "\n".join([*lines, f"\tnd6 options=21<{','.join(em.neighbours)}>{self.odd}"])

    def run(self, argv: list[str], watch_caller: bool = True) -> None:
        assert not watch_caller, "what is half done is done to its end, whoever has gone"
        self.alive()
        program, *words = argv
        self.done.append(" ".join(words))
        if program == attaching.KENV:
            if words[0] == "-u":
                del self.kernel[words[1]]
            else:
                self.kernel.update([words[0].split("=")])
        elif program == attaching.DEVCTL:
            assert words[1] == "pci0:0:3:0"
            self.disable() if words[0] == "disable" else self.enable()
        elif program == attaching.SYSCTL:
            assert self.em
            self.em = replace(self.em, sysctls={**self.em.sysctls, **dict([words[0].split("=")])})
        else:
            assert self.em and words[0] == "em0"
            self.ifconfig(self.em, words[1:])

    def disable(self) -> None:
        if not self.enabled or "vlan" in self.others:
            raise Failed("/usr/sbin/devctl ended with 1")
        self.em, self.enabled = None, False

    def enable(self) -> None:
        assert not self.enabled
        self.enabled = True
        asked = {name: self.kernel.get(IFLIB + name, "0") for name in NAMES}
        if self.fails_with & set(asked.values()):
            raise Failed("/usr/sbin/devctl ended with 1")
        core = self.kernel.get(IFLIB + "core_offset", str(self.next_core))
        self.next_core += 1
        self.em = Em({**asked, "core_offset": core})
        sizes = [min(int(asked[way]) or 1024, 4096) for way in ("override_ntxds", "override_nrxds")]
        self.messages.append("em0: Using {} TX descriptors and {} RX descriptors".format(*sizes))
        if os.path.exists(self.ours):
            os.unlink(self.ours)  # as devd's rule does
        else:
            self.set_up_by_devd += 1

    def ifconfig(self, em: Em, words: list[str]) -> None:
        if words[0] in ("up", "down"):
            self.em = replace(em, up=words[0] == "up")
        elif words[0] == "mtu":
            self.em = replace(em, mtu=int(words[1]))
        elif words[-1] == "delete":
            self.em = replace(em, addresses=tuple(a for a in em.addresses if a.partition("/")[0] != words[1]))
        elif words[-1] == "alias":
            self.em = replace(em, addresses=(*em.addresses, words[1]))
        elif words[0] == "inet6":
            state = {word.removeprefix("-"): not word.startswith("-") for word in words[1:]}
            kept = tuple(f for f, w in attaching.NEIGHBOURS.items() if state.get(w, f in em.neighbours))
            more = () if "IFDISABLED" in kept else ("fe80::1/64",)
            self.em = replace(em, neighbours=kept, addresses=tuple(dict.fromkeys((*em.addresses, *more))))
        else:
            state = {word.removeprefix("-"): not word.startswith("-") for word in words if word != self.keeps}
            flags = card_state.OFFLOADS.values()
            self.em = replace(em, offloads=tuple(f for f in flags if state.get(f, f in em.offloads)))

    def as_before(self, **but: str) -> None:
        """Everything, but for what was asked for; nothing of ours lies about."""
        assert self.em is not None
        shown = replace(self.em, offloads=(), addresses=tuple(sorted(self.em.addresses, key=lambda a: ":" in a)))
        assert shown == replace(BEFORE, offloads=(), asked=BEFORE.asked | but)
        assert set(self.em.offloads) == set(ON) and self.kernel == self.kernel_at_first
        assert not os.path.exists(attaching.RECORD.format("em0")) and not os.path.exists(self.ours)
        assert self.set_up_by_devd == 0


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FreeBSD]:
    made = FreeBSD(str(tmp_path / "ours.em0"))
    for module in (attaching, card_state, appliance):
        monkeypatch.setattr(module, "capture", made.capture)
    monkeypatch.setattr(card_state, "run", made.run)
    monkeypatch.setattr(card_state, "PAUSE", 0.0)
    for name, path in (("RECORD", "record.{}"), ("TURN", "turn"), ("OURS", "ours.{}"), ("RULE", "rule")):
        monkeypatch.setattr(attaching, name, str(tmp_path / path))
    (tmp_path / "rule").touch()
    monkeypatch.setattr("linkladder.priv.checks.socket.if_nametoindex", there(made))
    monkeypatch.setattr(appliance, "setting", lambda name: "vmx0")
    yield made


def there(system: FreeBSD):  # type: ignore[no-untyped-def]
    def index(name: str) -> int:
        if name not in system.capture([card_state.IFCONFIG, "-l"]).split():
            raise OSError
        return 1

    return index


def asked(kind: str, value: str, card: str = "em0") -> None:
    for step in verbs.build("measure", kind, [card, value], "FreeBSD"):
        assert callable(step)
        step()


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


def test_killed_at_any_step_the_undo_brings_it_back(
    system: FreeBSD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the card is gone by then, which no other verb would take."""
    count = steps_of(system)
    assert count > 15
    for step in range(count):
        system.done.clear()
        system.dies_at = step
        with pytest.raises(KeyboardInterrupt):
            asked("ring", "512")
        system.dies_at = -1
        asked("ring", "default")
        system.as_before()


def test_killed_at_any_step_of_the_undo_the_next_one_brings_it_back(system: FreeBSD) -> None:
    count = steps_of(system)
    for step in range(count):
        asked("ring", "512")
        system.done.clear()
        system.dies_at = step
        with pytest.raises(KeyboardInterrupt):
            asked("ring", "default")
        system.dies_at = -1
        asked("ring", "default")
        system.as_before()


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
    for card in ("vmx1", "igb0", "em", "em0.7", "xem0"):
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
        values |= {f"{IFLIB}{side}{n}.cpu": str(n) for side in ("rxq", "txq") for n in (0, 1)}
        return freebsd_queues.chosen(kind, card, values)

    assert told("ring") == told("queues") == "default" and told("queue-core") == "1"
    assert told("ring", override_nrxds="512", override_ntxds="512") == "512"
    assert told("ring", override_nrxds="512") == "512/default"
    assert told("queues", override_nrxqs="64", override_ntxqs="64") == "2", "as many as there are"
    assert told("ring", "vmx0") == told("ring", "em1") == ""


@pytest.mark.parametrize("kind", reversible.OF_QUEUES)
def test_a_card_that_its_helper_detached_is_not_taken_for_gone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "if_nameindex", lambda: [(1, "vmx0")])
    monkeypatch.setattr(host, "system", lambda: "FreeBSD")
    assert reversible.missing(Entry(kind, "em0", "default", "1")) == ""
    assert reversible.missing(Entry("mtu", "em0", "1500", "9000")) == "em0"
    monkeypatch.setattr(host, "system", lambda: "Linux")
    assert reversible.missing(Entry(kind, "em0", "4", "1")) == "em0"


def test_what_a_person_takes_as_it_is_is_not_put_back_later(
    system: FreeBSD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.fails_with = {"512"}
    with pytest.raises(Failed):
        asked("ring", "512")
    monkeypatch.setattr(accepted, "ATTACHING", str(tmp_path / "record.*"))
    accepted.accept(str(tmp_path))
    assert not os.path.exists(attaching.RECORD.format("em0"))
