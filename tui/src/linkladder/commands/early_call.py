"""Calls the peer of a run before the command line is read, as that imports much, and the peer takes long to answer."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence

from linkladder.trust.calling import Call, call

LOCALHOST = ["localhost"]


@contextlib.contextmanager
def called(arguments: Sequence[str]) -> Iterator[Call | None]:
    """The call that a run with these arguments needs, if it surely needs one; whoever has no use for it hangs up."""
    begun = _begun(arguments)
    try:
        yield begun
    finally:
        if begun:
            begun.end()


def _begun(arguments: Sequence[str]) -> Call | None:
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=False)
    parser.add_argument("--peer", default="")
    parser.add_argument("--rung", action="append")
    for without in ("--dry-run", "-h", "--help"):
        parser.add_argument(without, action="store_true", dest="without")
    for earlier in ("--resume", "--follow-up"):
        parser.add_argument(earlier, dest="earlier")
    try:
        args, _ = parser.parse_known_args(arguments)
    except argparse.ArgumentError:  # the whole parser explains it
        return None
    return None if args.without or args.earlier or args.rung == LOCALHOST else call(args.peer)
