"""Turns TOML into a Plan: reads, checks, expands and times it. It touches no files but plans and link.toml.

A plan file names a contract, the path of each rung, and experiments. The list values of an experiment (streams, window,
direction, sessions, udp_percent) multiply out, and `both` becomes forward and reverse. `streams = "auto"` becomes half
the vCPUs (both ways at once sixteen at least) or, if the experiment states nothing else about its load, what the
generator is strongest with. The contract and the paths that a plan leaves out come from the operator's link
description, `link.toml` in the state folder.
"""

from __future__ import annotations

from linkladder.plan.expand import (
    BOOT,
    DISCARDED,
    MOST_STREAMS,
    ORDINARY,
    SEARCH,
    Boot,
    at_best,
    boots,
    generator_open,
    longest,
    measured,
    only_pings,
    order,
    peers_left,
    restarts,
    seconds,
    soonest,
    sought,
    surely_sought,
    to_try,
    trial_seconds,
    trials,
    usual_streams,
    with_longer_warmup,
)
from linkladder.plan.extend import extended, follow_up, follow_up_text, replaced
from linkladder.plan.link import (
    Link,
    load_link,
    load_link_or_empty,
    rename_peer,
    rungs_to_try,
    save_link,
    with_link,
)
from linkladder.plan.naming import name_of, named_apart
from linkladder.plan.read import (
    AS_WRITTEN,
    BUILTIN,
    SHORT,
    THOROUGH,
    Asked,
    PlanError,
    builtin,
    builtin_text,
    read_plan,
    read_plan_file,
)
from linkladder.plan.stairs import begun_at, next_step, present_step

__all__ = [
    "AS_WRITTEN",
    "BOOT",
    "BUILTIN",
    "DISCARDED",
    "MOST_STREAMS",
    "ORDINARY",
    "SEARCH",
    "SHORT",
    "THOROUGH",
    "Asked",
    "Boot",
    "Link",
    "PlanError",
    "at_best",
    "begun_at",
    "boots",
    "builtin",
    "builtin_text",
    "extended",
    "follow_up",
    "follow_up_text",
    "generator_open",
    "load_link",
    "load_link_or_empty",
    "longest",
    "measured",
    "name_of",
    "named_apart",
    "next_step",
    "only_pings",
    "order",
    "peers_left",
    "present_step",
    "read_plan",
    "read_plan_file",
    "rename_peer",
    "replaced",
    "restarts",
    "rungs_to_try",
    "save_link",
    "seconds",
    "soonest",
    "sought",
    "surely_sought",
    "to_try",
    "trial_seconds",
    "trials",
    "usual_streams",
    "with_link",
    "with_longer_warmup",
]
