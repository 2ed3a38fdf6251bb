"""netperf sessions added up, and what is no result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import tools
from linkladder.model import Direction, End, Experiment, Fault, Outcome, Protocol, SocketBuffers, left_out_mark
from linkladder.tools import Demands, Expectation, ToolVersions
from linkladder.tools.netperf.argv import APART, LATEST, SPARE, WAIT

BOTH = ToolVersions({"iperf": "2.1.8", "netperf": "2.7.0"})
RR = Experiment("x", "netperf", Protocol.RR, duration=2, warmup=1, sessions=3, request=700, response=700)
STREAM = Experiment("x", "netperf", Protocol.TCP, duration=2, warmup=1, streams=2, window=300000)
EXPECT = Expectation("127.0.0.1", "127.0.0.1", 9610)


def verdict(exp: Experiment, outs: tuple[str, ...], err: str = "", expect: Expectation = EXPECT) -> Outcome:
    where = tools.layout(exp, BOTH, BOTH)
    if not expect.exit_codes:
        expect = replace(expect, exit_codes=(0,) * len(outs))
    return tools.finish(exp, where, ("", ""), tuple((out, "" if n else err) for n, out in enumerate(outs)), expect)


def session(rates: list[float], begun: float = 1000.0, units: str = "Trans/s", more: str = "") -> str:
    lines = []
    for n, rate in enumerate(rates):
        lines += [
            f"NETPERF_INTERIM_RESULT[{n}]={rate:.2f}",
            f"NETPERF_UNITS[{n}]={units}",
            f"NETPERF_INTERVAL[{n}]=1.000",
            f"NETPERF_ENDING[{n}]={begun + n + 1:.3f}",
        ]
    mean = sum(rates) / len(rates)
    lines += [f"THROUGHPUT={mean:.2f}", f"THROUGHPUT_UNITS={units}", f"ELAPSED_TIME={len(rates)}.00"]
    return "\n".join(lines) + "\n" + more


def test_transactions_are_summed_over_sessions_without_the_warm_up() -> None:
    more = "MIN_LATENCY={}\nMEAN_LATENCY={}\nP50_LATENCY={}\nP90_LATENCY={}\nP99_LATENCY={}\nMAX_LATENCY={}\n"
    one = session([9999, 100, 200], more=more.format(5, 10.0, 9, 20, 30, 100))
    two = session([9999, 300, 400], more=more.format(4, 40.0, 35, 50, 60, 90))
    outcome = verdict(replace(RR, sessions=2), (one, two))
    assert outcome.ok, outcome.reason
    seen = outcome.transactions
    assert seen is not None
    assert seen.rate == pytest.approx((100 + 200 + 300 + 400) / 2)
    assert (seen.sessions, seen.min_us, seen.max_us) == (2, 4, 100)
    assert (seen.p50_us, seen.p90_us, seen.p99_us) == (35, 50, 60), "a bound: the largest of the sessions'"
    assert seen.mean_us == pytest.approx((10.0 * 10299 + 40.0 * 10699) / (10299 + 10699))
    assert any("no larger" in w for w in outcome.warnings)


def test_sessions_that_start_late_are_laid_on_one_time_line() -> None:
    early, late = session([100, 100, 100], 1000.0), session([1000, 500, 500], 1000.3)
    outcome = verdict(replace(RR, sessions=2, warmup=1, duration=1), (early, late))
    assert outcome.ok, outcome.reason
    assert outcome.transactions and outcome.transactions.rate == pytest.approx(600)


@pytest.mark.parametrize("later", [0.0, 1.4, LATEST - 1])
def test_sessions_go_on_until_the_last_has_had_its_time(later: float) -> None:
    """Seen on emulated FreeBSD: fifty sessions begin 4 to 17 s after each other, and on a quick machine at once."""
    exp = replace(RR, sessions=2)
    tool, where = tools.named("netperf"), tools.layout(exp, BOTH, BOTH)
    argv = tool.client_argv(exp, BOTH, where, "10.0.0.1", "10.0.0.2", 5301, 0)
    asked, longest = 3, int(argv[argv.index("-l") + 1])
    assert longest == asked + LATEST + SPARE, "if nobody tells them"
    assert tools.expected_seconds(exp) == asked + WAIT, "what is waited for is what a quick end takes"
    first, last = tool.reading().live(exp, where, End.NEAR), tool.reading().live(exp, where, End.NEAR)
    texts = ["", ""]
    for second in range(longest + 1):
        if tool.enough(exp, [first.span, last.span]):
            break
        for number, (live, rate, begun) in enumerate(((first, 100.0, 0.0), (last, 500.0, later))):
            if second >= begun:
                texts[number] = session([rate] * (second - int(begun) + 1), 1000.0 + begun)
                for line in texts[number].splitlines()[-7:-3]:
                    live.feed(line)
    assert later + asked <= second < later + asked + 2, "each tells of whole seconds of its own"
    outcome = verdict(exp, (texts[0], texts[1]))
    assert outcome.ok and outcome.transactions, outcome.reason
    assert outcome.transactions.rate == pytest.approx(600)


def test_one_session_and_streams_keep_a_time_of_their_own() -> None:
    tool, told = tools.named("netperf"), [(1000.0, 1100.0)]
    for exp in (replace(RR, sessions=1), STREAM, replace(STREAM, streams=1)):
        argv = tool.client_argv(exp, BOTH, tools.layout(exp, BOTH, BOTH), "10.0.0.1", "10.0.0.2", 5301, 0)
        assert int(argv[argv.index("-l") + 1]) == tools.expected_seconds(exp) and not tool.latest(exp)
        assert not tool.enough(exp, told)
    assert tools.expected_seconds(STREAM) == 3 + APART and not tool.enough(RR, [*told, None])


def test_several_sessions_connect_before_any_of_them_asks() -> None:
    """Seen with fifty on a tenth of a core: by 2.1 s after each other without it, by 0.4 s with it."""
    layout = tools.layout(RR, BOTH, BOTH)
    for sessions, waits in ((1, None), (2, "2"), (50, "2")):
        exp = replace(RR, sessions=sessions)
        argv = tools.named("netperf").client_argv(exp, BOTH, layout, "10.0.0.1", "10.0.0.2", 5301, 0)
        own = argv[: argv.index("--")]
        assert (own[own.index("-s") + 1] if "-s" in own else None) == waits
        assert tools.named("netperf").waits(exp) == float(waits or 0)


def test_sessions_without_a_counted_second_in_common() -> None:
    early, late = session([100.0] * 6, 1000.0), session([100.0] * 6, 1000.0 + LATEST)
    outcome = verdict(replace(RR, sessions=2), (early, late))
    assert outcome.fault == Fault.TOOL and "have 0 of 2 counted seconds in common" in outcome.reason


def test_what_lies_between_the_interim_results_that_are_kept_is_the_rest_of_the_total() -> None:
    exp, rates = replace(RR, warmup=1, duration=8, sessions=1), [900, 100, 110, 120, 100, 90, 80, 100, 105]
    text = session(rates)
    reading = tools.named(exp.tool).reading()
    lines = [line for line in text.splitlines() if (reading.second(line, exp) or 0) not in (3, 4, 5)]
    lines.insert(12, left_out_mark(12))
    whole, some = verdict(exp, (text,)), verdict(exp, ("\n".join(lines),))
    assert whole.transactions and some.transactions, some.reason
    assert len(lines) == len(text.splitlines()) - 11
    assert some.transactions.rate == pytest.approx(whole.transactions.rate, rel=1e-3)
    assert not verdict(exp, ("\n".join(line for line in lines if "left out" not in line),)).ok


def test_captured_sessions(captures: Path) -> None:
    folder = captures / "netperf-2.7.0-linux"
    outs = tuple((folder / f"rr-3-{n}.txt").read_text() for n in (1, 2, 3))
    outcome = verdict(RR, outs)
    assert outcome.ok, outcome.reason
    assert outcome.transactions is not None
    rates = [float(line.split("=")[1]) for o in outs for line in o.splitlines() if line.startswith("THROUGHPUT=")]
    assert outcome.transactions.rate == pytest.approx(sum(rates), rel=0.1), "the whole run's, roughly"
    assert outcome.transactions.sessions == 3


def test_captured_streams_and_their_window(captures: Path) -> None:
    folder = captures / "netperf-2.7.0-linux"
    outs = tuple((folder / f"maerts-2-{n}.txt").read_text() for n in (1, 2))
    outcome = verdict(STREAM, outs)
    assert outcome.ok, outcome.reason
    assert len(outcome.flows) == 2
    assert outcome.window_read_back == SocketBuffers(600000, 600000)
    assert outcome.by_direction == {"forward": outcome.goodput_bps}
    assert outcome.goodput_bps == pytest.approx(sum(f.bps for f in outcome.flows))
    refused = verdict(replace(STREAM, window=8388608), outs)
    assert refused.fault == Fault.TOOL and "8388608 bytes were asked, 300000 granted" in refused.reason


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("NETPERF_INTERVAL[0]=1.000\nNETPERF_INTERVAL[0]=0.000", "given twice"),
        ("NETPERF_INTERVAL[0]=0.000", "not whole"),
    ],
)
def test_an_interim_result_without_time_is_only_ever_the_last(captures: Path, damage: str, said: str) -> None:
    outs = [(captures / "netperf-2.7.0-linux" / f"rr-3-{n}.txt").read_text() for n in (1, 2, 3)]
    assert verdict(RR, tuple(outs)).ok
    whole = next(line for line in outs[2].splitlines() if line.startswith("NETPERF_INTERVAL[0]="))
    outs[2] = outs[2].replace(whole, damage)
    outcome = verdict(RR, tuple(outs))
    assert not outcome.ok and said in outcome.reason


@pytest.mark.parametrize("name", ["maerts-stalled.txt", "rr-stalled.txt"])
def test_a_link_that_goes_down_is_the_paths_fault(captures: Path, name: str) -> None:
    text = (captures / "netperf-2.7.0-linux" / name).read_text()
    exp = replace(STREAM, streams=1, window=None) if name.startswith("m") else replace(RR, sessions=1)
    outcome = verdict(exp, (text,), expect=replace(EXPECT, exit_codes=(1,), watchdog=True))
    assert outcome.fault == Fault.PATH and "stalled" in outcome.reason


def test_sessions_that_stall_while_an_end_stands_still_are_not_the_paths_fault() -> None:
    begun = session([100, 100], 1040.0).split("THROUGHPUT=")[0]
    exp = replace(RR, sessions=1, duration=9)
    watched = replace(EXPECT, exit_codes=(-15,), watchdog=True, still_at=("near",))
    reason = "the transfer stalled: no answer after 2 s of 10 s"
    for still, fault, said in (
        ((1.9, 12.1), Fault.TOOL, f"{reason}, but near stood still itself for 10.2 s meanwhile"),
        ((1.9, 5.0), Fault.PATH, reason),
    ):
        outcome = verdict(exp, (begun,), expect=replace(watched, still=(still,)))
        assert (outcome.fault, outcome.reason) == (fault, said)


def test_sessions_that_a_slow_end_begins_too_late_are_not_the_paths_fault() -> None:
    """Seen on emulated FreeBSD with 50 sessions: 48 had run to their ends when the last one's time was up."""
    ended, late = session([100, 100, 100]), "\n".join(session([100, 100], 1040.0).splitlines()[:8])
    watched = replace(EXPECT, exit_codes=(0, 0, -15), watchdog=True)
    outcome = verdict(RR, (ended, ended, late), expect=watched)
    assert outcome.fault == Fault.TOOL and outcome.reason == "1 of 3 netperf sessions began too late to end in time"
    stalled = verdict(RR, (late, late, late), expect=watched)
    assert stalled.fault == Fault.PATH and "no answer after 2 s of 3 s" in stalled.reason
    never = verdict(RR, (ended.split("THROUGHPUT=")[0],) * 2 + ("",), expect=replace(watched, exit_codes=(-15,) * 3))
    assert never.fault == Fault.TOOL and "3 of 3 netperf sessions began too late" in never.reason
    done = verdict(RR, (ended, ended, ended), expect=watched)
    assert done.fault == Fault.TOOL and done.reason == "netperf did not end by itself and had to be ended"


