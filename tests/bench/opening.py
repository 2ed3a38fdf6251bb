"""How long a place takes to open over ten thousand stored trials, and what a key waits for.  Prints, asserts nothing.

    .venv/bin/python tests/bench/opening.py [TIMES]

Aimed at: 100 ms on a machine of two quiet cores; promised: 200 ms.  Medians; beside them the least and the most.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

TUI = Path(__file__).resolve().parents[1] / "tui"
sys.path[:0] = [str(TUI), str(TUI.parent)]
AIM = 0.1  # seconds


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LINKLADDER_STATE"] = folder
        from linkladder.app import terminal

        terminal.prepare(os.environ, terminal.survey({"TERM": "xterm", "LANG": "C.UTF-8"}))
        asyncio.run(opening(Path(folder), times))


async def opening(folder: Path, times: int) -> None:
    import test_many_trials as many
    from helpers import until
    from linkladder.app.live_backend import LiveBackend
    from linkladder.app.main import LadderApp
    from linkladder.store import database

    database.secrets.token_hex = lambda _: f"{next(many.NAMES):04x}"  # type: ignore[assignment]
    last = many.filled(folder, 200)
    backend = LiveBackend("this screen")
    backend.findings = lambda anew=False: ()  # type: ignore[method-assign]
    app = LadderApp(lambda: backend)
    holds: list[float] = []
    run = asyncio.Handle._run  # type: ignore[attr-defined]

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        holds.append(time.thread_time() - began)

    async with app.run_test(size=(80, 25)) as pilot:
        await until(pilot, "dc-link", 60)
        for name, (about, element, words) in many.said_of(last, many.TRIALS // 200).items():
            took, cpu = [], []
            for _ in range(times):
                await pilot.pause(0.5)
                began, busy = time.perf_counter(), time.process_time()
                await many.opened(app, about, element, words)
                took.append(time.perf_counter() - began)
                cpu.append(time.process_time() - busy)
                app.back_home()
            print(_said(name, took), f"CPU {statistics.median(cpu) * 1000:.0f} ms")
        asyncio.Handle._run = timed  # type: ignore[attr-defined]
        for about, element, words in many.said_of(last, many.TRIALS // 200).values():
            await many.opened(app, about, element, words)
            app.back_home()
        asyncio.Handle._run = run  # type: ignore[attr-defined]
    print(f"the longest that a key waits for one callback of the loop: {max(holds) * 1000:.0f} ms of CPU")


def _said(name: str, took: list[float]) -> str:
    median = statistics.median(took)
    spread = f"{min(took) * 1000:.0f} to {max(took) * 1000:.0f}"
    margin = f"aim {AIM * 1000:.0f} ms, margin {(AIM - median) / AIM:+.0%}"
    return f"{name:12} {median * 1000:4.0f} ms ({spread}), {margin};"


if __name__ == "__main__":
    main()
