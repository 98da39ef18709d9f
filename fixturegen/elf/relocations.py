"""The dynamic relocations that name a symbol, read by the tables of PT_DYNAMIC.

A large library has a million relocations that name none (R_*_RELATIVE); they are passed over
in one go, and only the symbols that a relocation names are looked at. DT_RELR holds relative
ones alone and is not read at all.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from fixturegen.elf import dynamic as d
from fixturegen.elf import spelling
from fixturegen.elf.facts import Relocation
from fixturegen.elf.image import Header, Image, Segment, locate

# libLLVM.so of 200 MB has 0.5 million entries, 40,000 with different symbols.
_MAX_ENTRIES = 4_000_000
_MAX_NAMED = 200_000
_CHUNK = 1 << 20
_BLOCK = 64 << 10
_VARIANT_BIT = 0x80  # st_other: STO_AARCH64_VARIANT_PCS, STO_RISCV_VARIANT_CC

Name = Literal["DT_JMPREL", "DT_RELA", "DT_REL"]


@dataclass(frozen=True, slots=True)
class _Table:
    name: Name
    address: int
    size: int
    addends: bool


def read_relocations(
    image: Image,
    header: Header,
    segments: tuple[Segment, ...],
    dynamic: d.Dynamic,
    strings: d.Strings,
) -> tuple[Relocation, ...]:
    """Return every different (symbol, type, table), by table and then as the file orders them."""
    names = spelling.relocation_names(header.machine, header.wide)
    if names is None:
        machine = spelling.machine(header.machine)
        machine += " with 32 bits" if spelling.relocation_names(header.machine, True) else ""
        raise image.error(f"for {machine}, whose relocations are not known here")
    infos: list[tuple[Name, int]] = []
    entries = 0
    for table in _tables(image, dynamic):
        seen: dict[int, None] = {}
        for chunk in _chunks(image, header, segments, table):
            entries += len(chunk)
            seen.update(
                dict.fromkeys(i for (i,) in chunk if i > (0xFFFFFFFF if header.wide else 0xFF))
            )
            if entries > _MAX_ENTRIES or len(seen) + len(infos) > _MAX_NAMED:
                raise image.error("has more relocations than any known program: damaged?")
        infos.extend((table.name, info) for info in seen)
    shift = 32 if header.wide else 8
    indexes = {info >> shift for _, info in infos}
    symbols = _symbols(image, header, segments, dynamic, strings, indexes)
    return tuple(_named(infos, symbols, names, header, dynamic))


def _tables(image: Image, dynamic: d.Dynamic) -> Iterator[_Table]:
    slots, size = dynamic.get(d.DT_JMPREL), dynamic.get(d.DT_PLTRELSZ) or 0
    slots_end = None
    if slots is not None:
        kind = dynamic.get(d.DT_PLTREL)
        if kind not in (d.DT_RELA, d.DT_REL):
            raise image.error(f"damaged: DT_PLTREL is {kind}")
        slots_end = slots + size
        yield _Table("DT_JMPREL", slots, size, kind == d.DT_RELA)
    for name, tag, size_tag in (
        ("DT_RELA", d.DT_RELA, d.DT_RELASZ),
        ("DT_REL", d.DT_REL, d.DT_RELSZ),
    ):
        address, size = dynamic.get(tag), dynamic.get(size_tag) or 0
        if address is None:
            continue
        if slots is not None and address <= slots and slots_end == address + size:
            size = slots - address  # some linkers count DT_JMPREL's entries in here too
        yield _Table("DT_RELA" if name == "DT_RELA" else "DT_REL", address, size, tag == d.DT_RELA)


def _chunks(
    image: Image, header: Header, segments: tuple[Segment, ...], table: _Table
) -> Iterator[list[tuple[int]]]:
    """Yield the r_info of a table's entries, so many at a time that memory stays small."""
    word, pad = ("Q", "8x") if header.wide else ("I", "4x")
    form = struct.Struct(header.order + pad + word + (pad if table.addends else ""))
    if table.size % form.size:
        raise image.error(f"damaged: {table.name} has {table.size} bytes, not of {form.size} each")
    if not table.size:
        return
    offset, _ = locate(image, segments, table.address, table.size, table.name)
    step = _CHUNK // form.size * form.size
    for start in range(0, table.size, step):
        size = min(step, table.size - start)
        yield list(form.iter_unpack(image.read(offset + start, size, table.name)))


def _symbols(
    image: Image,
    header: Header,
    segments: tuple[Segment, ...],
    dynamic: d.Dynamic,
    strings: d.Strings,
    indexes: set[int],
) -> dict[int, tuple[str, int]]:
    """Return name and st_other of the dynamic symbols with these indexes."""
    if not indexes:
        return {}
    address = dynamic.get(d.DT_SYMTAB)
    if address is None:
        raise image.error("damaged: relocations name symbols, but there is no DT_SYMTAB")
    form = struct.Struct(header.order + ("IBBHQQ" if header.wide else "IIIBBH"))
    other = 2 if header.wide else 4
    offset, room = locate(image, segments, address, 0, "DT_SYMTAB")
    if max(indexes) >= room // form.size:
        raise image.error(f"damaged: a relocation names symbol {max(indexes)}, which is not there")
    per_block = _BLOCK // form.size
    block, start = b"", -per_block
    symbols = {}
    for index in sorted(indexes):
        if index >= start + per_block:
            start = index
            size = min(per_block * form.size, room - start * form.size)
            block = image.read(offset + start * form.size, size, "DT_SYMTAB")
        entry = form.unpack_from(block, (index - start) * form.size)
        symbols[index] = (strings.at(entry[0]), entry[other])
    return symbols


def _named(
    infos: list[tuple[Name, int]],
    symbols: dict[int, tuple[str, int]],
    names: Mapping[int, str],
    header: Header,
    dynamic: d.Dynamic,
) -> Iterator[Relocation]:
    shift, mask = (32, 0xFFFFFFFF) if header.wide else (8, 0xFF)
    variants = dynamic.get(d.DT_VARIANT.get(header.machine, -1)) is not None
    for table, info in infos:
        symbol, other = symbols[info >> shift]
        if symbol:  # a section symbol has no name, and nothing to bind
            type_ = spelling.relocation_name(names, info & mask)
            yield Relocation(symbol, type_, table, variants and bool(other & _VARIANT_BIT))
