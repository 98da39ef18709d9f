"""readelf's words: names of machines, flags and relocations.

The names come from pyelftools. What it lacks is added here, each time with the reason; the
functional tests hold all of it against the installed readelf.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

# readelf of binutils 2.40 prints these three; pyelftools 0.33 ends at PIE.
_LATER_FLAGS_1 = {0x10000000: "KMOD", 0x20000000: "WEAKFILTER", 0x40000000: "NOCOMMON"}

# pyelftools knows these numbers and has no description of them.
_MACHINES = {15: "HPPA", 42: "Renesas / SuperH SH", 43: "Sparc v9"}

# pyelftools has no RISC-V relocations. These are the dynamic ones of the RISC-V psABI.
_RISCV = {
    0: "R_RISCV_NONE",
    1: "R_RISCV_32",
    2: "R_RISCV_64",
    3: "R_RISCV_RELATIVE",
    4: "R_RISCV_COPY",
    5: "R_RISCV_JUMP_SLOT",
    6: "R_RISCV_TLS_DTPMOD32",
    7: "R_RISCV_TLS_DTPMOD64",
    8: "R_RISCV_TLS_DTPREL32",
    9: "R_RISCV_TLS_DTPREL64",
    10: "R_RISCV_TLS_TPREL32",
    11: "R_RISCV_TLS_TPREL64",
    12: "R_RISCV_TLSDESC",
    58: "R_RISCV_IRELATIVE",
}

# pyelftools' names where readelf's differ.
_SPELLING = {
    "R_AARCH64_TLS_DTPMOD": "R_AARCH64_TLS_DTPMOD64",
    "R_AARCH64_TLS_DTPREL": "R_AARCH64_TLS_DTPREL64",
    "R_AARCH64_TLS_TPREL": "R_AARCH64_TLS_TPREL64",
}

_TABLES = {
    3: "ENUM_RELOC_TYPE_i386",
    20: "ENUM_RELOC_TYPE_PPC",
    21: "ENUM_RELOC_TYPE_PPC64",
    22: "ENUM_RELOC_TYPE_S390X",
    40: "ENUM_RELOC_TYPE_ARM",
    62: "ENUM_RELOC_TYPE_x64",
    183: "ENUM_RELOC_TYPE_AARCH64",
    258: "ENUM_RELOC_TYPE_LOONGARCH",
}
RISCV = 243
AARCH64 = 183


def machine(number: int) -> str:
    """Return readelf's name of an e_machine, else elf.h's; `<unknown>: 0x1234` if it has none."""
    from elftools.elf.descriptions import describe_e_machine
    from elftools.elf.enums import ENUM_E_MACHINE

    for name, value in ENUM_E_MACHINE.items():
        if value == number:
            described = str(describe_e_machine(name))
            plain = _MACHINES.get(number, name.removeprefix("EM_"))
            return plain if described == "<unknown>" else described
    return f"<unknown>: 0x{number:x}"


@cache
def relocation_names(number: int, wide: bool) -> Mapping[int, str] | None:
    """Return type number to name for an e_machine, None if this knows no names for it."""
    if number == RISCV:
        return _RISCV
    if number not in _TABLES or (number == AARCH64 and not wide):  # ILP32 has numbers of its own
        return None
    from elftools.elf import enums

    table = getattr(enums, _TABLES[number], {})
    # construct's enums carry a `_default_` that is no number.
    return {v: _SPELLING.get(k, k) for k, v in table.items() if isinstance(v, int)}


def relocation_name(names: Mapping[int, str], number: int) -> str:
    """Return the name of a relocation type, in readelf's words also if it has none."""
    return names.get(number) or f"unrecognized: {number:x}"


def flags(value: int) -> tuple[str, ...]:
    """Return the words of DT_FLAGS, one for each bit, lowest first; `0x20` where there is none."""
    from elftools.elf.enums import ENUM_DT_FLAGS

    names = {bit: name.removeprefix("DF_") for name, bit in ENUM_DT_FLAGS.items()}
    return tuple(names.get(bit, f"0x{bit:x}") for bit in _bits(value))


def flags_1(value: int) -> tuple[str, ...]:
    """Return the words of DT_FLAGS_1, lowest bit first; the rest is one number, `0x180000000`."""
    from elftools.elf.enums import ENUM_DT_FLAGS_1

    names = {bit: name.removeprefix("DF_1_") for name, bit in ENUM_DT_FLAGS_1.items()}
    names.update(_LATER_FLAGS_1)
    known = [names[bit] for bit in _bits(value) if bit in names]
    rest = sum(bit for bit in _bits(value) if bit not in names)
    return (*known, f"0x{rest:x}") if rest else tuple(known)


def _bits(value: int) -> list[int]:
    return [1 << place for place in range(value.bit_length()) if value >> place & 1]


def dynamic_line(tag: int, name: str, text: str, wide: bool) -> str:
    """Return one line of `readelf -d`: the widths are those of its printf."""
    address = f"0x{tag:016x}" if wide else f"0x{tag:08x}"
    return f" {address} ({name}){' ' * ((19 if wide else 27) - len(name))}{text}"


def flags_line(value: int, wide: bool) -> str:
    """Return readelf's line for DT_FLAGS, in which a bit without a word is "unknown"."""
    words = ["unknown" if word.startswith("0x") else word for word in flags(value)]
    return dynamic_line(0x1E, "FLAGS", " ".join(words), wide)


def flags_1_line(value: int, wide: bool) -> str:
    """Return readelf's line for DT_FLAGS_1."""
    words = [word.removeprefix("0x") for word in flags_1(value)]
    return dynamic_line(0x6FFFFFFB, "FLAGS_1", f"Flags: {' '.join(words) or 'None'}", wide)


def bind_now_line(wide: bool) -> str:
    """Return readelf's line for the tag DT_BIND_NOW, trailing blanks included."""
    return dynamic_line(0x18, "BIND_NOW", "", wide)
