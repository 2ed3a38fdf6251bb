"""Begins or resumes a run. A resumed run may have a larger plan, and changes of a host are noted."""

from __future__ import annotations

from linkladder import plan as plans
from linkladder import units, wire
from linkladder.errors import EnvironmentFault
from linkladder.judge.comparison import host_changes
from linkladder.model import HostFacts, Plan
from linkladder.peer import EndPoint, Refused
from linkladder.store import Store


def take_up(store: Store, run_id: str, plan: Plan) -> None:
    """Resume a stored run; experiments new in this plan are added, none are removed."""
    before = store.load(run_id, output=False).run.plan
    after = plans.extended(before, plan)
    store.resume(run_id)
    if after != before:
        store.replan(run_id, after)
        more = plans.trials(after) - plans.trials(before)
        were = f"{units.plural(more, 'trial')} {'was' if more == 1 else 'were'}"
        store.note(run_id, f"follow-up: {were} added to the plan after the run")


def keep_host(store: Store, run_id: str, name: str, facts: HostFacts) -> None:
    """Store a host's facts; whatever has changed since the run was interrupted becomes a note of the run."""
    before = store.load(run_id, output=False).run.facts(name)
    if before is not None and (changed := host_changes(name, before, facts)):
        store.note(run_id, f"changed while the run was interrupted: {'; '.join(changed)}")
    store.host(run_id, name, facts)


async def admitted(near: EndPoint, run_id: str) -> None:
    """Reserve this appliance before anything is stored, so that a busy appliance leaves no empty run behind."""
    try:
        await near.ask(wire.Reserve(f"{near.name}, run {run_id}"))
    except Refused as error:
        raise EnvironmentFault("this appliance is busy", str(error), "wait for that run to end, or end it") from None
