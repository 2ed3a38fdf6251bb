"""Asks before a run that restarts this machine."""

from __future__ import annotations

from linkladder import phrases
from linkladder import plan as plans
from linkladder.app.dialogs import Question
from linkladder.host.switches import Appliance
from linkladder.model import Plan


def restart_question(plan: Plan, here: Appliance) -> Question | None:
    """What to ask; None where the plan restarts nothing, or this machine cannot boot another kernel."""
    count = plans.restarts(plan)
    if not count or here.why_not:
        return None
    return Question("This machine will restart", phrases.agreed(count), "Restart it", "Leave it", safe=True)
