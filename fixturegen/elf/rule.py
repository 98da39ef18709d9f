"""The rule for lazy binding, measured on glibc 2.36 and musl 1.2.

A first call goes through the resolver only if all hold: glibc's ld.so starts the program; none of
DF_BIND_NOW, DF_1_NOW and the tag DT_BIND_NOW is there; the symbol has a jump slot in DT_JMPREL;
LD_BIND_NOW is unset or empty. The flags alone are not enough: rustc links with `-z lazy` on
request and still calls through GLOB_DAT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from fixturegen.elf.facts import Binding, ElfFacts, Relocation
from fixturegen.visible import escape

# How glibc's ld.so is called: ld-linux-x86-64.so.2; ld64.so.1 on s390x and PowerPC64; ld.so.1 on
# PowerPC, MIPS and others; ld-2.31.so before glibc 2.34.
_LOADER = re.compile(r"ld-linux.*\.so\.\d+|ld64\.so\.\d|ld\.so\.1$|ld-2\.\d+(\.\d+)*\.so$")


def binding(
    facts: ElfFacts, symbol: str, bind_now_env: str | None = None, bind_not: bool = False
) -> Binding:
    """Return when calls of `symbol` from this file are bound.

    `bind_now_env` is the value of LD_BIND_NOW in the program's environment, None if unset;
    `bind_not` says that LD_BIND_NOT is set, which makes a lazy call resolve every time.
    """
    entries = [each for each in facts.relocations if each.symbol == symbol]
    if not entries:
        return _unrelocated(facts, symbol)
    return _judge(facts, symbol, entries, _why_bound(facts, bind_now_env), bind_not)


def bindings(
    facts: ElfFacts, bind_now_env: str | None = None, bind_not: bool = False
) -> Iterator[Binding]:
    """Yield the binding of every symbol that a relocation names, by name."""
    why_bound = _why_bound(facts, bind_now_env)
    ordered = sorted(facts.relocations, key=lambda each: each.symbol)
    for symbol, entries in groupby(ordered, key=lambda each: each.symbol):
        yield _judge(facts, symbol, list(entries), why_bound, bind_not)


def _judge(
    facts: ElfFacts, symbol: str, entries: Sequence[Relocation], why_bound: str, bind_not: bool
) -> Binding:
    slot = next((each for each in entries if each.is_slot), None)
    if slot is None:
        kind = _kind(entries[0])
        where = "" if entries[0].table == "DT_JMPREL" else ", outside DT_JMPREL"
        return Binding(symbol, entries[0], "bound", f"{kind}{where}: filled in at start-up")
    if slot.variant and not why_bound:
        why_bound = "its calling convention is its own, and ld.so binds such symbols at start-up"
    if why_bound:
        return Binding(symbol, slot, "bound", f"{_kind(slot)} in DT_JMPREL, but {why_bound}")
    again = ", and LD_BIND_NOT: resolved anew on every call" if bind_not else ""
    reason = f"{_kind(slot)} in DT_JMPREL, no BIND_NOW, {_lazy_loader(facts)}{again}"
    return Binding(symbol, slot, "lazy", reason)


def _unrelocated(facts: ElfFacts, symbol: str) -> Binding:
    if symbol in facts.defined:
        reason = "defined in the file itself, and no relocation names it"
        return Binding(symbol, None, "static", reason)
    if symbol in facts.missing:
        reason = "no relocation names it, and the symbol table does not define it"
        return Binding(symbol, None, "absent", reason)
    if facts.linking == "static":
        reason = "no dynamic linking: every call was resolved when the file was linked"
        return Binding(symbol, None, "static", reason)
    return Binding(symbol, None, "absent", "no relocation names it: not called, or defined inside")


def _why_bound(facts: ElfFacts, bind_now_env: str | None) -> str:
    """Return why the file's jump slots are bound at start-up all the same, "" if they are not."""
    said = [
        name
        for name, there in (
            ("FLAGS has BIND_NOW", "BIND_NOW" in facts.flags),
            ("FLAGS_1 has NOW", "NOW" in facts.flags_1),
            ("there is a tag BIND_NOW", facts.bind_now_tag),
        )
        if there
    ]
    if said:
        return " and ".join(said)
    if facts.linking == "static":
        return "there is no interpreter: the program's own start-up code binds it"
    if facts.interpreter is None and _LOADER.match(facts.soname):
        return "it is ld.so itself, which binds all of its own symbols before anything else"
    loader = _loader(facts)
    if loader == "musl":
        return "musl's ld.so binds everything at start-up"
    if loader == "other" and facts.interpreter is not None:
        return f"the interpreter {escape(facts.interpreter)} is not known to bind lazily"
    if bind_now_env:  # glibc looks only whether the value is empty
        return f"LD_BIND_NOW={escape(bind_now_env)} (any value but the empty one means now)"
    return ""


def _loader(facts: ElfFacts) -> str:
    """Return whose ld.so starts the file: "glibc", "musl" or "other"."""
    name = (facts.interpreter or "").rpartition("/")[2]
    if name.startswith("ld-musl") or any(each.startswith("libc.musl") for each in facts.needed):
        return "musl"
    # However glibc's ld.so is called, no other can load its libc.
    if "libc.so.6" in facts.needed or any(map(_LOADER.match, (name, *facts.needed))):
        return "glibc"
    return "musl" if not name and "libc.so" in facts.needed else "other"


def _lazy_loader(facts: ElfFacts) -> str:
    if facts.interpreter is not None:
        return "interpreter is glibc's"
    return "if glibc's ld.so loads it without RTLD_NOW"


def _kind(relocation: Relocation) -> str:
    """Return a relocation type without its machine: R_X86_64_JUMP_SLOT as JUMP_SLOT."""
    for machine in ("R_X86_64_", "R_AARCH64_", "R_RISCV_", "R_386_", "R_ARM_"):
        if relocation.type.startswith(machine):
            return relocation.type.removeprefix(machine)
    return relocation.type