def test_refused_is_the_tools_fault_with_its_words(captures: Path) -> None:
    text = (captures / "freebsd-15.1" / "netperf-refused.txt").read_text()
    outcome = verdict(replace(RR, sessions=1), ("",), text, replace(EXPECT, exit_codes=(255,)))
    assert outcome.fault == Fault.TOOL
    assert "are you sure there is a netserver listening" in outcome.reason
    assert "exit status 255" in outcome.reason


def test_what_contradicts_itself_is_no_result() -> None:
    good = session([100.0, 100.0, 100.0])
    one = replace(RR, sessions=1)
    assert verdict(one, (good,)).ok
    for bad in (
        good.replace("THROUGHPUT=100.00", "THROUGHPUT=1000.00"),
        good.replace("NETPERF_INTERIM_RESULT[1]=100.00", "NETPERF_INTERIM_RESULT[1]=nan"),
        good.replace("NETPERF_ENDING[1]=1002.000", "NETPERF_ENDING[1]=2002.000"),
        good.replace("ELAPSED_TIME=3.00", "ELAPSED_TIME=1.00"),
        good.replace("Trans/s", "Furlongs/s"),
        good + "THROUGHPUT=7.00\n",
        good.replace("NETPERF_INTERVAL[2]=1.000\n", ""),
    ):
        outcome = verdict(one, (bad,))
        assert not outcome.ok and outcome.fault == Fault.TOOL and outcome.reason, bad


