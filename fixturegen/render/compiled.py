"""Templates that were compiled before are not compiled again: Jinja's cache, in the user's own.

What is kept is Python's marshalled code, which may do anything. So it never lies in a project,
which may be a stranger's, but below $XDG_CACHE_HOME ($HOME/.cache), as pip's and Python's own
caches do; and it is only taken from a folder that is the user's alone. Without one nothing is kept.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import IO, Any

import jinja2
from jinja2.bccache import Bucket, FileSystemBytecodeCache

FULL = 64 << 20  # bytes: a folder with more is emptied; a template's code has 2 to 40 KB
REMEMBERED = 64  # codes in this process: those that many fixtures share are among the first
DIGEST = 32  # bytes of SHA-256, in front of the code: what was damaged is compiled again


class Sealed(Bucket):
    """Believes a file only as it was written: marshal itself may crash on a damaged one."""

    def load_bytecode(self, f: IO[bytes]) -> None:
        """Take in what `write_bytecode` wrote; anything else is as if it were not there."""
        digest, code = f.read(DIGEST), f.read()
        if hashlib.sha256(code).digest() == digest:
            super().load_bytecode(io.BytesIO(code))

    def write_bytecode(self, f: IO[bytes]) -> None:
        """Write the code behind its digest."""
        stream = io.BytesIO()
        super().write_bytecode(stream)
        f.write(hashlib.sha256(stream.getvalue()).digest() + stream.getvalue())


class Compiled(FileSystemBytecodeCache):
    """Jinja's cache of files, and before it what this process has compiled or read already.

    keep: whether files may be written; else only those that are there are read.
    """

    def __init__(self, folder: Path | None, pattern: str, *, keep: bool) -> None:
        super().__init__(str(folder), pattern)
        self._reads, self._keeps = bool(folder), bool(folder) and keep
        self._codes: dict[tuple[str, str], CodeType] = {}

    def get_bucket(self, environment: Any, name: str, filename: str | None, source: str) -> Bucket:
        """Return the bucket of a template, filled if its code is known."""
        key, checksum = self.get_cache_key(name, filename), self.get_source_checksum(source)
        bucket = Sealed(environment, key, checksum)
        bucket.code = self._codes.get((key, checksum))
        if bucket.code is None and self._reads:
            with suppress(OSError):
                self.load_bytecode(bucket)
            self._remember(bucket)
        return bucket

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a bucket; where that is impossible it is compiled again next time."""
        self._remember(bucket)
        if self._keeps:
            with suppress(OSError):
                super().dump_bytecode(bucket)

    def _remember(self, bucket: Bucket) -> None:
        if bucket.code and len(self._codes) < REMEMBERED:
            self._codes[bucket.key, bucket.checksum] = bucket.code


@functools.cache
def cache(literal: Callable[..., str] | None, *, keep: bool) -> Compiled:
    """Return the cache of one language, whose literals are in the code; None: of plain text."""
    owner = getattr(literal, "__self__", literal)
    of = "text" if literal is None else f"{type(owner).__module__}.{type(owner).__qualname__}"
    own = [Path(__file__).with_name(name) for name in ("sources.py", "sandbox.py")]
    if place := getattr(sys.modules.get(type(owner).__module__), "__file__", None):
        own.append(Path(place))
    stamps = [(status.st_size, status.st_mtime_ns) for status in map(Path.stat, own)]
    compilers = repr([of, sys.version, jinja2.__version__, stamps])
    pattern = f"{hashlib.sha256(compilers.encode()).hexdigest()[:16]}-%s"
    return Compiled(_folder(keep), pattern, keep=keep)


@functools.cache
def _folder(make: bool) -> Path | None:
    """Return the user's folder for compiled templates; None if there is none that is private.

    make: create it, and empty it if it has grown too large.
    """
    try:
        folder = _caches() / "fixturegen" / "templates"
        if make:
            _make(folder)
        status = folder.lstat()
        folder = folder.parent.resolve() / folder.name  # it may be reached through links
        private = stat.S_ISDIR(status.st_mode) and not stat.S_IMODE(status.st_mode) & 0o077
        if not private or status.st_uid != os.geteuid():
            return None
        if make and sum(path.lstat().st_size for path in folder.iterdir()) > FULL:
            FileSystemBytecodeCache(str(folder), "%s").clear()
    except OSError:
        return None
    return folder


def _caches() -> Path:
    """Return the folder of the user's caches; raises OSError if the environment names none.

    The convention is that a relative one does not count: it would be the project's.
    """
    named, home = (os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME"))
    if named.startswith("/"):
        return Path(named)
    if not home.startswith("/") or not Path(home).is_dir():  # /nonexistent is not to be made
        raise FileNotFoundError(home)
    return Path(home, ".cache")


def _make(folder: Path) -> None:
    """Create the folder, but as root nothing in a user's home: the user could not use it."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if os.geteuid() != 0 or there.stat().st_uid == 0:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
