"""Writes a verified image, as root, to the slot that is not running.

The first block, which marks the file system, is written last. Until all of the image is written and is what was signed,
the slot holds nothing that could be mounted or started.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from linkladder.upgrade.parcel import Manifest, UpgradeFault, damaged

BLOCK = 1 << 20  # bytes; the mark of the file system is 64 kB into the slot, in the first block
ZEROS = bytes(BLOCK)
MEMORY = 256 << 20  # the most bytes of memory for unpacking
Progress = Callable[[int, int], None]


def open_file(path: str) -> BinaryIO:
    """Open a regular file; a device or a pipe is refused."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UpgradeFault(f"{path} is no plain file")
    return os.fdopen(descriptor, "rb")


def unpacked(source: BinaryIO, manifest: Manifest) -> Iterator[bytes]:
    """Yield the image in blocks, never more bytes than were signed; raises UpgradeFault if it differs from those."""
    unpack = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
    digest, made, taken, block = hashlib.sha256(), 0, 0, bytearray()
    try:
        while not unpack.eof:
            packed = b""
            if unpack.needs_input:
                packed = source.read(min(BLOCK, manifest.packed_size - taken))
                taken += len(packed)
                if not packed:
                    raise damaged(f"it ends after {taken} of {manifest.packed_size} packed bytes")
            more = unpack.decompress(packed, BLOCK)
            made += len(more)
            if made > manifest.image_size:
                raise damaged("there is more in it than was signed")
            digest.update(more)
            block += more
            while len(block) >= BLOCK:  # a disk only takes whole sectors
                yield bytes(block[:BLOCK])
                del block[:BLOCK]
    except (lzma.LZMAError, MemoryError) as error:
        raise damaged(f"its image cannot be unpacked: {error}") from None
    if made != manifest.image_size or digest.hexdigest() != manifest.image_sha256:
        raise damaged("its image is not the one that was signed")
    if unpack.unused_data or taken != manifest.packed_size or source.read(1):
        raise damaged("something follows its image")
    if block:
        yield bytes(block)


def write(source: BinaryIO, manifest: Manifest, device: Path, progress: Progress) -> None:
    """Write the image to the device and read it back; an interruption anywhere leaves a slot without a system."""
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, ZEROS, 0)
        os.fsync(descriptor)
        first, place, total = b"", 0, 2 * manifest.image_size
        for block in unpacked(source, manifest):
            if not place:
                first = block
            elif block != ZEROS or os.pread(descriptor, BLOCK, place) != ZEROS:  # zeros are not written over zeros
                _put(descriptor, block, place)
            place += len(block)
            progress(place, total)
        os.fsync(descriptor)
        _compare(descriptor, first, manifest, progress)
        _put(descriptor, first, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put(descriptor: int, block: bytes, place: int) -> None:
    done = 0
    while done < len(block):
        done += os.pwrite(descriptor, block[done:], place + done)


def _compare(descriptor: int, first: bytes, manifest: Manifest, progress: Progress) -> None:
    """Check that the disk returns what was signed, so that a disk that loses writes is noticed before the next boot."""
    digest, place = hashlib.sha256(first), len(first)
    while place < manifest.image_size:
        block = os.pread(descriptor, min(BLOCK, manifest.image_size - place), place)
        if not block:
            break
        digest.update(block)
        place += len(block)
        progress(manifest.image_size + place, 2 * manifest.image_size)
    if digest.hexdigest() != manifest.image_sha256:
        raise UpgradeFault(
            "the disk does not give back what was written", "it may be failing", "nothing was changed; replace the disk"
        )


class Telling:
    """Writes the progress as a line `done total seconds` to a file, at most twice a second."""

    def __init__(self, file: Path) -> None:
        self._file, self._began, self._next = file, time.monotonic(), 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next or done == total:
            self._next = now + 0.5
            draft = self._file.with_suffix(".new")
            draft.write_text(f"{done} {total} {now - self._began:.1f}\n", encoding="ascii")
            draft.replace(self._file)
