"""Queues, rings and their cores as settings on loan: by the real kernel of Linux; of FreeBSD's cards most may not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkladder import host, phrases
from linkladder import plan as plans
from linkladder.engine.left_out import left_out
from linkladder.model import End, HostFacts, Nic, Setting, SettingKind
from linkladder.model import Path as Way
from linkladder.model.settings import both_ways
from linkladder.phrases.to_set import to_set
from linkladder.priv import appliance, queues, verbs
from linkladder.priv.checks import Refused
from linkladder.settings.reversible import Change, on_adapter, request


def test_the_helper_takes_what_it_can_undo_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    lo = "lo" if sys.platform == "linux" else "lo0"
    assert verbs.build("measure", "ring", [lo, "256/512"], "Linux") == [
        ["/usr/sbin/ethtool", "-G", lo, "rx", "256", "tx", "512"]
    ]
    for verb, *words in (["queues", lo, "0"], ["queues", lo, "129"], ["ring", lo, "x"], ["queue-core", lo, "-1"]):
        with pytest.raises(Refused):
            verbs.build("measure", verb, words, "Linux")
    for verb in queues.KINDS:
        with pytest.raises(Refused, match="FreeBSD reads this when it attaches a card, which may stop the kernel"):
            verbs.build("measure", verb, ["vmx1", "2"], "FreeBSD")
    monkeypatch.setattr(appliance, "setting", lambda name: lo)
    with pytest.raises(Refused, match="the management adapter"):
        verbs.build("measure", "queues", [lo, "2"], "Linux")


def experiments(kind: str, value: object) -> str:
    table = f'settings = {{kind = "{kind}", value = {json.dumps(value)}}}\nbaseline = true\n'
    return f'name = "p"\n[[experiment]]\nrungs = "dc-link"\n{table}'


PATH = Way(peer="far", local="10.0.0.1", remote="10.0.0.2")


def test_where_a_card_has_none_or_that_already_it_is_said_and_left_out() -> None:
    def why(kind: str, value: int, **has: object) -> str:
        arms = plans.read_plan(experiments(kind, value)).rungs[0].experiments
        facts = {
            end: HostFacts(end, nics=(Nic("em1", addresses=(address,), **has),))  # type: ignore[arg-type]
            for end, address in ((End.NEAR, PATH.local), (End.FAR, PATH.remote))
        }
        return left_out(arms, PATH, facts).get(arms[1].id, "")

    assert why("queues", 2) == "em1 of near has no number of queues that could be set"
    assert why("ring", 256) == "em1 of near has no size of its rings that could be set"
    assert why("queue-core", 1) == "em1 of near has no core of its queues that could be set"
    assert why("queues", 2, rx_queues=4, tx_queues=4, queue_core="any") == ""
    assert (
        why("queues", 2, rx_queues=2, tx_queues=4, queue_core="0") == "" != why("queues", 2, rx_queues=4, tx_queues=4)
    )
    assert why("queues", 2, rx_queues=2, tx_queues=2, queue_core="1").startswith("queues of em1 at near is 2 already")
    assert why("queue-core", 0, queue_core="any") == "" != why("queue-core", 0, queue_core="0")
    with pytest.raises(plans.PlanError, match="expected a whole number from 1 to 64 for queues"):
        why("queues", 65)


def test_they_are_told_in_words_with_what_to_type() -> None:
    def told(kind: str, value: int) -> tuple[str, list[str]]:
        arm = plans.read_plan(experiments(kind, value)).rungs[0].experiments[1]
        card = Way(peer="", local_interface="em1", remote_interface="em1")
        return phrases.settings(arm), [line.split(": ", 1)[-1] for line in to_set((arm,), (card,))]

    words, lines = told("queues", 2)
    assert words == "2 queues" and "ethtool -L em1 combined 2" in lines
    assert "echo 'dev.em.1.iflib.override_nrxqs=\"2\"' >>/boot/loader.conf" in lines
    assert told("queues", 1)[0] == "1 queue"
    words, lines = told("ring", 256)
    assert words == "rings of 256 descriptors" and lines == [
        "echo 'dev.em.1.iflib.override_nrxds=\"256\"' >>/boot/loader.conf",
        "echo 'dev.em.1.iflib.override_ntxds=\"256\"' >>/boot/loader.conf",
        "ethtool -G em1 rx 256 tx 256",
    ]
    words, lines = told("queue-core", 3)
    assert words == "queues from core 3" and lines == ["echo 'dev.em.1.iflib.core_offset=\"3\"' >>/boot/loader.conf"]


def test_a_loan_asks_the_helper_for_them() -> None:
    for kind in queues.KINDS:
        change = on_adapter(Setting(SettingKind(kind), "2"), "em1")
        assert change == Change(kind, "em1", "2") and request(kind, "em1", "2") == (kind, "em1", "2")


TRIED = """
import asyncio, json, sys
from pathlib import Path
from linkladder import host
from linkladder.settings import Change, Lease, SettingsError, Undo
from linkladder.settings.journal import Journal

