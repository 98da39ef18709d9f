"""PT_DYNAMIC: what ld.so reads, so it is there also when section headers are stripped."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fixturegen.elf import spelling
from fixturegen.elf.image import PT_DYNAMIC, Header, Image, Segment, locate

DT_NULL, DT_NEEDED, DT_PLTRELSZ, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ = 0, 1, 2, 5, 6, 7, 8
DT_RELAENT, DT_STRSZ, DT_SYMENT, DT_SONAME, DT_REL, DT_RELSZ, DT_RELENT = 9, 10, 11, 14, 17, 18, 19
DT_PLTREL, DT_DEBUG, DT_JMPREL, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 20, 21, 23, 24, 30, 0x6FFFFFFB
# AArch64 and RISC-V use the same number: some symbol has a calling convention of its own.
DT_VARIANT = {spelling.AARCH64: 0x70000005, spelling.RISCV: 0x70000001}
_ANDROID_PACKED = (0x6000000F, 0x60000011)

# libxul.so, of the largest there are, has 90 entries and 25 MB of strings.
_MAX_ENTRIES = 4096
_MAX_STRINGS = 48 << 20
# The longest mangled names seen are some 10 KB. All names together must fit in memory.
_MAX_NAME = 64 << 10
_MAX_NAMES = 24 << 20


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The entries of PT_DYNAMIC in the file's order, up to DT_NULL."""

    entries: tuple[tuple[int, int], ...]

    def get(self, tag: int) -> int | None:
        """Return the value of a tag; of several the last, as ld.so does."""
        return next((value for each, value in reversed(self.entries) if each == tag), None)

    def all(self, tag: int) -> list[int]:
        """Return the values of all entries with a tag."""
        return [value for each, value in self.entries if each == tag]

    def lines(self, wide: bool) -> tuple[str, ...]:
        """Return the lines of `readelf -d` for FLAGS, FLAGS_1 and BIND_NOW, in its order."""
        lines = []
        for tag, value in self.entries:
            if tag == DT_FLAGS:
                lines.append(spelling.flags_line(value, wide))
            elif tag == DT_FLAGS_1:
                lines.append(spelling.flags_1_line(value, wide))
            elif tag == DT_BIND_NOW:
                lines.append(spelling.bind_now_line(wide))
        return tuple(lines)


def read_dynamic(image: Image, header: Header, segments: tuple[Segment, ...]) -> Dynamic | None:
    """Return the dynamic section; None if the file has none, which makes it a static one."""
    segment = next((each for each in segments if each.type == PT_DYNAMIC), None)
    if segment is None:
        return None
    form = struct.Struct(header.order + ("QQ" if header.wide else "II"))
    size = min(segment.size, _MAX_ENTRIES * form.size) // form.size * form.size
    if not size:
        raise image.error("its dynamic section holds no bytes: a file of debug information only?")
    entries: list[tuple[int, int]] = []
    for tag, value in form.iter_unpack(image.read(segment.offset, size, "PT_DYNAMIC")):
        if tag == DT_NULL:
            break
        entries.append((tag, value))
    else:
        raise image.error(f"damaged: PT_DYNAMIC has no end within {len(entries)} entries")
    if any(tag in _ANDROID_PACKED for tag, _ in entries):
        raise image.error("has Android's packed relocations, which are not read here")
    return Dynamic(tuple(entries))


class Strings:
    """The dynamic string table. All names taken from it together have a limit."""

    def __init__(self, image: Image, segments: tuple[Segment, ...], dynamic: Dynamic) -> None:
        self._image = image
        self._left = _MAX_NAMES
        address, size = dynamic.get(DT_STRTAB), dynamic.get(DT_STRSZ)
        self._data = b""
        if address is not None and size:
            offset, _ = locate(image, segments, address, size, "DT_STRTAB")
            if size > _MAX_STRINGS:
                raise image.error(f"its dynamic strings claim {size} bytes: too many to read")
            self._data = image.read(offset, size, "DT_STRTAB")

    def at(self, place: int) -> str:
        r"""Return the string that starts there. What is not UTF-8 becomes `\xff`."""
        end = self._data.find(b"\0", place, place + _MAX_NAME)
        if end < 0:
            raise self._image.error(f"damaged: a name at {place} of DT_STRTAB does not end there")
        self._left -= end - place
        if self._left < 0:
            raise self._image.error(f"damaged: its names exceed {_MAX_NAMES >> 20} MiB together")
        return self._data[place:end].decode("utf-8", "backslashreplace")
