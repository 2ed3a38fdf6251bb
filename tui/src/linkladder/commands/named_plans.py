"""Finds the plan that a person names on the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from linkladder import host, state
from linkladder import plan as plans
from linkladder.model import Plan
from linkladder.trust import peers


def load(name: str, peer: str = "", asked: plans.Asked = plans.AS_WRITTEN) -> Plan:
    """A built-in plan or a file, with the link description filled in."""
    folder = state.folder()
    link = plans.load_link(folder)
    cores = len(host.core_times())
    asked = replace(asked, available=plans.rungs_to_try(link))
    is_file = name.endswith(".toml") or "/" in name
    read = plans.read_plan_file(Path(name), cores, link.contract, asked) if is_file else None
    paired = [one.name for one in peers.load()]
    return plans.with_link(read or plans.builtin(name, cores, link.contract, asked), link, peer, paired)
