"""Round trips and path MTUs from real pings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Experiment, Fault, Outcome, PathMtu, Protocol
from linkladder.tools import Expectation, ToolVersions
from linkladder.tools.ping.lines import path_mtu

ECHO = Experiment("x", "ping", Protocol.ECHO)
HERE = ToolVersions({"ping": "present"})


def read(folder: Path, name: str) -> tuple[str, str]:
    err = folder / f"{name}.err"
    return (folder / f"{name}.txt").read_text(), err.read_text() if err.exists() else ""


def echo(out: str, err: str = "", **known: object) -> Outcome:
    expect = replace(Expectation(), **known)
    return tools.finish(ECHO, tools.layout(ECHO, HERE, HERE), ("", ""), ((out, err),), expect)


def test_freebsd_round_trips(captures: Path) -> None:
    outcome = echo(*read(captures / "freebsd-15.1", "ping-idle"))
    assert outcome.ok and outcome.rtt
    rtt = outcome.rtt
    assert (rtt.sent, rtt.received, rtt.min_ms, rtt.max_ms) == (10, 10, 0.529, 22.467)
    assert rtt.avg_ms == pytest.approx(3.928, abs=0.001)
    assert rtt.p50_ms == pytest.approx((1.214 + 1.877) / 2)
    assert rtt.samples_ms[0] == 22.467, "in the order they were sent"


@pytest.mark.parametrize(("name", "count", "low", "high"), [("echo4", 20, 0.034, 0.381), ("echo6", 5, 0.045, 0.118)])
def test_linux_round_trips(captures: Path, name: str, count: int, low: float, high: float) -> None:
    outcome = echo(*read(captures / "ping-linux", name))
    assert outcome.ok and outcome.rtt
    assert (outcome.rtt.sent, outcome.rtt.received) == (count, count)
    assert (outcome.rtt.min_ms, outcome.rtt.max_ms) == (low, high)


def test_no_answer_is_the_paths_fault_and_a_wrong_address_the_tools(captures: Path) -> None:
    outcome = echo(*read(captures / "ping-linux", "unreachable"))
    assert outcome.fault == Fault.PATH and "none of 3 pings" in outcome.reason
    outcome = echo(*read(captures / "ping-linux", "badbind"))
    assert outcome.fault == Fault.TOOL and "Cannot assign requested address" in outcome.reason
    for text in ("", "Segmentation fault\n"):
        assert echo(text).fault == Fault.TOOL


def test_lost_and_duplicate_answers() -> None:
    text = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=1.00 ms
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=9.00 ms (DUP!)
64 bytes from 10.0.0.2: icmp_seq=3 ttl=64 time=1023 ms

--- 10.0.0.2 ping statistics ---
4 packets transmitted, 2 received, +1 duplicates, 50% packet loss, time 3005ms
"""
    outcome = echo(text)
    assert outcome.ok and outcome.rtt
    assert (outcome.rtt.sent, outcome.rtt.received, outcome.rtt.max_ms) == (4, 2, 1023)
    assert outcome.warnings == ("2 of 4 pings were not answered",)


def df(captures: Path, *names: tuple[int, str, str]) -> PathMtu:
    return path_mtu(tuple((mtu, *read(captures / folder, name)) for mtu, folder, name in names))


def test_a_router_that_says_so(captures: Path) -> None:
    found = df(captures, (1400, "ping-linux", "df4-1400"), (1500, "ping-linux", "df4-1500"))
    assert found == PathMtu((1400,), (1500,), 1400, False, 1400)
    six = df(captures, (1400, "ping-linux", "df4-1400"), (1500, "ping-linux", "df6-1500"))
    assert (six.black_hole, six.reported_mtu) == (False, 1400)


def test_a_router_that_swallows_it_is_a_black_hole(captures: Path) -> None:
    found = df(captures, (1400, "ping-linux", "df4-1400"), (1500, "ping-linux", "df4-1500-vanishes"))
    assert found == PathMtu((1400,), (1500,), 1400, True, None)


