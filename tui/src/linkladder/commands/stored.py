"""`linkladder runs` and `show`: lists, deletes and shows earlier runs."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from linkladder import atomic_files, damage, phrases, state, units
from linkladder.codec import pieces, to_json
from linkladder.commands.read_documents import read_document, reservations, tell
from linkladder.commands.run_lines import outcome
from linkladder.errors import UsageError
from linkladder.judge import judge_document, with_judgement
from linkladder.model import Document, TrialResult
from linkladder.printable import one_line
from linkladder.run import lock
from linkladder.store import RunSummary, Store, StoreFault


def add_parsers(commands: Any) -> None:
    runs = commands.add_parser("runs", help="list stored runs")
    runs.add_argument(
        "filter", nargs="*", help="only runs with these words in id, plan, peer, state, verdict or reason"
    )
    runs.add_argument("--json", action="store_true")
    runs.add_argument("--delete", metavar="RUN", help="delete a run (asks first)")
    runs.add_argument("--yes", action="store_true", help="do not ask")
    runs.set_defaults(handler=_runs)
    show = commands.add_parser("show", help="show a stored run")
    show.add_argument("run", help="a run's id, the beginning of one, 'last', or a document's file")
    show.add_argument("--json", action="store_true", help="the whole document")
    show.add_argument("--raw", action="store_true", help="with every command and what it printed")
    show.set_defaults(handler=_show)


def _runs(args: argparse.Namespace) -> int:
    store = Store(state.folder())
    try:
        store.settle(lock.going(store.folder))
    except StoreFault as error:  # the stored runs can still be read
        print(f"linkladder: {error}", file=sys.stderr)
    if args.delete:
        return _delete(store, args)
    wanted = " ".join(args.filter)
    found = store.runs(wanted)
    if args.json:
        json.dump([_for_scripts(r) for r in found], sys.stdout, indent=1)
        print()
        return 0
    for run in found:
        best = "  ".join(f"{rung} {units.rate(bps)}" for rung, bps in run.best_bps.items())
        failed = f", {run.failed} failed" if run.failed else ""
        trials = units.plural(run.trials, "trial")
        print(f"{run.id}  {run.plan:8} {run.state:10} {str(run.verdict) or '-':22} {trials}{failed}  {best}")
    if not found:
        print("no runs are stored" + (f" that match {wanted!r}" if wanted else "; linkladder run makes one"))
        for line in damage.lines(store.folder):
            print(line, file=sys.stderr)
    return 0


def _for_scripts(run: RunSummary) -> dict[str, Any]:
    """A run's summary for JSON, with its verdicts as words."""
    words = {rung: str(kept) for rung, kept in run.verdicts.items()}
    return {**to_json(run), "verdict": str(run.verdict), "verdicts": words}


def _delete(store: Store, args: argparse.Namespace) -> int:
    run = store.find(args.delete)
    lock.refuse_if_going(store.folder, run)
    if not args.yes:
        if not sys.stdin.isatty():
            raise UsageError("there is nobody to ask", hint="--yes deletes it without a question")
        if input(f"Delete run {run} for good? [y/N] ").strip().lower() != "y":
            return 1
    store.delete(run)
    print(f"deleted {run}")
    return 0


def _show(args: argparse.Namespace) -> int:
    document = read_document(args.run)
    judged = judge_document(document)
    said = reservations(document, judged)
    if args.json:
        tell(said)
        sys.stdout.writelines(pieces(replace(document, judgement=judged)))
        return 0
    _say(f"run {document.run.id}: plan {document.run.plan.name}, {document.run.state}, started {document.run.started}")
    for note in document.run.notes:
        _say(f"  note: {note}")
    from linkladder.report import card_queues, cost_tables  # imported late: a run that writes JSON needs neither

    for rung, found in zip(document.rungs, judged.rungs, strict=True):
        where = ", ".join(f"{path.origin} {path.local} to {path.remote} {path.peer}".strip() for path in rung.paths)
        _say(f"{rung.name}: {rung.unavailable or where}", gap=True)
        for exp in rung.experiments:
            for trial in exp.trials:
                _say(f"  {exp.parameters.id:34} {outcome(exp.parameters, trial, paths=rung.paths)}")
                for line in phrases.each_path(exp.parameters, trial, rung.paths):
                    _say(f"    {line}")
                if args.raw:
                    _raw(trial)
        for table in (*cost_tables.tables(document, rung, found.changes), *card_queues.tables(rung)):
            for line in card_queues.lines(table):
                _say(f"  {line}")
    for text in (*said, judged.sentence):
        _say(text, gap=True)
    _say(f"linkladder judge {args.run} says why, rung by rung")
    return 0


def _raw(trial: TrialResult) -> None:
    for command in trial.commands:
        _say(f"    {command.end} {command.role}: {' '.join(command.argv)}  [{command.exit_code}]")
        for line in (command.output + command.errors).splitlines():
            _say(f"      {line}")
    if trial.commands and not any(c.output or c.errors for c in trial.commands):
        _say("    nothing is kept of what they printed")
    for end, seen in ((one.name, one.sockets) for one in trial.ends if one.sockets):
        _say(f"    {end}: {seen.source} at {seen.t:.1f} s")
        for s in seen.sockets:
            counts = {"retransmits": s.retransmits, "out of order": s.out_of_order, "zero windows": s.zero_window}
            counted = ", ".join(f"{n} {what}" for what, n in counts.items() if n is not None)
            how = " ".join(word for word in (s.stack, s.congestion) if word)
            _say(f"      {s.local}:{s.local_port} to {s.remote}:{s.remote_port}  {how} {counted}")


def _say(text: str, gap: bool = False) -> None:
    """Print one line without control characters: a stranger's document steers no terminal, and adds no lines."""
    print(("\n" if gap else "") + one_line(text))


def write_json(document: Document, file: str) -> None:
    """Write the judged document to a file, or to standard output for '-'."""
    text = pieces(with_judgement(document))
    if file == "-":
        sys.stdout.writelines(text)
    else:
        atomic_files.deliver(Path(file), text)
