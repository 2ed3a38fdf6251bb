"""What tools say on stderr, and what of it matters."""

from __future__ import annotations

from linkladder.model import Fault
from linkladder.tools import complaints


def test_iperf_taking_its_own_clock_for_udp_on_freebsd_is_no_fault() -> None:
    """iperf 2.2.1 says it on FreeBSD 15.1 once for every UDP server; its figures are whole."""
    assert complaints.listen("[ 1] WARN: recvmsg MSG_CTRUNC occured\n").fault is None
    more = complaints.listen("[ 1] WARN: recvmsg MSG_CTRUNC occured\nbind failed: Address already in use\n")
    assert (more.fault, more.plain) == (Fault.TOOL, "the port is already taken")


def test_consecutive_source_ports_are_no_fault() -> None:
    """iperf 2.1.8 on Linux with -B 127.0.0.1:40001 --incr-srcport -P 4: the ports are used, the words are wrong."""
    said = complaints.listen("WARN: option of --incr-srcport requires -B bind option w/port to be set\n")
    assert (said.fault, said.lines) == (None, [])


def test_datagrams_a_little_larger_than_a_segment_are_no_fault() -> None:
    """iperf3 says it of the usual 1470 bytes, which fit an MTU of 1500."""
    words = "warning: UDP block size 1470 exceeds TCP MSS 1448, may result in fragmentation / drops\n"
    assert complaints.listen(words).lines == []
