"""What tools say on stderr, and what of it matters."""

from __future__ import annotations

from linkladder.model import Fault
from linkladder.tools import complaints


def test_iperf_taking_its_own_clock_for_udp_on_freebsd_is_no_fault() -> None:
    """iperf 2.2.1 says it on FreeBSD 15.1 once for every UDP server; its figures are whole."""
    assert complaints.listen("[ 1] WARN: recvmsg MSG_CTRUNC occured\n").fault is None
    more = complaints.listen("[ 1] WARN: recvmsg MSG_CTRUNC occured\nbind failed: Address already in use\n")
    assert (more.fault, more.plain) == (Fault.TOOL, "the port is already taken")
