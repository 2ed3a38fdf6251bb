"""packed_tree.py FILE [--name WORDS] [--commit ID] [--digest SHA256] [--known NOTES] - is this the pinned tree?

It prints the commit that `git archive` wrote into it and a SHA-256 of its files, which stays the same however the tree
is packed.  A tree that is noted in NOTES with its size and date is not read again.  Exit code 1 and a sentence where it
is not the one that is pinned.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tarfile
from pathlib import Path


def identity(path: str) -> tuple[str, str]:
    """Commit ('' where none is told) and digest: of each file's name, kind, right to be run, and content.

    Raises tarfile.TarError where there is more in it than that says: as git packs trees, there never is.
    """
    lines = []
    seen = set()
    with tarfile.open(path) as tree:
        for member in tree:
            name = member.name.partition("/")[2]
            if name in seen:
                raise tarfile.TarError(f"it holds {member.name} twice")
            seen.add(name)
            if member.isfile():
                file = tree.extractfile(member)
                content = hashlib.sha256(file.read() if file else b"").hexdigest()
                lines.append(f"{'x' if member.mode & 0o100 else '-'} {content} {name}")
            elif member.issym():
                lines.append(f"l {member.linkname} {name}")
            elif not member.isdir():
                raise tarfile.TarError(f"it holds {member.name}, which is no file, folder or symbolic link")
        commit = tree.pax_headers.get("comment", "")
    return commit, hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def noted(path: str, known: Path | None) -> tuple[str, str]:
    """The identity as noted, or as found now and noted."""
    if known is None or not known.parent.is_dir():
        return identity(path)
    now = Path(path).stat()
    key = f"{Path(path).resolve()} {now.st_size} {now.st_mtime_ns}"
    try:
        notes = json.loads(known.read_text(encoding="utf-8"))
        commit, digest = notes[key]
    except (OSError, ValueError, KeyError):
        commit, digest = identity(path)
        known.write_text(json.dumps({key: (commit, digest)}), encoding="utf-8")
    return str(commit), str(digest)


def main() -> int:
    parser = argparse.ArgumentParser(description="Which tree this is.")
    parser.add_argument("file")
    parser.add_argument("--name", default="tree")
    parser.add_argument("--commit", default="")
    parser.add_argument("--digest", default="")
    parser.add_argument("--known", type=Path)
    args = parser.parse_args()
    try:
        commit, digest = noted(args.file, args.known)
    except (OSError, EOFError, tarfile.TarError) as error:
        print(f"{args.file} cannot be read: {error}; remove it and try again", file=sys.stderr)
        return 1
    for what, pinned, found in (("commit", args.commit, commit), ("digest", args.digest, digest)):
        if pinned and pinned != found:
            print(
                f"{args.file} is not the pinned {args.name}: its {what} is {found or 'not told'}, not {pinned}",
                file=sys.stderr,
            )
            return 1
    print(commit or "unknown", digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
