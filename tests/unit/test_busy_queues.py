"""Receive queues: what came in by each, the core that takes it, and the sentence where one core had to take it all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from judge_documents import GOOD, both, document
from linkladder import cli
from linkladder.codec import to_json
from linkladder.engine.account import Watched
from linkladder.host import freebsd_queues, freebsd_text, linux_queues
from linkladder.judge.busy_queues import busy_queues
from linkladder.judge.limiters import limiter
from linkladder.model import (
    Contract,
    CpuUse,
    Direction,
    EndRecord,
    Experiment,
    ExperimentResult,
    NicCounters,
    QueueCounters,
    RungName,
    RungResult,
    TcpCounters,
    TrialResult,
)
from linkladder.report import card_queues
from linkladder.verdicts import LimiterKind
from linkladder.wire import CountersReply
from trials import trial

# Of a virtual machine with a virtio card: eth0 is virtio2.
INTERRUPTS = """           CPU0       CPU1       
 35:          0          1 PCI-MSIX-0000:00:02.0   0-edge      virtio1-config
 36:          0    1835314 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
 37:          0          0 PCI-MSIX-0000:00:03.0   0-edge      virtio2-config
 38:          3      39307 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 39:      28110          0 PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.0
NMI:          0          0   Non-maskable interrupts
ERR:          0
"""


def test_freebsd_tells_packets_of_each_queue_and_its_core(captures: Path) -> None:
    """A vmx under QEMU, which got all packets by one of its two queues."""
    shown = (captures / "freebsd-15.1/vmstat-i-after.txt").read_text()
    values = freebsd_text.sysctls(shown.replace(": ", "="))
    assert freebsd_queues.packets(values) == {0: 418078, 1: 0}
    assert freebsd_queues.cores(values, "rxq") == freebsd_queues.cores(values, "txq") == {0: 0, 1: 1}
    assert freebsd_queues.sent(values) == {0: 875888, 1: 0}
    assert freebsd_queues.interrupts(shown, "vmx0") == {0: 26436}
    assert freebsd_queues.interrupts(shown, "vmx") == {}
    others = {"dev.ix.1.queue3.rx_packets": "7", "dev.ixl.0.pf.rxq02.packets": "8", "dev.ix.1.queue3.tx_packets": "9"}
    assert freebsd_queues.packets(others) == {3: 7, 2: 8} and freebsd_queues.packets({"dev.em.0.rxd_tail": "1"}) == {}


def test_linux_tells_packets_or_interrupts_of_each_queue() -> None:
    assert linux_queues.interrupts_by_queue(INTERRUPTS, ("37", "38", "39")) == {0: ("38", 39310)}
    assert linux_queues.interrupts_by_queue("", ("38",)) == {}
    names = {"rx_queue_1_packets": 5, "rx0_packets": 6, "rx-2.packets": 7, "queue_3_rx_cnt": 8, "tx_queue_1_packets": 9}
    assert linux_queues.packets_by_queue(names | {"rx0_drops": 1}) == {1: 5, 0: 6, 2: 7, 3: 8}


SENT = """
import json, socket
from linkladder import host
from linkladder.codec import to_json

before = host.queues(["qu1"])[0]
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as card:
    card.bind(("qu0", 0))
    for _ in range(3000):
        card.send(bytes.fromhex("ffffffffffff0200000000010800") + bytes(60))
print(json.dumps([to_json(before), to_json(host.queues(["qu1"])[0]), to_json(host.queues(["lo"])[0])]))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a network namespace needs root and Linux")
def test_a_real_card_counts_what_comes_by_each_of_its_queues() -> None:
    """Frames of one flow over a pair of cards with two queues each, all steered to the first core."""
    two = "numrxqueues 2 numtxqueues 2"
    script = f"mount -t sysfs none /sys; ip link add qu0 {two} type veth peer name qu1 {two}; ethtool -K qu1 gro on"
    script += "; ethtool -K qu0 tso off"
    script += "; for q in 0 1; do echo 1 >/sys/class/net/qu1/queues/rx-$q/rps_cpus; done"
    script += '; ip link set qu0 up; ip link set qu1 up; exec "$@"'
    argv = ["unshare", "--net", "--mount", "sh", "-ec", script, "sh", sys.executable, "-c", SENT]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after, loopback = json.loads(done.stdout)
    assert [(q["card"], q["number"], q["core"]) for q in after] == [("qu1", 0, 0), ("qu1", 1, 0)]
    came = sorted(b["packets"] - a["packets"] for a, b in zip(before, after, strict=True))
    assert came[0] < 100 and came[1] >= 3000, "beside the system's own few"
    assert loopback == []


