"""TOML to Plan: read, check, expand, time; no I/O but reading the file it is given and its own built-in plans.

A plan file names a contract, the path of each rung and experiments.  An experiment's list values
(streams, window, direction, sessions, udp_percent) multiply out, `both` becomes forward and reverse,
and `streams = "auto"` becomes half the vCPUs or, where nothing else of the load is pinned, what the
generator is strongest with.  What the plan leaves out (contract, paths) comes from the link description that
the operator entered once, `link.toml` in the state folder.
"""

from __future__ import annotations

from linkladder.plan.expand import (
    DISCARDED,
    SEARCH,
    longest,
    measured,
    name_of,
    only_pings,
    order,
    seconds,
    trial_seconds,
    trials,
)
from linkladder.plan.extend import extended, follow_up, follow_up_text
from linkladder.plan.link import Link, load_link, save_link, with_link
from linkladder.plan.read import BUILTIN, SHORT, PlanError, builtin, builtin_text, read_plan, read_plan_file
from linkladder.plan.stairs import climbed, level_of

__all__ = [
    "BUILTIN",
    "DISCARDED",
    "SEARCH",
    "SHORT",
    "Link",
    "PlanError",
    "builtin",
    "builtin_text",
    "climbed",
    "extended",
    "follow_up",
    "follow_up_text",
    "level_of",
    "load_link",
    "longest",
    "measured",
    "name_of",
    "only_pings",
    "order",
    "read_plan",
    "read_plan_file",
    "save_link",
    "seconds",
    "trial_seconds",
    "trials",
    "with_link",
]
