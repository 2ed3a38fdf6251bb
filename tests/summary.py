"""What ran, what failed and what was skipped and why, from pytest's own reports."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter

counts: Counter[str] = Counter()
skipped: Counter[str] = Counter()
for case in (case for file in sys.argv[1:] for case in ElementTree.parse(file).getroot().iter("testcase")):
    skip = case.find("skipped")
    bad = case.find("failure") is not None or case.find("error") is not None
    counts["skipped" if skip is not None else "failed" if bad else "passed"] += 1
    if skip is not None:
        skipped[skip.get("message", "no reason given")] += 1
for reason, number in skipped.items():
    print(f"skipped {number}: {reason}")
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