def test_the_own_mtu_is_no_black_hole(captures: Path) -> None:
    found = df(captures, (1500, "freebsd-15.1", "ping-df-1472"), (9000, "freebsd-15.1", "ping-df-8972"))
    assert found == PathMtu((1500,), (9000,), 1500, False, None)
    linux = df(captures, (1400, "ping-linux", "df4-1400"), (9000, "ping-linux", "df4-9000-own-mtu"))
    assert (linux.black_hole, linux.reported_mtu) == (False, 1500)


def test_freebsd_router_message() -> None:
    text = "PING 10.0.0.2 (10.0.0.2): 1472 data bytes\n36 bytes from 10.0.0.254: frag needed and DF set (MTU 1400)\n"
    text += "\n--- 10.0.0.2 ping statistics ---\n3 packets transmitted, 0 packets received, 100.0% packet loss\n"
    assert path_mtu(((1500, text, ""),)).reported_mtu == 1400


def test_df_trial(captures: Path) -> None:
    exp = Experiment("x", "ping", Protocol.DF, sizes=(1400, 1500))
    where = tools.layout(exp, HERE, HERE)
    texts = [read(captures / "ping-linux", n) for n in ("df4-1400", "df4-1500-vanishes")]
    outs, errs = tuple(t[0] for t in texts), tuple(t[1] for t in texts)
    outcome = tools.finish(exp, where, ("", ""), tuple(zip(outs, errs, strict=True)), Expectation())
    assert outcome.ok and outcome.path_mtu and outcome.path_mtu.black_hole
    assert "packets of 1500 bytes vanish" in outcome.warnings[0]
    missing = tools.finish(exp, where, ("", ""), ((outs[0], errs[0]),), Expectation())
    assert missing.fault == Fault.TOOL and "1 of 2" in missing.reason
    silent = tools.finish(exp, where, ("", ""), ((outs[1], ""), (outs[1], "")), Expectation())
    assert silent.fault == Fault.PATH


def test_live_round_trip(captures: Path) -> None:
    live = tools.live_parser(ECHO, tools.layout(ECHO, HERE, HERE), tools.layout(ECHO, HERE, HERE).client)
    seen = [live.round_trip(line) for line in (captures / "ping-linux" / "echo6.txt").read_text().splitlines()]
    assert [s for s in seen if s is not None] == [0.118, 0.045, 0.063, 0.048, 0.053]


@pytest.mark.parametrize(
    ("name", "ok", "words"),
    [
        ("freebsd-15.1/ping-idle.txt", True, ""),
        ("freebsd-15.1/ping-df-1472.txt", True, ""),
        ("freebsd-15.1/ping-df-8972.txt", False, "too long"),
        ("freebsd-15.1/mtu9000.txt", False, "holds 2 pings"),
        ("ping-linux/unreachable.txt", False, "none of 3"),
        ("ping-linux/df4-1500.txt", False, "the MTU is 1400"),
        ("freebsd-15.1/uname.txt", False, "no ping"),
    ],
)
def test_saved(captures: Path, name: str, ok: bool, words: str) -> None:
    outcome = tools.parse_saved("ping", (captures / name).read_text())
    assert outcome.ok is ok
    assert words in outcome.reason


def test_a_ping_that_was_ended_before_it_began_is_no_dead_path() -> None:
    header = "PING 10.77.0.2 (10.77.0.2) from 10.77.0.1: 1372 data bytes\n"
    helper = "linkladder-priv: /sbin/ping was ended by signal 2\n"
    for out, err in ((header, helper), ("", helper), ("", "")):
        outcome = echo(out, err, watchdog=True)
        assert (outcome.ok, outcome.fault) == (False, Fault.TOOL)
        assert "not done within its time" in outcome.reason
    assert echo(header, watchdog=True).fault == Fault.PATH


def test_a_ping_that_was_ended_beside_its_load_contradicts_nothing() -> None:
    """After an outage it still waits for answers when its trial is over, and is ended without its summary."""
    answers = [f"64 bytes from 10.98.4.2: icmp_seq={n} ttl=63 time={n}.5 ms" for n in (1, 2, 4)]
    counts = "4 packets transmitted, 3 received, 25% packet loss, time 603ms"
    assert tools.ping_contradiction("\n".join(answers)) == ""
    assert "is missing" in tools.ping_contradiction("\n".join([*answers, counts]))
