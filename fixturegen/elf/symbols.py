"""Whether a file defines a name: asked only of the names that somebody wants to know about."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixturegen.elf.image import Header, Image

_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
_CHUNK = 1 << 20
# librustc_driver.so has 0.4 million; beyond this the names count as unknown.
_MAX_SYMBOLS = 2_000_000
_MAX_STRINGS = 96 << 20
_MAX_PLACES = 10_000
_MAX_SECTIONS = 8192


@dataclass(frozen=True, slots=True)
class _Section:
    type: int
    offset: int
    size: int
    link: int


def look_up(
    image: Image, header: Header, names: Iterable[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return which of the names the file defines, and which its full table does not.

    A name that is in neither set is one that a stripped file does not tell about. A symbol
    table that is damaged tells nothing: it matters neither to the kernel nor to ld.so.
    """
    wanted = {name.encode("utf-8", "surrogateescape"): name for name in names if name}
    if not wanted or not 0 < header.shnum <= _MAX_SECTIONS:
        return frozenset(), frozenset()
    sections = _sections(image, header)
    defined: set[str] = set()
    complete = False
    for section in sections:
        if section.type not in (_SHT_SYMTAB, _SHT_DYNSYM) or section.link >= len(sections):
            continue
        defining = _defined(image, header, section, sections[section.link], list(wanted))
        if defining is not None:
            defined.update(wanted[name] for name in defining)
            complete = complete or section.type == _SHT_SYMTAB
    return frozenset(defined), frozenset(set(wanted.values()) - defined if complete else ())


def _sections(image: Image, header: Header) -> list[_Section]:
    form = struct.Struct(header.order + ("IIQQQQIIQQ" if header.wide else "10I"))
    table = image.read(header.shoff, header.shnum * form.size, "the table of section headers")
    return [_Section(each[1], each[4], each[5], each[6]) for each in form.iter_unpack(table)]


def _defined(
    image: Image, header: Header, table: _Section, strings: _Section, wanted: list[bytes]
) -> set[bytes] | None:
    form = struct.Struct(header.order + ("IBBHQQ" if header.wide else "IIIBBH"))
    index = 3 if header.wide else 5  # st_shndx
    fits = all(each.offset + each.size <= image.size for each in (table, strings))
    if not fits or table.size > _MAX_SYMBOLS * form.size or strings.size > _MAX_STRINGS:
        return None
    places = _places(image, strings, wanted)
    if places is None:
        return None
    indexes = set()
    step = _CHUNK // form.size * form.size
    end = table.offset + table.size // form.size * form.size
    for start in range(table.offset, end, step) if places else ():
        data = image.read(start, min(step, end - start), "the symbol table")
        for entry in form.iter_unpack(data):
            if entry[0] in places and entry[index] != 0:  # SHN_UNDEF: asked for, not defined
                indexes.add(places[entry[0]])
    return indexes


def _places(image: Image, strings: _Section, wanted: list[bytes]) -> dict[int, bytes] | None:
    """Return every place of the string table at which one of the names starts.

    Linkers share tails ("random" inside "srandom"), so a name may start anywhere.
    """
    places: dict[int, bytes] = {}
    overlap = max(map(len, wanted))
    for base, data in _windows(image, strings, overlap):
        for name in wanted:
            for match in re.finditer(re.escape(name) + b"\0", data):
                places[base + match.start()] = name
                if len(places) > _MAX_PLACES:
                    return None
    return places


def _windows(image: Image, strings: _Section, overlap: int) -> Iterator[tuple[int, bytes]]:
    for start in range(0, strings.size, _CHUNK):
        size = min(_CHUNK + overlap, strings.size - start)
        yield start, image.read(strings.offset + start, size, "the symbols' names")
