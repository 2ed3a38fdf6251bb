"""`linkladder run` and `watch`: measures without the console, or follows a run in progress."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path as FilePath
from textwrap import fill
from typing import TYPE_CHECKING, Any

from linkladder import phrases, state, units
from linkladder.commands.named_plans import load
from linkladder.errors import EnvironmentFault, UsageError, why_no_file
from linkladder.model import Plan, RungName, RunState
from linkladder.plan import BUILTIN, SHORT, THOROUGH, Asked, peers_left, restarts
from linkladder.plan.read import ALSO, title_of
from linkladder.printable import clean
from linkladder.run import lock, process
from linkladder.run.steering import Seat, seated, terminal
from linkladder.store import Store
from linkladder.trust import peers
from linkladder.verdicts import LEAST_PAIRS

if TYPE_CHECKING:
    from linkladder.commands.run_lines import Lines
    from linkladder.engine import Controls
    from linkladder.engine.kernels import Boots
    from linkladder.events import Event, RunFinished
    from linkladder.model import Document
    from linkladder.run.session import LiveSession

AGREE = "--restart agrees to it"
USUAL = "quick"
LONG = ("ladder", "ladder-long")
NEW_RUNS = ("long", "thorough", "also")  # options that shape a plan
LOOK = 0.25  # seconds between two reads of the log


def add_parsers(commands: Any) -> None:
    run = commands.add_parser("run", help="climb the ladder and keep what it shows")
    said = f"{', '.join(BUILTIN)} or a plan file (default: {USUAL})"
    _how(run).add_argument("--plan", help=said)  # without a default, as argparse does not see one that is typed
    run.add_argument("--long", action="store_true", help="plan ladder with every cell for 60 s, three times")
    for name in SHORT:
        title = title_of(name)
        short = commands.add_parser(name, help=f"{title[:1].lower()}{title[1:]}")
        _how(short)
        short.set_defaults(plan=name)
        if name == "tune":
            short.add_argument("--also", action="append", default=[], metavar="S", help=f"then try this: {ALSO}")
            short.add_argument("--keep", action="store_true", help="then make permanent here what won, once confirmed")
    watch = commands.add_parser("watch", help="follow the run that goes on here, whoever began it")
    watch.set_defaults(handler=_watch)


def _how(run: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """Add the options that every run takes, whatever it measures; returns those of which only one says what it is."""
    rungs = [name.value for name in RungName]
    run.add_argument("--rung", action="append", choices=rungs, help="only this rung; may be repeated")
    run.add_argument("--thorough", action="store_true", help=f"{THOROUGH} pairs of everything that is compared")
    run.add_argument(
        "--peer", default="", metavar="N", help="the paired appliance at the far end; of a mesh several: beta,gamma"
    )
    run.add_argument("--json", metavar="F", help="write the run's document to F (- for standard output)")
    run.add_argument("--quiet", action="store_true", help="say nothing but errors")
    run.add_argument("--dry-run", action="store_true", help="print every command and change, and the time; do nothing")
    what = run.add_mutually_exclusive_group()
    what.add_argument("--resume", metavar="RUN", help="go on with an incomplete run where it stopped")
    what.add_argument(
        "--follow-up", metavar="RUN", help="measure what the verdict of RUN asks for next, and judge it again"
    )
    run.add_argument("--restart", action="store_true", help="do not ask before a plan restarts this machine")
    run.add_argument("--note", default="", help="a note to keep with the run")
    run.set_defaults(handler=_run)
    return what


def _run(args: argparse.Namespace) -> int:
    if getattr(args, "keep", False) and not sys.stdin.isatty():
        from linkladder.commands.keep_settings import ALONE  # imported late, as hardly any run keeps what won

        raise UsageError(ALONE, hint="linkladder tune without --keep, then linkladder keep")
    for name in args.peer.split(",") if args.peer else ():
        peers.find(name.strip())  # a misspelt name is told now, rather than by a run that has no far end
    named = args.resume or args.follow_up
    if named and (vain := [f"--{word}" for word in NEW_RUNS if getattr(args, word, None)]):
        raise UsageError(f"{vain[0]} is for a new run; run {named} has its plan", hint=f"leave {vain[0]} out")
    args.plan = args.plan or USUAL
    store = Store(state.folder())
    store.settle(lock.going(store.folder))
    resume = store.find(named) if named else None
    before = store.load(resume, output=False) if resume else None
    plan = _chosen(args, before)
    if args.follow_up and not plan.rungs:
        print(f"linkladder: the verdict of run {resume} asks for nothing more", file=sys.stderr)
        return 0
    plan = _with_peer(plan)
    if before is None and any(rung.stairs for rung in plan.rungs):
        from linkladder.run.starting_point import begun_at_best  # imported late, as few plans have a staircase

        plan, begins = begun_at_best(plan, store)
        for said in begins:
            print(f"linkladder: {said}", file=sys.stderr)
        args.note = "; ".join(filter(None, (args.note, *begins)))
    if args.json and args.json != "-":
        _check_writable(args.json)  # now rather than after hours of measuring
    if args.dry_run:
        from linkladder.commands.planning import asked, describe  # imported late, for the same reason

        describe(*asyncio.run(asked(plan)))
        if args.resume and resume and (done := len(store.stored_trials(resume))):
            print(f"\nof all this {units.plural(done, 'trial')} of run {resume} will not be measured again")
        return 0
    kept = store.stored_trials(resume) if resume else set()
    store.close()
    for name in peers_left(plan, kept):
        peers.find(name)  # raises what to do about it
    return _measure(args, plan, resume, _restarts(args, plan))


def _chosen(args: argparse.Namespace, before: Document | None) -> Plan:
    """The plan that the options name, or that goes on with an earlier run; without rungs if that asks for no more."""
    if getattr(args, "long", False):
        if args.plan != LONG[0]:
            raise UsageError(f"plan {args.plan} has no long form", hint=f"linkladder run --plan {LONG[0]} --long")
        args.plan = LONG[1]
    plan = before.run.plan if before else load(args.plan, args.peer, _asked(args))
    if args.follow_up and before:
        if before.run.state is not RunState.COMPLETE:
            raise UsageError(
                f"run {before.run.id} is {before.run.state}", hint=f"linkladder run --resume {before.run.id} first"
            )
        from linkladder.commands.planning import follow_up  # imported late, for a run to begin sooner

        return follow_up(before, tuple(args.rung or ()))
    if "," in args.peer and not any(len(rung.peers) > 1 for rung in plan.rungs):
        hint = f"linkladder run --plan mesh --peer {args.peer} measures every pair"
        raise UsageError(f"plan {plan.name} measures with one appliance, and --peer names several", hint=hint)
    if args.rung:
        plan = replace(plan, rungs=tuple(r for r in plan.rungs if r.name in args.rung))
        if not plan.rungs:
            raise UsageError(f"plan {plan.name} has none of the rungs {', '.join(args.rung)}")
    return plan


def _check_writable(name: str) -> None:
    file = FilePath(name)
    folder = file.absolute().parent
    if file.is_dir() or not folder.is_dir() or not os.access(file if file.exists() else folder, os.W_OK):
        raise UsageError(f"{name} cannot be written", hint="name a file in a folder that is there and yours")


def _asked(args: argparse.Namespace) -> Asked:
    """What the options ask of the plan beyond what it says."""
    rungs = tuple(RungName(name) for name in args.rung or ())
    return Asked(rungs, pairs=THOROUGH if args.thorough else LEAST_PAIRS, also=tuple(getattr(args, "also", ())))


def _with_peer(plan: Plan) -> Plan:
    """The plan with the only paired appliance as the peer of every path that names none."""
    known = peers.load()
    if len(known) != 1:
        return plan
    only = known[0].name
    rungs = tuple(
        r if r.name == RungName.LOCALHOST else replace(r, paths=tuple(replace(p, peer=p.peer or only) for p in r.paths))
        for r in plan.rungs
    )
    return replace(plan, rungs=rungs)


def _restarts(args: argparse.Namespace, plan: Plan) -> Boots | None:
    """How often the machine may restart for the plan, after asking the person; None where it need not or cannot."""
    count = restarts(plan)
    if not count:
        return None
    from linkladder.engine.kernels import Boots  # imported late, as hardly any run restarts the machine
    from linkladder.run import restarting

    kernels = restarting.kernels()
    if kernels.why_not:
        return None
    if not args.restart:
        if not sys.stdin.isatty():
            raise UsageError(f"plan {plan.name} restarts this machine, and there is nobody to ask", hint=AGREE)
        print(fill(phrases.agreed(count), 79), file=sys.stderr)
        if input("Restart it? [type yes] ").strip().lower() != "yes":
            raise UsageError("nothing was done")
    return Boots(kernels, count)


def _measure(args: argparse.Namespace, plan: Plan, resume: str | None, boots: Boots | None = None) -> int:
    folder = state.folder()
    quiet = args.quiet or args.json == "-"
    with lock.locked(folder) as mine, seated(folder, f"linkladder run on {terminal()}") as seat:
        if sys.stdin.isatty():
            seat.take_over()

        shown = cache(_lines)

        def tell(event: Event, at: float, controls: Controls) -> None:
            from linkladder.events import WaitingForOperator  # by the first event the engine has imported it

            shown(quiet).show(event, at)
            if isinstance(event, WaitingForOperator):
                loop = asyncio.get_running_loop()
                loop.add_reader(sys.stdin, _answer, seat, controls, loop)

        asked = process.measure(
            mine,
            plan,
            resume,
            note=args.note,
            operator=sys.stdin.isatty(),
            ends=process.BY_PERSON,
            tell=tell,
            boots=boots,
            called=args.call,
        )
        ended = asyncio.run(asked)
    assert ended
    status = _result(ended, quiet, args.json)
    if ended.state == RunState.COMPLETE and getattr(args, "keep", False):
        from linkladder.commands.keep_settings import keep_what_won

        # A failed trial voids its own pair, and not what the other pairs show.
        return keep_what_won(Store(folder).load(ended.run_id, output=False)) or status
    return status


def _lines(quiet: bool) -> Lines:
    from linkladder.commands.run_lines import Lines  # imported late, for a run to call its peers sooner

    return Lines(quiet, sys.stderr.isatty())


def _result(ended: RunFinished, quiet: bool, file: str | None = None) -> int:
    """Write the document, print the verdict, and return the exit status for scripts."""
    store = Store(state.folder())
    if file:
        from linkladder.commands.stored import write_json  # imported late, for a run to begin sooner

        try:
            write_json(store.load(ended.run_id), file)
        except OSError as error:
            raise EnvironmentFault(
                f"{file} cannot be written", why_no_file(error), "the run itself is stored"
            ) from None
    if ended.state != RunState.COMPLETE:
        print(clean(f"linkladder: run {ended.run_id} is incomplete: {ended.reason}"), file=sys.stderr)
        print(f"  do:  linkladder run --resume {ended.run_id} goes on with it", file=sys.stderr)
        return 3
    document = store.load(ended.run_id, output=False)
    if not quiet:
        from linkladder.judge import judge_document  # imported late, for the same reason; the engine has it by now

        judged = judge_document(document)
        for said in (judged.sentence, *(answer for rung in judged.rungs for answer in rung.answers)):
            print(f"\n{clean(said)}", file=sys.stderr)
    if any(r.unavailable for r in document.rungs):
        return 3
    return 1 if ended.failed_trials else 0


def _answer(seat: Seat, controls: Controls, loop: asyncio.AbstractEventLoop) -> None:
    """Carry out what the person typed, unless another screen has taken the controls."""
    line = sys.stdin.readline()
    if not line:  # end of input: nobody is there any more
        loop.remove_reader(sys.stdin)
    elif not seat.steers:
        print(f"  {seat.holder} has the controls", file=sys.stderr)
    elif line.strip().lower().startswith("s"):
        loop.remove_reader(sys.stdin)
        controls.skip()
    else:
        loop.remove_reader(sys.stdin)
        controls.proceed()


def _watch(args: argparse.Namespace) -> int:
    """Follow the run without steering it; Ctrl-C ends the watching and not the run."""
    folder = state.folder()
    said = lock.announced(folder) if lock.measuring(folder) else None
    if said is None:
        raise EnvironmentFault("no run is going on", hint="linkladder run begins one, linkladder runs lists the others")
    from linkladder.run.session import LiveSession  # imported late, as a run that is begun here follows nothing

    ended = asyncio.run(_follow(LiveSession(folder, said, None), _lines(quiet=False)))
    return _result(ended, False)


async def _follow(session: LiveSession, shown: Lines) -> RunFinished:
    from linkladder.events import RunFinished

    while True:
        for at, event in await session.poll():
            shown.show(event, at)
            if isinstance(event, RunFinished):
                return event
        shown.passed(await session.now())
        await asyncio.sleep(LOOK)
