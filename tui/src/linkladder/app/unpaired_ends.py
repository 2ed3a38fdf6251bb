"""Words the refusal of a run that needs appliances which are not paired with this one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from linkladder import units
from linkladder.errors import EnvironmentFault
from linkladder.plan import Link

NEW_NAME = "write the name that it has now in the plan's file, or pair with it"


def named_by_plan(plan: str, missing: Sequence[str]) -> str:
    """Such as 'the plan my names gamma, which is not paired here'."""
    return f"the plan {plan} names {_absent(missing)}"


def refusal(plan: str, resume: str, missing: Sequence[str], paired: Collection[str], link: Link) -> EnvironmentFault:
    """The error for a new run of that plan, or for the run `resume` that would go on; `missing` are not paired."""
    of_link = {name for _, path in link.every_path() for name in path.peers}
    if resume:
        title = f"run {resume} needs {_absent(missing)}"
        hint = f"if it was renamed, call it {units.joined(missing)} again (p on Home, F4, then n), or else pair with it"
    elif of_link.issuperset(missing):
        title = f"the link's description names {_absent(missing)}"
        hint = "choose another on the Link page, or pair with it"
    else:
        title, hint = named_by_plan(plan, missing), NEW_NAME
    return EnvironmentFault(title, f"paired are: {', '.join(paired) or 'none'}", f"{hint}; nothing was started")


def _absent(missing: Sequence[str]) -> str:
    return f"{units.joined(missing)}, which {'is' if len(missing) == 1 else 'are'} not paired here"
