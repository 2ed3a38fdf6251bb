"""What ran, what failed, what was skipped and why, and what was measured, from pytest's own reports."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

counts: Counter[str] = Counter()
skipped: Counter[str] = Counter()
figures: list[str] = []
reports = [file for file in sys.argv[1:] if Path(file).exists()]
for case in (case for file in reports for case in ElementTree.parse(file).getroot().iter("testcase")):
    skip = case.find("skipped")
    bad = case.find("failure") is not None or case.find("error") is not None
    counts["skipped" if skip is not None else "failed" if bad else "passed"] += 1
    figures += [one.get("value", "") for one in case.iter("property") if one.get("name") == "figure"]
    if skip is not None:
        skipped[skip.get("message", "no reason given")] += 1
for figure in figures:
    print(f"measured: {figure}")
for reason, number in skipped.items():
    print(f"skipped {number}: {reason}")
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
if not counts:
    sys.exit("no test ran: what pytest said is above")
