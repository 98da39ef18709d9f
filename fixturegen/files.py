"""The only writer: atomic, and only if the bytes differ; reading trees and locking."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from fixturegen import errors


def refused(error: OSError, action: str, path: Path) -> errors.FileError:
    """Return the error that says which file operation the system refused, and what to do."""
    reason = error.strerror or str(error)
    return errors.FileError(f"cannot {action} {path}: {reason}", _HINTS.get(error.errno or 0, ""))


_HINTS = {
    errno.ENOSPC: "free some space on that file system, then run the same command again",
    errno.EDQUOT: "your disk quota is used up: free some space, then run the same command again",
    errno.EFBIG: "the limit on the size of a file is reached: raise it with ulimit -f",
    errno.EACCES: "check the owner and the permissions of that folder",
    errno.EROFS: "that file system is mounted read-only: use -C with a folder you can write to",
}


def write(path: Path, data: str | bytes, *, mode: int = 0o644) -> bool:
    """Put `data` (text as UTF-8) at `path` atomically; return whether anything changed.

    A reader sees the old bytes or the new ones, never a part. Raises errors.FileError.
    """
    content = data.encode() if isinstance(data, str) else data
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return False
    write_pieces(path, [content], mode=mode)
    return True


def write_pieces(path: Path, pieces: Iterable[bytes], *, mode: int = 0o644) -> None:
    """Put `pieces` at `path` atomically, whatever is there; raises errors.FileError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        with temporary.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        raise refused(error, "write", path) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _remove_abandoned(path: Path) -> None:
    """Remove what writers of `path` left that were killed: a temporary file tells its process."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        pid = left.name.split(".")[-2]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            left.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove the file `path` if it is there; raises errors.FileError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise refused(error, "remove", path) from error


def write_folder(path: Path, contents: Mapping[str, bytes]) -> None:
    """Make the folder `path`, which must not exist, with these files: as a whole or not at all."""
    alone = not path.parent.exists()
    beside = path.with_name(f"_{path.name}.tmp")  # among templates, one with _ is no fixture
    shutil.rmtree(beside, ignore_errors=True)
    try:
        for name, content in contents.items():
            write(beside / name, content)
        beside.rename(path)
    except OSError as error:
        raise refused(error, "create", path) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        if alone and not path.exists():
            with contextlib.suppress(OSError):
                path.parent.rmdir()


def move_folder(source: Path, target: Path) -> None:
    """Rename the folder `source` to `target`, which must not exist; raises errors.FileError.

    Between file systems it is copied beside `target` first, so that there too it is there as a
    whole or not at all.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            source.rename(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _move_across(source, target)
    except OSError as error:
        raise refused(error, "move a run to", target) from error


def _move_across(source: Path, target: Path) -> None:
    beside = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir()
        for path in source.iterdir():
            shutil.copyfile(path, beside / path.name)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    shutil.rmtree(source, ignore_errors=True)  # what is left of it is no run under way any more


def sweep(folder: Path) -> None:
    """Remove what a killed writer left in `folder`; only for a folder that nobody writes to now."""
    for path in folder.glob(".*.tmp"):
        remove(path)


def remove_folder(path: Path) -> None:
    """Remove the folder `path` with all that is in it; raises errors.FileError."""
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise refused(error, "remove", path) from error


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


def create(path: Path) -> IO[bytes]:
    """Open `path` for writing, empty and buffered; raises errors.FileError.

    Buffered also because a write to an almost full disk may take a part only, and gzip would not
    notice.
    """
    try:
        return path.open("wb")
    except OSError as error:
        raise refused(error, "write", path) from error


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
def lock(
    path: Path, owner: str, *, wait: bool, tell: Callable[[str], None] = lambda holder: None
) -> Iterator[None]:
    """Hold the lock file `path` while the block runs; the kernel frees it however we end.

    owner: what another process is told of us. Raises errors.LockedError with the other's words;
    with `wait` those go to `tell`, once, and the lock is waited for.
    """
    make_folder(path.parent)
    try:
        stream = path.open("a+b", buffering=0)  # nothing is left to be written when it is closed
    except OSError as error:
        raise refused(error, "lock", path) from error
    with stream:
        try:
            _acquire(stream, wait, tell)
            stream.seek(0)
            stream.truncate()
            stream.write(f"{owner}\n".encode())
        except OSError as error:
            raise refused(error, "lock", path) from error
        yield


def _acquire(stream: IO[bytes], wait: bool, tell: Callable[[str], None]) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.seek(0)
        holder = stream.read(500).decode(errors="replace").strip() or "another run"
        if not wait:
            raise errors.LockedError(
                f"another run holds the lock of this project: {holder}",
                "wait for it to end, or give --wait to start when it has",
            ) from error
        tell(holder)
        fcntl.flock(stream, fcntl.LOCK_EX)
