"""The list of tools. A new one needs its own package and a line here."""

from __future__ import annotations

from linkladder.tools.contract import Tool
from linkladder.tools.iperf2 import Iperf2
from linkladder.tools.iperf3 import Iperf3
from linkladder.tools.netperf import Netperf
from linkladder.tools.ping import Ping
from linkladder.tools.records import Unavailable

TOOLS: dict[str, Tool] = {tool.name: tool for tool in (Iperf2(), Iperf3(), Netperf(), Ping())}
SPOKEN = {name: tool for tool in TOOLS.values() for name in (tool.name, *tool.aliases)}  # by name and alias


def named(name: str) -> Tool:
    """The tool that an experiment asks for."""
    if name not in TOOLS:
        raise Unavailable(f"this linkladder knows no tool {name[:40]!r}: it has {', '.join(TOOLS)}")
    return TOOLS[name]
