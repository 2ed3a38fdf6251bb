"""Paced UDP from what iperf prints to the rung's verdict: a report that is whole is a result, however the end came."""

from __future__ import annotations

import dataclasses

from judge_documents import GIGABIT, GOOD, both, document, rung, tcp, trial
from linkladder import tools
from linkladder.judge import judge_document
from linkladder.model import (
    Command,
    Direction,
    Document,
    End,
    Experiment,
    ExperimentResult,
    Fault,
    NicCounters,
    Protocol,
    RungName,
    TrialResult,
)
from linkladder.tools import Expectation, ToolVersions
from linkladder.verdicts import Cause, Verdict
from trials import changed

SIZE = 1470
SECONDS = 4
FREEBSD = ToolVersions({"iperf": "2.2.1"}, "FreeBSD")
ENDS = Expectation("10.0.0.1", "10.0.0.2", 5201, "FreeBSD", "FreeBSD", exit_codes=(0,))
PACED = Experiment(
    "udp-half", protocol=Protocol.UDP, duration=3, warmup=1, udp_rate_bps=272e6, write_size=SIZE, repeats=8
)
HEAD = """\
------------------------------------------------------------
{said}
UDP buffer size: 42080 Byte (default)
------------------------------------------------------------
[  1] local {local}%vmx1 port {port} connected with {remote} port {other} (sock=3) on 2026-11-22 03:27:09 (UTC)
"""
SERVER = HEAD.format(
    said=f"Server listening on UDP port 5201 with pid 1\nRead buffer size: {SIZE} Byte",
    local="10.0.0.2", port=5201, remote="10.0.0.1", other=10334,
)  # fmt: skip
CLIENT = HEAD.format(
    said=f"Client connecting to 10.0.0.2, UDP port 5201 with pid 2 (1 flows)\nSending {SIZE} byte datagrams",
    local="10.0.0.1", port=10334, remote="10.0.0.2", other=5201,
)  # fmt: skip
NO_ACKNOWLEDGEMENT = "[  1] WARNING: did not receive ack of last datagram after 10 tries.\n"
REFUSED = "write-ackfin failed: Connection refused\n"


def received(spans: list[tuple[float, float, int, int]]) -> str:
    """The server's lines: from, to, datagrams received and lost; and its total."""
    whole = (0.0, spans[-1][1], sum(s[2] for s in spans), sum(s[3] for s in spans))
    return SERVER + "".join(_line(*one) for one in (*spans, whole))


def _line(start: float, end: float, got: int, lost: int) -> str:
    moved = got * SIZE
    share = 100 * lost / (got + lost)
    return (
        f"[  1] {start:.2f}-{end:.2f} sec  {moved} Bytes  {moved * 8 / (end - start):.0f} bits/sec   0.051 ms "
        f"{lost}/{got + lost} ({share:.2g}%) 2.1/0.2/9.3/1.1 ms {got / (end - start):.0f} pps {got}/0/0 1234\n"
    )


def sent(count: int) -> str:
    """The client's lines."""
    spans = [(n, n + 1, count // SECONDS) for n in range(SECONDS)]
    rows = (
        f"[  1] {a:.2f}-{b:.2f} sec  {n * SIZE} Bytes  {n * SIZE * 8 / (b - a):.0f} bits/sec  {n}/0 {n} pps\n"
        for a, b, n in (*spans, (0, SECONDS, count))
    )
    return CLIENT + "".join(rows) + f"[  1] Sent {count} datagrams\n"


GOT, LOST = 61_677, 31_064
LOSSY = received([(0, 1, 15_700, 7_700), (1, 2, 15_700, 7_900), (2, 3, 15_700, 7_900), (3, 3.91, 14_577, 7_564)])
CLEAN = received([(n, n + 1, 23_000, 0) for n in range(SECONDS)])


def measured(server: str, client: str, n: int, server_said: str = "", client_said: str = "") -> TrialResult:
    """What an engine makes of one trial's texts, and of what the cards counted beside it."""
    where = tools.layout(PACED, FREEBSD, FREEBSD)
    outcome = tools.finish(PACED, where, (server, server_said), ((client, client_said),), ENDS)
    commands = (
        Command(End.NEAR, "client", ("iperf", "-c", "10.0.0.2"), 0, client, client_said),
        Command(End.FAR, "server", ("iperf", "-s"), 0, server, server_said),
    )
    out, in_ = (sum(f.datagrams or 0 for f in outcome.flows), sum(f.total_bytes for f in outcome.flows) // SIZE)
    made = trial(1.0, n=n, commands=commands, nics={
        "near": NicCounters("vmx1", tx_bytes=(SIZE + 42) * max(out, in_), tx_packets=max(out, in_)),
        "far": NicCounters("vmx1", rx_bytes=(SIZE + 42) * in_, rx_packets=in_),
    })  # fmt: skip
    given = {f.name: getattr(outcome, f.name) for f in dataclasses.fields(outcome)}
    return changed(made, seconds=5.0 + n, **given)


def judged(*trials: TrialResult) -> Document:
    paced = ExperimentResult(PACED, trials)
    loads = (tcp(d, tuple(trial(GOOD, d, n) for n in range(3))) for d in (Direction.FORWARD, Direction.REVERSE))
    return document(both(RungName.SAME_HOST, 4e9), rung(RungName.DC_LINK, *loads, paced), contract=GIGABIT)


def eight(first: TrialResult) -> Document:
    return judged(first, *(measured(CLEAN, sent(92_000), n) for n in range(1, 8)))


def test_a_report_of_every_datagram_is_a_loss_of_the_path_and_no_silence() -> None:
    """All were counted up to the last one, which came before the time was up: a queue had swallowed the rest."""
    first = measured(LOSSY, sent(GOT + LOST), 0)
    assert first.ok, first.reason
    assert first.lost is not None and first.datagrams is not None and abs(first.lost / first.datagrams - 0.335) < 0.005
    link = judge_document(eight(first)).rungs[-1].judgement
    assert (link.verdict, link.cause) == (Verdict.FAIL, Cause.UDP_LOSS), link.sentence
    assert "33" in link.sentence and "nothing" not in link.sentence, link.sentence


def test_what_the_last_acknowledgement_met_is_no_failure() -> None:
    """The report had arrived; that the other side had closed by then says nothing of the path."""
    for server_said, client_said in ((REFUSED, ""), ("", REFUSED), ("", NO_ACKNOWLEDGEMENT), (f"[  1] {REFUSED}", "")):
        first = measured(CLEAN, sent(92_000), 0, server_said, client_said)
        assert first.ok and not first.lost, first.reason
        link = judge_document(eight(first)).rungs[-1].judgement
        assert (link.verdict, link.cause) == (Verdict.PASS, Cause.REACHED), link.sentence


def test_a_refusal_without_a_report_stays_a_failure() -> None:
    nothing = measured(SERVER, sent(92_000), 0, client_said=REFUSED)
    assert not nothing.ok and nothing.fault is Fault.PATH and "nothing arrived (1 udp flow" in nothing.reason
    early = received([(0, 1, 23_000, 0), (1, 1.4, 9_200, 0)])
    stopped = measured(early, sent(92_000), 0)
    assert not stopped.ok and stopped.fault is Fault.PATH and "stopped arriving after 1.4 s" in stopped.reason
    for first in (nothing, stopped):
        link = judge_document(eight(first)).rungs[-1].judgement
        assert link.verdict is Verdict.FAIL and "1 of 8 trials carried nothing" in link.sentence, link.sentence
