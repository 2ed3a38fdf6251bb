"""Reads the output of ping, live and at the end."""

from __future__ import annotations

from linkladder.model import End, Experiment, Outcome
from linkladder.tools.contract import Live, Reading
from linkladder.tools.ping import lines, result, saved
from linkladder.tools.records import Demands, Expectation, Layout, Texts


class PingOutput(Reading):
    def live(self, exp: Experiment, where: Layout, end: End) -> Live:
        return RoundTrips()

    def finish(
        self, exp: Experiment, where: Layout, server: Texts, clients: tuple[Texts, ...], expect: Expectation
    ) -> Outcome:
        return result.finish(exp, clients, expect)

    def second(self, line: str, exp: Experiment) -> float | None:
        number = lines.number(line.strip())
        return None if number is None else number * exp.interval

    def read_saved(self, text: str, demands: Demands) -> Outcome:
        return saved.read(text)


class RoundTrips(Live):
    def round_trip(self, line: str) -> float | None:
        return lines.reply(line.strip())
