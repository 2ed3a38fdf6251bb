"""A bundle that exists is recognised: `ifconfig -v` of lagg as its source prints it, and what Linux tells of a bond."""

from __future__ import annotations

from pathlib import Path

from linkladder import phrases
from linkladder.host.freebsd_lagg import lagg
from linkladder.host.linux_bond import below, bond
from linkladder.judge.bundles import member_shares
from linkladder.model import (
    EndRecord,
    Experiment,
    ExperimentResult,
    Leg,
    NicCounters,
    Outcome,
    RungName,
    RungResult,
    TrialResult,
)

LACP = """lagg0: flags=1008843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST,LOWER_UP> metric 0 mtu 1500
\tether aa:bb:cc:00:00:01
\tinet 10.0.0.1 netmask 0xffffff00 broadcast 10.0.0.255
\tlaggproto lacp lagghash l2,l3,l4
\tlagg options:
\t\tflags=14<USE_NUMA,LACP_STRICT>
\t\tflowid_shift: 16
\tlagg statistics:
\t\tactive ports: 1
\t\tflapping: 3
\tlag id: [(8000,AA-BB-CC-00-00-01,01CB,0000,0000),
\t\t (8000,00-11-22-33-44-55,0003,0000,0000)]
\tlaggport: ix0 flags=1c<ACTIVE,COLLECTING,DISTRIBUTING> state=3d<ACTIVITY,AGGREGATION,SYNC,COLLECTING,DISTRIBUTING>
\t\t[(8000,AA-BB-CC-00-00-01,01CB,8000,0001),
\t\t (8000,00-11-22-33-44-55,0003,8000,0107)]
\tlaggport: ix1 flags=0<> state=45<ACTIVITY,AGGREGATION,DEFAULTED>
\t\t[(8000,AA-BB-CC-00-00-01,01CB,8000,0002),
\t\t (0000,00-00-00-00-00-00,0000,0000,0000)]
\tgroups: lagg
\tmedia: Ethernet autoselect
\tstatus: active
"""
TURNS = """lagg0: flags=1008843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST,LOWER_UP> metric 0 mtu 1500
\tlaggproto roundrobin
\tlagg options:
\t\tflags=10<USE_NUMA>
\t\trr_limit: 1
\tlagg statistics:
\t\tactive ports: 2
\t\tflapping: 0
\tlaggport: vmx1 flags=4<ACTIVE>
\tlaggport: vmx2 flags=5<MASTER,ACTIVE>
"""


def test_lacp_with_one_member_that_nobody_answers() -> None:
    seen = lagg(LACP)
    assert seen and (seen.protocol, seen.hash, seen.active, seen.flapping) == ("lacp", "l2,l3,l4", 1, 3)
    assert seen.options == {"flowid_shift": "16", "flags": "use_numa,lacp_strict"}
    first, second = seen.members
    assert first.active and first.partner == "00:11:22:33:44:55" and "SYNC" in first.state
    assert not second.active and second.partner == "" and "DEFAULTED" in second.state
    assert phrases.bundle(seen) == (
        "lacp of ix0 (active, with 00:11:22:33:44:55) and ix1 (nobody answers LACP), hash l2,l3,l4, flapped 3 times"
    )


def test_round_robin_has_no_hash_and_no_partner() -> None:
    seen = lagg(TURNS)
    assert seen and seen.options["rr_limit"] == "1" and [m.active for m in seen.members] == [True, True]
    assert phrases.bundle(seen) == "roundrobin of vmx1 (active) and vmx2 (active)"
    assert lagg("vmx0: flags=8843<UP> metric 0 mtu 1500\n\tether 00:00:00:00:00:01\n") is None


def test_a_linux_bond_is_read_from_the_kernel_s_files(tmp_path: Path) -> None:
    folder = tmp_path / "bond0" / "bonding"
    folder.mkdir(parents=True)
    told = {"mode": "802.3ad 4", "slaves": "eth0 eth1", "xmit_hash_policy": "layer3+4 1"}
    told["ad_partner_mac"] = "00:00:00:00:00:00"
    for name, text in told.items():
        (folder / name).write_text(f"{text}\n")
    for port, state in (("eth0", "up"), ("eth1", "down")):
        (tmp_path / port / "bonding_slave").mkdir(parents=True)
        (tmp_path / port / "bonding_slave" / "mii_status").write_text(state)
    seen = bond("bond0", str(tmp_path))
    assert seen and (seen.protocol, seen.hash, seen.active) == ("lacp", "layer3+4", 1)
    assert "eth0 (nobody answers LACP)" in phrases.bundle(seen)
    assert bond("eth0", str(tmp_path)) is None and bond("lo") is None


def test_linux_tells_upon_what_an_interface_stands(tmp_path: Path) -> None:
    for upper, lower in (("br0", "bond0.7"), ("bond0.7", "bond0"), ("bond0", "eth0"), ("bond0", "eth1"), ("br0", "v0")):
        (tmp_path / upper / f"lower_{lower}").mkdir(parents=True)
    assert below("br0", str(tmp_path)) == {"bond0.7", "bond0", "eth0", "eth1", "v0"}
    assert below("eth0", str(tmp_path)) == below("gone", str(tmp_path)) == frozenset()


def test_the_share_of_each_member_is_told_beside_the_odds_of_hashing() -> None:
    near = EndRecord("near", members=(NicCounters("ix0", tx_bytes=600), NicCounters("ix1", tx_bytes=400)))
    far = EndRecord("far", members=(NicCounters("ix0", rx_bytes=250), NicCounters("ix1", rx_bytes=750)))
    trial = TrialResult("t", 0, (Leg(Outcome(True, goodput_bps=1e9)),), (near, far))
    rung = RungResult(RungName.DC_LINK, experiments=(ExperimentResult(Experiment("e", streams=16), (trial,)),))
    assert member_shares(rung) == [
        "near sent 16 flows 60 % by ix0, 40 % by ix1; "
        "hashing alone puts as much or more on one member in 45 of 100 draws.",
        "far received 16 flows 25 % by ix0, 75 % by ix1; "
        "hashing alone puts as much or more on one member in 8 of 100 draws.",
    ]
