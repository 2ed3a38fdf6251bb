"""Reads the output of iperf 3, live and at the end."""

from __future__ import annotations

import re
from dataclasses import replace

from linkladder.model import Direction, End, Experiment, Fault, Outcome
from linkladder.tools import acceptance, complaints, saved
from linkladder.tools.contract import Live, Reading
from linkladder.tools.iperf3 import json_output
from linkladder.tools.iperf3.live import Intervals
from linkladder.tools.records import Demands, Expectation, Layout, Texts
from linkladder.tools.senders import written

MIDWAY = re.compile(r"unable to (?:write to|read from) stream socket")
ENDED = re.compile(r"^(?:interrupt - )?the (server|client) has terminated")
TEXT = re.compile(r"^\[ *\d{1,6}\](?:\[[TR]X-[SC]\])? +(?:local|\d+\.\d+-)", re.M)
BROKEN_LOCK = re.compile(r"^iperf_\w+: pthread_mutex_\w+: ")  # printed by a server of 3.16 that is ended


class Iperf3Output(Reading):
    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return Intervals(exp, where, end)

    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        served = json_output.parse(server[0], "server")
        asked = json_output.parse("".join(out for out, _ in clients), "client")
        said = complaints.listen(_stderr(server[1]), *(err for _, err in clients), _words(served, asked, expect))
        if any(MIDWAY.search(line) for line in said.lines):
            said.fault, said.plain = Fault.PATH, "the way to the other end was lost while it ran"
        if said.lines:  # its exit status says no more than its messages
            expect = replace(expect, exit_codes=())
        if reason := json_output.disagreement(exp, asked):
            said.lines.append(reason)
            said.fault, said.plain = said.fault or Fault.TOOL, said.plain or "it did not do as it was told"
        return acceptance.finish(exp, where, served.output, asked.output, said, expect)

    def written(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...]
    ) -> dict[Direction, int]:
        asked = json_output.parse("".join(out for out, _ in clients), "client")
        return written(exp, where, json_output.parse(server[0], "server").output, asked.output)

    def second(self, line: str, exp: Experiment) -> float | None:
        return json_output.second(line)

    def read_saved(self, text: str, demands: Demands) -> Outcome:
        report = json_output.parse(text)
        if report.runs > 1:
            return saved.no_result(f"it holds {report.runs} runs: one at a time can be read")
        if not report.output.streams and not report.errors and TEXT.search(text):
            return saved.no_result("it is iperf3's text for people, which is not read: save its JSON (-J)")
        report.output.foreign += [e for e in report.errors if report.output.role != "server" or not ENDED.match(e)]
        outcome = saved.read(report.output, demands, report.system)
        if outcome.ok and report.broken:
            return saved.no_result("a part of its JSON is not whole")
        if outcome.ok and report.cut:
            return saved.no_result(f"it did not run to its end: {report.cut}")
        untold = any(s.only == "tx" and s.arrived is None for s in report.output.streams)
        if outcome.ok and untold and report.output.role == "client":
            return saved.no_result("what its receiver counted is missing: nobody knows what arrived")
        return outcome


def _words(served: json_output.Report, asked: json_output.Report, expect: Expectation) -> list[str]:
    """The errors of both ends, without those that say that linkladder ended them."""
    ours = {"server", "client"} if expect.watchdog else {"server"}
    return [e for e in (*served.errors, *asked.errors) if not ((by := ENDED.match(e)) and by[1] in ours)]


def _stderr(text: str) -> list[str]:
    return [line for line in text.splitlines() if not BROKEN_LOCK.match(line)]
