"""Interrupt moderation as a setting on loan: which card has it by which name, and what is said where it has none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path as FilePath

import pytest

from linkladder import host, phrases
from linkladder import plan as plans
from linkladder.engine.left_out import left_out
from linkladder.host import freebsd_text
from linkladder.model import End, HostFacts, Nic, Path, Setting, SettingKind
from linkladder.model.settings import LONGEST_MODERATION, MODERATION, adaptive_moderation, moderation
from linkladder.phrases import to_set
from linkladder.priv import appliance, sysctls, verbs
from linkladder.priv.checks import Refused
from linkladder.settings import Change, on_adapter, reversible

PATH = Path("192.0.2.1", "192.0.2.2", "beta", "mce0", "mce0")
NO_AIM = Setting(SettingKind.ADAPTIVE_MODERATION, "off")
FIFTY = Setting(SettingKind.MODERATION, "50")
CARD = {
    "mce": {"dev.mce.0.conf.rx_coalesce_usecs": "50", "dev.mce.0.conf.rx_coalesce_mode": "1"},
    "bnxt": {"dev.bnxt.0.intr_coal_rx_usecs": "50", "dev.bnxt.0.intr_coal_tx_usecs": "12"},
    "ixl": {"dev.ixl.0.rx_itr": "25", "dev.ixl.0.dynamic_rx_itr": "0"},
}


def read(value: object) -> tuple[Setting, ...]:
    table = f'settings = [{{kind = "moderation", value = {json.dumps(value)}}}]\nbaseline = true\n'
    return plans.read_plan(f'name = "p"\n[[experiment]]\nrungs = "dc-link"\n{table}').rungs[0].experiments[1].settings


@pytest.mark.parametrize("value", [-1, LONGEST_MODERATION + 1, "on", "5e1", True])
def test_a_time_that_no_card_should_wait_is_refused_by_the_plan(value: object) -> None:
    assert read(50) == (FIFTY,)
    with pytest.raises(plans.PlanError, match="expected a whole number from 0 to 1000 for moderation"):
        read(value)


@pytest.mark.parametrize("driver", MODERATION)
def test_what_is_made_on_freebsd_is_allowed_there_and_reads_back_as_it_was(
    driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reversible.host, "system", lambda: "FreeBSD")
    card = f"{driver}0"
    assert freebsd_text.rx_usecs(card, CARD[driver]) == 50
    verb, name, value = reversible.request("moderation", card, "50")
    assert verb == "sysctl" and sysctls.check("FreeBSD", name, value) == CARD[driver][name] == value
    most = reversible.request("moderation", card, str(LONGEST_MODERATION))[2]
    assert sysctls.check("FreeBSD", name, most) == most
    if MODERATION[driver].adaptive_values:
        by_itself = f"dev.{driver}.0.{MODERATION[driver].adaptive}"
        assert freebsd_text.rx_usecs(card, CARD[driver] | {by_itself: MODERATION[driver].adaptive_values[0]}) is None


@pytest.mark.parametrize("card", ["vmx0", "ix0", "em0", "igb0", "igc0", "lagg0", "mce", "0", ""])
def test_a_card_without_it_tells_none(card: str) -> None:
    assert moderation(card) is None
    assert freebsd_text.rx_usecs(card, {"dev.ix.0.enable_aim": "1", "dev.vmx.0.iflib.rx_budget": "0"}) is None


@pytest.mark.parametrize("card", ["em0", "igb1", "igc0"])
def test_what_a_card_adapts_by_itself_is_a_switch_on_freebsd(card: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = adaptive_moderation(card)
    assert name == f"dev.{card[:-1]}.{card[-1]}.enable_aim"
    nics = [Nic(card, offloads=freebsd_text.adaptive(card, {name: value})) for value in ("0", "1")]
    assert [NO_AIM.on(nic) for nic in nics] == ["off", "on"]
    assert NO_AIM.on(Nic(card, offloads=freebsd_text.adaptive(card, {name: "2"}))) is None, "it could not be put back"
    assert NO_AIM.on(Nic(card, offloads=freebsd_text.adaptive(card, {}))) is None
    monkeypatch.setattr(socket, "if_nametoindex", lambda _: 1)
    change = on_adapter(NO_AIM, card)
    for value, written in (("off", "0"), ("on", "1")):
        verb, *args = reversible.request(change.kind, change.target, value)
        assert verbs.build("measure", verb, args, "FreeBSD") == [["/sbin/sysctl", f"{name}={written}"]]
    assert verbs.build("measure", "iface-flags", [card, "tso", "-adaptive-moderation"], "FreeBSD") == [
        ["/sbin/ifconfig", card, "tso"],
        ["/sbin/sysctl", f"{name}=0"],
    ]


@pytest.mark.parametrize("card", ["vmx0", "ix0", "mce0", "lagg0", "em", "em0.5"])
def test_a_card_that_could_not_get_its_adaptive_moderation_back_keeps_it(
    card: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert freebsd_text.adaptive(card, {f"dev.{card[:-1]}.{card[-1]}.enable_aim": "1"}) == {}
    monkeypatch.setattr(socket, "if_nametoindex", lambda _: 1)
    for asked in (
        ["iface-flags", card, "-adaptive-moderation"],
        ["sysctl", f"dev.{card[:-1]}.{card[-1]}.enable_aim", "2"],
    ):
        with pytest.raises(Refused):
            verbs.build("measure", asked[0], asked[1:], "FreeBSD")
    with pytest.raises(Refused):
        verbs.build("measure", "iface-flags", [card, "-adaptive-moderation"], "Linux")


def test_the_switch_is_planned_told_and_left_out_like_any_other() -> None:
    made = plans.read_plan(
        'name = "p"\n[[experiment]]\nrungs = "dc-link"\nbaseline = true\n'
        'settings = {kind = "adaptive-moderation", value = "off"}\n'
    )
    before, arm = made.rungs[0].experiments
    assert arm.settings == (NO_AIM,)
    assert phrases.settings(arm) == "adaptive moderation of interrupts off"
    path = Path("192.0.2.1", "192.0.2.2", "beta", "em0", "vmx0")
    facts = {
        End.NEAR: HostFacts("near", nics=(Nic("em0", offloads={"adaptive-moderation": True}),)),
        End.FAR: HostFacts("far", nics=(Nic("vmx0"),)),
    }
    said = "vmx0 of far has no adaptive moderation of its interrupts that could be switched"
    assert left_out([before, arm], path, facts)[arm.id] == said


def test_the_card_that_carries_management_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appliance, "setting", {"linkladder_management": "ixl0"}.get)
    assert verbs.build("measure", "sysctl", ["dev.ixl.1.rx_itr", "25"], "FreeBSD")
    with pytest.raises(Refused, match="ixl0 is the management adapter"):
        verbs.build("measure", "sysctl", ["dev.ixl.0.rx_itr", "25"], "FreeBSD")


def test_linux_has_one_command_for_every_card() -> None:
    assert verbs.build("measure", "moderation", ["lo", "50"], "Linux") == [
        ["/usr/sbin/ethtool", "-C", "lo", "rx-usecs", "50"]
    ]
    for bad in (["lo", "-1"], ["lo", "65536"], ["lo"], ["no such", "5"], ["lo", "5", "tx-usecs"]):
        with pytest.raises(Refused):
            verbs.build("measure", "moderation", bad, "Linux")
    with pytest.raises(Refused, match="drivers of FreeBSD"):
        verbs.build("measure", "moderation", ["lo0" if sys.platform != "linux" else "lo", "50"], "FreeBSD")


def test_where_an_adapter_has_none_or_that_already_it_is_said_and_left_out() -> None:
    made = plans.read_plan(
        'name = "p"\n[[experiment]]\nrungs = "dc-link"\nsettings = {kind = "moderation", value = 50}\nbaseline = true\n'
    )
    arms = made.rungs[0].experiments

    def why(near: int | None, far: int | None) -> str:
        facts = {
            end: HostFacts(end, nics=(Nic("mce0", addresses=(address,), rx_usecs=usecs),))
            for end, address, usecs in ((End.NEAR, PATH.local, near), (End.FAR, PATH.remote, far))
        }
        return left_out(arms, PATH, facts).get(arms[1].id, "")

    assert why(3, 3) == why(3, 50) == ""
    assert why(None, 3) == "mce0 of near has no fixed moderation of its interrupts"
    assert why(50, 50) == "moderation of mce0 at near is 50 already; moderation of mce0 at far is 50 already"


def test_it_is_told_in_words_with_what_to_type() -> None:
    made = plans.read_plan(
        'name = "p"\n[[experiment]]\nrungs = "dc-link"\nsettings = {kind = "moderation", value = 50, ends = "far"}\n'
    )
    (arm,) = made.rungs[0].experiments
    assert arm.id == "tcp-1s-default-moderation-50-far-forward"
    assert phrases.settings(arm) == "interrupts 50 microseconds after a packet at the far end"

    def lines(card: str) -> list[str]:
        return [
            line.partition("peer beta, ")[2] or line for line in to_set((arm,), (Path(peer="", remote_interface=card),))
        ]

    assert lines("eth1")[0].endswith("Linux: ethtool -C eth1 rx-usecs 50")
    now, boot = lines("ixl1")
    assert now.endswith("FreeBSD: sysctl dev.ixl.1.rx_itr=25") and boot.endswith(">>/etc/sysctl.conf")


TRIED = """
import asyncio, json, sys
from pathlib import Path
from linkladder import host, settings
from linkladder.settings import Change, Lease, Undo
from linkladder.settings.journal import Journal

