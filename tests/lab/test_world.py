"""The lab itself: what it was asked to be it is, and nothing of it stays."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import hostwide
import spaces
from network import Link
from taken import LabError
from world import Lab, wait_for

SENT, CAME = ("alpha", "tx_packets"), ("beta", "rx_packets")

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]


def inside(lab: Lab, *argv: str) -> str:
    run = ["ip", "netns", "exec", lab.space("alpha"), *argv]
    return subprocess.run(run, capture_output=True, text=True, check=False).stdout


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def test_a_long_narrow_link_is_put_up_and_leaves_nothing() -> None:
    lab = Lab("lld", Link(delay_ms=30, mtu=1400, loss=0.01))
    try:
        lab.up()
        for family, far in (("-4", lab.address("beta", "dc-link")), ("-6", lab.address("beta", "dc-link", 6))):
            seen = inside(lab, "ping", family, "-c", "5", "-i", "0.1", far)
            times = [float(t) for t in re.findall(r"time=([\d.]+)", seen)]
            if any("the delay" in what for what in lab.left_out):
                assert times, seen
            else:
                assert times and 29 < min(times) < 60, seen
            refused = inside(lab, "ping", family, "-c", "1", "-W", "1", "-M", "do", "-s", "1440", far)
            assert re.search(r"mtu ?= ?1400", refused), refused
        if "cubic" in hostwide._read(hostwide.AVAILABLE):
            assert inside(lab, "cat", "/proc/sys/net/ipv4/tcp_congestion_control") == "cubic\n"
    finally:
        lab.down(forget=True)
    assert "lld-" not in namespaces()
    assert not (lab.folder / "lld").exists()
    assert not Path("/run/linkladder-lab-lld.lock").exists()
    assert "lld" not in (hostwide.KEPT.read_text() if hostwide.KEPT.exists() else "")


def test_fast_datagrams_are_delayed_one_and_all() -> None:
    """A process that saw each by itself lost nine of ten, and plans failed the good link for it."""
    lab = Lab("lldf", Link(rate=20e9, delay_ms=10))
    try:
        lab.up()
        if any("own" in what for what in lab.left_out):
            pytest.skip("this kernel has neither netem nor what joins datagrams, and the lab says so")
        before = [counted(lab, *which) for which in (SENT, CAME)]
        inside(lab, "iperf", "-c", lab.address("beta", "dc-link"), "-u", "-b", "2000M", "-l", "1470", "-t", "2")
        sent = counted(lab, *SENT) - before[0]
        wait_for(lambda: counted(lab, *CAME) - before[1] >= 0.98 * sent, 5.0, f"of {sent} packets not 98 % arrived")
        assert sent > 30_000 and counted(lab, *CAME) - before[1] < 1.01 * sent, "each counts by itself"
    finally:
        lab.down(forget=True)


def counted(lab: Lab, site: str, name: str) -> int:
    """What a site's card to the link has counted."""
    argv = ["ip", "netns", "exec", lab.space(site), "cat", f"/sys/class/net/dc0/statistics/{name}"]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def test_two_who_take_the_same_lab_down_are_both_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `q` in its console and `lab --down` at once: the second ended in a traceback."""
    name, pids = "llzz-twice", spaces._pids

    def meanwhile(which: str) -> list[int]:
        spaces.ip("netns", "delete", which)
        return []

    for other in (meanwhile, lambda which: (meanwhile(which), pids(which))[1]):
        spaces.ip("netns", "add", name)
        monkeypatch.setattr(spaces, "_pids", other)
        spaces.remove(name)
        assert name not in namespaces()


def test_a_namespace_that_cannot_be_taken_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*words: str) -> str:
        if "delete" in words:
            raise LabError("it is busy")
        return "llzz-busy\n"

    monkeypatch.setattr(spaces, "ip", refuses)
    monkeypatch.setattr(spaces, "_pids", lambda name: [])
    with pytest.raises(LabError, match="it is busy"):
        spaces.remove("llzz-busy")
