"""`linkladder keep`: makes a staircase's winning settings permanent here, once a person has seen that they work."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from linkladder import keeping
from linkladder.commands.read_documents import read_document
from linkladder.errors import UsageError
from linkladder.model import Document

ALONE = "there is nobody to ask: keep is confirmed by a person who still reaches this appliance"


def add_parsers(commands: Any) -> None:
    one = commands.add_parser("keep", help="make permanent what tune found to be better; put back unless confirmed")
    one.add_argument("run", nargs="?", default="last", help="a run's id, the beginning of one, 'last', or a file")
    one.set_defaults(handler=lambda args: keep(read_document(args.run)))


def keep_what_won(document: Document) -> int:
    """The same at the end of the run itself, whose answer may well be that nothing won: that is no error."""
    try:
        return keep(document)
    except keeping.NothingWon as error:
        print(f"{error.cause}: nothing is kept")
        return 0


def keep(document: Document) -> int:
    """Try the winning settings, and return 0 if they are kept or there are none, 1 if nobody confirmed them."""
    found = keeping.winners(document)
    done: tuple[str, ...] = ()
    if found.settings:
        if not sys.stdin.isatty():
            raise UsageError(ALONE, hint="linkladder system sets each for good without a question")
        done = asyncio.run(keeping.keep(found, _confirmed))
        print("\n".join(["kept, now and after every boot:", *done]) if done else "put back: nothing is kept")
    if found.elsewhere:
        print("\n".join(["for the other end, to type there:", *found.elsewhere]))
    if found.for_application:
        said = "for the application" if found.of_machines else keeping.NOT_THE_MACHINE
        print("\n".join([f"{said}:", *found.for_application]))
    return 0 if done or not found.settings else 1


async def _confirmed(changes: tuple[str, ...], seconds: float) -> bool:
    print("\n".join(["in force now, on loan:", *(f"  {change}" for change in changes)]))
    print(f"Keep it? It is put back in {seconds:.0f} s unless you type yes: ", end="", flush=True)
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        loop.remove_reader(sys.stdin)
        typed.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        async with asyncio.timeout(seconds):
            return (await typed).strip().lower() == "yes"
    except TimeoutError:
        print()
        return False
    finally:
        loop.remove_reader(sys.stdin)