def test_a_trial_has_what_came_in_meanwhile() -> None:
    watched, card = Watched("far"), NicCounters("vmx1")
    first = tuple(QueueCounters("vmx1", n, packets, core=n) for n, packets in ((0, 100), (1, 50), (2, 900)))
    last = (replace(first[0], packets=400), replace(first[1], packets=50), replace(first[2], packets=3))
    unused = QueueCounters("veth0", 0, 0)
    for queues in ((*first, unused), (*last, QueueCounters("vmx1", 3, 9), unused)):
        watched.count("10.0.0.2", CountersReply("vmx1", card, TcpCounters(), None, 1, queues=queues))
    made = watched.record(Experiment("x", duration=5), 0.0, 0.0)
    assert made.queues == (QueueCounters("vmx1", 0, 300, core=0), QueueCounters("vmx1", 1, 0, core=1)), (
        "neither one that was set back nor one that was not there before, nor a card that counts nothing"
    )


def heard(queues: tuple[QueueCounters, ...], cores: tuple[float, ...] = (30.0, 97.0, 20.0, 10.0)) -> EndRecord:
    use = CpuUse(sum(cores) / len(cores), max(cores), sum(cores) / 100, cores)
    return EndRecord("far", use, tcp=TcpCounters(), queues=queues)


def four(*packets: int, card: str = "vmx1") -> tuple[QueueCounters, ...]:
    return tuple(QueueCounters(card, n, count, core=n) for n, count in enumerate(packets))


def judged(far: EndRecord) -> tuple[LimiterKind, str]:
    made = trial("t", 0, goodput_bps=3e9, by_direction={"forward": 3e9}, ok=True)
    near = EndRecord("near", CpuUse(10.0, 20.0, 0.4, (20.0, 20.0, 0.0, 0.0)), tcp=TcpCounters())
    seen: TrialResult = replace(made, ends=(near, far))
    found = limiter(seen, Experiment("x"), Contract(), RungResult(RungName.DC_LINK, experiments=()))
    return found.kind, found.sentence


def test_one_queue_of_four_that_did_all_the_work_is_named_with_its_core() -> None:
    kind, sentence = judged(heard(four(100, 900_000, 50, 3)))
    assert kind is LimiterKind.RECEIVER
    assert sentence.endswith(
        "One receive queue of 4 did the work: 100 % of what came in went by queue 1 of vmx1, whose core 1 was "
        "97 % busy."
    )
    _, single = judged(heard((QueueCounters("em1", 0, interrupts=90_000, core=1),)))
    assert single.endswith("em1 has a single receive queue, whose core 1 was 97 % busy.")


def test_queues_of_two_cards_on_one_core_are_named_together() -> None:
    cards = (QueueCounters("vmx1", 0, 50_000, core=1), QueueCounters("vmx1", 1, 0, core=2))
    other = (QueueCounters("vmx2", 0, 40_000, core=1), QueueCounters("vmx2", 1, 2_000, core=3))
    _, sentence = judged(heard((*cards, *other)))
    assert sentence.endswith(
        "One core took the packets of 2 receive queues of 4: 98 % of what came in went by queue 0 of vmx1 and queue 0 "
        "of vmx2 to core 1, which was 97 % busy."
    )


def test_nothing_is_said_of_queues_that_share_the_work_or_whose_core_is_idle() -> None:
    spread = four(250_000, 250_000, 250_000, 250_000)
    assert busy_queues(heard(spread), 85.0) is None, "three quarters go to other cores"
    assert busy_queues(heard(four(900_000, 3, 3, 3)), 85.0) is None, "the busy core is another's"
    assert busy_queues(heard(four(0, 900_000, 3, 3), (10.0, 40.0, 10.0, 5.0)), 85.0) is None
    assert busy_queues(heard(four(0, 200, 0, 0)), 85.0) is None, "too few"
    mixed = (QueueCounters("vmx1", 1, 900_000, core=1), QueueCounters("em1", 0, interrupts=5_000, core=2))
    assert busy_queues(heard(mixed), 85.0) is None, "packets and interrupts do not compare"
    assert busy_queues(EndRecord("far", queues=four(0, 900_000)), 85.0) is None


