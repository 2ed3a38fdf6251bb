"""A live trial on a serial line: what is sent at every tick, counted by the program itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from terminals import Opened

LIVE = f"""
import json, os, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from linkladder.app import terminal
surface = terminal.survey(os.environ, "/dev/ttyu0")
terminal.prepare(os.environ, surface)
from linkladder.app.main import LadderApp
import synth
app = LadderApp(synth.settled(), surface.glyphs)
sent, tick = [], app._tick
async def counted():
    if not sent:
        write = app._driver.write
        def noted(data):
            sent[-1].append(len(data.encode()))
            write(data)
        app._driver.write = noted
    sent.append([])
    live = app.progress and app.progress.trial and app.progress.trial.intervals
    if live and not app.live:
        app.live = len(sent)
    if app.live and len(sent) == app.live + 12:
        with open(sys.argv[1] + ".new", "w") as file:
            json.dump(sent[app.live:-1], file)
        os.replace(sys.argv[1] + ".new", sys.argv[1])
    await tick()
app.live, app._tick = 0, counted
app.call_later(lambda: app.set_timer(1, lambda: app.climb(synth.the_plan())))
app.run(mouse=False)
"""
BAUD = 115200  # ten bits a byte
TICKS = 2  # a second


def test_a_live_trial_is_no_more_than_the_line_carries(
    opened: Opened, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Of eleven ticks while a trial runs: each is drawn, nothing is drawn in between, and all of it fits the line."""
    counts = tmp_path / "counts.json"
    terminal = opened((sys.executable, "-c", LIVE, str(counts)), TERM="vt100")
    for _ in range(120):
        terminal.read(0.5)
        if counts.exists():
            break
    sent: list[list[int]] = json.loads(counts.read_text())
    each = sum(map(sum, sent)) / len(sent)
    share = each * TICKS * 10 / BAUD
    record_property("figure", f"live trial: {each:.0f} bytes a tick, {share:.0%} of a line of {BAUD} baud")
    assert len(sent) == 11 and sum(map(bool, sent)) >= 5, "it lives"
    assert share < 0.7
    assert sum(map(len, sent)) <= 3 * len(sent), "a tick is a few writes, and not one for every part of the screen"
