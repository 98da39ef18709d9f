"""The old values on disk, before the first new one is written: run/fixturegen/tune.json.

Whoever can write the journal can write the knobs. So it lies in a folder of root's (below
another root: of the user's), nothing on the way to it is a link, nobody else may write it, and
what it holds is taken only if it is a file and a value of the table of knobs. /run ends with the
boot, as the knobs do.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from fixturegen import errors
from fixturegen.machine.tree import Tree
from fixturegen.tune import table
from fixturegen.tune.access import reason_of
from fixturegen.tune.values import Changes, Entry

FOLDERS = ("run", "fixturegen")
NAME, LOCK = "tune.json", "lock"
FORMAT = 1
GRACE_S = 2.0  # how long whoever holds the knobs is waited for
LIMIT = 4 << 20  # bytes; 128 CPUs need about 100 KiB
_LINK = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
BY_HAND = (
    "it is not used: look at it, set what it names by hand, then remove it. A reboot ends all of it"
)


class Journal(Struct, frozen=True, forbid_unknown_fields=True):
    """What is turned: by "apply" or by "run", in which boot, with which old values."""

    format: int
    by: str
    pid: int
    boot: str
    online: tuple[int, ...]
    entries: tuple[Entry, ...]

    @property
    def changes(self) -> Changes:
        """Return the entries as the changes that they were written from."""
        return Changes(self.entries, {}, self.online)


def where(root: Path) -> Path:
    """Return the journal's path."""
    return root.joinpath(*FOLDERS, NAME)


def boot_of(root: Path) -> str:
    """Return the id of the running boot, "" where the kernel has none."""
    boot = Tree(root).line("proc/sys/kernel/random/boot_id")
    return boot if isinstance(boot, str) else ""


