"""Runs a plan over its ends and yields what happens; every finished trial is in the store before its event is out.

    engine = Engine(plan, store, near, connect)
    async for event in engine.run(): ...

`connect(peer_name)` gives a far end.  `engine.controls` steers it from the same event loop: skip,
repeat, pause, resume, cancel, proceed (the operator has moved the machine), note.  Cancelling the task that
iterates stops both ends as well.
"""

from __future__ import annotations

from linkladder.engine.controls import Controls
from linkladder.engine.runner import Engine

__all__ = ["Controls", "Engine"]
