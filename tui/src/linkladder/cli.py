"""The command line, for scripts and for people who prefer it; it uses the same core as the console's screens."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from linkladder import __version__, state
from linkladder.errors import LinkladderError, disk_fault
from linkladder.trust import files

if TYPE_CHECKING:
    from linkladder.trust.calling import Call

MEASURING = ("run", "tune", "offload", "sizing", "affinity", "rr", "rss")
# Each module adds its own commands, and is only imported when it is needed.
GROUPS: dict[str, tuple[str, ...]] = {
    "linkladder.commands.measuring": (*MEASURING, "watch"),
    "linkladder.commands.stored": ("runs", "show"),
    "linkladder.commands.planning": ("plan",),
    "linkladder.commands.machine": ("facts", "doctor", "parse"),
    "linkladder.commands.serving": ("agent",),
    "linkladder.commands.judging": ("judge", "ceiling", "report", "verify"),
    "linkladder.commands.pairing": ("pair", "peers"),
    "linkladder.commands.appliance": ("system",),
    "linkladder.commands.keep_settings": ("keep",),
}
GLYPHS = ("unicode", "cp437", "ascii")
SELDOM = (20_000, 20, 20)  # thresholds of the garbage collector: with Python's own, searching hundreds of thousands of
# records, none of which is garbage, takes a fifth of a judgement's time and delays opening a screen several times


def main(argv: list[str] | None = None) -> int:
    """Run a command. Exit codes: 0 done, 1 something failed or is not good, 2 usage, 3 no peer or environment."""
    gc.set_threshold(*SELDOM)
    atexit.register(gc.freeze)  # what is left goes with the process, so no search for garbage
    _open_closed_streams()
    try:
        try:
            code = _command(sys.argv[1:] if argv is None else argv)
        except SystemExit:  # argparse has printed its help
            sys.stdout.flush()
            raise
        sys.stdout.flush()  # now, as an error at Python's end has no handler
        return code
    except LinkladderError as error:
        from linkladder.printable import clean  # imported late, so that commands start faster

        print(clean(f"linkladder: {error}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("linkladder: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1
    except OSError as error:
        if (fault := disk_fault(error)) is None:
            raise
        print(f"linkladder: {fault}", file=sys.stderr)
        return fault.exit_code
    finally:
        _give_up_output()


def _command(arguments: list[str]) -> int:
    state.hand_over(arguments)
    with _called(arguments) as call:
        args = _parser(arguments).parse_args(arguments, argparse.Namespace(call=call))
        files.check_state(state.folder())  # keys that other users can read are refused
        if not hasattr(args, "handler"):
            return _console(args)
        return int(args.handler(args))


def _open_closed_streams() -> None:
    """Open /dev/null for a stream that the caller closed: no other file may get its number, and code may use it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8")
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _give_up_output() -> None:
    """Drop what standard output does not take; Python would try again at its end, complain and exit with 120."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _called(arguments: list[str]) -> contextlib.AbstractContextManager[Call | None]:
    """The peer, called before the rest is imported, if the command is one that measures."""
    if _named(arguments) not in MEASURING:
        return contextlib.nullcontext()
    from linkladder.commands.early_call import called  # imported late, as other commands call nobody so soon

    return called(arguments)


def _named(arguments: list[str]) -> str:
    """The command among the arguments; '' where there is none."""
    return next((a for a in arguments if not a.startswith("-") and a not in GLYPHS), "")


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="linkladder",
        description="Qualify a network link, rung by rung.  Without a command it opens the console.",
    )
    parser.add_argument("--version", action="version", version=f"linkladder {__version__}")
    parser.add_argument("--glyphs", choices=GLYPHS, help="what the terminal's font has")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    named = _named(arguments)
    console = not named and not {"-h", "--help"} & set(arguments)  # it does not load the commands, to start faster
    for module, names in GROUPS.items():
        if named in names or not (console or any(named in group for group in GROUPS.values())):
            import_module(module).add_parsers(commands)
    return parser


def _console(args: argparse.Namespace) -> int:
    app = import_module("linkladder.app")  # imported late, as commands do not need the console's libraries
    return int(app.run(glyphs=args.glyphs, mouse=not args.no_mouse))


if __name__ == "__main__":
    sys.exit(main())
