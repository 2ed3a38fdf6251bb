"""Verdicts on iperf output made up for the case: what no capture shows, and what no tool should print."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Direction, Experiment, Fault, Outcome, Protocol
from tools_cases import MODERN, TWO_ENDS

SERVER = """\
Server listening on TCP port 7000 with pid 1
TCP window size: 131072 Byte (default)
[  1] local 10.91.0.2%vmx0 port 7000 connected with 10.91.0.1 port 4000 (peer 2.1.8)
"""
CLIENT = """\
Client connecting to 10.91.0.2, TCP port 7000 with pid 2 (1 flows)
TCP window size: 131072 Byte (default)
[  1] local 10.91.0.1%vmx0 port 4000 connected with 10.91.0.2 port 7000 (sock=3)
"""


def row(start: float, end: float, count: int, tail: str = "1=1:0:0:0:0:0:0:0") -> str:
    rate = round(count * 8 / (end - start))
    return f"[  1] {start:.2f}-{end:.2f} sec  {count} Bytes  {rate} bits/sec  {tail}\n"


def verdict(server: str, client: str = CLIENT, exp: Experiment | None = None, **known: object) -> Outcome:
    exp = exp or Experiment("x", duration=4, warmup=1)
    expect = replace(TWO_ENDS, **known)
    return tools.finish(exp, tools.layout(exp, MODERN, MODERN), (server, ""), ((client, ""),), expect)


def test_black_hole() -> None:
    """Connects, one segment, then 0 bit/s."""
    rows = row(0, 1, 1448) + "".join(
        f"[  1] {k}.00-{k + 1}.00 sec  0.000 Bytes  0.000 bits/sec  0=0:0:0:0:0:0:0:0\n" for k in range(1, 9)
    )
    outcome = verdict(SERVER + rows, watchdog=True)
    assert (outcome.fault, outcome.ok) == (Fault.PATH, False)
    assert "nothing arrived" in outcome.reason
    nothing = verdict(SERVER, watchdog=True)
    assert nothing.fault == Fault.PATH and "nothing arrived" in nothing.reason


def test_a_run_that_outlives_its_time_with_empty_seconds() -> None:
    """FreeBSD, large sends lost on the path: -t 4 came back after 30 s, exit status 0, nearly all seconds empty."""
    empty = "".join(f"[  1] {k}.00-{k + 1}.00 sec  0.000 Bytes  0.000 bits/sec  0=0:0\n" for k in range(2, 29))
    rows = row(0, 1, 5000000) + row(1, 2, 131072) + empty + row(29, 30, 1448) + row(0, 30, 5132520)
    outcome = verdict(SERVER + rows.replace("0=0:0\n", "0=0:0:0:0:0:0:0:0\n"))
    assert outcome.fault == Fault.PATH and "stalled" in outcome.reason


def test_missing_last_second_is_restored_from_the_total() -> None:
    """2.0.13 leaves out a last second that is not whole."""
    rows = row(0, 1, 100) + "".join(row(k, k + 1, 1000000) for k in range(1, 4)) + row(0, 4.99, 3990100)
    outcome = verdict(SERVER + rows)
    assert outcome.ok, outcome.reason
    assert outcome.intervals[-1].bytes == 990000
    assert outcome.goodput_bps == pytest.approx(3990000 * 8 / 3.99)


def test_a_missing_second_in_the_middle_is_no_result() -> None:
    rows = row(0, 1, 100) + row(1, 2, 1000000) + row(3, 4, 1000000) + row(4, 5, 1000000) + row(0, 5, 4000100)
    outcome = verdict(SERVER + rows)
    assert outcome.fault == Fault.TOOL and "between 2.00 s and 3.00 s" in outcome.reason


def test_a_total_that_contradicts_the_seconds() -> None:
    rows = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 30_000_000)
    outcome = verdict(SERVER + rows)
    assert outcome.fault == Fault.TOOL and "add up" in outcome.reason


def test_a_digit_lost_on_the_way_makes_the_line_foreign() -> None:
    good = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 50_000_000)
    assert verdict(SERVER + good).ok
    bad = verdict(SERVER + good.replace("2.00-3.00 sec  10000000 Bytes", "2.00-3.00 sec  1000000 Bytes"))
    assert not bad.ok and "between 2.00 s and 3.00 s" in bad.reason
    assert bad.goodput_bps == 0.0, "a number that may be wrong is not given"


def test_unknown_words_on_stderr_fail_the_trial_with_its_text() -> None:
    exp = Experiment("x", duration=4, warmup=1)
    good = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 50_000_000)
    where = tools.layout(exp, MODERN, MODERN)
    outcome = tools.finish(
        exp,
        where,
        (SERVER + good, ""),
        ((CLIENT, "WARNING: something new\n"),),
        TWO_ENDS,
    )
    assert outcome.fault == Fault.TOOL and "WARNING: something new" in outcome.reason
    harmless = "Waiting for server threads to complete. Interrupt again to force quit.\n"
    assert tools.finish(exp, where, (SERVER + good, harmless), ((CLIENT, ""),), TWO_ENDS).ok


def test_a_client_that_prints_garbage_or_nothing() -> None:
    for text in ("", "segmentation fault (core dumped)\n", "\x00\x01[[[["):
        outcome = verdict("", text)
        assert outcome.fault == Fault.TOOL and not outcome.ok and outcome.reason
    waiting = verdict(
        "",
        "Client connecting to 10.91.0.2, TCP port 7000 with pid 2 (1 flows)\n",
        watchdog=True,
    )
    assert waiting.fault == Fault.PATH and "never made" in waiting.reason


def test_udp_of_which_nothing_arrived() -> None:
    exp = Experiment("x", protocol=Protocol.UDP, duration=4, warmup=1, udp_rate_bps=1e6)
    client = CLIENT.replace("TCP port", "UDP port") + "".join(row(k, k + 1, 125000, "85/0 85 pps") for k in range(5))
    server = "Server listening on UDP port 7000 with pid 1\n"
    outcome = verdict(server, client + row(0, 5, 625000, "425/0 85 pps"), exp)
    assert outcome.fault == Fault.PATH and "nothing of 1 of the 1 UDP streams arrived" in outcome.reason


def test_a_reader_with_too_small_a_buffer_is_found_out() -> None:
    """Without the same -l at the server it reads 1470 bytes of each 8000."""
    exp = Experiment(
        "x",
        protocol=Protocol.UDP,
        duration=4,
        warmup=1,
        udp_rate_bps=64e6,
        write_size=8000,
    )

    def udp(start: int, end: int, datagrams: int, size: int) -> str:
        return row(
            start,
            end,
            datagrams * size,
            f"0.001 ms 0/{datagrams} (0%) 0.1/0.1/0.1/0.1 ms 1000 pps",
        )

    server = SERVER.replace("TCP port", "UDP port")
    for size, ok in ((8000, True), (1470, False)):
        text = server + "".join(udp(k, k + 1, 1000, size) for k in range(5)) + udp(0, 5, 5000, size)
        outcome = verdict(text, CLIENT, exp)
        assert outcome.ok is ok, outcome.reason


def test_a_trickle_that_never_ends_is_the_paths_fault() -> None:
    """Large sends lost on the path: a segment or two a second arrive, the client cannot empty its buffer and hangs."""
    trickle = "".join(row(k, k + 1, 2896) for k in range(15)) + row(0, 15, 15 * 2896)
    wrote = (
        row(0, 1, 786432, "6/0") + "".join(row(k, k + 1, 0, "0/0") for k in range(1, 15)) + row(0, 15, 786432, "6/0")
    )
    outcome = verdict(SERVER + trickle, CLIENT + wrote, watchdog=True)
    assert (outcome.ok, outcome.fault) == (False, Fault.PATH)
    assert "trickled: 23.2 kb/s" in outcome.reason
    assert "742992 bytes were still on their way" in outcome.reason
    full = "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 50_000_000)
    sent = "".join(row(k, k + 1, 10_000_000, "80/0") for k in range(5)) + row(0, 5, 50_131_072, "80/0")
    hung = verdict(SERVER + full, CLIENT + sent, watchdog=True)
    assert hung.fault == Fault.TOOL, "all that it wrote had arrived, or would in an instant: the client hung by itself"


def test_one_of_two_flows_that_stops_for_good_is_the_paths_fault() -> None:
    def second(text: str) -> str:
        return text.replace("[  1]", "[  2]").replace("port 4000", "port 4002")

    exp = Experiment("x", duration=9, warmup=1, streams=2)
    alive = "".join(row(k, k + 1, 10_000_000) for k in range(10)) + row(0, 10, 100_000_000)
    silent = "".join(row(k, k + 1, 10_000_000 if k < 4 else 0, "0=0:0:0:0:0:0:0:0") for k in range(10))
    dead = second(silent + row(0, 10, 40_000_000))
    head = SERVER + second(SERVER.splitlines()[2] + "\n")
    client = CLIENT + second(CLIENT.splitlines()[2] + "\n")
    outcome = verdict(head + alive + dead, client, exp)
    assert (outcome.fault, outcome.reason) == (
        Fault.PATH,
        "flow 2 stopped arriving after 4 s of 10 s while others went on",
    )
    pause = "".join(row(k, k + 1, 0 if 4 <= k < 6 else 10_000_000) for k in range(10))
    assert verdict(head + alive + second(pause + row(0, 10, 80_000_000)), client, exp).ok, "it came back"


def test_a_flow_that_arrived_to_the_byte_paused_where_an_end_stood_still() -> None:
    """Seen on emulated FreeBSD with eight flows, both ends still for 3 s: two flows had one segment, and then none."""

    def second(text: str) -> str:
        return text.replace("[  1]", "[  2]").replace("port 4000", "port 4002")

    exp = Experiment("x", duration=5, warmup=1, streams=2)
    head, client = (text + second(text.splitlines()[2] + "\n") for text in (SERVER, CLIENT))
    alive = "".join(row(k, k + 1, 10_000_000) for k in range(6)) + row(0, 6, 60_000_000)
    paused = "".join(row(k, k + 1, 10_000_000 if k < 4 else 0, "0=0:0:0:0:0:0:0:0") for k in range(6))
    paused = second(paused + row(6, 6.5, 5_000_000) + row(0, 6.5, 45_000_000))
    wrote = "".join(row(k, k + 1, 10_000_000, "80/0") for k in range(6)) + row(0, 6, 60_000_000, "480/0")
    rest = "".join(row(k, k + 1, 7_500_000, "60/0") for k in range(6)) + row(0, 6, 45_000_000, "360/0")
    reason = "flow 2 stopped arriving after 4 s of 6 s while others went on"
    still: tuple[tuple[float, float], ...]
    for still in ((), ((0.0, 2.0),), ((6.5, 8.0),)):
        stopped = verdict(head + alive + paused, client + wrote + second(rest), exp, still=still)
        assert (stopped.fault, stopped.reason) == (Fault.PATH, reason), "nothing else accounts for it"
    for still in (((4.1, 6.9),), ((3.5, 4.0), (4.1, 5.5))):
        outcome = verdict(head + alive + paused, client + wrote + second(rest), exp, still=still)
        assert outcome.ok, outcome.reason
        assert any(reason in warning for warning in outcome.warnings)
    lost = second(rest.replace("45000000", "45131072"))
    missing = verdict(head + alive + paused, client + wrote + lost, exp, still=((4.1, 6.9),))
    assert missing.fault == Fault.TOOL and missing.reason.startswith(reason), "some of it never came"


def test_eight_flows_of_ends_that_stood_still_are_no_measurement_and_not_the_paths_fault(captures: Path) -> None:
    """As offload met them: both ends did not look at themselves for 2.7 s and then for 3.9 s, and all arrived."""
    exp = Experiment("x", duration=2, warmup=1, streams=8, write_size=1 << 20)
    said = {role: (captures / f"freebsd-15.1/still-p8.{role}.txt").read_text() for role in ("server", "client")}
    reason, still = "flow 5 stopped arriving after 1 s of 3 s while others went on", ((0.79, 3.485), (3.485, 7.337))
    expect = replace(TWO_ENDS, local="10.77.1.1", remote="10.77.1.2")
    for seen, fault, words in (
        ((), Fault.PATH, reason), (still, Fault.TOOL, f"{reason}, but far stood still itself for 3.9 s meanwhile"),
    ):  # fmt: skip
        found = tools.finish(
            exp, tools.layout(exp, MODERN, MODERN), (said["server"], ""), ((said["client"], ""),),
            replace(expect, still=seen, still_at=("near", "far")[: len(seen)]),
        )  # fmt: skip
        assert (found.ok, found.fault, found.reason) == (False, fault, words)


def test_what_stalled_while_an_end_stood_still_is_no_fault_of_the_path() -> None:
    empty = "0=0:0:0:0:0:0:0:0"
    gone = "".join(row(k, k + 1, 0 if k > 2 else 10_000_000, empty) for k in range(5)) + row(0, 5, 30_000_000)
    reason = "the transfer stalled: no byte after 3 s of 5 s"
    still: tuple[tuple[float, float], ...]
    for still in ((), ((0.0, 2.9),)):
        stalled = verdict(SERVER + gone, still=still)
        assert (stalled.fault, stalled.reason) == (Fault.PATH, reason)
    stood = verdict(SERVER + gone, still=((3.1, 5.6),))
    assert (stood.ok, stood.fault) == (False, Fault.TOOL)
    assert stood.reason == f"{reason}, but an end stood still itself for 2.5 s meanwhile"


def test_nothing_that_arrives_and_a_cut_are_the_paths_only_if_no_end_stood_still() -> None:
    whole = SERVER + "".join(row(k, k + 1, 10_000_000) for k in range(5)) + row(0, 5, 50_000_000)
    exp = Experiment("x", duration=4, warmup=1)

    def found(server: str, error: str, still: tuple[tuple[float, float], ...]) -> Outcome:
        expect = replace(TWO_ENDS, still=still, still_at=("far",) * len(still))
        return tools.finish(exp, tools.layout(exp, MODERN, MODERN), (server, error), ((CLIENT, ""),), expect)

    added = ", but far stood still itself for 5.2 s meanwhile"
    for server, error, said in (
        (SERVER, "", "the connection was made and then nothing arrived (1 tcp flow, near to far)"),
        (whole, "recv failed: Connection reset by peer", "the connection was cut"),
    ):
        path, own = found(server, error, ()), found(server, error, ((0.1, 5.3),))
        assert path.fault == Fault.PATH and path.reason.startswith(said) and "stood still" not in path.reason
        assert own.fault == Fault.TOOL and own.reason.startswith(said) and own.reason.endswith(added)
        assert "both ends still ran" not in own.reason


def test_a_flow_that_a_busy_receiver_took_up_late_has_not_stopped() -> None:
    """Seen on emulated FreeBSD with eight flows: the same total at both ends, 2.76 s there and 3.28 s here."""
    exp = Experiment("x", duration=2, warmup=1)
    received = row(0, 1, 1_429_948) + row(1, 2, 9_358_776) + row(2, 2.76, 18_571_464) + row(0, 2.76, 29_360_188)
    client = CLIENT + row(0, 1, 1_048_636, "1/0") + row(1, 2, 8_388_608, "8/0") + row(2, 3, 18_874_368, "18/0")
    outcome = verdict(
        SERVER + received, client + row(3, 3.28, 1_048_576, "1/0") + row(0, 3.28, 29_360_188, "28/0"), exp
    )
    assert outcome.ok, outcome.reason
    more = row(3, 3.28, 2_097_152, "2/0") + row(0, 3.28, 30_408_764, "29/0")
    stopped = verdict(SERVER + received, client + more, exp)
    assert stopped.fault == Fault.PATH and "stopped arriving after 2.8 s" in stopped.reason, "a write never came"
    half = row(0, 1, 1_429_948) + row(1, 1.4, 27_930_240) + row(0, 1.4, 29_360_188)
    early = verdict(SERVER + half, client + row(3, 3.28, 1_048_576, "1/0") + row(0, 3.28, 29_360_188, "28/0"), exp)
    assert early.fault == Fault.TOOL and "taken up late: 1.4 s of 3 s were counted" in early.reason


def test_the_flows_of_a_trial_make_its_rate_though_one_was_taken_up_late(captures: Path) -> None:
    """Of four flows on a starved FreeBSD one was counted for 2.5 s of 3: its own rate was over half a second less."""
    exp = Experiment("x", duration=2, warmup=1, streams=4, direction=Direction.REVERSE)
    said = {role: (captures / f"freebsd-15.1/late-p4-reverse.{role}.txt").read_text() for role in ("server", "client")}
    where = tools.layout(exp, MODERN, MODERN)
    expect = replace(TWO_ENDS, local="10.77.1.1", remote="10.77.1.2")
    outcome = tools.finish(exp, where, (said["server"], ""), ((said["client"], ""),), expect)
    assert outcome.ok, outcome.reason
    assert outcome.goodput_bps == pytest.approx(105.3e6, rel=0.001)
    assert sum(flow.bps for flow in outcome.flows) == pytest.approx(outcome.goodput_bps, rel=0.01)


UDP_SERVER = SERVER.replace("TCP window", "UDP buffer").replace("TCP port", "UDP port")
UDP_CLIENT = CLIENT.replace("TCP window", "UDP buffer").replace("TCP port", "UDP port")
UDP = Experiment("x", protocol=Protocol.UDP, duration=3, warmup=1, udp_rate_bps=80e6, write_size=1000)


def udp(start: float, end: float, received: int, lost: int) -> str:
    share = f"{100 * lost / (received + lost):.2g}"
    return row(start, end, received * 1000, f" 0.100 ms {lost}/{received + lost} ({share}%)")


def sent(count: int) -> str:
    rows = "".join(row(k, k + 1, count * 250, f"{count // 4}/0") for k in range(4))
    return rows + row(0, 4, count * 1000, f"{count}/0") + f"[  1] Sent {count} datagrams\n"


def test_a_server_that_accounts_for_every_datagram_has_seen_the_trial_to_its_end() -> None:
    """A queue that overflows swallows the tail: what came was over after 3.9 s, every datagram received or lost."""
    rows = "".join(udp(k, k + 1, 6000, 4000) for k in range(3)) + udp(3, 3.88, 5280, 3520) + udp(0, 3.88, 23280, 15520)
    outcome = verdict(UDP_SERVER + rows, UDP_CLIENT + sent(38800), UDP)
    assert outcome.ok, outcome.reason
    assert outcome.lost == 4000 + 4000 + 3520
    unknown = verdict(UDP_SERVER + rows, UDP_CLIENT + sent(60000), UDP)
    assert unknown.fault == Fault.PATH and "stopped arriving after 3.9 s" in unknown.reason


def test_an_acknowledgement_that_came_too_late_is_no_fault() -> None:
    rows = "".join(udp(k, k + 1, 10000, 0) for k in range(4)) + udp(0, 4, 40000, 0)
    where = tools.layout(UDP, MODERN, MODERN)
    for words in ("[  1] write-ackfin failed: Connection refused\n", "write ackfin failed: Connection refused\n"):
        client = (UDP_CLIENT + sent(40000), words)
        outcome = tools.finish(UDP, where, (UDP_SERVER + rows, ""), (client,), TWO_ENDS)
        assert outcome.ok, outcome.reason
    nobody = tools.finish(UDP, where, (UDP_SERVER, ""), ((UDP_CLIENT + sent(40000), words),), TWO_ENDS)
    assert not nobody.ok, "nothing arrived all the same"


def test_a_loss_that_contradicts_its_percentage_is_no_result() -> None:
    rows = "".join(udp(k, k + 1, 10000, 0) for k in range(4)) + udp(0, 4, 40000, 0)
    for wrong in (rows.replace("0/10000 (0%)", "900/10000 (0%)"), rows.replace("0/10000 (0%)", "0/10000 (9%)", 1)):
        outcome = verdict(UDP_SERVER + wrong, UDP_CLIENT + sent(40000), UDP)
        assert outcome.fault == Fault.TOOL, outcome.reason
