"""How far a run has come, by its own log while it grows."""

from __future__ import annotations

import run_logs
from linkladder import events
from world import Lab


def counted_seconds(lab: Lab) -> int:
    """Seconds that count, of the run that goes on at alpha: what comes now comes in mid-trial."""
    logs = (lab.state("alpha") / "live").glob("*.jsonl")
    log = max(logs, key=lambda one: one.stat().st_mtime, default=None)
    seen = [event for _, event in run_logs.whole(log)] if log else []
    if any(isinstance(event, events.RunFinished) for event in seen):
        return 0
    return sum(isinstance(event, events.IntervalSeen) and event.interval.counted for event in seen)
