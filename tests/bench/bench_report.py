"""How long a report of 200 trials takes, and how large it is: python tests/bench/bench_report.py"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from judge_documents import big
from linkladder import report


def main() -> None:
    document = big(200)
    trials = sum(len(e.trials) for r in document.rungs for e in r.experiments)
    times, cpu = [], []
    for _ in range(6):
        started, worked = time.perf_counter(), time.process_time()
        page = report.html(document)
        times.append(time.perf_counter() - started)
        cpu.append(time.process_time() - worked)
    print(
        f"report of {trials} trials: first {times[0]:.2f} s, then median {statistics.median(times[1:]):.2f} s "
        f"of the clock, {statistics.median(cpu):.2f} s of CPU ({len(page.encode()) / 1e6:.2f} MB)"
    )


if __name__ == "__main__":
    main()
