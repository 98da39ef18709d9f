"""The facts as frozen values, and as plain data for JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Relro = Literal["none", "partial", "full"]
Linking = Literal["dynamic", "static"]
Verdict = Literal["lazy", "bound", "static", "absent"]


@dataclass(frozen=True, slots=True)
class Relocation:
    """A dynamic relocation that names a symbol.

    `type` is readelf's name for it, `R_X86_64_JUMP_SLOT`. `table` is the tag of the table it
    stands in. `variant` says that the symbol has a calling convention of its own and that the
    file tells ld.so so (AArch64 and RISC-V vector functions): glibc never binds it lazily.
    """

    symbol: str
    type: str
    table: Literal["DT_JMPREL", "DT_RELA", "DT_REL"]
    variant: bool = False

    @property
    def is_slot(self) -> bool:
        """Whether it is one that ld.so may leave for later: a jump slot in DT_JMPREL."""
        # PowerPC and s390 spell it JMP_SLOT.
        return self.table == "DT_JMPREL" and self.type.endswith(("_JUMP_SLOT", "_JMP_SLOT"))


@dataclass(frozen=True, slots=True)
class ElfFacts:
    """What the file says, in readelf's own words.

    `flags`, `flags_1`: the words of DT_FLAGS and DT_FLAGS_1, lowest bit first; what readelf has no
    word for keeps its value (`0x20`). `bind_now_tag`: the older tag DT_BIND_NOW is there. `lines`:
    the lines of `readelf -d` for FLAGS, FLAGS_1 and BIND_NOW, byte for byte. `soname` is the name
    of a library, `build_id` the linker's digest; each is "" if there is none. `defined` and
    `missing` are about the names that `read` was asked to look up: those that the file defines,
    and those that its full symbol table, if it was not stripped, does not define.
    """

    path: Path
    machine: str
    elf_class: str
    type: str
    linking: Linking
    pie: bool
    relro: Relro
    interpreter: str | None
    needed: tuple[str, ...]
    flags: tuple[str, ...]
    flags_1: tuple[str, ...]
    bind_now_tag: bool
    build_id: str
    lines: tuple[str, ...]
    relocations: tuple[Relocation, ...]
    defined: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    soname: str = ""

    @property
    def binds_now(self) -> bool:
        """Whether the file itself asks to be bound at start-up, in any of the three ways."""
        return self.bind_now_tag or "BIND_NOW" in self.flags or "NOW" in self.flags_1

    @property
    def is_library(self) -> bool:
        """Whether it is a shared library. libc.so.6 is one, though it can be started too."""
        return self.linking == "dynamic" and self.type.startswith("DYN") and not self.pie


@dataclass(frozen=True, slots=True)
class Binding:
    """When one symbol is bound, and why.

    "lazy": at its first call; "bound": when the program starts; "static": inside the file, no
    dynamic linking; "absent": the file neither asks for it nor defines it, as far as it tells.
    """

    symbol: str
    relocation: Relocation | None
    verdict: Verdict
    reason: str


def to_json(facts: ElfFacts, bindings: Iterable[Binding]) -> dict[str, Any]:
    """Return the facts and the bindings as dicts, lists, strings and booleans."""
    return {
        "path": str(facts.path),
        "machine": facts.machine,
        "class": facts.elf_class,
        "type": facts.type,
        "linking": facts.linking,
        "pie": facts.pie,
        "relro": facts.relro,
        "interpreter": facts.interpreter,
        "needed": list(facts.needed),
        "flags": list(facts.flags),
        "flags_1": list(facts.flags_1),
        "bind_now_tag": facts.bind_now_tag,
        "binds_now": facts.binds_now,
        "build_id": facts.build_id,
        "readelf_lines": list(facts.lines),
        "symbols": [_binding_to_json(each) for each in bindings],
    }


def _binding_to_json(binding: Binding) -> dict[str, Any]:
    relocation = binding.relocation
    return {
        "symbol": binding.symbol,
        "relocation": relocation.type if relocation else None,
        "table": relocation.table if relocation else None,
        "verdict": binding.verdict,
        "reason": binding.reason,
    }
