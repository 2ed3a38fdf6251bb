"""Attempts at a trial, and a record of those that broke because a far end was lost, even if a repeat succeeds."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from linkladder.engine.account import Watched
from linkladder.engine.controls import Controls
from linkladder.engine.far_ends import FarEnds, without_one
from linkladder.engine.trial import Trial
from linkladder.errors import in_a_line
from linkladder.model import CarrierLost, Experiment, Fault, Interruption, Leg, Outcome, TrialResult
from linkladder.peer import PeerLost
from linkladder.phrases import outages as say
from linkladder.phrases.control_channel import never_reached

TRIES = 3  # attempts at one trial; after so many losses another attempt would hardly succeed


class Attempt(Protocol):
    """One attempt at a trial that ended because a peer was lost."""

    watched: dict[int, Watched]


class AttemptTimer:
    """Times an attempt at a trial, which begins now."""

    def __init__(self, shared: bool) -> None:
        """`shared`: whether control goes over a card that the trial loads."""
        self._shared = shared
        self._wall, self._began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()

    def interruption(self, error: Exception) -> Interruption:
        seconds = round(time.monotonic() - self._began, 3)
        return Interruption(self._wall, seconds, in_a_line(error), self._shared)


async def attempt(trial: Trial, ends: FarEnds, controls: Controls) -> TrialResult | Interruption:
    """What came of a trial, or how it was lost with a peer. The operator may end it."""
    controls.raise_if_asked()  # what was asked while its ends were reached
    timer = AttemptTimer(any(ends.peer_under_test(route.path) for route in trial.routes))
    work = asyncio.create_task(trial.run())
    controls.guard(work.cancel)
    try:
        return await work
    except PeerLost as error:
        came = timer.interruption(error)
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


def with_carriers(lost: Sequence[Interruption], attempts: Sequence[Attempt], now: Attempt) -> tuple[Interruption, ...]:
    """Each lost attempt, with the cards that lost their link during it, by the counters before and after it."""
    later = [*attempts, now][1:]
    return tuple(
        replace(one, carriers=tuple(_between(began.watched, then.watched)))
        for one, began, then in zip(lost, attempts, later, strict=True)
    )


def _between(began: Mapping[int, Watched], then: Mapping[int, Watched]) -> Iterator[CarrierLost]:
    for number, end in began.items():
        again = then.get(number)
        for address, seen in end.before.items():
            next_time = again.before.get(address) if again else None
            if seen.nic and next_time and next_time.nic:
                times = (next_time.nic.carrier_lost or 0) - (seen.nic.carrier_lost or 0)
                if times > 0:
                    yield CarrierLost(end.name, seen.nic.name, times)


class CarrierNews:
    """What to report of cards that lost their link: each at once, and at the end of the rung in how many trials."""

    def __init__(self) -> None:
        self._trials: Counter[tuple[str, str]] = Counter()  # by end and card

    def of(self, result: TrialResult) -> tuple[str, ...]:
        """The cards that lost their link in this trial, or in its attempts that broke, and had not on this rung yet."""
        lost = (*(c for one in result.interruptions for c in one.carriers), *result.carriers_lost)
        cards = {(card.end, card.card): card for card in lost}
        fresh = [card for key, card in cards.items() if key not in self._trials]
        self._trials.update(cards.keys())
        return tuple(say.carriers_lost([card]) for card in fresh)

    def over(self, rung: str) -> tuple[str, ...]:
        """A sentence for each card that lost its link on the rung, which ends with this."""
        said = [say.carrier_in_rung(rung, CarrierLost(*key, 1), count) for key, count in self._trials.items()]
        self._trials.clear()
        return tuple(said)


def given_up(exp: Experiment, repeat: int, lost: tuple[Interruption, ...], paths: Sequence[int] = (0,)) -> TrialResult:
    """The result of a trial all of whose attempts failed, on all of its paths."""
    last = lost[-1]
    reason = never_reached(len(lost), last.reason)
    legs = tuple(Leg(Outcome(False, Fault.PEER, reason), path=number) for number in paths)
    return TrialResult(
        f"{exp.id}-{repeat + 1}", repeat, legs, started=last.started, seconds=last.seconds, interruptions=lost
    )
