"""A pretended FreeBSD with one card of the driver em, which loses what 15.1 was seen to take from it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from linkladder.priv import appliance, attaching, card_state, verbs
from linkladder.priv.running import Failed

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
        self.messages = ["[1] em0: Using 1024 TX descriptors and 1024 RX descriptors"]
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
        self.messages.append("[520] em0: Using {} TX descriptors and {} RX descriptors".format(*sizes))
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
    monkeypatch.setattr(attaching, "GRACE", 0.0)
    for name, path in (("RECORD", "record.{}"), ("TURN", "turn"), ("OURS", "ours.{}"), ("RULE", "rule")):
        monkeypatch.setattr(attaching, name, str(tmp_path / path))
    (tmp_path / "rule").touch()
    monkeypatch.setattr("linkladder.priv.checks.socket.if_nametoindex", there(made))
    monkeypatch.setattr(appliance, "setting", lambda name: "vmx0")
    yield made


def there(system: FreeBSD) -> Callable[[str], int]:
    def index(name: str) -> int:
        if name not in system.capture([card_state.IFCONFIG, "-l"]).split():
            raise OSError
        return 1

    return index


def asked(kind: str, value: str, card: str = "em0") -> None:
    for step in verbs.build("measure", kind, [card, value], "FreeBSD"):
        assert callable(step)
        step()
