"""Says whether this machine's cores are slow when all of them work; the exit status is 0 if so."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

ADDITIONS = 20_000_000
USUAL = 0.65  # seconds; where lanes of measuring tests stood in each other's way it took 0.7 to 1.3


def add(count: int) -> float:
    began = time.monotonic()
    total = 0
    for n in range(count):
        total += n
    return time.monotonic() - began


def main() -> int:
    cores = cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        took = max(pool.map(add, [ADDITIONS] * cores))
    print(f"{cores} cores at once add {ADDITIONS} times in {took:.2f} s (usual: at most {USUAL:g} s)")
    return 0 if took > USUAL else 1


if __name__ == "__main__":
    sys.exit(main())
