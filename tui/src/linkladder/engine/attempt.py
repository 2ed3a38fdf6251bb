"""Runs a trial once; a peer that is lost meanwhile makes it an interruption, and the operator may end it."""

from __future__ import annotations

import asyncio
import contextlib

from linkladder.engine.controls import Controls
from linkladder.engine.far_ends import FarEnds, without_one
from linkladder.engine.interruptions import Watch
from linkladder.engine.trial import Trial
from linkladder.model import Interruption, TrialResult
from linkladder.peer import PeerLost


async def attempt(trial: Trial, ends: FarEnds, controls: Controls) -> TrialResult | Interruption:
    """What came of it, or how it was lost with a peer."""
    watch = Watch(any(ends.beside(route.path) for route in trial.routes))
    work = asyncio.create_task(trial.run())
    controls.guard(work.cancel)
    try:
        return await work
    except PeerLost as error:
        came = watch.broke(error)
        if not without_one(trial.routes):  # that is known, and the trial is given up
            await ends.drop_lost(str(error), "the trial will be done again")
        return came
    except asyncio.CancelledError:
        controls.raise_if_asked()
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError, PeerLost):
            await work
        raise
    finally:
        controls.guard(None)
