"""The one door to files: no link is followed, only regular files are read, writing is atomic.

Paths are absolute, and the folder that they begin with (a project's root, the templates of the
package) is canonical: whoever finds it has resolved it. So every link that is met on the way was
put there by whoever wrote what is in that folder, and may lead to anything that the user can read
or write. Each part of a path is opened in the folder before it (openat), so that nobody can put a
link in its place meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import IO

from fixturegen import bounds, errors

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def refused(error: OSError, action: str, path: Path) -> errors.FixturegenError:
    """Return the error that says which file operation the system refused, and what to do."""
    if isinstance(error, _LinkMetError):
        return errors.LinkError(
            f"{error.link}: a link, and nothing behind a link is read or written",
            "put the file or folder itself there",
        )
    reason = error.strerror or str(error)
    return errors.FileError(f"cannot {action} {path}: {reason}", _HINTS.get(error.errno or 0, ""))


_HINTS = {
    errno.ENOSPC: "free some space on that file system, then run the same command again",
    errno.EDQUOT: "your disk quota is used up: free some space, then run the same command again",
    errno.EFBIG: "the limit on the size of a file is reached: raise it with ulimit -f",
    errno.EACCES: "check the owner and the permissions of that folder",
    errno.EROFS: "that file system is mounted read-only: use -C with a folder you can write to",
}


class _IrregularError(OSError):
    """There is something at a path, and it is neither a regular file nor a link."""

    def __init__(self) -> None:
        super().__init__(errno.EINVAL, "not a regular file")


class _LinkMetError(OSError):
    """A part of a path is a symbolic link: `link` says which."""

    def __init__(self, link: Path) -> None:
        super().__init__(errno.ELOOP, os.strerror(errno.ELOOP))
        self.link = link


@contextlib.contextmanager
def _folder(path: Path, *, make: bool = False) -> Iterator[int]:
    """Open the folder `path` part by part, for the `dir_fd` of system calls; raises OSError.

    make: create what is missing of it.
    """
    if not path.is_absolute() or ".." in path.parts:
        raise OSError(errno.EINVAL, "not an absolute path")
    inner = os.open("/", os.O_PATH | _FOLDER)
    try:
        for place, name in enumerate(path.parts[1:], 2):
            outer = inner
            try:
                inner = _enter(outer, name, make)
            except NotADirectoryError:
                if stat.S_ISLNK(_status(outer, name)):
                    raise _LinkMetError(Path(*path.parts[:place])) from None
                raise
            finally:
                if inner != outer:
                    os.close(outer)
        yield inner
    finally:
        os.close(inner)


def _enter(outer: int, name: str, make: bool) -> int:
    if make:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=outer)
    return os.open(name, os.O_PATH | _FOLDER, dir_fd=outer)


def _status(folder: int, name: str) -> int:
    """Return the kind and permissions of `name`, a link's own ones; 0 if there is nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _open(path: Path, flags: int, *, make: bool = False) -> int:
    """Open the regular file `path`; raises OSError, also for anything else that is there.

    make: create its folder. A FIFO or a device is told by its kind and never opened.
    """
    with _folder(path.parent, make=make) as folder:
        _insist(_status(folder, path.name), path)
        descriptor = os.open(path.name, flags | _FILE, 0o644, dir_fd=folder)
    try:
        _insist(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _insist(mode: int, path: Path) -> None:
    """Raise OSError unless `mode` is a regular file's, or 0: nothing is there yet."""
    if stat.S_ISLNK(mode):
        raise _LinkMetError(path)
    if mode and not stat.S_ISREG(mode):
        raise _IrregularError


def names(folder: Path) -> list[str]:
    """Return the names in `folder`, sorted; none if there is no such folder.

    Raises errors.LinkError behind a link, errors.FileError where it cannot be read.
    """
    try:
        with _folder(folder) as descriptor:
            return sorted(_listed(descriptor))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise refused(error, "list", folder) from error


def kind(path: Path) -> str:
    """Return what is at `path`: "file", "folder", "link", "other", or "" for nothing.

    Raises errors.LinkError behind a link.
    """
    try:
        with _folder(path.parent) as folder:
            mode = _status(folder, path.name)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise refused(error, "look at", path) from error
    kinds = {0: "", stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(mode), "other")


def exists(path: Path) -> bool:
    """Return whether anything is at `path`, a link too; raises errors.LinkError behind one."""
    return bool(kind(path))


def is_file(path: Path) -> bool:
    """Return whether a regular file is at `path`; raises errors.LinkError for a link."""
    there = kind(path)
    if there == "link":
        raise refused(_LinkMetError(path), "read", path)
    return there == "file"


def is_at(path: Path, stream: IO[bytes]) -> bool:
    """Return whether the file that is open is the one at `path`, and not one moved or removed."""
    try:
        with _folder(path.parent) as folder:
            there = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return os.path.samestat(there, os.fstat(stream.fileno()))


def write(
    path: Path, data: str | bytes, *, mode: int = 0o644, synced: bool = True, make: bool = True
) -> bool:
    """Put `data` (text as UTF-8) at `path` atomically; return whether anything changed.

    A reader sees the old bytes or the new ones, never a part. synced: it also survives the loss of
    power, and not only the death of any process. make: its folder too, if it is not there. Raises
    errors.FileError, and errors.LinkError at or behind a link.
    """
    content = data.encode() if isinstance(data, str) else data
    if read_if_there(path) == content:
        return False
    write_pieces(path, [content], mode=mode, synced=synced, make=make)
    return True


def write_pieces(
    path: Path,
    pieces: Iterable[bytes],
    *,
    mode: int = 0o644,
    synced: bool = True,
    make: bool = True,
) -> None:
    """Put `pieces` at `path` atomically, whatever file is there; raises as `write`."""
    try:
        with bounds.undisturbed(), _folder(path.parent, make=make) as folder:
            _insist(_status(folder, path.name), path)
            _remove_abandoned(folder, path.name)
            temporary = f".{path.name}.{os.getpid()}.{os.urandom(8).hex()}.tmp"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
                descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as stream:
                    stream.writelines(pieces)
                    stream.flush()
                    os.fchmod(descriptor, mode)
                    if synced:
                        os.fsync(descriptor)
                os.rename(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
    except OSError as error:
        raise refused(error, "write", path) from error


def _remove_abandoned(folder: int, name: str) -> None:
    """Remove what writers of `name` left that were killed: a temporary file tells its process."""
    pattern = re.compile(re.escape(f".{name}.") + r"([0-9]+)(\.[0-9a-f]+)?\.tmp")
    for left in _listed(folder):
        owner = pattern.fullmatch(left)
        if owner and not Path(f"/proc/{owner[1]}").exists():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(left, dir_fd=folder)


def _listed(folder: int) -> list[str]:
    descriptor = os.open(".", os.O_RDONLY | _FOLDER, dir_fd=folder)
    try:
        return os.listdir(descriptor)  # noqa: PTH208 - of a descriptor there is no Path
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove the file `path` if it is there, a link itself; raises errors.FileError."""
    try:
        with _folder(path.parent) as folder:
            os.unlink(path.name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise refused(error, "remove", path) from error


def write_folder(path: Path, contents: Mapping[str, bytes]) -> None:
    """Make the folder `path`, which must not exist, with these files: as a whole or not at all."""
    alone = not exists(path.parent)
    beside = path.with_name(f"_{path.name}.tmp")  # among templates, one with _ is no fixture
    _forget_folder(beside)
    try:
        for name, content in contents.items():
            write(beside / name, content)
        _rename(beside, path)
    except OSError as error:
        raise refused(error, "create", path) from error
    finally:
        _forget_folder(beside)
        if alone and not exists(path):
            with contextlib.suppress(OSError), _folder(path.parent.parent) as folder:
                os.rmdir(path.parent.name, dir_fd=folder)


def _rename(source: Path, target: Path) -> None:
    with _folder(source.parent) as one, _folder(target.parent, make=True) as other:
        os.rename(source.name, target.name, src_dir_fd=one, dst_dir_fd=other)


def _forget_folder(path: Path) -> None:
    """Remove a folder that may not be there, as far as it can be removed."""
    with contextlib.suppress(OSError), _folder(path.parent) as folder:
        shutil.rmtree(path.name, ignore_errors=True, dir_fd=folder)


def move_folder(source: Path, target: Path) -> None:
    """Rename the folder `source` to `target`, which must not exist; raises errors.FileError.

    Between file systems it is copied beside `target` first, so that there too it is there as a
    whole or not at all.
    """
    try:
        try:
            _rename(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _move_across(source, target)
    except OSError as error:
        raise refused(error, "move a run to", target) from error


def _move_across(source: Path, target: Path) -> None:
    beside = target.with_name(f".{target.name}.tmp")
    _forget_folder(beside)
    try:
        make_folder(beside)
        for name in names(source):
            with open_binary(source / name) as stream:
                write_pieces(beside / name, iter(lambda: stream.read(1 << 20), b""))
        _rename(beside, target)
    finally:
        _forget_folder(beside)
    _forget_folder(source)  # what is left of it is no run under way any more


def sweep(folder: Path) -> None:
    """Remove what a killed writer left in `folder`; only for a folder that nobody writes to now."""
    for name in names(folder):
        if name.startswith(".") and name.endswith(".tmp"):
            remove(folder / name)


def remove_folder(path: Path) -> None:
    """Remove the folder `path` with all that is in it; raises errors.FileError."""
    try:
        with _folder(path.parent) as folder:
            shutil.rmtree(path.name, dir_fd=folder)
    except OSError as error:
        raise refused(error, "remove", path) from error


def make_folder(path: Path) -> None:
    """Create the folder `path` and its parents; raises errors.FileError."""
    try:
        with _folder(path, make=True):
            pass
    except OSError as error:
        raise refused(error, "create", path) from error


def insist_writable(folder: Path) -> None:
    """Raise errors.FileError if no file could be made in `folder`; makes none.

    The kernel is asked, and nothing tried: a trial that is killed would leave its file behind.
    """
    if os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        return
    number = errno.EROFS if os.statvfs(folder).f_flag & os.ST_RDONLY else errno.EACCES
    raise refused(OSError(number, os.strerror(number)), "write to", folder)


def append_to(path: Path) -> IO[bytes]:
    """Open `path` for appending, unbuffered: one write call a line; raises errors.FileError."""
    try:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        return os.fdopen(_open(path, flags, make=True), "ab", buffering=0)
    except OSError as error:
        raise refused(error, "append to", path) from error


def create(path: Path) -> IO[bytes]:
    """Open `path` for writing, empty and buffered; raises errors.FileError.

    Buffered also because a write to an almost full disk may take a part only, and gzip would not
    notice.
    """
    try:
        return os.fdopen(_open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb")
    except OSError as error:
        raise refused(error, "write", path) from error


def truncate(path: Path, size: int) -> None:
    """Cut `path` to its first `size` bytes: what follows a torn line is measured again."""
    try:
        with os.fdopen(_open(path, os.O_WRONLY), "wb") as stream:
            os.ftruncate(stream.fileno(), size)
    except OSError as error:
        raise refused(error, "truncate", path) from error


def open_binary(path: Path) -> BufferedReader:
    """Open the regular file `path` for reading; raises errors.FileError, errors.LinkError."""
    bounds.at(str(path))
    try:
        return open(_open(path, os.O_RDONLY), "rb")
    except OSError as error:
        raise refused(error, "read", path) from error


def read_text(path: Path) -> str:
    """Return the text of the regular file `path`; raises errors.FileError, also if not UTF-8."""
    return decode(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of the regular file `path`; raises errors.FileError, errors.LinkError."""
    with open_binary(path) as stream:
        try:
            return stream.read()
        except OSError as error:
            raise refused(error, "read", path) from error


def read_if_there(path: Path) -> bytes | None:
    """Return the bytes of the regular file `path`, None if there is none; else as `read_bytes`."""
    bounds.at(str(path))
    try:
        with open(_open(path, os.O_RDONLY), "rb") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError, _IrregularError):
        return None
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


def modified(path: Path) -> float:
    """Return when a file was last changed, in seconds since 1970, as its file system tells."""
    with open_binary(path) as stream:
        return os.fstat(stream.fileno()).st_mtime


def digest(content: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def sha256(path: Path) -> str:
    """Return the SHA-256 of the regular file in hexadecimal."""
    with open_binary(path) as stream:
        try:
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
        # Unbuffered: nothing is left to be written when it is closed.
        descriptor = _open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        stream = os.fdopen(descriptor, "a+b", buffering=0)
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