def test_the_queues_of_the_fastest_trial_stand_in_a_table() -> None:
    far = heard(four(100_000, 300_000))
    made = [
        replace(trial("t", n, goodput_bps=bps, by_direction={"forward": bps}, ok=True), ends=(EndRecord("near"), far))
        for n, bps, far in ((0, 1e9, heard(four(7, 7))), (1, 3e9, far), (2, 2e9, heard(())))
    ]
    asked = Experiment("tcp-4s-forward", direction=Direction.FORWARD)
    rung = RungResult(RungName.DC_LINK, experiments=(ExperimentResult(asked, tuple(made)),))
    (table,) = card_queues.tables(rung)
    assert table.caption == "Receive queues of the cards, near to far, in the fastest trial (tcp-4s-forward, repeat 2)"
    assert table.rows == (
        ("far vmx1 queue 0", "100000 packets", "25 %", "0", "30 %"),
        ("far vmx1 queue 1", "300000 packets", "75 %", "1", "97 %"),
    )
    assert [line.split()[:2] for line in card_queues.lines(table)][1] == ["Receive", "queue"]
    single = replace(made[0], ends=(EndRecord("near"), heard(four(7))))
    alone = replace(rung, experiments=(ExperimentResult(asked, (single,)),))
    assert card_queues.tables(alone) == (), "a single queue tells nothing that the core does not"


def test_the_table_of_queues_is_in_the_page_and_in_what_show_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = document(both(RungName.DC_LINK, GOOD))
    (rung,) = whole.rungs
    counted = tuple(
        replace(
            e, trials=tuple(replace(t, ends=tuple(replace(x, queues=four(7, 9)) for x in t.ends)) for t in e.trials)
        )
        for e in rung.experiments
    )
    file = tmp_path / "document.json"
    file.write_text(json.dumps(to_json(replace(whole, rungs=(replace(rung, experiments=counted),)))))
    assert cli.main(["show", str(file)]) == 0
    assert "far vmx1 queue 1" in capsys.readouterr().out
    assert cli.main(["report", str(file), "--html", str(tmp_path / "page.html"), "--unsigned"]) == 0
    assert "<th>far vmx1 queue 1</th>" in (tmp_path / "page.html").read_text()


FOUND = """
import json
from linkladder import host
from linkladder.codec import to_json

print(json.dumps([to_json(host.queues([card])[1]) for card in ("qu9", "lo")]))
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a network namespace needs root and Linux")
def test_the_transmit_queues_of_a_real_card_are_found() -> None:
    """An ifb: the lab's own cards, veth, count nothing that their queues send."""
    script = 'mount -t sysfs none /sys; ip link add qu9 numtxqueues 2 type ifb; ip link set qu9 up; exec "$@"'
    argv = ["unshare", "--net", "--mount", "sh", "-ec", script, "sh", sys.executable, "-c", FOUND]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    card, loopback = json.loads(done.stdout)
    assert [(q["card"], q["number"], q["packets"]) for q in card] == [("qu9", 0, 0), ("qu9", 1, 0)]
    assert loopback == []
    named = {"tx_queue_1_packets": 5, "tx_queue_0_packets": 6, "tx_queue_0_bytes": 9, "rx_queue_0_packets": 7}
    assert linux_queues.sending_queues("e", named) == (QueueCounters("e", 0, 6), QueueCounters("e", 1, 5))


def test_a_trial_has_what_went_out_meanwhile() -> None:
    watched, card = Watched("near"), NicCounters("vmx1")
    for sent in ((100, 50), (400, 950)):
        reply = CountersReply("vmx1", card, TcpCounters(), None, 1, sending_queues=four(*sent))
        watched.count("10.0.0.1", reply)
    made = watched.record(Experiment("x", duration=5), 0.0, 0.0)
    assert made.sending_queues == four(300, 900) and made.queues == ()


def test_the_table_of_transmit_queues_tells_of_one_that_sent_nearly_all_and_only_then() -> None:
    def caption(*packets: int) -> str:
        near = EndRecord("near", heard(()).cpu, sending_queues=four(*packets))
        made = trial("t", 0, goodput_bps=1e9, by_direction={"forward": 1e9}, ok=True)
        made = replace(made, ends=(near, heard(())))
        asked = ExperimentResult(Experiment("tcp-4s-forward", direction=Direction.FORWARD), (made,))
        (table,) = card_queues.tables(RungResult(RungName.DC_LINK, experiments=(asked,)))
        assert table.heads[:2] == ("Transmit queue", "Went out")
        assert table.rows[1][:4] == ("near vmx1 queue 1", f"{packets[1]} packets", table.rows[1][2], "1")
        return table.caption

    spread = "Transmit queues of the cards, near to far, in the fastest trial (tcp-4s-forward, repeat 1)"
    assert caption(500_000, 400_000) == caption(700_000, 300_000) == spread
    assert caption(9, 900_000) == f"{spread}; of near one queue sent nearly all"
    assert caption(1, 700) == spread, "too few to tell"
