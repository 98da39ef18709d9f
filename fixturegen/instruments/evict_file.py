"""`evict-file`: the kernel forgets a file's pages before the process, which reads it from disk."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from pathlib import Path

from fixturegen.instruments.instrument import AddedLine, Instrument, Refusal, Subject
from fixturegen.model import Columns


class EvictFile(Instrument):
    """Evicts one file, and tells how many bytes of it were still in memory afterwards."""

    name = "evict-file"
    key = "prepare"
    arguments = "PATH"
    takes = (1, 1)
    description = (
        "the file is no longer in memory (`{self}`: its own binary): columns `evict.bytes` and "
        "`evict.resident`, its size and what stayed, an entry for each file"
    )
    on_disk = True
    lines = (AddedLine("evict", ("bytes", "resident")),)

    def refusal(self, build: Path) -> Refusal | None:
        """Return that the build folder is in memory: there is nothing to evict its files to."""
        from fixturegen.machine import storage

        kind = storage.of(build).get("type", "")
        if kind not in storage.IN_MEMORY:
            return None
        return Refusal(f"the build folder is on {kind}: its files are in memory and nowhere else")

    def before(self, subject: Subject, arguments: Sequence[str]) -> Columns:
        """Evict the file; return its size and the bytes that stayed."""
        size, resident = evict(Path(arguments[0]))
        return {"evict": {"bytes": [size], "resident": [resident]}}


def evict(path: Path) -> tuple[int, int]:
    """Make the kernel forget the file's pages; return its size and the bytes that stayed.

    Pages that somebody has mapped or locked stay. The count is mincore's, which tells it to a
    file's owner and to those who may write it, and says "all of it" to anybody else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)  # a dirty page cannot be dropped
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        size = os.fstat(descriptor).st_size
        return size, _resident(descriptor, size)
    finally:
        os.close(descriptor)


def _resident(descriptor: int, size: int) -> int:
    """Return how many of a file's bytes are in the page cache, in whole pages but the last."""
    if size == 0:
        return 0
    import ctypes

    pages = -(-size // mmap.PAGESIZE)
    marks = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    # Private and never written to: only so can ctypes take its address.
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY) as mapped:
        start = ctypes.c_char.from_buffer(mapped)
        failed = libc.mincore(ctypes.byref(start), ctypes.c_size_t(size), marks)
        del start  # else the mapping could not be closed
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return min(size, sum(mark & 1 for mark in marks) * mmap.PAGESIZE)
