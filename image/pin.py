"""pin.py CONF PORTS|SOURCE BRANCH COMMIT DIGEST - write which tree every later build takes into poudriere.conf.

The file is replaced whole or not at all.  Exit code 1 and a sentence where it cannot be.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

HEAD = "case $LL_{tree}_BRANCH in\n"
ARM = '{branch})\n\t: "${{LL_{tree}_COMMIT:={commit}}}"\n\t: "${{LL_{tree}_SHA256:={digest}}}"\n\t;;\n'


def pinned(text: str, tree: str, branch: str, commit: str, digest: str) -> str:
    """The configuration with another pin of this branch. Raises ValueError if it has no place for one."""
    wanted = HEAD.format(tree=tree)
    before, head, rest = text.partition(wanted)
    if not head:
        raise ValueError(f"it has no line {wanted.strip()!r}")
    form = re.escape(ARM.format(tree=tree, branch=branch, commit="@", digest="@")).replace("@", "[^}]*")
    arm = ARM.format(tree=tree, branch=branch, commit=commit, digest=digest)
    return before + head + arm + re.sub(form, "", rest, count=1)


def write(path: Path, tree: str, branch: str, commit: str, digest: str) -> None:
    for word, form in ((branch, r"[\w./-]+"), (commit, r"[0-9a-f]{40}"), (digest, r"[0-9a-f]{64}")):
        if not re.fullmatch(form, word):
            raise ValueError(f"{word!r} is no part of a pin")
    path = path.resolve()
    with path.open("r+", encoding="utf-8") as file:  # one that is not to be written is not replaced either
        text = pinned(file.read(), tree, branch, commit, digest)
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.chmod(path.stat().st_mode & 0o777)
        with new.open("rb") as file:
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        write(Path(sys.argv[1]), *sys.argv[2:6])
    except (OSError, ValueError) as error:
        sys.exit(f"{sys.argv[1]} cannot be written: {error}")
