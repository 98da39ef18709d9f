"""From a path to `ElfFacts`: the one place that opens a file."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path

from fixturegen.elf import dynamic as d
from fixturegen.elf import spelling
from fixturegen.elf.facts import ElfFacts, Linking, Relocation, Relro
from fixturegen.elf.image import (
    PT_GNU_RELRO,
    PT_INTERP,
    Header,
    Image,
    Segment,
    opened,
    read_header,
    read_segments,
)
from fixturegen.elf.notes import read_build_id
from fixturegen.elf.relocations import read_relocations
from fixturegen.elf.symbols import look_up

_MAX_INTERPRETER = 4096  # PATH_MAX, with which the kernel reads it


def read(path: Path, symbols: Iterable[str] = ()) -> ElfFacts:
    """Return what a linked ELF file says about dynamic linking.

    `symbols` are names to look up also where no relocation mentions them, so that `binding`
    can tell "defined inside" from "not there"; they cost a pass over the symbol table. Raises
    CheckError, one line, if the file cannot be read, is no linked ELF file or is damaged.
    """
    with opened(path) as image:
        try:
            return _facts(image, tuple(symbols))
        except (struct.error, OverflowError) as error:
            raise image.error(f"damaged: {error}") from error
        except MemoryError as error:
            raise image.error("reading it needs more memory than there is") from error


def _facts(image: Image, names: tuple[str, ...]) -> ElfFacts:
    header = read_header(image)
    segments = read_segments(image, header)
    dynamic = d.read_dynamic(image, header, segments) or d.Dynamic(())
    needed, soname, relocations = _linked(image, header, segments, dynamic)
    interpreter = _interpreter(image, segments)
    flags = spelling.flags(dynamic.get(d.DT_FLAGS) or 0)
    flags_1 = spelling.flags_1(dynamic.get(d.DT_FLAGS_1) or 0)
    tag = dynamic.get(d.DT_BIND_NOW) is not None
    # Before binutils 2.26 and in old lld a PIE has no flag; only programs have DT_DEBUG.
    unmarked = interpreter is not None and dynamic.get(d.DT_DEBUG) is not None
    pie = header.type == 3 and ("PIE" in flags_1 or unmarked)
    linking: Linking = "dynamic" if dynamic.entries else "static"
    if interpreter is None and (pie or header.type == 2):
        linking = "static"  # static-pie: its dynamic section is for its own start-up code
    relro: Relro = "none"
    if any(segment.type == PT_GNU_RELRO for segment in segments):
        relro = "full" if tag or "BIND_NOW" in flags or "NOW" in flags_1 else "partial"
    defined, missing = look_up(image, header, names)
    return ElfFacts(
        path=image.path,
        machine=spelling.machine(header.machine),
        elf_class="ELF64" if header.wide else "ELF32",
        type=_type(header, flags_1),
        linking=linking,
        pie=pie,
        relro=relro,
        interpreter=interpreter,
        needed=needed,
        flags=flags,
        flags_1=flags_1,
        bind_now_tag=tag,
        build_id=read_build_id(image, header, segments),
        lines=dynamic.lines(header.wide),
        relocations=relocations,
        defined=defined,
        missing=missing,
        soname=soname,
    )


def _linked(
    image: Image, header: Header, segments: tuple[Segment, ...], dynamic: d.Dynamic
) -> tuple[tuple[str, ...], str, tuple[Relocation, ...]]:
    """Return the libraries that it needs, its own name as one, and its relocations."""
    if not dynamic.entries:
        return (), "", ()
    strings = d.Strings(image, segments, dynamic)
    needed = tuple(strings.at(place) for place in dynamic.all(d.DT_NEEDED))
    name = dynamic.get(d.DT_SONAME)
    soname = "" if name is None else strings.at(name)
    return needed, soname, read_relocations(image, header, segments, dynamic, strings)


def _interpreter(image: Image, segments: tuple[Segment, ...]) -> str | None:
    segment = next((each for each in segments if each.type == PT_INTERP), None)
    if segment is None:
        return None
    data = image.read(segment.offset, min(segment.size, _MAX_INTERPRETER), "PT_INTERP")
    return data.partition(b"\0")[0].decode("utf-8", "backslashreplace")


def _type(header: Header, flags_1: tuple[str, ...]) -> str:
    """Return readelf's words: they go by the flag alone."""
    if header.type == 2:
        return "EXEC (Executable file)"
    pie = "PIE" in flags_1
    return f"DYN ({'Position-Independent Executable file' if pie else 'Shared object file'})"
