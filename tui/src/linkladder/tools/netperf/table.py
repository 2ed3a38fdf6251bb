"""Reads netperf's classic table: three lines of titles, one of units, and the figures below."""

from __future__ import annotations

import re
from collections.abc import Sequence

BANNER = re.compile(r"^(?:MIGRATED )?(TCP|UDP) (STREAM|MAERTS|REQUEST/RESPONSE) TEST\b")
TITLE = re.compile(r"^[A-Za-z/ ]{3,60} TEST from \S")
ASKED = re.compile(r"\bnetperf .*-t (TCP|UDP)_(STREAM|MAERTS|RR)\b")
NUMBER = re.compile(r"^\d{1,15}(?:\.\d{1,6})?$")
WHOLE = re.compile(r"^\d{1,12}\.\d\d$")  # a rate as netperf prints it; with fewer digits it was cut off
NEAR = 8  # lines below its titles within which a table's figures stand
RATE = r"(10\^[369]bits/s|[KMG]?Bytes/s)(?:ec)?"
TCP = re.compile(rf"^bytes +bytes +bytes +secs\. +{RATE}\b")
UDP = re.compile(rf"^bytes +bytes +secs\.? +# +# +{RATE}\b")
TRANSACTIONS = re.compile(r"^bytes +[Bb]ytes +bytes +bytes +secs\. +per sec")


def count(lines: Sequence[str]) -> int:
    """How many runs it begins, or how many tables it has."""
    titles = sum(1 for line in lines if TCP.match(line) or UDP.match(line) or TRANSACTIONS.match(line))
    return max(titles, sum(1 for line in lines if TITLE.search(line)))


def read(lines: Sequence[str]) -> dict[str, str]:
    """The table's figures under the names of netperf's selectors; {} if there is no complete table."""
    for place, line in enumerate(lines):
        if not line.startswith("bytes"):
            continue
        below = [row.split() for row in lines[place + 1 : place + 1 + NEAR] if row.strip()]
        rows = [row for row in below[:2] if all(NUMBER.match(word) or word in "SUCI" for word in row)]
        if (match := TCP.match(line)) and rows and len(rows[0]) in (5, 9) and WHOLE.match(rows[0][4]):
            return {"ELAPSED_TIME": rows[0][3], "THROUGHPUT": rows[0][4], "THROUGHPUT_UNITS": match[1]}
        if TRANSACTIONS.match(line) and rows and len(rows[0]) in (6, 10) and WHOLE.match(rows[0][5]):
            return {"ELAPSED_TIME": rows[0][4], "THROUGHPUT": rows[0][5], "THROUGHPUT_UNITS": "Trans/s"}
        if (match := UDP.match(line)) and _sent_and_arrived(rows):
            return {  # the first row was sent, the second one arrived
                "ELAPSED_TIME": rows[1][1], "THROUGHPUT": rows[1][3], "THROUGHPUT_UNITS": match[1],
                "MESSAGES_SENT": rows[0][3], "MESSAGES_RECEIVED": rows[1][2], "LOCAL_SEND_SIZE": rows[0][1],
                "SENT_TIME": rows[0][2], "SENT_THROUGHPUT": rows[0][5],
            }  # fmt: skip
    return {}


def _sent_and_arrived(rows: Sequence[Sequence[str]]) -> bool:
    return (
        len(rows) == 2
        and len(rows[0]) in (6, 8)
        and len(rows[1]) in (4, 6)
        and bool(WHOLE.match(rows[1][3]) and WHOLE.match(rows[0][5]))
    )
