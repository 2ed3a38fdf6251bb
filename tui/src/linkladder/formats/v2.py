"""Converts linkladder/2 to linkladder/3.

In linkladder/2 a run had a dictionary of hosts, the near one under "near", and a card's flow control was among the
host's sysctls, then called tunables. Values that do not have that form are not converted; the decoder reports them.
"""

from __future__ import annotations

from typing import Any

from linkladder.model import Document, HostFacts

Json = dict[str, Any]
FLOW_CONTROL = " flow control"  # the names of these entries, which were not sysctls, ended so


def upgrade(kind: type[Any], value: Any) -> Any:
    """Convert a record of `kind`, as JSON of linkladder/2, to linkladder/3."""
    if not isinstance(value, dict):
        return value
    return _document(value) if kind is Document else _facts(value) if kind is HostFacts else value


def _document(value: Json) -> Json:
    made = {**value, "schema": "linkladder/3"}
    run = value.get("run")
    if isinstance(run, dict) and isinstance(hosts := run.get("hosts"), dict):
        kept = {k: v for k, v in run.items() if k != "hosts"}
        ends = [{"name": name, "facts": upgrade(HostFacts, facts)} for name, facts in hosts.items()]
        made["run"] = {**kept, "ends": sorted(ends, key=lambda end: end["name"] != "near")}
    return made


def _facts(value: Json) -> Json:
    tunables = value.get("tunables")
    if not isinstance(tunables, dict):
        return value
    kept = {k: v for k, v in value.items() if k != "tunables"}
    agreed = {k.removesuffix(FLOW_CONTROL): v for k, v in tunables.items() if k.endswith(FLOW_CONTROL)}
    made = {**kept, "sysctls": {k: v for k, v in tunables.items() if not k.endswith(FLOW_CONTROL)}}
    if agreed and isinstance(nics := value.get("nics"), list):
        made["nics"] = [_card(nic, agreed) for nic in nics]
    return made


def _card(nic: Any, agreed: Json) -> Any:
    agreed_on = agreed.get(nic.get("name", "")) if isinstance(nic, dict) else None
    return nic if agreed_on is None else {**nic, "flow_control": agreed_on}