def test_a_last_result_of_no_length_is_no_damage() -> None:
    """As netperf 2.7 printed it on Linux: the test ended 0.4 ms after the second interim result."""
    more = "NETPERF_INTERIM_RESULT[3]={}\nNETPERF_UNITS[3]=Trans/s\n"
    more += "NETPERF_INTERVAL[3]=0.000\nNETPERF_ENDING[3]=1003.000\n"
    one, good = replace(RR, sessions=1), session([100.0, 100.0, 100.0])
    outcome = verdict(one, (good + more.format("11721.61"),))
    assert outcome.ok and outcome.transactions == verdict(one, (good,)).transactions, outcome.reason
    assert "not whole" in verdict(one, (good + more.format("nan"),)).reason, "one that is broken stays so"


def test_a_netperf_that_was_built_without_interim_results_is_told() -> None:
    """As netperf 2.7.1 printed it on FreeBSD, configured without them."""
    first = "Sorry, Demo Mode not configured into this netperf.\nPlease consider reconfiguring netperf with\n"
    text = f"{first}--enable-demo=yes and recompiling\nTHROUGHPUT=545.99\nTHROUGHPUT_UNITS=Trans/s\nELAPSED_TIME=3.04\n"
    outcome = verdict(replace(RR, sessions=1), (text,))
    assert outcome.fault == Fault.TOOL and "built without --enable-demo" in outcome.reason
    assert "built" not in verdict(replace(RR, sessions=1), (text.replace("Demo Mode", "that"),)).reason