said, folder = {}, Path(sys.argv[1])
for card in ("tap0", "sh0"):
    before = host.setting("moderation", card)
    lease = Lease([Change("moderation", card, "50")], Undo(60.0), folder)
    try:
        asyncio.run(lease.acquire())
        said[card] = [before, "taken"]
    except settings.SettingsError as error:
        said[card] = [before, error.title, host.setting("moderation", card), Journal(folder).exists()]
print(json.dumps(said))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a network namespace needs root and Linux")
def test_virtual_cards_refuse_it_in_words_and_nothing_is_left_changed(tmp_path: FilePath) -> None:
    """By the real kernel, helper and undo process: a tap device tells a time and cannot change it, a pair has none."""
    script = 'ip tuntap add tap0 mode tap; ip link add sh0 type veth peer name sh1; exec "$@"'
    argv = ["unshare", "--net", "sh", "-ec", script, "sh", sys.executable, "-c", TRIED, str(tmp_path)]
    said = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    assert said["tap0"] == ["0", "moderation tap0 could not be set to 50", "0", False]
    assert said["sh0"] == [None, "moderation sh0 does not exist here", None, False]


@pytest.mark.skipif(sys.platform != "linux", reason="ethtool is Linux's")
def test_linux_tells_what_ethtool_tells() -> None:
    for nic in host.facts().nics:
        shown = subprocess.run(["ethtool", "-c", nic.name], capture_output=True, text=True, check=False).stdout
        told = dict(line.split(": ", 1) for line in shown.splitlines() if ": " in line)
        if told.get("rx-usecs", "n/a").strip().isdecimal() and not told.get("Adaptive RX", "").startswith("on"):
            assert str(nic.rx_usecs) == told["rx-usecs"].strip(), nic.name
        elif not shown:
            assert nic.rx_usecs is None, nic.name


def test_a_loan_knows_it_as_its_adapter_s() -> None:
    assert on_adapter(FIFTY, "mce0") == Change("moderation", "mce0", "50")
    gone = reversible.Entry("moderation", "nothere0", "3", "50")
    assert reversible.missing(gone) == "nothere0"
