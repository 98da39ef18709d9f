"""What is done right before one process starts, with none in flight: files and caches made cold.

Also the files that a fixture wants made: their bytes are the same on every machine.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from fixturegen import errors, files, process
from fixturegen.fixture.conditions import DROP, EVICT, EVICTED, EVICTED_COLUMNS, words
from fixturegen.model import Columns, Fixture, Mode, Sha256, Whole, canonical


class Made(Struct, frozen=True):
    """A file that the run made for its programs."""

    bytes: Whole
    sha256: Sha256


_PIECE = 1 << 20  # bytes of the stream that come out of one digest


class RefusedError(Exception):
    """A preparation that the system refused: its process is not started."""


def fill(text: str, paths: Mapping[str, Path]) -> str:
    """Return `text` with every `{name}` replaced by the path it stands for."""
    return re.sub(r"\{([^{}]*)\}", lambda found: str(paths[canonical(found[1])]), text)


def prepare(
    mode: Mode, program: Path, paths: Mapping[str, Path], cwd: Path, drop: Callable[[], None]
) -> Columns:
    """Do what the mode asks for, in order; return what is to be known of it.

    drop: empties the page cache; only the guardian of a run that was allowed to may do that.

    `evict.bytes` and `evict.resident` have an entry for each evicted file: its size, and how many
    bytes of it were still in memory afterwards. Raises RefusedError.
    """
    evicted: list[tuple[int, int]] = []
    for step in mode.prepare:
        verb, rest = words(step)
        found = [fill(word, paths) for word in rest]
        try:
            if verb == EVICT:
                evicted.append(evict_file(Path(found[0])))
            elif verb == DROP:
                drop()
            else:
                _start_once(program, found, cwd)
        except OSError as error:
            raise RefusedError(f"prepare {verb}: {error.strerror}") from error
        except errors.FileError as error:
            raise RefusedError(f"prepare {verb}: {error.what}") from error
    if not evicted:
        return {}
    return {
        EVICTED: {
            name: [entry[place] for entry in evicted] for place, name in enumerate(EVICTED_COLUMNS)
        }
    }


def evict_file(path: Path) -> tuple[int, int]:
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


def _start_once(program: Path, args: Sequence[str], cwd: Path) -> None:
    """Start a program once; what it prints and how it ends does not matter."""
    done = process.run([str(program), *args], cwd=cwd, timeout_s=60)
    if done.code in (127, -9):
        raise OSError(0, done.stderr)


def make_files(fixture: Fixture, folder: Path) -> tuple[dict[str, Path], dict[str, Made]]:
    """Make the fixture's files in `folder`; return their paths as `file.NAME`, and their facts.

    A file that is there already and right is left as it is. Raises errors.FileError.
    """
    paths, facts = {}, {}
    for file in fixture.files:
        path = folder / file.name
        digest = hashlib.sha256()
        for piece in stream(file.name, file.bytes):
            digest.update(piece)
        wanted = digest.hexdigest()
        if not _is(path, file.bytes, wanted):
            files.write_pieces(path, stream(file.name, file.bytes))
        paths[f"file.{file.name}"] = path
        facts[file.name] = Made(file.bytes, wanted)
    return paths, facts


def _is(path: Path, size: int, digest: str) -> bool:
    return files.is_file(path) and path.stat().st_size == size and files.sha256(path) == digest


def stream(name: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of the file `name`: SHAKE-128 over its name and the number of the piece.

    A standard's stream (FIPS 202) and not a library's, so that no version can change it.
    """
    for place in range(0, size, _PIECE):
        seed = f"fixturegen/{name}/{place // _PIECE}".encode()
        yield hashlib.shake_128(seed).digest(min(_PIECE, size - place))