folder, kinds = Path(sys.argv[1]), ("queues", "ring", "queue-core")
def state():
    return {f"{kind} {card}": host.setting(kind, card) for kind in kinds for card in ("qu0", "qu1")}

async def tried():
    said = [state()]
    lease = Lease([Change("queues", "qu0", "2"), Change("queue-core", "qu0", "0")], Undo(60.0), folder)
    await lease.acquire()
    said.append(state())
    await lease.release()
    said.append(state())
    async with Lease([Change("queues", "qu1", "1")], Undo(60.0), folder):
        pass
    said.append(state())
    for change in (Change("queues", "qu0", "64"), Change("ring", "qu0", "256"), Change("queue-core", "qu0", "900")):
        try:
            await Lease([change], Undo(60.0), folder).acquire()
            said.append("taken")
        except SettingsError as error:
            said.append(error.title)
    return [*said, state(), Journal(folder).exists()]

print(json.dumps(asyncio.run(tried())))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a network namespace needs root and Linux")
def test_the_real_kernel_lends_queues_and_their_core_and_has_them_back(tmp_path: Path) -> None:
    two = "numrxqueues 2 numtxqueues 2"
    script = f"mount -t sysfs none /sys; ip link add qu0 {two} type veth peer name qu1 {two}"
    script += "; ethtool -L qu0 rx 1 tx 1; cd /sys/class/net/qu1/queues"
    script += '; echo 1 >rx-0/rps_cpus; echo 1 >rx-1/rps_cpus; cd /; exec "$@"'
    argv = ["unshare", "--net", "--mount", "sh", "-ec", script, "sh", sys.executable, "-c", TRIED, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, lent, after, steered, *refused, left, journal = json.loads(done.stdout)
    assert before["queues qu0"] == "1" and before["queue-core qu0"] == "any" and before["ring qu0"] is None
    assert lent == before | {"queues qu0": "2", "queue-core qu0": "0"}
    assert before["queues qu1"] == "2" and before["queue-core qu1"] == "0", "which a queue that comes back has not"
    assert after == steered == left == before and journal is False
    assert refused[:2] == ["queues qu0 could not be set to 64", "ring qu0 does not exist here"]
    assert refused[2].startswith("queue-core qu0 ")


@pytest.mark.skipif(sys.platform != "linux", reason="ethtool is Linux's")
def test_linux_tells_of_rings_what_ethtool_tells() -> None:
    for nic in host.facts().nics:
        shown = subprocess.run(["ethtool", "-g", nic.name], capture_output=True, text=True, check=False).stdout
        now = dict(line.split(":", 1) for line in shown.partition("Current hardware")[2].splitlines() if ":" in line)
        rings = [now.get(way, "").strip() for way in ("RX", "TX")]
        assert nic.ring == (both_ways(*map(int, rings)) if all(one.isdecimal() for one in rings) else ""), nic.name
