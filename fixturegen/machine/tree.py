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
            data = _read(self.root / path, limit)
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
        return Unknown(f"/{path} is no list of CPUs") if cpus is None else cpus

    def choice(self, path: str) -> str | Unknown:
        """Return the word in brackets of a file such as `always [madvise] never`."""
        text = self.text(path)
        if isinstance(text, Unknown):
            return text
        found = re.search(r"\[([A-Za-z0-9_-]{1,40})\]", text)
        return found.group(1) if found else Unknown(f"/{path} marks no choice")

    def names(self, path: str, pattern: str = "") -> tuple[str, ...]:
        """Return the folder's names that match `pattern` as a whole, numbers in numeric order."""
        try:
            found = os.listdir(self.root / path)  # noqa: PTH208 (names, without a Path for each)
        except (OSError, ValueError):
            return ()
        if pattern:
            found = [name for name in found if re.fullmatch(pattern, name)]
        return tuple(sorted(found, key=_natural))


def printable(text: str) -> str:
    """Return `text` on one line, control characters escaped, cut at `SHOWN` characters."""
    words = escaped(text)
    return words if len(words) <= SHOWN else words[: SHOWN - 3] + "..."


def escaped(text: str) -> str:
    """Return `text` on one line of plain ASCII: everything else as an escape."""
    words = " ".join(text.split())
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in words)


def parse_cpus(text: str) -> tuple[int, ...] | None:
    """Return `0-3,8` (or `0 1 2 3 8`) as (0, 1, 2, 3, 8); None if it is not such a list."""
    if text in {"", "(null)"}:  # some kernels print nohz_full so when it is empty
        return ()
    cpus: set[int] = set()
    for part in re.split(r"[,\s]+", text):
        found = _RANGE.fullmatch(part)
        if found is None:
            return None
        first, last = int(found.group(1)), int(found.group(2) or found.group(1))
        if last < first or last >= MAX_CPUS:
            return None
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def _read(path: Path, limit: int) -> bytes:
    # O_NONBLOCK: a FIFO in a stranger's tree must not hang the reader.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
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
