"""python -m linkladder.settings FOLDER: what follows the undo process once it has acted, as the holder's user.

It holds the journal's lock already, which it has inherited. It reads the values back, restores what is left to restore,
and clears the journal or notes there what could not be put back.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from linkladder import privilege
from linkladder.errors import LinkladderError
from linkladder.settings.journal import Journal
from linkladder.settings.lease import restore

TRIES, PAUSE = 5, 1.0  # how often restoring is tried, and the seconds in between


async def read_back(journal: Journal) -> int:
    """0 if everything is as it was before the loan."""
    for _ in range(TRIES):
        try:
            if record := journal.read():
                await restore(journal, record)
            return 0
        except (LinkladderError, OSError):
            await asyncio.sleep(PAUSE)
    return 1


if __name__ == "__main__":
    privilege.restrict()
    sys.exit(asyncio.run(read_back(Journal(Path(sys.argv[1])))))
