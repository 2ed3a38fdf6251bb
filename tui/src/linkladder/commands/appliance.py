"""`linkladder system`: changes the appliance itself - its name, addresses, ssh, kernel, disk, upgrade and power."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys
from pathlib import Path
from typing import Any

from linkladder import privilege, state
from linkladder.commands import upgrading
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.host import disks
from linkladder.priv import accepted
from linkladder.priv.checks import REFUSED
from linkladder.priv.running import Failed

TAKE_AS_THEY_ARE = "Have you looked at these settings (linkladder doctor), and are they right as they are?"
ADDRESS = "set an interface's address; a router that is given becomes the default one, in place of any other's"
# The helper's verb, the words after it on the command line, its help, and the question before it (None for none).
VERBS: tuple[tuple[str, str, str, str | None], ...] = (
    ("hostname", "NAME", "give the appliance another name", None),
    ("address", "INTERFACE dhcp|none|static [ADDRESS/PREFIX [ROUTER]]", ADDRESS, None),
    ("mtu", "INTERFACE 1500|9000", "a test adapter's frames, ordinary or jumbo; kept", None),
    ("offloads", "INTERFACE tso|lro|rxcsum|txcsum=on|off ...", "what a test adapter does by itself; kept", None),
    ("congestion", "ALGORITHM", "what new TCP connections go by, such as cubic or newreno; kept", None),
    ("tests-on-management", "yes|no", "may a peer measure over the management adapter, though there is another", None),
    ("accept-settings", "", "take the settings as they are that an experiment could not put back", TAKE_AS_THEY_ARE),
    ("timezone", "NAME", "such as Europe/Prague; records stay in UTC", None),
    ("ssh", "on|off|key TYPE BASE64 COMMENT|password|forget", "let the operator in by ssh, or not", None),
    ("kernel", "NAME", "boot this kernel (generic, kernel) the next time, once", None),
    ("install", "[DISK]", "onto a disk, which loses all that is on it; without DISK, which there are", None),
    ("reset-identity", "", "new keys, no peers, and start anew", "New keys, forget all peers, and reboot now?"),
    ("reboot", "", "start anew", "Reboot now?"),
    ("shutdown", "", "power off", "Power off now?"),
)
NOTHING_TO_INSTALL = (
    "there is nothing to install from here",
    "this system carries no installation set",
    "boot the installer ISO or the live stick",
)


def add_parsers(commands: Any) -> None:
    parser = commands.add_parser("system", help="the appliance's name, addresses, ssh, kernel, disk, upgrade and power")
    kinds = parser.add_subparsers(required=True, metavar="|".join([*(v[0] for v in VERBS), "upgrade"]))
    upgrading.add_parser(kinds, _ask)
    for verb, words, text, question in VERBS:
        one = kinds.add_parser(verb, help=text, usage=f"linkladder system {verb} {words}".rstrip())
        if words:
            one.add_argument("words", nargs="*")
        one.add_argument("--yes", action="store_true", help="do not ask")
        one.set_defaults(handler=_handler, verb=verb, question=question)


def _handler(args: argparse.Namespace) -> int:
    words = [str(w) for w in getattr(args, "words", [])]
    folder = state.measuring()
    own = args.verb == "accept-settings" and os.access(folder, os.W_OK)  # a person's folder, such as on Linux
    if args.verb == "install":
        if not words:
            return _list_disks()
        _ask_for_disk(words[0], args.yes)
    elif not own:
        privilege.need_appliance(f"system {args.verb}")
    if args.question and not args.yes:
        _ask(args.question)
    if own:
        return _accept(folder)
    said = _password() if (args.verb, *words) == ("ssh", "password") else ""
    done = asyncio.run(privilege.run(privilege.NAMES.get(args.verb, args.verb), *words, timeout=3600.0, said=said))
    if done.ok:
        print(done.output.strip() or "done")
        return 0
    title = f"system {args.verb}: {done.reason}"
    if done.code == REFUSED:
        raise UsageError(title, hint=f"linkladder system {args.verb} --help says what it takes")
    raise EnvironmentFault(title, hint="linkladder doctor says whether the helper can be reached")


def _accept(folder: Path) -> int:
    try:
        accepted.accept(str(folder))
    except (Failed, OSError) as error:
        raise EnvironmentFault("the settings were not accepted", str(error)) from None
    print("done")
    return 0


def _list_disks() -> int:
    found = disks.disks()
    if not found:
        raise EnvironmentFault(*NOTHING_TO_INSTALL)
    for disk in found:
        print(f"{disk.title}\n    {'in use by what runs now' if disk.used else disk.content}")
    return 0


def _ask_for_disk(name: str, yes: bool) -> None:
    """Ask twice, showing the disk's name, size and content; an unknown or used disk is refused before."""
    found = disks.disks()
    if not found:
        raise EnvironmentFault(*NOTHING_TO_INSTALL)
    disk = next((one for one in found if one.name == name), None)
    if disk is None:
        raise UsageError(f"there is no disk {name}", hint=f"there are {', '.join(one.name for one in found)}")
    if disk.used:
        raise UsageError(f"{name} is in use", "the running system, or something mounted, lies on it")
    if not yes:
        _ask(f"Install onto {disk.title}?\nOn it: {disk.content}.\nAll of it is lost.")
        _ask(f"Once more: erase {disk.title}, with {disk.content}?", disk.name)


def _password() -> str:
    """The helper's line of input: a password that a person types twice, or a line that a script sends."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n") + "\n"
    first = getpass.getpass("New password for admin: ")
    if getpass.getpass("Once more: ") != first:
        raise UsageError("the two are not the same", hint="nothing was changed")
    return f"{first}\n"


def _ask(question: str, word: str = "yes") -> None:
    if not sys.stdin.isatty():
        raise UsageError("there is nobody to ask", hint="--yes does it without a question")
    if input(f"{question} [type {word}] ").strip().lower() != word:
        raise UsageError("nothing was done")
