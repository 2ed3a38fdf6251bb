"""Makes the Ladder screen's message to the person: what is asked, what happened, what was kept, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from linkladder import units
from linkladder.app.backend import Session
from linkladder.model import RunState
from linkladder.run.progress import About, Notice, Progress

NOTICED = 15.0  # seconds for which a notice is shown
FAILED = "The run goes on; this and all else is kept. c shows the commands, v the results so far, x cancels."
NEVER_BEGAN = "Nothing was measured, and earlier runs are as they were. Esc leads to Home."
LOST = (
    "What was measured is kept. Check its power, its cable and its address; "
    "if it stays away the run ends, and Home can take it up. x cancels."
)


class Message(NamedTuple):
    """The text of the most urgent message, and the notices that it shows."""

    text: Text
    notices: tuple[Notice, ...] = ()

    @property
    def tells_of_place(self) -> bool:
        """Whether it says where the machines stand."""
        return any(notice.about is About.PLACE for notice in self.notices)


def message(progress: Progress, session: Session | None, answered: bool, asked: str) -> Message:
    """The most urgent message; `answered`: whether the instruction is answered, `asked`: what follows this trial."""
    text = _urgent(progress, session, answered, asked)
    if text is not None:
        return Message(text)
    shown: Sequence[Notice] = ()
    if progress.notices and progress.at - progress.noticed < NOTICED:
        shown = progress.news[-2:]
    elif progress.trial is None:
        shown = progress.failures[-1:]
    return Message(_notices(shown), tuple(shown))


def _urgent(progress: Progress, session: Session | None, answered: bool, asked: str) -> Text | None:
    """What goes before all notices; None if there is nothing."""
    watching = f"{session.holder} has the controls" if session and not session.controlling else ""
    if progress.over:
        return _over(progress)
    if progress.waiting and answered:
        return Text(f"Looking where things stand for {progress.waiting} ...", "bold")
    if progress.waiting:
        text = progress.instruction  # it ends with the key that answers it
        if watching:
            text += f" You are watching; {watching}, t takes them."
        return Text(text, "bold yellow")
    if progress.paused and watching:
        return Text(f"Paused. You are watching; {watching}, t takes them.", "bold yellow")
    if progress.paused:
        again = ", a to do the last trial again." if progress.repeatable else "."
        return Text(f"Paused. Press Space to go on{f'. {asked}.' if asked else again}", "bold yellow")
    if progress.lost:
        return Text(f"{progress.lost}. {LOST}", "bold red")
    if watching:
        return Text(f"You are watching; {watching}. Press t to take them.")
    return Text(asked) if asked else None


def _over(progress: Progress) -> Text:
    if progress.state is RunState.COMPLETE:
        return Text("The run is complete. Press Enter to read what it shows.", "bold")
    if not progress.run_id:
        why = f": {progress.reason}" if progress.reason else ""
        return Text(f"{units.sentence(f'The run did not begin{why}')} {NEVER_BEGAN}")
    ended = units.sentence(f"The run ended early{f': {progress.reason}' if progress.reason else ''}")
    again = "; Esc leads to Home, where it can be taken up again" if not progress.cancelled else ""
    first = f" Before that check power, cable and address of {progress.missing}." if progress.missing and again else ""
    return Text(f"{ended} What was measured is kept. Press Enter to read it{again}.{first}")


def _notices(shown: Sequence[Notice]) -> Text:
    """The notices, and what to do if one of them is about a failed trial."""
    failed = any(notice.about is About.FAILURE for notice in shown)
    return Text("\n".join([*(notice.text for notice in shown), *([FAILED] if failed else [])]))
