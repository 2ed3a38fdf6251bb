"""Reads the output of iperf 2, live and at the end."""

from __future__ import annotations

from linkladder.model import Direction, End, Experiment, Outcome
from linkladder.tools import acceptance, complaints, saved
from linkladder.tools.contract import Live, Reading
from linkladder.tools.iperf2 import csv_lines, lines
from linkladder.tools.iperf2.live import Seconds
from linkladder.tools.records import Demands, Expectation, Layout, Texts
from linkladder.tools.senders import written


class Iperf2Output(Reading):
    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return Seconds(exp, where, end)

    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        said = complaints.listen(server[1], *(errors for _, errors in clients))
        client = lines.parse("".join(out for out, _ in clients), "client")
        return acceptance.finish(exp, where, lines.parse(server[0], "server"), client, said, expect)

    def written(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...]
    ) -> dict[Direction, int]:
        client = lines.parse("".join(out for out, _ in clients), "client")
        return written(exp, where, lines.parse(server[0], "server"), client)

    def second(self, line: str, exp: Experiment) -> float | None:
        return lines.second(line)

    def read_saved(self, text: str, demands: Demands) -> Outcome:
        output = lines.parse(text)
        if csv_lines.looks_like(text):
            wordy = bool(output.streams)
            output = csv_lines.parse(text)
            output.mixed = output.mixed or ("it holds more than one run, with words and without" if wordy else "")
        linux = "icwnd/mss/irtt" in text or "Cwnd/RTT" in text  # on FreeBSD iperf prints no TCP statistics
        return saved.read(output, demands, "Linux" if linux else "")
