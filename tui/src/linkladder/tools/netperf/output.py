"""Reads the output of netperf, live and at the end."""

from __future__ import annotations

from linkladder.model import End, Experiment, Outcome
from linkladder.tools import complaints
from linkladder.tools.contract import Live, Reading
from linkladder.tools.netperf import lines, result, saved
from linkladder.tools.netperf.live import Interims
from linkladder.tools.records import Demands, Expectation, Layout, Texts


class NetperfOutput(Reading):
    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return Interims(exp) if end == where.client else Live()

    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        said = complaints.listen(server[1], *(errors for _, errors in clients))
        return result.finish(exp, where, tuple(out for out, _ in clients), said, expect)

    def second(self, line: str, exp: Experiment) -> float | None:
        return lines.second(line)

    def read_saved(self, text: str, demands: Demands) -> Outcome:
        return saved.read(text, demands)
