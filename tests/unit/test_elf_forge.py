"""A maker of small ELF files, for the tests of `fixturegen.elf` that need no compiler."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fixturegen import elf

GLIBC = "/lib64/ld-linux-x86-64.so.2"
MUSL = "/lib/ld-musl-x86_64.so.1"
JUMP_SLOT, GLOB_DAT, RELATIVE = 7, 6, 8  # of x86-64


@dataclass
class Forge:
    """An ELF file in parts. `slots` and `others` are (symbol, type, st_other)."""

    wide: bool = True
    order: str = "<"
    machine: int = 62
    kind: int = 3
    interpreter: str | None = GLIBC
    needed: tuple[str, ...] = ("libc.so.6",)
    tags: tuple[tuple[int, int], ...] = ()
    slots: tuple[tuple[str, int, int], ...] = ()
    others: tuple[tuple[str, int, int], ...] = ()
    note: bytes = b""
    relro: bool = True
    dynamic: bool = True
    replaced: dict[int, int] = field(default_factory=dict)

    def bytes(self) -> bytes:
        word = self.order + ("Q" if self.wide else "I")
        body = bytearray()
        start = 4096
        place: dict[str, tuple[int, int]] = {}

        def put(name: str, data: bytes) -> None:
            body.extend(b"\0" * (-len(body) % 8))
            place[name] = (start + len(body), len(data))
            body.extend(data)

        strings, names = bytearray(b"\0"), {}
        for text in [*self.needed, *(s for s, _, _ in (*self.slots, *self.others))]:
            if text not in names:
                names[text] = len(strings)
                strings += text.encode("utf-8", "surrogateescape") + b"\0"
        symbols = [(0, 0)]
        put("jmprel", b"".join(self._reloc(each, symbols, names) for each in self.slots))
        put("rela", b"".join(self._reloc(each, symbols, names) for each in self.others))
        put("symtab", b"".join(self._symbol(*each) for each in symbols))
        put("strtab", bytes(strings))
        put("interp", (self.interpreter or "").encode() + b"\0")
        put("note", self.note)
        entries = [(1, names[each]) for each in self.needed]
        entries += [(5, place["strtab"][0]), (10, len(strings)), (6, place["symtab"][0])]
        entries += [(23, place["jmprel"][0]), (2, place["jmprel"][1]), (20, 7)]
        entries += [(7, place["rela"][0]), (8, place["rela"][1]), *self.tags]
        entries = [(tag, self.replaced.get(tag, value)) for tag, value in entries] + [(0, 0)]
        put("dynamic", b"".join(struct.pack(f"{word}{word[1]}", *each) for each in entries))
        return self._headers(place, start, len(body)).ljust(start, b"\0") + bytes(body)

    def _reloc(
        self, each: tuple[str, int, int], symbols: list[tuple[int, int]], names: dict[str, int]
    ) -> bytes:
        symbol, kind, other = each
        index = 0
        if symbol:
            symbols.append((names[symbol], other))
            index = len(symbols) - 1
        if self.wide:
            return struct.pack(self.order + "QQq", 0, index << 32 | kind, 0)
        return struct.pack(self.order + "IIi", 0, index << 8 | kind, 0)

    def _symbol(self, name: int, other: int) -> bytes:
        if self.wide:
            return struct.pack(self.order + "IBBHQQ", name, 0x12, other, 0, 0, 0)
        return struct.pack(self.order + "IIIBBH", name, 0, 0, 0x12, other, 0)

    def _headers(self, place: dict[str, tuple[int, int]], start: int, size: int) -> bytes:
        segments = [(1, 0, start + size)]
        if self.dynamic:
            segments.append((2, *place["dynamic"]))
        if self.interpreter is not None:
            segments.append((3, *place["interp"]))
        if self.note:
            segments.append((4, *place["note"]))
        if self.relro:
            segments.append((0x6474E552, 0, 0))
        ident = b"\x7fELF" + bytes([1 + self.wide, 1 + (self.order == ">"), 1]) + b"\0" * 9
        form = "HHIQQQIHHHHHH" if self.wide else "HHIIIIIHHHHHH"
        sizes = (64, 56) if self.wide else (52, 32)
        fields = (self.kind, self.machine, 1, 0, sizes[0], 0, 0, *sizes, len(segments), 0, 0, 0)
        table = b"".join(self._segment(*each) for each in segments)
        return ident + struct.pack(self.order + form, *fields) + table

    def _segment(self, kind: int, offset: int, size: int) -> bytes:
        if self.wide:
            return struct.pack(self.order + "II6Q", kind, 4, offset, offset, offset, size, size, 8)
        return struct.pack(self.order + "8I", kind, offset, offset, offset, size, size, 4, 8)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.bytes())
        return path


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_forged_file_reads_as_it_was_made(tmp_path: Path, wide: bool, order: str) -> None:
    note = struct.pack(order + "III", 4, 4, 3) + b"GNU\0" + b"\xde\xad\xbe\xef"
    forged = Forge(
        wide=wide,
        order=order,
        tags=((30, 8), (0x6FFFFFFB, 0x08000001)),
        slots=(("random", JUMP_SLOT, 0),),
        others=(("malloc", GLOB_DAT, 0), ("", RELATIVE, 0), ("malloc", GLOB_DAT, 0)),
        note=note,
    )
    facts = elf.read(forged.write(tmp_path / "forged"))
    assert facts.elf_class == ("ELF64" if wide else "ELF32")
    assert facts.type == "DYN (Position-Independent Executable file)"
    assert facts.interpreter == GLIBC
    assert facts.needed == ("libc.so.6",)
    assert (facts.flags, facts.flags_1, facts.relro) == (("BIND_NOW",), ("NOW", "PIE"), "full")
    assert facts.build_id == "deadbeef"
    assert [(each.symbol, each.type, each.table) for each in facts.relocations][:2] == [
        ("random", "R_X86_64_JUMP_SLOT", "DT_JMPREL"),
        ("malloc", "R_X86_64_GLOB_DAT", "DT_RELA"),
    ]