def test_a_session_that_died() -> None:
    outcome = verdict(replace(RR, sessions=2), (session([1, 1, 1]), ""), expect=replace(EXPECT, exit_codes=(0, -9)))
    assert outcome.fault == Fault.TOOL and "1 of 2 netperf sessions gave no result" in outcome.reason


def test_reverse_swaps_the_ends() -> None:
    where = tools.layout(replace(RR, direction=Direction.REVERSE), BOTH, BOTH)
    assert (where.server, where.client) == (End.NEAR, End.FAR)


def test_saved(captures: Path) -> None:
    text = (captures / "freebsd-15.1" / "netperf-rr-700.txt").read_text()
    outcome = tools.parse_saved("netperf", text, Demands(seconds=4))
    assert outcome.ok and outcome.transactions
    assert outcome.transactions.rate == 806.65
    assert (outcome.transactions.p50_us, outcome.transactions.p99_us, outcome.transactions.max_us) == (234, 9450, 52595)
    assert not tools.parse_saved("netperf", text, Demands(seconds=10)).ok
    stream = (captures / "netperf-2.7.0-linux" / "maerts-2-1.txt").read_text()
    saved = tools.parse_saved("netperf", stream)
    rate = next(float(line.split("=")[1]) for line in stream.splitlines() if line.startswith("THROUGHPUT="))
    assert saved.goodput_bps == pytest.approx(rate * 1e6)
    refused = tools.parse_saved("netperf", (captures / "freebsd-15.1" / "netperf-refused.txt").read_text())
    assert not refused.ok and "netserver listening" in refused.reason


@pytest.mark.parametrize("times", [0.5, 0.97, 1.03, 1.5])
@pytest.mark.parametrize("told", ["REMOTE_BYTES_SENT", "LOCAL_BYTES_XFERD", "LOCAL_BYTES_RECVD"])
def test_a_saved_rate_that_its_own_bytes_contradict_is_no_result(captures: Path, told: str, times: float) -> None:
    """A rate beside bytes that were sent, and none that were received, was taken with any digit changed."""
    text = (captures / "netperf-2.7.0-linux" / "maerts-2-1.txt").read_text()
    kept = [line for line in text.splitlines() if not line.startswith(("NETPERF_", "LOCAL_BYTES", "REMOTE_BYTES"))]
    good = "\n".join([*kept, f"{told}=7231658381"])
    assert tools.parse_saved("netperf", good).ok
    outcome = tools.parse_saved("netperf", good.replace("=14462.03", f"={14462.03 * times:.2f}"))
    assert not outcome.ok and "its rate makes" in outcome.reason and "7231658381" in outcome.reason


def test_datagrams_that_were_lost_contradict_no_rate_and_those_never_sent_do() -> None:
    text = "$ netperf -t UDP_STREAM -- -k THROUGHPUT\nTHROUGHPUT={}\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=4.00\n"
    text += "LOCAL_BYTES_SENT=50000000\n"
    assert tools.parse_saved("netperf", text.format("80.00")).ok
    assert not tools.parse_saved("netperf", text.format("110.00")).ok
    assert not tools.parse_saved("netperf", text.replace("UDP", "TCP").format("80.00")).ok
