"""`linkladder facts`, `doctor` and `parse`: shows and checks this machine, and reads its tools' output."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from linkladder import __version__, host, phrases, tools, units, wire
from linkladder.codec import to_json
from linkladder.errors import EnvironmentFault, UsageError, why_no_file
from linkladder.host import programs
from linkladder.model import HostFacts
from linkladder.peer import PeerLost, connect
from linkladder.plan import fields
from linkladder.printable import one_line

CONGESTION = ("net.ipv4.tcp_congestion_control", "net.inet.tcp.cc.algorithm")


def add_parsers(commands: Any) -> None:
    facts = commands.add_parser("facts", help="what this machine (or a peer) is")
    facts.add_argument("--peer", metavar="NAME")
    facts.add_argument("--json", action="store_true")
    facts.set_defaults(handler=_facts)
    check = commands.add_parser("doctor", help="is everything here that measuring needs?")
    check.add_argument("--json", action="store_true")
    check.set_defaults(handler=_doctor)
    parse = commands.add_parser("parse", help="read a tool's saved output, of either end")
    parse.add_argument("tool", choices=sorted(tools.SPOKEN))
    parse.add_argument("file", help="a file, or - for standard input")
    parse.add_argument("--flows", type=_checked(fields.whole(1, 1000)), metavar="N", help="how many flows it must have")
    parse.add_argument(
        "--seconds", type=_checked(fields.number(0.001, 1e7)), metavar="T", help="how long it must have run"
    )
    parse.add_argument("--local", type=_checked(fields.address), metavar="ADDR", help="the address it must have used")
    parse.add_argument(
        "--window", type=_checked(fields.size), metavar="W", help="the socket buffer it must have been granted"
    )
    parse.set_defaults(handler=_parse)


def _checked(check: fields.Check) -> Callable[[str], Any]:
    """A converter for argparse from a check of a plan's field, with the same error text."""

    def convert(text: str) -> Any:
        for value in (lambda: int(text), lambda: float(text), lambda: text):
            with contextlib.suppress(ValueError):
                given = value()
                break
        try:
            return check(given)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _facts(args: argparse.Namespace) -> int:
    if args.peer:
        facts = asyncio.run(_ask_peer(args.peer))
    else:
        found = programs.tool_versions()
        facts = replace(host.facts(), tools=found, version=__version__)
    if args.json:
        print(json.dumps(to_json(facts), indent=1))
    else:
        _print(facts)
    return 0


async def _ask_peer(name: str) -> HostFacts:
    try:
        far = await connect(name)
        try:
            return await far.ask(wire.Facts())
        finally:
            await far.close()
    except PeerLost as error:
        raise EnvironmentFault(
            f"{name} cannot be reached", str(error), "linkladder peers lists what is paired"
        ) from None


def _print(facts: HostFacts) -> None:
    _say(f"{facts.name}: linkladder {facts.version}, {facts.os} {facts.release}, {facts.virtual or 'bare metal'}")
    _say(f"  {units.plural(facts.cores, 'core')} of {facts.cpu or facts.machine}, {units.size(facts.memory)} memory")
    congestion = next((v for k, v in facts.sysctls.items() if k in CONGESTION), "")
    _say("  tools: " + (", ".join(f"{t} {v}" for t, v in facts.tools.items()) or "none"))
    _say(f"  largest socket buffer: {units.size(facts.window_limit)}, congestion control: {congestion or 'not told'}")
    for nic in facts.nics:
        queues = f"queues {nic.rx_queues}/{nic.tx_queues}" if nic.rx_queues else ""
        words = (phrases.card_state(nic), nic.driver, phrases.card_speed(nic), f"MTU {nic.mtu}", queues)
        flags = " ".join(name for name, on in sorted(nic.offloads.items()) if on)
        _say(f"  {nic.name}: " + ", ".join(word for word in words if word))
        if nic.bundle:
            _say(f"    {phrases.bundle(nic.bundle)}")
        _say(f"    {' '.join(nic.addresses) or 'no address'}   on: {flags or '-'}")


def _doctor(args: argparse.Namespace) -> int:
    from linkladder import doctor  # imported late, as it needs much else

    findings = doctor.examine()
    if args.json:
        print(json.dumps([to_json(f) for f in findings], indent=1))
    else:
        for f in findings:
            _say(f"{f.state:5} {f.title}: {f.detail}")
            if f.remedy and f.state != "ok":
                _say(f"      do: {f.remedy}")
    return 1 if any(f.state == "bad" for f in findings) else 0


def _say(text: str) -> None:
    """Print one line without control characters: what another machine says steers no terminal, and adds no lines."""
    print(one_line(text))


def _parse(args: argparse.Namespace) -> int:
    try:
        text = sys.stdin.read() if args.file == "-" else FilePath(args.file).read_text("utf-8", "replace")
    except OSError as error:
        hint = "name the file with the tool's output, or - for standard input"
        raise UsageError(f"{args.file} cannot be read", why_no_file(error), hint) from None
    demands = tools.Demands(args.flows, args.seconds, args.local, args.window)
    outcome = tools.parse_saved(args.tool, text, demands)
    if not outcome.ok:
        print(f"no result: {outcome.reason}", file=sys.stderr)
        return 1
    print(json.dumps(to_json(outcome), indent=1))
    return 0
