"""`linkladder pair` and `linkladder peers`: pairs appliances with the service of the Pair screen, and lists them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkladder import damage, state, units
from linkladder.codec import to_json
from linkladder.errors import LinkladderError, UsageError, why_no_file
from linkladder.pairing import codes, handoff, secret
from linkladder.pairing import window_events as say
from linkladder.pairing.service import PORT, UNBOUNDED, PairingService
from linkladder.trust import peers

MOST = 99  # most appliances that are listed while a window is open
UNPROVEN = 33  # of them, those that have not answered yet, as anybody can say any number of names
AT_ONCE = 4  # most calls in progress at the same time
REMEMBERED = 1000  # most lines that are remembered as said


def add_parsers(commands: Any) -> None:
    pair = commands.add_parser("pair", help="trust another appliance, by typing the short code that its screen shows")
    pair.add_argument("address", nargs="?", metavar="ADDRESS", help="call this one; else wait and list who is heard")
    pair.add_argument("--open", action="store_true", help="only wait to be called")
    pair.add_argument("--minutes", type=float, default=10.0, metavar="N", help="how long the window is open (10)")
    pair.add_argument("--secret-file", type=Path, metavar="F", help="a site secret confirms in place of a person")
    pair.add_argument("--forget-secret", action="store_true", help="delete that file once its use is over")
    until = pair.add_mutually_exclusive_group()
    until.add_argument("--ends", type=int, metavar="N", help="the secret's use is over when N ends are paired (2)")
    until.add_argument("--wait", type=float, metavar="M", help="it is over when no further end has come for M minutes")
    pair.add_argument("--new-secret", action="store_true", help="print a new site secret and do nothing else")
    pair.add_argument("--yes-code", metavar="CODE", help="what the other end shows; answers here or in the open window")
    pair.add_argument("--name", default="", help="this appliance's name, if not its host name")
    pair.add_argument("--json", action="store_true", help="say what happens as lines of JSON, for scripts")
    pair.add_argument("--port", type=int, default=PORT, help=argparse.SUPPRESS)
    pair.set_defaults(handler=_pair)
    listed = commands.add_parser("peers", help="list, rename and remove the appliances that are trusted")
    listed.add_argument("--json", action="store_true")
    listed.set_defaults(handler=_list)
    kinds = listed.add_subparsers(metavar="list|add|remove|rename|introductions")
    one = kinds.add_parser("list", help="who is trusted, by which addresses and key")
    one.add_argument("--json", action="store_true", default=argparse.SUPPRESS)  # else it undoes that of peers
    one.set_defaults(handler=_list)
    one = kinds.add_parser("add", help="pin keys that were carried over as files")
    one.add_argument("name")
    one.add_argument("address", nargs="+")
    one.add_argument("--host-key", type=Path, required=True, metavar="F", help="its host_ed25519.pub")
    one.add_argument("--user-key", type=Path, required=True, metavar="F", help="its user_ed25519.pub")
    one.add_argument("--port", type=int, default=peers.PORT)
    one.add_argument("--user", default="linkladder")
    one.set_defaults(handler=_add)
    one = kinds.add_parser("remove", help="trust it no more; its sessions end")
    one.add_argument("name")
    one.set_defaults(handler=_remove)
    one = kinds.add_parser("rename", help="call it otherwise at this end")
    one.add_argument("name")
    one.add_argument("new")
    one.set_defaults(handler=_rename)
    one = kinds.add_parser("introductions", help="may it have this appliance measure with others than itself?")
    one.add_argument("name")
    one.add_argument("answer", choices=("allow", "deny"))
    one.set_defaults(handler=_introductions)


def _list(args: argparse.Namespace) -> int:
    known = peers.load()
    for line in () if known else damage.lines(state.folder(), peers.FILE):  # else they look as if never paired
        print(line, file=sys.stderr)
    if args.json:
        print(json.dumps([to_json(p) for p in known], indent=1))
        return 0
    for peer in known:
        print(f"{peer.name:<16} {','.join(peer.addresses):<32} port {peer.port}  {peer.fingerprint}  {peer.paired_at}")
    if not known:
        print("no appliance is paired; linkladder pair does it")
    return 0


def _add(args: argparse.Namespace) -> int:
    try:
        host, user = (" ".join(f.read_text().split()[:2]) for f in (args.host_key, args.user_key))
    except (OSError, UnicodeDecodeError) as error:
        name = getattr(error, "filename", None) or f"{args.host_key} or {args.user_key}"
        raise UsageError(f"{name} cannot be read", why_no_file(error), "it is in keys/ of its state folder") from None
    now = datetime.now(UTC).isoformat(timespec="seconds")
    peers.add(peers.Peer(args.name, tuple(args.address), host, user, args.port, args.user, paired_at=now))
    print(f"{args.name} is paired: {peers.find(args.name).fingerprint}")
    return 0


def _remove(args: argparse.Namespace) -> int:
    print(f"{peers.remove(args.name).name} is trusted no more")
    return 0


def _rename(args: argparse.Namespace) -> int:
    from linkladder.plan import rename_peer  # imported late, as no other of these commands reads a plan

    old = peers.rename(args.name, args.new).name
    rename_peer(state.folder(), old, args.new)
    print(f"{old} is called {args.new} now")
    return 0


def _introductions(args: argparse.Namespace) -> int:
    name = peers.introductions(args.name, args.answer == "allow").name
    print(f"{name} may{'' if args.answer == 'allow' else ' not'} have this appliance measure with others")
    return 0


def _pair(args: argparse.Namespace) -> int:
    if args.new_secret:
        print(secret.new())
        return 0
    if not 0 < args.minutes <= 60:
        raise UsageError(f"a window cannot be open for {args.minutes:g} minutes", hint="up to 60")
    if args.open and args.address:
        raise UsageError("--open only waits to be called", hint=f"linkladder pair {args.address} calls it")
    if args.yes_code is not None and not codes.well_formed(args.yes_code):  # now, before the other end is called
        raise UsageError("--yes-code is no code", codes.FORM, "give what stands there")
    if args.yes_code and not args.address and not args.open:
        done = asyncio.run(handoff.ask(args.yes_code))
        if done is not None:
            return _handed_over(done, args.json)
    if args.forget_secret and not args.secret_file:
        raise UsageError("there is no secret to forget", hint="--secret-file names it")
    if (args.ends, args.wait) != (None, None):
        _check_site(args)
    known = secret.read_own(args.secret_file) if args.secret_file else None
    others = _due(args)
    service = PairingService(secret=known, port=args.port, name=args.name, others=others)
    return asyncio.run(Pairing(service, args).run())


def _handed_over(done: str, as_json: bool) -> int:
    """Print what the open window said to the code, and return the exit code."""
    right = done == handoff.RIGHT
    if as_json:
        print(json.dumps({"event": "Answered", "right": right, "reason": "" if right else done}))
    else:
        print("the code is right" if right else f"not paired: {done}")
    return 0 if right else 1


def _due(args: argparse.Namespace) -> int:
    """How many others a window is open for; UNBOUNDED: as many as come."""
    return UNBOUNDED if args.wait is not None else (args.ends or 2) - 1


def _check_site(args: argparse.Namespace) -> None:
    if not args.secret_file or args.address:
        raise UsageError("several ends are paired by a site secret, and not by an address", hint="--secret-file F")
    if args.ends is not None and not 2 <= args.ends <= MOST:
        raise UsageError(f"a site has 2 to {MOST} ends, not {args.ends}")
    if args.wait is not None and not 0 < args.wait <= args.minutes:
        least = f"above 0, and at most the {args.minutes:g} that the window is open (--minutes)"
        raise UsageError(f"nobody can wait for {args.wait:g} minutes here", hint=least)


if TYPE_CHECKING:
    from linkladder.commands.site_pairing import Site


class Pairing:
    """Runs one `linkladder pair`: prints events as lines, and takes lines that a person types as answers."""

    def __init__(self, service: PairingService, args: argparse.Namespace) -> None:
        self._service, self._args = service, args
        self._tty = sys.stdin.isatty() and sys.stdout.isatty() and not args.json
        self._heard: list[say.Appliance] = []  # in order of their numbers, which never change
        self._introduced: set[str] = set()
        self._dialling = asyncio.Semaphore(AT_ONCE)
        self._calls: set[asyncio.Task[None]] = set()
        self._code = 1
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._site: Site | None = None
        if args.secret_file and not args.address:
            from linkladder.commands.site_pairing import Site

            self._site = Site(service, self._call_heard, _due(args), args.wait)
        self._told: set[str] = set()  # at a site calls are repeated, and told once

    async def run(self) -> int:
        service = self._service
        await service.open(self._args.minutes)
        helpers = [asyncio.create_task(self._answers()), asyncio.create_task(self._count_down())]
        if self._site:
            self._site.begin(bool(await asyncio.to_thread(peers.load)))
            if not self._args.open:
                helpers.append(asyncio.create_task(self._site.keep_calling()))
        self._listen()
        try:
            async with handoff.serve(service):
                if self._args.address:
                    self._call(self._args.address)
                async for event in service.events():
                    await self._show(event)
        finally:
            await service.close()
            if self._site:
                await self._site.end()
            for task in (*helpers, *self._calls):
                task.cancel()
            await asyncio.gather(*helpers, *self._calls, return_exceptions=True)
        return self._code

    async def _show(self, event: say.Event) -> None:
        if self._args.json:
            print(json.dumps({"event": type(event).__name__, **to_json(event)}), flush=True)
        match event:
            case say.WindowOpened():
                self._print(f"this is {event.name}, {event.fingerprint}")
                self._print(f"addresses: {', '.join(event.addresses) or 'none'}")
                self._print(f"pairing is open for {units.duration(event.seconds)}")
            case say.Heard(appliance):
                self._hear(appliance)
            case say.Gone(appliance) if appliance.id in self._introduced:
                self._print(f"{appliance.name} at {appliance.addresses[0]} is heard no more")
            case say.Dialling(address):
                self._print_once(f"calling {address} ...")
            case say.CodeReady():
                await self._compare(event)
            case say.Confirmed():
                self._print("that is the code; waiting for the other end's answer")
            case say.PeerConfirmed(name):
                self._print(f"{name} has confirmed")
            case say.Storing(name):
                self._print(f"storing {name}'s keys; a slow machine takes up to a minute for it ...")
            case say.Paired():
                self._paired(event)
                if self._site:
                    self._site.came()
            case say.Refused(here, name, left, other_code):
                if other_code:
                    self._print(say.OTHER_CODE)
                self._print(f"refused {'here' if here else f'by {name}'}; attempts left: {left}")
                await self._stop_if_asked()
            case say.Failed():
                self._print_once(str(LinkladderError(event.title, event.cause, event.hint)))
                # A stranger's attempt shuts no window that a secret guards.
                if event.called or not self._args.secret_file:
                    await self._stop_if_asked()
            case say.WindowClosed(reason):
                self._print(f"pairing is closed: {reason}")
                self._end_of_secret()

    def _hear(self, one: say.Appliance) -> None:
        """Show an appliance once its round trip is known, or after a second without one."""
        if all(h.id != one.id for h in self._heard):
            if len(self._heard) >= (MOST if one.answers else UNPROVEN):  # a flood; an address can still be typed
                return
            self._heard.append(one)
            asyncio.get_running_loop().call_later(1.0, self._introduce, one.id)
        if self._site and not self._args.open:
            self._site.call(one)
        if one.rtt_ms is not None:
            self._introduce(one.id)

    def _introduce(self, who: str) -> None:
        if who in self._introduced or not self._service.is_open:
            return
        self._introduced.add(who)
        self._list(who)
        if self._tty and len(self._introduced) == 1:
            self._print("type its number, or an address, to pair with it; Enter lists who is heard")

    def _list(self, only: str = "") -> None:
        """Print each appliance heard now: number, name, address, interface, age, round trip, other addresses, key."""
        now = {one.id: one for one in self._service.heard()}
        for number, seen in enumerate(self._heard, 1):
            if seen.id in now and only in ("", seen.id):
                for line in appliance_lines(number, now[seen.id]):
                    self._print(line)

    async def _compare(self, ready: say.CodeReady) -> None:
        self._print(f"{ready.name} at {ready.address}, {ready.fingerprint}")
        self._print(f"code: {ready.code}   {' '.join(ready.words)}")
        if ready.by_secret:
            return
        if self._args.yes_code:
            await self._service.answer(self._args.yes_code)
            return
        self._print(f"it is for {ready.name}'s console; type the code that is shown there, or no to refuse")

    def _paired(self, event: say.Paired) -> None:
        self._code = 0
        self._told.clear()
        self._print(f"paired with {event.peer.name}, {event.peer.fingerprint}")
        if event.own_name != event.peer.name:
            self._print(f"it calls itself {event.own_name}, and is {event.peer.name} here")
        if len(event.peer.addresses) == 1:
            from linkladder import phrases  # imported late, so that the program starts faster

            self._print(phrases.one_address(event.peer.name, event.peer.addresses[0]))
        if not event.certain:
            self._print("the other end did not say that it has stored this; if it cannot be reached, pair again")

    def _end_of_secret(self) -> None:
        """The secret goes once its use is over; before that it is kept, and what is missing is said."""
        over = self._site.over if self._site else self._code == 0
        if over and self._args.forget_secret:
            self._delete_secret(self._args.secret_file)
        if self._site and (missing := self._site.left_over()):
            self._code = 1
            self._print(missing)

    def _delete_secret(self, path: Path) -> None:
        """Delete the file with the site secret after its use, so that nobody gets hold of it later."""
        path.unlink(missing_ok=True)
        self._print("the site secret is deleted here; where it was given as a property of the virtual machine, delete")
        self._print("it there too: the hypervisor keeps it, and its backups do")

    async def _stop_if_asked(self) -> None:
        """Close the window after a failed attempt of a script; a person may try again while it is open."""
        if not self._tty and (self._args.address or self._args.yes_code):
            await self._service.close("the attempt failed")

    async def _answers(self) -> None:
        while True:
            words = (await self._lines.get()).strip()
            try:
                await self._answer(words)
            except LinkladderError as error:
                self._print(str(error))

    async def _answer(self, words: str) -> None:
        ready = self._service.ready
        if ready and words.lower() in ("n", "no"):
            await self._service.refuse()
        elif ready and words:
            await self._service.answer(words)
        elif words.isdecimal() and 0 < int(words) <= len(self._heard):
            one = self._heard[int(words) - 1]
            self._call(one.addresses[0], one.port)
        elif words:
            self._call(words)
        elif not ready:
            self._list()
            if not self._service.heard():
                self._print("nobody is heard yet")

    def _call(self, address: str, port: int | None = None) -> None:
        task = asyncio.create_task(self._dial(address, port))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _call_heard(self, one: say.Appliance) -> None:
        await self._dial(one.addresses[0], one.port)

    async def _dial(self, address: str, port: int | None) -> None:
        async with self._dialling:
            await self._service.dial(address, port)

    def _listen(self) -> None:
        """Read the lines of standard input in a thread, since files and terminals cannot be polled alike."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            with contextlib.suppress(RuntimeError, ValueError, OSError):  # the loop has ended, and so does this thread
                for line in sys.stdin:
                    loop.call_soon_threadsafe(self._lines.put_nowait, line)

        threading.Thread(target=read, daemon=True).start()

    async def _count_down(self) -> None:
        while self._tty:
            print(f"\r\x1b[Kopen for {units.duration(self._service.seconds_left)}  ", end="", flush=True)
            await asyncio.sleep(1)

    def _print_once(self, text: str) -> None:
        if not self._site or text not in self._told:
            if len(self._told) >= REMEMBERED:
                self._told.clear()
            self._told.add(text)
            self._print(text)

    def _print(self, text: str) -> None:
        if not self._args.json:
            print(f"\r\x1b[K{text}" if self._tty else text, flush=True)


def appliance_lines(number: int, one: say.Appliance) -> tuple[str, ...]:
    age = max(0.0, time.monotonic() - one.heard)
    trip = f", round trip {units.milliseconds(one.rtt_ms)}" if one.rtt_ms is not None else ""
    notes = [*one.addresses[1:], one.fingerprint]
    if one.known_as:
        notes.append(f"paired as {one.known_as}")
    if one.same_name:
        notes.append("not the only one of this name")
    first = f"  {number}  {one.name}  {one.addresses[0]}  on {one.interface}, heard {age:.0f} s ago{trip}"
    return first, f"     {', '.join(notes)}"
