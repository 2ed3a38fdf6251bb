"""`linkladder run`: climb the ladder without the console."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from linkladder import events as ev
from linkladder import state, units
from linkladder.commands.planning import asked, describe, follow_up, load
from linkladder.commands.stored import outcome, write_json
from linkladder.engine import Engine
from linkladder.errors import EnvironmentFault, UsageError
from linkladder.judge import judge_document
from linkladder.model import Experiment, Plan, RungName, RunState
from linkladder.pairing import peers
from linkladder.peer import NearEnd, connect
from linkladder.report.text import clean
from linkladder.store import Store


def add_parsers(commands: Any) -> None:
    run = commands.add_parser("run", help="climb the ladder and keep what it shows")
    run.add_argument("--plan", default="quick", help="quick, circuit, ladder, soak or a plan file (default: quick)")
    run.add_argument("--rung", action="append", choices=list(RungName), help="only this rung; may be repeated")
    run.add_argument("--peer", default="", metavar="N", help="the paired appliance at the far end")
    run.add_argument("--json", metavar="F", help="write the run's document to F (- for standard output)")
    run.add_argument("--quiet", action="store_true", help="say nothing but errors")
    run.add_argument("--dry-run", action="store_true", help="print every command and the time, and do nothing")
    run.add_argument("--resume", metavar="RUN", help="go on with an incomplete run where it stopped")
    run.add_argument(
        "--follow-up", metavar="RUN", help="measure what the verdict of RUN asks for next, and judge it again"
    )
    run.add_argument("--note", default="", help="a note to keep with the run")
    run.set_defaults(handler=_run)


def _run(args: argparse.Namespace) -> int:
    store = Store(state.folder())
    store.settle()
    named = args.resume or args.follow_up
    resume = store.find(named) if named else None
    before = store.load(resume, output=False) if resume else None
    plan = before.run.plan if before else load(args.plan, args.peer)
    if args.follow_up and before:
        if before.run.state is not RunState.COMPLETE:
            raise UsageError(f"run {resume} is {before.run.state}", hint=f"linkladder run --resume {resume} first")
        plan = follow_up(before, tuple(args.rung or ()))
        if not plan.rungs:
            print(f"linkladder: the verdict of run {resume} asks for nothing more", file=sys.stderr)
            return 0
    elif args.rung:
        plan = replace(plan, rungs=tuple(r for r in plan.rungs if r.name in args.rung))
        if not plan.rungs:
            raise UsageError(f"plan {plan.name} has none of the rungs {', '.join(args.rung)}")
    plan = _with_peer(plan)
    if args.json and args.json != "-":  # now, and not when hours have been measured
        folder = FilePath(args.json).absolute().parent
        if not folder.is_dir() or not os.access(args.json if FilePath(args.json).exists() else folder, os.W_OK):
            raise UsageError(f"{args.json} cannot be written", hint="name a file in a folder that is there and yours")
    if args.dry_run:
        describe(*asyncio.run(asked(plan)))
        return 0
    shown = Progress(args.quiet or args.json == "-", sys.stderr.isatty())
    return asyncio.run(_measure(args, plan, store, shown, resume))


def _with_peer(plan: Plan) -> Plan:
    """The only paired appliance is meant where none is named."""
    known = peers.load()
    if len(known) != 1:
        return plan
    rungs = tuple(
        replace(r, path=replace(r.path, peer=known[0].name)) if r.name != RungName.LOCALHOST and not r.path.peer else r
        for r in plan.rungs
    )
    return replace(plan, rungs=rungs)


async def _measure(args: argparse.Namespace, plan: Plan, store: Store, shown: Progress, resume: str | None) -> int:
    near = await NearEnd.open()
    engine = Engine(plan, store, near, connect, operator=sys.stdin.isatty(), resume=resume)
    if args.note:
        engine.controls.note(args.note)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, engine.controls.cancel)
    ended: ev.RunFinished | None = None
    try:
        async for event in engine.run():
            shown.show(event)
            if isinstance(event, ev.WaitingForOperator):
                loop.add_reader(sys.stdin, _answer, engine, loop)
            if isinstance(event, ev.RunFinished):
                ended = event
    finally:
        await near.close()
    assert ended
    if args.json:
        try:
            write_json(store.load(ended.run_id), args.json)
        except OSError as error:
            raise EnvironmentFault(f"{args.json} cannot be written", str(error), "the run itself is stored") from None
    if ended.state != RunState.COMPLETE:
        print(f"linkladder: run {ended.run_id} is incomplete: {ended.reason}", file=sys.stderr)
        return 3
    document = store.load(ended.run_id, output=False)
    if not shown.quiet:
        print(f"\n{clean(judge_document(document).sentence)}", file=sys.stderr)
    if any(r.unavailable for r in document.rungs):
        return 3
    return 1 if ended.failed_trials else 0


def _answer(engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
    loop.remove_reader(sys.stdin)
    if sys.stdin.readline().strip().lower().startswith("s"):
        engine.controls.skip()
    else:
        engine.controls.proceed()


def _asked(event: ev.RunStarted | ev.RungStarted) -> str:
    """'14 trials, about 2 min 48 s', and of a run that is taken up again what is left of them."""
    trials = f"{event.trials} trial{'' if event.trials == 1 else 's'}"
    if event.done >= event.trials:
        return f"{trials}, measured already"
    before = f", {event.done} measured already" if event.done else ""
    rest = " for the rest" if event.done else ""
    return f"{trials}{before}, about {units.duration(event.seconds - event.spent)}{rest}"


class Progress:
    """Events as plain lines, with a live line where stderr is a terminal."""

    def __init__(self, quiet: bool, terminal: bool) -> None:
        self.quiet, self.terminal = quiet, terminal
        self.experiments: dict[str, Experiment] = {}
        self.left, self.rung_left, self.began = 0.0, 0.0, 0.0  # seconds expected: whole, rung; the trial's beginning
        self.trial: ev.TrialStarted | None = None

    def show(self, event: ev.Event) -> None:
        if isinstance(event, ev.RunStarted):
            self.experiments = {f"{r.name}/{e.id}": e for r in event.plan.rungs for e in r.experiments}
            self.left = event.seconds - event.spent
        if self.quiet:
            return
        words = self._words(event)
        if words:
            self._line(words)

    def _words(self, event: ev.Event) -> str:
        match event:
            case ev.RunStarted():
                return f"run {event.run_id}: plan {event.plan.name}, {_asked(event)}"
            case ev.RungStarted():
                self.rung_left = event.seconds - event.spent
                return f"{event.rung}: {_asked(event)}"
            case ev.WaitingForOperator():
                return f"  {event.instruction} (or type s to skip {event.rung})"
            case ev.EvidenceFound() if event.evidence.contradicts:
                found = event.evidence
                return f"  this looks unlike {event.rung}: " + "; ".join(found.against or found.findings)
            case ev.TrialStarted():
                self.trial, self.began = event, time.monotonic()
                self._live("started")
            case ev.IntervalSeen():
                self._live(units.rate(event.interval.bps))
            case ev.TrialFinished():
                self._pass(self.trial.seconds if self.trial else 0.0)
                exp = self.experiments[f"{event.rung}/{event.experiment}"]
                return f"  {event.experiment:34} {outcome(exp.tool, exp.protocol, event.result)}"
            case ev.RungFinished():
                self._pass(self.rung_left)  # what was skipped of it takes no time
            case ev.PeerLost():
                again = f"; trying again in {event.retry_in:g} s" if event.retry_in else "; given up"
                return f"  {event.peer} is lost: {event.reason}{again}"
            case ev.PeerBack():
                return f"  {event.peer} is back"
            case ev.Notice():
                return f"  {event.text}"
            case ev.RunFinished():
                failed = f", {event.failed_trials} trials failed" if event.failed_trials else ""
                return f"run {event.run_id}: {event.state}{failed}; linkladder judge {event.run_id} says why"
        return ""

    def _pass(self, seconds: float) -> None:
        self.left, self.rung_left = self.left - seconds, self.rung_left - seconds

    def _live(self, what: str) -> None:
        if not self.terminal or self.trial is None:
            return
        left = max(0.0, self.left - min(self.trial.seconds, time.monotonic() - self.began))
        text = f"  {self.trial.rung} {self.trial.experiment}: {what}, {units.duration(left)} left in all"
        with contextlib.suppress(OSError):
            sys.stderr.write("\r" + text[:78].ljust(78))
            sys.stderr.flush()

    def _line(self, text: str) -> None:
        start = "\r" + " " * 78 + "\r" if self.terminal else ""
        print(start + text, file=sys.stderr, flush=True)
