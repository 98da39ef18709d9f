"""The rule for lazy binding and readelf's words, on made-up facts and forged files."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_elf_forge import GLIBC, GLOB_DAT, JUMP_SLOT, MUSL, Forge

from fixturegen import elf
from fixturegen.elf import spelling
from fixturegen.errors import CheckError

SLOT = elf.Relocation("random", "R_X86_64_JUMP_SLOT", "DT_JMPREL")
GLOB = elf.Relocation("random", "R_X86_64_GLOB_DAT", "DT_RELA")
LAZY = elf.ElfFacts(
    path=Path("probe"),
    machine="Advanced Micro Devices X86-64",
    elf_class="ELF64",
    type="DYN (Position-Independent Executable file)",
    linking="dynamic",
    pie=True,
    relro="partial",
    interpreter=GLIBC,
    needed=("libc.so.6",),
    flags=(),
    flags_1=("PIE",),
    bind_now_tag=False,
    build_id="",
    lines=(" 0x000000006ffffffb (FLAGS_1)            Flags: PIE",),
    relocations=(SLOT,),
)
LD_SO = replace(LAZY, pie=False, interpreter=None, needed=())
STATIC = replace(LAZY, linking="static", interpreter=None, needed=(), relocations=())


@pytest.mark.parametrize(
    ("facts", "verdict", "reason"),
    [
        (LAZY, "lazy", "JUMP_SLOT in DT_JMPREL, no BIND_NOW, interpreter is glibc's"),
        (replace(LAZY, flags=("BIND_NOW",)), "bound", "FLAGS has BIND_NOW"),
        (replace(LAZY, flags_1=("NOW", "PIE")), "bound", "FLAGS_1 has NOW"),
        (replace(LAZY, bind_now_tag=True), "bound", "there is a tag BIND_NOW"),
        (replace(LAZY, relocations=(GLOB,)), "bound", "GLOB_DAT, outside DT_JMPREL"),
        (
            replace(LAZY, relocations=(replace(SLOT, table="DT_RELA"),)),
            "bound",
            "outside DT_JMPREL",
        ),
        (replace(LAZY, relocations=(GLOB, SLOT)), "lazy", "JUMP_SLOT in DT_JMPREL"),
        (replace(LAZY, relocations=(replace(SLOT, variant=True),)), "bound", "calling convention"),
        (replace(LAZY, interpreter=MUSL), "bound", "musl's ld.so binds everything at start-up"),
        (
            replace(LAZY, interpreter="/system/bin/linker64", needed=("libc.so",)),
            "bound",
            "not known to bind lazily",
        ),
        (replace(LAZY, interpreter="/opt/glibc/ld-2.36.so"), "lazy", "interpreter is glibc's"),
        (replace(LAZY, interpreter="/lib/ld-2.31.so", needed=()), "lazy", "interpreter is glibc's"),
        (replace(LAZY, interpreter="/lib/ld.so.1", needed=()), "lazy", "interpreter is glibc's"),
        (replace(LAZY, interpreter="/opt/a-copy"), "lazy", "interpreter is glibc's"),
        (replace(LAZY, interpreter="/libexec/ld-elf.so.1", needed=()), "bound", "not known to"),
        (replace(LD_SO, soname="ld-linux-x86-64.so.2"), "bound", "it is ld.so itself"),
        (replace(LD_SO, soname="ld64.so.2"), "bound", "it is ld.so itself"),
        (replace(LD_SO, soname="libplugin.so"), "lazy", "if glibc's ld.so loads it"),
        (replace(LAZY, relocations=()), "absent", "no relocation names it"),
        (replace(LAZY, relocations=(), defined=frozenset({"random"})), "static", "in the file"),
        (replace(LAZY, interpreter=None, pie=False), "lazy", "if glibc's ld.so loads it"),
        (replace(LAZY, interpreter=None, needed=("libc.so",)), "bound", "musl's ld.so"),
        (STATIC, "static", "no dynamic linking"),
        (replace(STATIC, missing=frozenset({"random"})), "absent", "the symbol table does not"),
        (replace(STATIC, relocations=(SLOT,)), "bound", "there is no interpreter"),
    ],
)
def test_the_rule(facts: elf.ElfFacts, verdict: str, reason: str) -> None:
    found = elf.binding(facts, "random")
    assert found.verdict == verdict
    assert reason in found.reason
    assert "\n" not in found.reason


@pytest.mark.parametrize(
    ("value", "verdict"), [(None, "lazy"), ("", "lazy"), ("0", "bound"), ("1", "bound")]
)
def test_ld_bind_now_means_now_unless_empty(value: str | None, verdict: str) -> None:
    assert elf.binding(LAZY, "random", bind_now_env=value).verdict == verdict


def test_ld_bind_not_leaves_it_lazy_and_says_that_every_call_resolves() -> None:
    found = elf.binding(LAZY, "random", bind_not=True)
    assert found.verdict == "lazy"
    assert found.reason.endswith("resolved anew on every call")
    assert "anew" not in elf.binding(LAZY, "random", bind_now_env="1", bind_not=True).reason


def test_bindings_judge_each_symbol_once_and_by_name() -> None:
    facts = replace(LAZY, relocations=(SLOT, replace(SLOT, symbol="abs"), GLOB))
    assert list(elf.bindings(facts)) == [elf.binding(facts, "abs"), elf.binding(facts, "random")]


def test_words_of_flags_are_readelfs_and_bits_without_a_word_keep_their_value() -> None:
    assert spelling.flags(0b10101001) == ("ORIGIN", "BIND_NOW", "0x20", "0x80")
    assert spelling.flags_line(0b101001, wide=True).endswith("ORIGIN BIND_NOW unknown")
    assert spelling.flags_1(0x08000001) == ("NOW", "PIE")
    assert spelling.flags_1(0x180000001) == ("NOW", "0x180000000")
    assert spelling.flags_1(0x70000000) == ("KMOD", "WEAKFILTER", "NOCOMMON")


def test_lines_are_readelfs_byte_for_byte() -> None:
    now = " 0x000000006ffffffb (FLAGS_1)            Flags: NOW PIE"
    assert spelling.flags_1_line(0x08000001, wide=True) == now
    assert spelling.flags_1_line(0, wide=False) == f" 0x6ffffffb (FLAGS_1){' ' * 20}Flags: None"
    assert spelling.bind_now_line(wide=True) == f" 0x0000000000000018 (BIND_NOW){' ' * 11}"


@pytest.mark.parametrize(
    ("machine", "wide", "name"),
    [
        (8, False, "MIPS R3000"),
        (43, True, "Sparc v9"),
        (15, False, "HPPA"),
        (4, False, "MC68000"),
        (42, False, "Renesas / SuperH SH"),
        (94, False, "XTENSA"),
        (183, False, "AArch64 with 32 bits"),
    ],
)
def test_a_machine_whose_relocations_are_not_read_is_refused_by_name(
    tmp_path: Path, machine: int, wide: bool, name: str
) -> None:
    forged = Forge(machine=machine, wide=wide, order=">", slots=(("random", JUMP_SLOT, 0),))
    with pytest.raises(CheckError, match=f"for {name}.*, whose relocations are not known here"):
        elf.read(forged.write(tmp_path / "forged"))
    static = replace(forged, dynamic=False, interpreter=None, kind=2).write(tmp_path / "static")
    assert elf.read(static).machine == name.removesuffix(" with 32 bits")


def test_a_library_tells_its_own_name(tmp_path: Path) -> None:
    forged = Forge(interpreter=None, needed=("ld64.so.1",), tags=((14, 1),))
    assert elf.read(forged.write(tmp_path / "forged")).soname == "ld64.so.1"  # the only string


def test_json_is_plain_data_and_survives_a_name_that_is_no_text(tmp_path: Path) -> None:
    forged = Forge(slots=(("a\udcffb\n", JUMP_SLOT, 0),), needed=("lib\u202e.so",))
    facts = elf.read(forged.write(tmp_path / "forged"))
    data = elf.to_json(facts, elf.bindings(facts))
    assert json.loads(json.dumps(data)) == data
    assert data["symbols"][0]["symbol"] == "a\\xffb\n"
    assert data["needed"] == ["lib\u202e.so"]


@pytest.mark.parametrize(
    ("machine", "tag", "slot"),
    [(183, 0x70000005, 1026), (243, 0x70000001, 5)],
    ids=["aarch64", "riscv64"],
)
def test_a_symbol_with_its_own_calling_convention_is_bound_at_start_up(
    tmp_path: Path, machine: int, tag: int, slot: int
) -> None:
    slots = (("sin", slot, 0), ("_ZGVnN2v_sin", slot, 0x80))
    forged = Forge(machine=machine, interpreter="/lib/ld-linux-x.so.1", slots=slots)
    for tags, verdict in (((), "lazy"), (((tag, 0),), "bound")):
        facts = elf.read(replace(forged, tags=tags).write(tmp_path / "forged"))
        assert elf.binding(facts, "sin").verdict == "lazy"
        assert elf.binding(facts, "_ZGVnN2v_sin").verdict == verdict


def test_slots_that_dt_rela_counts_too_are_still_slots(tmp_path: Path) -> None:
    # DT_JMPREL directly behind DT_RELA, and DT_RELASZ over both: PowerPC's linkers did this.
    forged = Forge(slots=(("random", JUMP_SLOT, 0),))
    start = 4096  # where the forge puts DT_JMPREL
    forged.replaced = {7: start, 8: 24}
    facts = elf.read(forged.write(tmp_path / "forged"))
    assert [each.table for each in facts.relocations] == ["DT_JMPREL"]


def test_an_old_pie_without_a_flag_is_told_by_dt_debug(tmp_path: Path) -> None:
    forged = Forge(others=(("malloc", GLOB_DAT, 0),))
    assert not elf.read(forged.write(tmp_path / "library")).pie
    assert elf.read(replace(forged, tags=((21, 0),)).write(tmp_path / "pie")).pie
    assert not elf.read(replace(forged, tags=((21, 0),), kind=2).write(tmp_path / "exec")).pie


def test_elftools_is_not_imported_before_it_is_used() -> None:
    code = "import sys, fixturegen.elf, fixturegen.cli.inspect; print('elftools' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