def peek(root: Path) -> Journal | None:
    """Return the journal if there is one, of whichever boot.

    Raises errors.CheckError if it cannot be trusted, errors.FileError if it cannot be read.
    """
    try:
        folder = _folder(root, create=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _file_error(root, "look for", error) from error
    try:
        return _load(root, folder)
    finally:
        os.close(folder)


class Store:
    """The journal's folder, opened and locked: nobody else turns knobs meanwhile."""

    def __init__(self, root: Path, folder: int) -> None:
        self.root = root
        self._folder = folder

    def load(self) -> tuple[Journal | None, str]:
        """Return (the journal of this boot, a note); one of another boot is dropped."""
        journal = _load(self.root, self._folder)
        if journal is None or journal.boot == boot_of(self.root):
            return journal, ""
        self.remove()
        return None, (
            "a journal of an earlier boot was dropped: its values ended with that boot, "
            "and nothing was written"
        )

    def write(self, by: str, changes: Changes) -> None:
        """Put the journal on disk, as a whole or not at all; raises errors.FileError."""
        journal = Journal(
            FORMAT, by, os.getpid(), boot_of(self.root), changes.online, changes.entries
        )
        name = f".{NAME}.new"
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _LINK
            descriptor = os.open(name, flags, 0o644, dir_fd=self._folder)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(msgspec.json.encode(journal))
                stream.flush()
                os.fchmod(descriptor, 0o644)
                os.fsync(descriptor)
            os.rename(name, NAME, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            os.fsync(self._folder)
        except OSError as error:
            raise _file_error(self.root, "write", error) from error

    def remove(self) -> None:
        """Remove the journal: nothing is left to be put back; raises errors.FileError."""
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(NAME, dir_fd=self._folder)
            os.fsync(self._folder)
        except OSError as error:
            raise _file_error(self.root, "remove", error) from error


@contextlib.contextmanager
def held(root: Path) -> Iterator[Store]:
    """Open the folder (made if it is not there) and hold its lock.

    Raises errors.LockedError if a run or another `tune` holds it, errors.CheckError if the folder
    cannot be trusted, errors.FileError if it cannot be made.
    """
    try:
        folder = _folder(root, create=True)
    except OSError as error:
        raise _file_error(root, "make the folder of", error) from error
    try:
        with _locked(root, folder):
            yield Store(root, folder)
    finally:
        os.close(folder)


def _take(lock: int) -> None:
    """Lock the file; a guardian that has just put everything back may still be on its way out."""
    end = time.monotonic() + GRACE_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return


@contextlib.contextmanager
def _locked(root: Path, folder: int) -> Iterator[None]:
    # Mode 0600: an ordinary user who could open it could hold the lock for ever.
    try:
        lock = os.open(LOCK, os.O_RDWR | os.O_CREAT | _LINK, 0o600, dir_fd=folder)
    except OSError as error:
        raise _file_error(root, "lock", error) from error
    with os.fdopen(lock, "r+b", buffering=0) as stream:
        try:
            _take(lock)
        except OSError as error:
            holder = stream.read(20).decode("ascii", "replace").strip()
            raise errors.LockedError(
                "the knobs are held by "
                + (f"process {holder}" if holder.isdigit() else "another process"),
                "a run puts them back when it ends: wait for it, or end it",
            ) from error
        stream.truncate()
        stream.write(f"{os.getpid()}\n".encode())
        yield


def _folder(root: Path, *, create: bool) -> int:
    """Open the journal's folder, each step checked; raises OSError or errors.CheckError."""
    inner = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    shown = root
    for name in FOLDERS:
        outer, shown = inner, shown / name
        try:
            made = create and _made(name, outer)
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _LINK, dir_fd=outer)
            if made:
                os.fchmod(inner, 0o755)  # whatever the umask: anybody may see that it is there
        except OSError as error:
            if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                raise
            raise errors.CheckError(f"{shown} is a link or not a folder", BY_HAND) from error
        finally:
            os.close(outer)
        if name == FOLDERS[-1] or root == Path("/"):
            try:
                _trust(root, shown, os.fstat(inner))
            except errors.CheckError:
                os.close(inner)
                raise
    return inner


def _made(name: str, folder: int) -> bool:
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        return False
    return True


def _trust(root: Path, path: Path, status: os.stat_result) -> None:
    """Raise errors.CheckError if someone else could have written it."""
    owners = {0} if root == Path("/") else {0, os.geteuid()}
    if status.st_uid not in owners:
        raise errors.CheckError(f"{path} belongs to user {status.st_uid}, not to root", BY_HAND)
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise errors.CheckError(f"{path} may be written by others than its owner", BY_HAND)


def _load(root: Path, folder: int) -> Journal | None:
    path = where(root)
    try:
        descriptor = os.open(NAME, os.O_RDONLY | _LINK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENXIO}:
            raise errors.CheckError(f"{path} is a link or not a file", BY_HAND) from error
        raise _file_error(root, "read", error) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise errors.CheckError(f"{path} is not a file", BY_HAND)
        _trust(root, path, status)
        data = b""
        while len(data) <= LIMIT and (chunk := os.read(descriptor, 1 << 16)):
            data += chunk
    finally:
        os.close(descriptor)
    if len(data) > LIMIT:
        raise errors.CheckError(f"{path} is longer than {LIMIT >> 20} MiB", BY_HAND)
    return _checked(path, data)


def _checked(path: Path, data: bytes) -> Journal:
    try:
        journal = msgspec.json.decode(data, type=Journal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.CheckError(f"{path} is not a journal: {error}", BY_HAND) from error
    if journal.format != FORMAT:
        raise errors.CheckError(
            f"{path} has format {journal.format}, this fixturegen knows {FORMAT}",
            "restore with the version that wrote it, or reboot",
        )
    for entry in journal.entries:
        for value in (entry.old, entry.new):
            if value is not None and not table.permitted(entry.knob, entry.path, value):
                shown = f"{entry.path[:80]!a} = {value[:40]!a}"
                raise errors.CheckError(
                    f"{path} names something that is not a knob: {shown}", BY_HAND
                )
    return journal


def _file_error(root: Path, action: str, error: OSError) -> errors.FileError:
    return errors.FileError(
        f"cannot {action} the journal {where(root)}: {reason_of(error)}",
        "nothing is written to a knob without it",
    )
