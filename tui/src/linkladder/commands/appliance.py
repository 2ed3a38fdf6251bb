"""`linkladder system`: the appliance itself - its name, addresses, ssh, kernel, disk and power."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import sys
from typing import Any

from linkladder import privilege
from linkladder.errors import EnvironmentFault, UsageError

# verb of the helper, words after it on the command line, help, and what is asked before it (None: nothing)
VERBS: tuple[tuple[str, str, str, str | None], ...] = (
    ("hostname", "NAME", "give the appliance another name", None),
    ("address", "INTERFACE dhcp|none|static [ADDRESS/PREFIX [ROUTER]]", "set an interface's address", None),
    ("timezone", "NAME", "such as Europe/Prague; records stay in UTC", None),
    ("ssh", "on|off|key TYPE BASE64 COMMENT|password|forget", "let the operator in by ssh, or not", None),
    ("kernel", "NAME", "boot this kernel (generic, kernel) the next time, once", None),
    ("install", "DISK", "install onto a disk; everything on it is lost", "Install onto {0}? Everything on it is lost."),
    ("reboot", "", "start anew", "Reboot now?"),
    ("shutdown", "", "power off", "Power off now?"),
)
HELPER_NAMES = {"kernel": "kernel-next"}


def add_parsers(commands: Any) -> None:
    parser = commands.add_parser("system", help="the appliance's name, addresses, ssh, kernel, disk and power")
    kinds = parser.add_subparsers(required=True, metavar="|".join(v[0] for v in VERBS))
    for verb, words, text, question in VERBS:
        one = kinds.add_parser(verb, help=text, usage=f"linkladder system {verb} {words}".rstrip())
        if words:
            one.add_argument("words", nargs="*")
        one.add_argument("--yes", action="store_true", help="do not ask")
        one.set_defaults(handler=_handler, verb=verb, question=question)


def _handler(args: argparse.Namespace) -> int:
    words = [str(w) for w in getattr(args, "words", [])]
    if args.question and not args.yes:
        times = 2 if args.verb == "install" else 1
        for _ in range(times):
            _ask(args.question.format(*words or ["?"]))
    said = _password() if (args.verb, *words) == ("ssh", "password") else ""
    done = asyncio.run(privilege.run(HELPER_NAMES.get(args.verb, args.verb), *words, timeout=1800.0, said=said))
    if done.ok:
        print(done.output.strip() or "done")
        return 0
    kind = UsageError if done.code == 2 else EnvironmentFault
    raise kind(f"system {args.verb}: {done.reason}", hint="linkladder doctor says whether the helper can be reached")


def _password() -> str:
    """The helper's line of input: typed twice by a person, else what a script sends."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n") + "\n"
    first = getpass.getpass("New password for admin: ")
    if getpass.getpass("Once more: ") != first:
        raise UsageError("the two are not the same", hint="nothing was changed")
    return f"{first}\n"


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError("there is nobody to ask", hint="--yes does it without a question")
    if input(f"{question} [type yes] ").strip().lower() != "yes":
        raise UsageError("nothing was done")
