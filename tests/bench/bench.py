"""What linkladder costs, and what is promised of it: every figure with its target and how far it is from that.

Nothing here fails a test run: seconds are the machine's as much as the program's.  What is measured is the program as
a person starts it, in two trees if one of them is named by --before; these take turns, so that a drift of the machine
hits both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]


@dataclass(frozen=True)
class Figure:
    """What one of the programs beside this one prints under `name`, and what is promised of it."""

    name: str
    words: str
    unit: str
    target: float
    more_is_better: bool = False

    def margin(self, value: float) -> float:
        """By how much of the target it is on the right side of it."""
        over = value / self.target - 1
        return over if self.more_is_better else -over


FIGURES = (
    Figure("ratio", "throughput, of that of iperf alone", "", 0.99, True),
    Figure("strongest_localhost", "its strongest, of the best of other tools: one machine", "", 0.95, True),
    Figure("strongest_same-host", "  the same between two", "", 0.95, True),
    Figure("dead", "dead time of a trial", "s", 1.0),
    Figure("around", "  of a run of one trial, from the command to its end", "s", 1.0),
    Figure("stop", "from a cancel by keys to the last tool's end", "s", 2.0),
    Figure("near", "own CPU at the near end while a console watches", "% of a core", 2.0),
    Figure("console", "  of that the console", "% of a core", 2.0),
    Figure("far", "own CPU at the far end", "% of a core", 2.0),
    Figure("console_memory", "resident memory of the console", "MB", 120.0),
    Figure("agent_memory", "resident memory of the agent", "MB", 40.0),
    Figure("first", "first frame", "s", 1.0),
    Figure("first_cpu", "  of that CPU", "s", 1.0),
    *(
        Figure(f"{place}_{runs}", f"10,000 trials in {many}: {place} after", "ms", 100.0)
        for runs, many in ((200, "200 runs"), (1, "one run"))
        for place in ("Home", "Runs", "Results", "Link")
    ),
    Figure("quick", "plan quick on a clear link, to a firm PASS, the first run", "s", 180.0),
    Figure("circuit", "  plan circuit", "s", 720.0),
    Figure("ladder", "plan ladder on the same link, to its end", "s", 3600.0),
    Figure("report", "report of 200 trials, with the program's start", "s", 1.0),
)
PROGRAMS = ("climb", "strongest", "places", "to_the_end")
LONG = ("whole_ladder",)  # up to an hour: runs only if it is named


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh", description=__doc__)
    parser.add_argument(
        "--before", metavar="REVISION", type=Path, help="an earlier revision, measured in turn with this"
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each program runs (default 3)")
    parser.add_argument(
        "programs", nargs="*", metavar="NAME", help=f"{', '.join(PROGRAMS)} (default: all of these), {', '.join(LONG)}"
    )
    args = parser.parse_args()
    if wrong := set(args.programs) - {*PROGRAMS, *LONG}:
        parser.error(f"there is no {', '.join(wrong)}")
    trees = [TREE, *([args.before.resolve()] if args.before else [])]
    for tree in trees:
        compiled(tree)
    found: dict[Path, dict[str, list[float]]] = {tree: {} for tree in trees}
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(args.rounds):
            for tree in trees if number % 2 else reversed(trees):
                kept = Path(scratch) / f"{trees.index(tree)}.db"  # the runs that climb makes, which places multiplies
                for program in (*PROGRAMS, *LONG):
                    if program in (args.programs or PROGRAMS):
                        for name, values in measured(program, tree, kept).items():
                            found[tree].setdefault(name, []).extend(values)
    print("\n".join(table([found[tree] for tree in trees])))
    return 0


def compiled(tree: Path) -> None:
    """As an appliance ships it; else a tree that was changed since would compile at each start, and the other not."""
    subprocess.run([str(tree / ".venv/bin/python"), "-m", "compileall", "-q", str(tree / "tui/src")], check=True)


def measured(program: str, tree: Path, kept: Path) -> dict[str, list[float]]:
    """What a program finds of a tree; it speaks to standard error while it measures."""
    argv = [str(tree / ".venv/bin/python"), str(HERE / f"{program}.py"), str(kept)]
    helpers = os.pathsep.join(str(tree / "tests" / part) for part in ("lab", "tui"))  # the tree's own lab and terminal
    print(f"{program} of {tree}", file=sys.stderr, flush=True)
    done = subprocess.run(
        argv, stdout=subprocess.PIPE, text=True, check=False, env=os.environ | {"PYTHONPATH": helpers}
    )
    if done.returncode:
        print(f"  left out: {program}.py ended with {done.returncode}", file=sys.stderr)
        return {}
    values: dict[str, list[float]] = json.loads(done.stdout)
    return values


def table(found: list[dict[str, list[float]]]) -> list[str]:
    """A line a figure: medians, target, margin, and what has changed since the tree before."""
    lines = []
    for figure in FIGURES:
        if not (values := found[0].get(figure.name)):
            continue
        now = statistics.median(values)
        said = f"{figure.words:58} {now:8.3f} {figure.unit:11} "
        said += (
            f"{'at least' if figure.more_is_better else 'at most'} {figure.target:g}, margin {figure.margin(now):+.0%}"
        )
        if len(found) > 1 and (old := found[1].get(figure.name)):
            was = statistics.median(old)
            said += f"; before {was:.3f}, {now / was - 1:+.1%} since" if was else f"; before {was:.3f}"
        lines.append(f"{said}  ({len(values)} values, {min(values):.3f} to {max(values):.3f})")
    return lines


if __name__ == "__main__":
    sys.exit(main())
