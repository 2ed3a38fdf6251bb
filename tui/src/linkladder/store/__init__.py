"""Stores what was measured: in SQLite (WAL, synchronous=FULL), with the tools' raw output in compressed files.

Each trial is one transaction, so `kill -9` or a power cut loses at most the trial under way. A trial's raw output is
written and synced first, so that no row lacks its file.
"""

from __future__ import annotations

from linkladder.store.database import Store
from linkladder.store.faults import DiskFull, StoreFault
from linkladder.store.summary import KeptVerdict, RunSummary

__all__ = ["DiskFull", "KeptVerdict", "RunSummary", "Store", "StoreFault"]
