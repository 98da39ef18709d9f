"""An ELF file opened with suspicion: bounded reads, its header and its segments.

Read with pread, not mapped: a mapping counts with its whole size against an address-space
limit, and a file that is cut short meanwhile would be a SIGBUS instead of a message.
pyelftools gives the names (see `spelling`) but not the structures: on damaged files it raises
eight kinds of exceptions, and it loops as long as a header tells it to.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fixturegen.errors import CheckError
from fixturegen.visible import escape

# What one file may cost. libLLVM.so of 200 MB needs 14 MB of reading; a header that asks for more
# than this is damaged or hostile.
READ_BUDGET = 256 << 20

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}
_TYPES = {0: "no type", 1: "an object file that is not linked yet", 4: "a core dump"}
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_GNU_RELRO = 1, 2, 3, 4, 0x6474E552


@dataclass(frozen=True, slots=True)
class Header:
    """The ELF header: `wide` is 64-bit, `order` is struct's sign for the byte order."""

    wide: bool
    order: str
    type: int
    machine: int
    phoff: int
    phnum: int
    shoff: int
    shnum: int


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header, as far as it matters here."""

    type: int
    offset: int
    address: int
    size: int


class Image:
    """An open file that gives out only what it has, and only so much of it."""

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self.path = path
        self.size = size
        self._descriptor = descriptor
        self._budget = READ_BUDGET

    def error(self, problem: str) -> CheckError:
        """Return the one-line error that names the file."""
        return CheckError(f"{escape(str(self.path))}: {problem}")

    def check(self, offset: int, size: int, what: str) -> None:
        """Raise if the file does not have these bytes."""
        if offset + size > self.size:
            end = offset + size
            raise self.error(
                f"truncated or damaged: {what} would end at byte {end}, the file at {self.size}"
            )

    def read(self, offset: int, size: int, what: str) -> bytes:
        """Return exactly these bytes; `what` they are goes into the error."""
        self.check(offset, size, what)
        self._budget -= size
        if self._budget < 0:
            raise self.error(f"damaged: its tables claim more than {READ_BUDGET >> 20} MiB")
        data = os.pread(self._descriptor, size, offset)
        if len(data) != size:  # a regular file gives all, unless somebody cut it meanwhile
            raise self.error(f"changed while it was read: {what} is not there any more")
        return data


@contextmanager
def opened(path: Path) -> Iterator[Image]:
    """Open a regular file for reading. A FIFO, a device or a directory is refused, unopened."""
    try:
        _refuse_other_kinds(path, path.stat())
        # A FIFO put there since the stat must not hang the open: hence O_NONBLOCK.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            status = os.fstat(descriptor)
            _refuse_other_kinds(path, status)
            yield Image(path, descriptor, status.st_size)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it. OSError: from here, or from a pread on a bad disk.
        problem = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise CheckError(f"{escape(str(path))}: cannot be read: {problem}") from error


def _refuse_other_kinds(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise CheckError(f"{escape(str(path))}: {kind}, not an ELF file")


def read_header(image: Image) -> Header:
    """Return the ELF header of a linked file; CheckError says what else the file is."""
    if image.size == 0:
        raise image.error("an empty file, not an ELF file")
    ident = image.read(0, min(16, image.size), "the ELF header")
    if ident[:4] != b"\x7fELF":
        script = ident.startswith(b"#!")
        raise image.error("a script, not an ELF file" if script else "not an ELF file")
    image.check(0, 16, "the ELF header")
    wide, order = {1: False, 2: True}.get(ident[4]), {1: "<", 2: ">"}.get(ident[5])
    if wide is None or order is None or ident[6] != 1:
        raise image.error("damaged ELF header: unknown class, byte order or version")
    form = struct.Struct(order + ("HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"))
    fields = form.unpack(image.read(16, form.size, "the ELF header"))
    kind, machine, _, _, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum, _ = fields
    if kind not in (2, 3):
        raise image.error(f"{_TYPES.get(kind, f'ELF type {kind}')}, not a program or library")
    if phnum == 0:
        raise image.error("damaged ELF header: a program or library without program headers")
    if phentsize != (56 if wide else 32) or phnum == 0xFFFF:
        raise image.error(f"damaged ELF header: {phnum} program headers of {phentsize} bytes")
    if shoff and shnum:
        if shentsize != (64 if wide else 40):
            raise image.error(f"damaged ELF header: section headers of {shentsize} bytes")
        image.check(shoff, shnum * shentsize, "the table of section headers")
    return Header(wide, order, kind, machine, phoff, phnum, shoff, shnum if shoff else 0)


def read_segments(image: Image, header: Header) -> tuple[Segment, ...]:
    """Return the program headers; all that has bytes in the file must lie inside it."""
    form = struct.Struct(header.order + ("II6Q" if header.wide else "8I"))
    table = image.read(header.phoff, header.phnum * form.size, "the table of program headers")
    segments = []
    for number, entry in enumerate(form.iter_unpack(table)):
        if header.wide:
            kind, _, offset, address, _, size, _, _ = entry
        else:
            kind, offset, address, _, size, _, _, _ = entry
        if kind in (PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE):
            image.check(offset, size, f"segment {number}")
            segments.append(Segment(kind, offset, address, size))
        elif kind == PT_GNU_RELRO:
            segments.append(Segment(kind, offset, address, size))
    return tuple(segments)


def locate(
    image: Image, segments: tuple[Segment, ...], address: int, size: int, what: str
) -> tuple[int, int]:
    """Return the file offset of an address in memory, and how many bytes follow it there."""
    for segment in segments:
        if segment.type == PT_LOAD and 0 <= address - segment.address < segment.size:
            room = segment.size - (address - segment.address)
            if size > room:
                raise image.error(f"damaged: {what} claims {size} bytes where {room} are")
            return segment.offset + address - segment.address, room
    raise image.error(f"damaged: {what} is at 0x{address:x}, which no segment holds")
