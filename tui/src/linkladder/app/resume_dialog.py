"""Asks whether to resume a run that ended early, telling what is kept and how long the rest takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linkladder import plan as plans
from linkladder import units
from linkladder.app.dialogs import Question

if TYPE_CHECKING:
    from linkladder.app.services import ServicesApp
    from linkladder.model import Document
    from linkladder.store import RunSummary


async def offer_to_resume(app: ServicesApp, run: RunSummary, title: str, no: str) -> bool:
    """Ask, and resume the run after a yes; False after a no, True also if the run could not be read (shown)."""
    document = await app.ask(app.backend.load, run.id)
    if document is None:
        return True
    why = f", because {run.reason}" if run.reason else ""
    ended = units.sentence(f"Run {run.id} (plan {run.plan}) ended early{why}")
    text = f"{ended} {rest_sentence(document)} Go on where it stopped?"
    if not await app.push_screen_wait(Question(title, text, "Go on", no)):
        return False
    app.back_home()  # Home shows that the run is being started
    app.climb(document.run.plan, run.id)
    return True


def rest_sentence(document: Document) -> str:
    """A sentence such as '9 of its 14 trials are kept; the rest takes about 1 min 12 s.'"""
    plan = document.run.plan
    stored = {
        (rung.name.value, one.parameters.id, trial.repeat)
        for rung in document.rungs
        for one in rung.experiments
        for trial in one.trials
    }
    done, spent = plans.measured(plan, stored)
    total = plans.trials(plan)
    if done >= total:
        kept = "Its only trial is kept" if total == 1 else f"All of its {total} trials are kept"
        return f"{kept}; only the end is missing."
    kept = f"{done} of its {units.plural(total, 'trial')} {'is' if done == 1 else 'are'} kept"
    return f"{kept}; the rest takes about {units.duration(plans.seconds(plan) - spent)}."
