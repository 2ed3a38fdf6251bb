"""ports_tree.py FILE [--commit ID] [--digest SHA256] - which tree of ports it is, and whether it is the pinned one.

It prints the commit that `git archive` wrote into it and a SHA-256 of its files, which stays the same however the tree
is packed.  Exit code 1 and a sentence where it is not the one that is pinned.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tarfile


def identity(path: str) -> tuple[str, str]:
    """Commit ('' where none is told) and digest: of each file's name, kind, right to be run, and content."""
    lines = []
    with tarfile.open(path) as tree:
        for member in tree:
            name = member.name.partition("/")[2]
            if member.isfile():
                file = tree.extractfile(member)
                content = hashlib.sha256(file.read() if file else b"").hexdigest()
                lines.append(f"{'x' if member.mode & 0o100 else '-'} {content} {name}")
            elif member.issym():
                lines.append(f"l {member.linkname} {name}")
        commit = tree.pax_headers.get("comment", "")
    return commit, hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description="Which tree of ports this is.")
    parser.add_argument("file")
    parser.add_argument("--commit", default="")
    parser.add_argument("--digest", default="")
    args = parser.parse_args()
    try:
        commit, digest = identity(args.file)
    except (OSError, EOFError, tarfile.TarError) as error:
        print(f"{args.file} cannot be read: {error}; remove it and try again", file=sys.stderr)
        return 1
    for what, pinned, found in (("commit", args.commit, commit), ("digest", args.digest, digest)):
        if pinned and pinned != found:
            print(
                f"{args.file} is not the pinned tree of ports: its {what} is {found or 'not told'}, not {pinned}",
                file=sys.stderr,
            )
            return 1
    print(commit or "unknown", digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
