"""Reading small kernel files below a root that stands for `/`.

Nothing here raises for what a file holds or for a file that cannot be read: the answer is
then `Unknown`. Reads are bounded, never block, and take regular files only.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from msgspec import Struct

from fixturegen.machine.values import Unknown

SMALL = 64 * 1024  # bytes; a sysfs attribute is at most one page
LARGE = 8 * 1024 * 1024  # bytes; proc/cpuinfo of a thousand CPUs is about 2 MB
SHOWN = 160  # characters of a single-line text that are kept
MAX_CPUS = 65536  # Linux allows 8192; a list that names more is garbage

# O_NONBLOCK: a FIFO in a stranger's tree must not hang the reader.
_FILE = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STEPS = 200  # names on the way, those of links included

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


class Tree(Struct, frozen=True):
    """The files below `root`; paths are given without a leading slash."""

    root: Path

    @property
    def live(self) -> bool:
        """Whether this is the running machine, so that its system calls may be asked too."""
        return self.root == Path("/")

    def text(self, path: str, limit: int = SMALL) -> str | Unknown:
        """Return the file as ASCII without surrounding space; other bytes are escaped."""
        try:
            data = _read(self._open(path, os.O_RDONLY), limit)
        except OSError as error:
            return Unknown(_reason(path, error))
        except ValueError:  # a NUL in a path made of a file's own words
            return Unknown(f"no /{path}")
        if len(data) > limit:
            return Unknown(f"/{path} is longer than {limit} bytes")
        return data.decode("ascii", "backslashreplace").strip()

    def line(self, path: str) -> str | Unknown:
        """Return a file of one line: control characters escaped, at most `SHOWN` characters."""
        text = self.text(path)
        if isinstance(text, Unknown):
            return text
        return printable(text) or Unknown(f"/{path} is empty")

    def integer(self, path: str) -> int | Unknown:
        """Return a file that holds one decimal integer."""
        text = self.text(path)
        if isinstance(text, Unknown):
            return text
        if not _INTEGER.fullmatch(text):
            return Unknown(f"/{path} holds no integer")
        return int(text)

    def cpus(self, path: str) -> tuple[int, ...] | Unknown:
        """Return a file in the kernel's list format; an empty file is no CPU."""
        text = self.text(path)
        if isinstance(text, Unknown):
            return text
        cpus = parse_cpus(text)
        return Unknown(f"/{path} is not a list of CPUs") if cpus is None else cpus

    def choice(self, path: str) -> str | Unknown:
        """Return the word in brackets of a file such as `always [madvise] never`."""
        text = self.text(path)
        if isinstance(text, Unknown):
            return text
        marked = re.search(r"\[([A-Za-z0-9_-]{1,40})\]", text)
        return marked.group(1) if marked else Unknown(f"/{path} marks no choice")

    def names(self, path: str, pattern: str = "") -> tuple[str, ...]:
        """Return the folder's names that match `pattern` as a whole, numbers in numeric order."""
        try:
            folder = self._open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                names = os.listdir(folder)  # noqa: PTH208 - of a descriptor there is no Path
            finally:
                os.close(folder)
        except (OSError, ValueError):
            return ()
        if pattern:
            names = [name for name in names if re.fullmatch(pattern, name)]
        return tuple(sorted(names, key=_natural))

    def _open(self, path: str, flags: int) -> int:
        """Open a file; below another root than `/` no link leads out of it."""
        if self.live:
            return os.open(f"/{path}", flags | _FILE)  # of hundreds of processes, a Path is slow
        return open_below(self.root, path, flags, follow=True)


def printable(text: str) -> str:
    """Return `text` on one line, control characters escaped, cut at `SHOWN` characters."""
    shown = escaped(text)
    return shown if len(shown) <= SHOWN else shown[: SHOWN - 3] + "..."


def escaped(text: str) -> str:
    """Return `text` on one line of plain ASCII: everything else as an escape."""
    line = " ".join(text.split())
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in line)


def parse_cpus(text: str) -> tuple[int, ...] | None:
    """Return `0-3,8` (or `0 1 2 3 8`) as (0, 1, 2, 3, 8); None if it is not such a list."""
    if text in {"", "(null)"}:  # some kernels print nohz_full so when it is empty
        return ()
    cpus: set[int] = set()
    for part in re.split(r"[,\s]+", text):
        bounds = _RANGE.fullmatch(part)
        if bounds is None:
            return None
        first, last = int(bounds.group(1)), int(bounds.group(2) or bounds.group(1))
        if last < first or last >= MAX_CPUS:
            return None
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def _read(fd: int, limit: int) -> bytes:
    """Return at most `limit` + 1 bytes of an open regular file, and close it."""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        chunks = []
        left = limit + 1
        while left > 0 and (chunk := os.read(fd, min(left, 65536))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def open_below(root: Path, path: str, flags: int, *, follow: bool = False) -> int:
    """Open root/path; a link to a folder is followed as if `root` were `/`. Raises OSError.

    follow: so is a link in the place of the file itself.
    """
    folders = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    ahead = path.split("/")[::-1]
    try:
        for _ in range(_STEPS):
            if not ahead:  # a link that ended in `..`
                return os.open(".", flags | _FILE, dir_fd=folders[-1])
            name = ahead.pop()
            if not ahead and name not in {"", ".", ".."}:
                try:
                    return os.open(name, flags | _FILE | os.O_NOFOLLOW, dir_fd=folders[-1])
                except OSError:
                    if not follow or not _is_link(name, folders[-1]):
                        raise
                ahead += _enter(folders, name)
            elif name == "..":
                _leave(folders, max(1, len(folders) - 1))
            elif name not in {"", "."}:
                ahead += _enter(folders, name)
        raise OSError(errno.ELOOP, "too many links")
    finally:
        _leave(folders, 0)


def _enter(folders: list[int], name: str) -> list[str]:
    """Open the next folder; if it is a link, return what it stands for, last part first."""
    try:
        folders.append(os.open(name, _FOLDER, dir_fd=folders[-1]))
    except NotADirectoryError:
        target = _link(name, folders[-1])
        if target.startswith("/"):
            _leave(folders, 1)
        return target.split("/")[::-1]
    return []


def _leave(folders: list[int], count: int) -> None:
    """Close all but the first `count` folders."""
    while len(folders) > count:
        os.close(folders.pop())


def _link(name: str, folder: int) -> str:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        raise OSError(errno.ENOTDIR, "not a folder") from error


def _is_link(name: str, folder: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _reason(path: str, error: OSError) -> str:
    # errno's name and not strerror's sentence, which follows the locale.
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return f"no /{path}"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"/{path} is not readable by this user"
    return f"/{path} cannot be read ({errno.errorcode.get(error.errno or 0, 'error')})"


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return tuple((0, int(p), "") if p[0] in "0123456789" else (1, 0, p) for p in parts)
