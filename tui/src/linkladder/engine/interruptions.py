"""A trial that broke because the far end was out of reach is a result too, with its time, whatever its repeat shows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from linkladder import units
from linkladder.errors import in_a_line
from linkladder.host import interface_of
from linkladder.model import Experiment, Fault, HostFacts, Interruption, Leg, Outcome, Path, TrialResult

TRIES = 3  # of one trial; who loses the far end so often will lose it again


class Watch:
    """Counts one trial's attempts."""

    def __init__(self, shared: bool) -> None:
        """`shared`: whether control goes over a card that the trial loads."""
        self._shared = shared
        self._wall, self._began = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()

    def broke(self, error: Exception) -> Interruption:
        seconds = round(time.monotonic() - self._began, 3)
        return Interruption(self._wall, seconds, in_a_line(error), self._shared)


def shares_a_card(path: Path, name: str, control: str, card: str, facts: HostFacts | None) -> bool:
    """Whether control reaches that peer over a card that the test runs over, here or there: then its loss may be the
    path's.  `card` is this end's on the way to `control`, `facts` are the peer's.
    """
    tested = path.remote if name == path.peer else path.local
    if control == tested or (card and not path.origin and card == (path.local_interface or interface_of(path.local))):
        return True
    cards = facts.nics if facts else ()
    return any(control in nic.addresses and tested in nic.addresses for nic in cards)


def given_up(exp: Experiment, repeat: int, lost: tuple[Interruption, ...], paths: Sequence[int] = (0,)) -> TrialResult:
    """The result of a trial of which every attempt failed on all of its paths."""
    last = lost[-1]
    reason = f"the far end was out of reach in {units.plural(len(lost), 'attempt')}: {last.reason}"
    legs = tuple(Leg(Outcome(False, Fault.PEER, reason), path=number) for number in paths)
    return TrialResult(
        f"{exp.id}-{repeat + 1}", repeat, legs, started=last.started, seconds=last.seconds, interruptions=lost
    )
