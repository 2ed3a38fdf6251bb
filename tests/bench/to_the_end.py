"""to_the_end.py DATABASE: how long quick and circuit take on a clear link until their verdict is a firm PASS.

Each in a lab of its own, where nothing is known yet of how strong the machine is; prints JSON. DATABASE is not used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from linkladder.codec import from_json
from linkladder.judge import judge_document
from linkladder.model import Document
from linkladder.verdicts import DocumentJudgement, Verdict
from world import Lab


def timed(plan: str) -> tuple[float, Document, DocumentJudgement]:
    """How many seconds a run of it takes, and the run with what it shows, which is printed."""
    with Lab("lle").paired() as lab:
        argv = [sys.executable, "-m", "linkladder", "run", "--plan", plan, "--peer", "beta", "--json", "-"]
        began = time.monotonic()
        done = subprocess.run(lab.command("alpha", argv), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        took = time.monotonic() - began
    document = from_json(Document, json.loads(done.stdout))
    judged = judge_document(document)
    trials = sum(len(e.trials) for r in document.rungs for e in r.experiments)
    print(f"  {plan}: {took:.0f} s, {trials} trials, {document.run.state}, {judged.sentence}", file=sys.stderr)
    return took, document, judged


def seconds(plan: str) -> list[float]:
    """Of no use, and left out, where the verdict is another one."""
    took, _, judged = timed(plan)
    return [took] if judged.verdict is Verdict.PASS and not judged.provisional else []


def main() -> None:
    print(json.dumps({plan: seconds(plan) for plan in ("quick", "circuit")}))


if __name__ == "__main__":
    main()
