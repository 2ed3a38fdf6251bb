"""What was measured, kept: SQLite in WAL with synchronous=FULL, raw tool output compressed beside it.

One transaction a trial: `kill -9` or a power cut loses at most the trial in flight.  A trial's raw
output is written and synced first, so that no row ever points at nothing.
"""

from __future__ import annotations

from linkladder.store.database import Store
from linkladder.store.faults import StoreFault
from linkladder.store.summary import KeptVerdict, RunSummary

__all__ = ["KeptVerdict", "RunSummary", "Store", "StoreFault"]
