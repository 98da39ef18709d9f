"""The only writer: atomic, and only if the bytes differ; reading trees and locking."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fixturegen import errors


def refused(error: OSError, action: str, path: Path) -> errors.FileError:
    """Return the error that says which file operation the system refused, and what to do."""
    hints = {
        28: "free some space on that file system, then run the same command again",
        122: "your disk quota is used up: free some space, then run the same command again",
        13: "check the owner and the permissions of that folder",
        30: "that file system is mounted read-only: use -C with a folder you can write to",
    }
    reason = error.strerror or str(error)
    return errors.FileError(f"cannot {action} {path}: {reason}", hints.get(error.errno or 0, ""))


def write(path: Path, data: str | bytes, *, mode: int = 0o644) -> bool:
    """Put `data` (text as UTF-8) at `path` atomically; return whether anything changed.

    A reader sees the old bytes or the new ones, never a part. Raises errors.FileError.
    """
    content = data.encode() if isinstance(data, str) else data
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        raise refused(error, "write", path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return True


def remove(path: Path) -> None:
    """Remove the file `path` if it is there; raises errors.FileError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise refused(error, "remove", path) from error


def move_folder(source: Path, target: Path) -> None:
    """Rename the folder `source` to `target`, which must not exist; raises errors.FileError."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
    except OSError as error:
        raise refused(error, "move a run to", target) from error


def make_folder(path: Path) -> None:
    """Create the folder `path` and its parents; raises errors.FileError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(error, "create", path) from error


def append_to(path: Path) -> IO[bytes]:
    """Open `path` for appending, unbuffered: one write call a line; raises errors.FileError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab", buffering=0)
    except OSError as error:
        raise refused(error, "append to", path) from error


def truncate(path: Path, size: int) -> None:
    """Cut `path` to its first `size` bytes: what follows a torn line is measured again."""
    try:
        os.truncate(path, size)
    except OSError as error:
        raise refused(error, "truncate", path) from error


def read_text(path: Path) -> str:
    """Return the text of the regular file `path`; raises errors.FileError, also if not UTF-8."""
    return decode(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of the regular file `path`; raises errors.FileError."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise errors.FileError(f"cannot read {path}: not a regular file")
        return path.read_bytes()
    except OSError as error:
        raise refused(error, "read", path) from error


def decode(content: bytes, path: Path) -> str:
    """Return `content` as UTF-8 text; the error names the first byte that is not."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise errors.FileError(
            f"{path} is not UTF-8: byte {error.start} is 0x{content[error.start]:02x}",
            "save the file as UTF-8",
        ) from error


def sha256(path: Path) -> str:
    """Return the SHA-256 of the file in hexadecimal."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise refused(error, "read", path) from error


@contextlib.contextmanager
def lock(path: Path, owner: str, *, wait: bool) -> Iterator[None]:
    """Hold the lock file `path` while the block runs; the kernel frees it however we end.

    owner: what another process is told of us. Raises errors.LockedError with the other's words.
    """
    make_folder(path.parent)
    try:
        stream = path.open("a+")
    except OSError as error:
        raise refused(error, "lock", path) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            stream.seek(0)
            holder = stream.read(500).strip() or "another run"
            raise errors.LockedError(
                f"another run holds the lock of this project: {holder}",
                "wait for it to end, or give --wait to start when it has",
            ) from error
        stream.seek(0)
        stream.truncate()
        stream.write(owner + "\n")
        stream.flush()
        yield
