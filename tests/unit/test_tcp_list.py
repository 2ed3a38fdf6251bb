"""FreeBSD's own list of TCP connections, read without a process: a capture of a 15.1 machine beside netstat's words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkladder.host import freebsd
from linkladder.host import freebsd_text as text
from linkladder.host.freebsd_calls import CONNECTION, LIST, Calls, connections
from linkladder.model import SocketStat

HERE = Path(__file__).parents[1] / "captures/freebsd-15.1"
RAW = bytes.fromhex((HERE / "tcp-pcblist.txt").read_text())
NETSTAT = json.loads((HERE / "netstat-ncCW-beside-pcblist.txt").read_text())
ALL = range(1, 65536)


UNTOLD = {"retransmits": None, "out_of_order": None, "zero_window": None, "send_buffer": None, "receive_buffer": None}


def by_netstat(ports: range) -> list[SocketStat]:
    """Without what that capture's options do not show."""
    return sorted(text.sockets(NETSTAT, {}, NETSTAT, ports), key=str)


def told_by_both(found: tuple[SocketStat, ...]) -> list[SocketStat]:
    return sorted((replace(one, **UNTOLD) for one in found), key=str)


@pytest.mark.parametrize(("ports", "count"), [(ALL, 6), (range(5397, 5398), 4), (range(2222, 2223), 2), (range(9), 0)])
def test_the_list_says_what_netstat_says_at_the_same_moment(ports: range, count: int) -> None:
    found = connections(RAW, ports)
    assert found is not None and len(found) == count
    assert told_by_both(found) == by_netstat(ports)


def test_the_list_tells_resent_segments_and_buffers_as_netstat_does() -> None:
    """Two connections at rest, whose card had been down for a second, and one by which the machine was watched."""
    counts, buffers, sending = (
        json.loads((HERE / f"netstat-{w}-beside-pcblist-lost.txt").read_text()) for w in ("nTW", "nxW", "ncCW")
    )
    found = connections(bytes.fromhex((HERE / "tcp-pcblist-lost.txt").read_text()), ALL)
    assert found and set(found) == {one for one in text.sockets(counts, buffers, sending, ALL) if one.remote_port}
    assert sorted(one.retransmits or 0 for one in found if one.remote_port == 5397) == [12, 53]


OTHER = {
    "nothing": b"",
    "without an end": RAW[:-LIST],
    "cut off": RAW[: LIST + 100],
    "a longer head": (72).to_bytes(8, "little") + RAW[8:],
    "longer records": RAW[:LIST] + (CONNECTION + 8).to_bytes(8, "little") + RAW[LIST + 8 :],
    "records of no length": RAW[:LIST] + bytes(CONNECTION),
}


@pytest.mark.parametrize("form", OTHER)
def test_a_list_of_another_form_is_not_read(form: str) -> None:
    assert connections(OTHER[form], ALL) is None


@settings(deadline=None)
@given(st.binary(max_size=3000), st.integers(0, len(RAW)))
def test_no_bytes_stop_the_reading(noise: bytes, at: int) -> None:
    for raw in (noise, RAW[:at] + noise, RAW[:at] + noise + RAW[at + len(noise) :]):
        found = connections(raw, ALL)
        assert found is None or all(s.remote_port for s in found)


def test_netstat_is_asked_where_the_list_has_another_form(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def output(argv: list[str], *_: Any, **__: Any) -> str:
        asked.append(argv)
        return json.dumps(NETSTAT)

    monkeypatch.setattr(freebsd, "output", output)
    for raw, times in ((RAW, 0), (OTHER["longer records"], 3)):
        monkeypatch.setattr(Calls, "raw", lambda self, name, raw=raw: raw)
        system = freebsd.FreeBSD()
        assert told_by_both(system.sockets(5397, 5397)) == by_netstat(range(5397, 5398))
        listed = system.connections({5397})  # each second of a trial: never by a process
        assert listed is None if times else listed is not None and len(listed) == 4
        assert len(asked) == times
