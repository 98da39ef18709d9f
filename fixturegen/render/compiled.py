"""Templates that were compiled before are not compiled again: code kept in the user's own cache.

What is kept is Python's marshalled code, which may do anything. So it never lies in a project,
which may be a stranger's, but below $XDG_CACHE_HOME (~/.cache), as pip's and Python's own caches
do; and it is only taken from a folder that is the user's alone. Without one nothing is kept.
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
from typing import Any

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from fixturegen import errors, files

MOST = 64  # files; each has some 30 KB
LARGEST = 1 << 20  # bytes of a file
DIGEST = 32  # bytes of SHA-256, in front of the code: what was damaged is compiled again


class Compiled(BytecodeCache):
    """Keeps one file for each text of a template; the newest ones. Without `keep` it only reads."""

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self._folder = folder
        self._keep = keep
        self._compilers = _compilers()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if its template's code is kept, and as it was written."""
        with suppress(OSError, ValueError, EOFError, TypeError, errors.FixturegenError):
            content = files.read_bytes(self._path(bucket))
            if hashlib.sha256(content[DIGEST:]).digest() == content[:DIGEST]:
                bucket.load_bytecode(io.BytesIO(content[DIGEST:]))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a bucket; where that is impossible it is compiled again next time."""
        if not self._keep:
            return
        stream = io.BytesIO()
        bucket.write_bytecode(stream)
        content = stream.getvalue()
        if len(content) > LARGEST:  # what is constant in a template is in its code, however long
            return
        with suppress(OSError, errors.FixturegenError):
            files.write(self._path(bucket), hashlib.sha256(content).digest() + content, mode=0o600)
            kept = sorted(self._folder.iterdir(), key=lambda path: path.lstat().st_mtime)
            for path in kept[:-MOST]:
                files.remove(path)

    def _path(self, bucket: Bucket) -> Path:
        key = f"{self._compilers} {bucket.key} {bucket.checksum}"
        return self._folder / hashlib.sha256(key.encode()).hexdigest()


class Remembered(BytecodeCache):
    """Keeps code while this process lives: what many fixtures share is compiled once."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if its template was compiled before."""
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of a bucket."""
        if len(self._codes) < MOST:
            self._codes[bucket.key, bucket.checksum] = bucket.code


@functools.cache
def remembered(finalize: Callable[[Any], str]) -> Remembered:
    """Return the cache of one language: what is constant is compiled to a literal of it."""
    return Remembered()


def _compilers() -> str:
    """Return what compiles: Python, Jinja, and our own filters and limits."""
    own = [Path(__file__).with_name(name).stat() for name in ("sources.py", "sandbox.py")]
    return repr([sys.version, jinja2.__version__, *((s.st_size, s.st_mtime_ns) for s in own)])


def cache(*, keep: bool) -> Compiled | None:
    """Return the user's cache, or None if there is no folder that is the user's alone.

    keep: whether it may be made, and written to; else what is there is read.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if home.startswith("/") else Path("~/.cache").expanduser()
    folder = base / "fixturegen" / "templates"
    try:
        if keep:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        folder = folder.parent.resolve() / folder.name  # it may be reached through links
    except (OSError, RuntimeError):
        return None
    shared = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or shared:
        return None
    return Compiled(folder, keep=keep)
