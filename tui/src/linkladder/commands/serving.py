"""`linkladder agent`: runs this machine's half of a measurement; it must start fast, as a peer waits for it."""

from __future__ import annotations

import argparse
import os
import stat
from typing import Any

from linkladder.errors import UsageError


def add_parsers(commands: Any) -> None:
    agent = commands.add_parser("agent", help="the far half on stdin and stdout; sshd starts it for a paired peer")
    whom = agent.add_mutually_exclusive_group(required=True)
    whom.add_argument("--peer", metavar="NAME")
    whom.add_argument("--near", action="store_true", help="for this appliance's own console")
    whom.add_argument("--end", metavar="NAME", help="end the agents of a peer that is no longer trusted")
    whom.add_argument("--settle", action="store_true", help="end what a loan of settings left before a restart")
    agent.add_argument("--introduced", action="store_true", help="that peer may have it measure with others")
    agent.set_defaults(handler=_agent)


def _agent(args: argparse.Namespace) -> int:
    if args.end:
        from linkladder.trust import sshd

        sshd.end_sessions(args.end)
        return 0
    if args.settle:
        import asyncio

        from linkladder import settings

        asyncio.run(settings.recover())  # what cannot be put back stays noted, and keeps runs from starting
        return 0
    kind = os.fstat(0).st_mode
    if not (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or os.isatty(0)):  # a file or /dev/null
        raise UsageError("an agent speaks through pipes", hint="linkladder run starts it by itself")
    from linkladder.agent import stdio  # imported late, as `linkladder --help` does not need it

    return stdio.main(args.peer, args.introduced)
