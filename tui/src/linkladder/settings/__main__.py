"""python -m linkladder.settings FOLDER [look]: what goes with the undo process's work, as the holder's user.

With `look`, before the undo process acts, it only notes what something else has changed while it was on loan. Without,
once that process has acted, it reads the values back, restores what is left to restore, and clears the journal or notes
there what could not be put back. It holds the journal's lock already, which it has inherited.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from linkladder import host, privilege
from linkladder.errors import LinkladderError
from linkladder.settings.journal import Journal
from linkladder.settings.lease import note_others, restore

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


async def look(journal: Journal) -> int:
    if (record := journal.read()) and record.boot == host.boot_id():
        await note_others(journal, record)
    return 0


if __name__ == "__main__":
    privilege.restrict()
    task = look if sys.argv[2:] == ["look"] else read_back
    sys.exit(asyncio.run(task(Journal(Path(sys.argv[1])))))
