"""What the processor is: the fields of proc/cpuinfo."""

from __future__ import annotations

import re

from fixturegen.machine.tree import LARGE, Tree, printable
from fixturegen.machine.values import Unknown

# Arm's Main ID Register: implementer 0x41 and the part numbers of Arm's own cores
# (Linux, arch/arm64/include/asm/cputype.h), since proc/cpuinfo has no model name there.
ARM_PARTS = {
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD48: "Cortex-X2",
    0xD49: "Neoverse-N2",
    0xD4B: "Cortex-A78C",
    0xD4D: "Cortex-A715",
    0xD4E: "Cortex-X3",
    0xD4F: "Neoverse-V2",
    0xD80: "Cortex-A520",
    0xD81: "Cortex-A720",
    0xD82: "Cortex-X4",
    0xD84: "Neoverse-V3",
    0xD8E: "Neoverse-N3",
}
IMPLEMENTERS = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x51: "Qualcomm",
    0x61: "Apple",
    0xC0: "Ampere",
}
Entries = list[dict[str, str]]


def cpuinfo(tree: Tree) -> Entries | Unknown:
    """Return proc/cpuinfo as one dict for each block; at least one, else Unknown."""
    text = tree.text("proc/cpuinfo", LARGE)
    if isinstance(text, Unknown):
        return text
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        pairs = (line.split(":", 1) for line in block.splitlines() if ":" in line)
        entry = {key.strip(): value.strip() for key, value in pairs}
        if entry:
            blocks.append(entry)
    return blocks or Unknown("/proc/cpuinfo holds no fields")


def model(entries: Entries | Unknown) -> str | Unknown:
    """Return the processor's name; distinct names of hybrid Arm cores are joined by ` + `."""
    if isinstance(entries, Unknown):
        return entries
    for key in ("model name", "cpu model", "cpu", "uarch", "Processor"):
        if name := next((e[key] for e in entries if e.get(key)), ""):
            return printable(name)
    names = dict.fromkeys(name for e in entries if (name := _arm_name(e)))
    return " + ".join(names) or Unknown("/proc/cpuinfo has no model name")


def vendor(entries: Entries | Unknown) -> str | Unknown:
    """Return `vendor_id`, or Arm's implementer."""
    if isinstance(entries, Unknown):
        return entries
    if name := next((e["vendor_id"] for e in entries if e.get("vendor_id")), ""):
        return printable(name)
    for entry in entries:
        code = _code(entry.get("CPU implementer", ""))
        if code is not None:
            return IMPLEMENTERS.get(code, f"implementer {code:#x}")
    return Unknown("/proc/cpuinfo has no vendor")


def number(entries: Entries | Unknown, *keys: str) -> int | Unknown:
    """Return the first block's decimal or 0x number under one of `keys`."""
    if isinstance(entries, Unknown):
        return entries
    for key in keys:
        code = _code(next((e[key] for e in entries if key in e), ""))
        if code is not None:
            return code
    return Unknown(f"/proc/cpuinfo has no {keys[0]}")


def field(entries: Entries | Unknown, key: str) -> str | Unknown:
    """Return the first block's text under `key`; several distinct ones joined by a comma."""
    if isinstance(entries, Unknown):
        return entries
    values = dict.fromkeys(e[key] for e in entries if e.get(key))
    return printable(", ".join(values)) or Unknown(f"/proc/cpuinfo has no {key}")


def _arm_name(entry: dict[str, str]) -> str:
    implementer, part = _code(entry.get("CPU implementer", "")), _code(entry.get("CPU part", ""))
    if implementer is None or part is None:
        return ""
    if implementer == 0x41 and part in ARM_PARTS:
        return f"Arm {ARM_PARTS[part]}"
    return f"{IMPLEMENTERS.get(implementer, f'implementer {implementer:#x}')} part {part:#05x}"


def _code(text: str) -> int | None:
    if re.fullmatch(r"0x[0-9a-fA-F]{1,15}", text):
        return int(text, 16)
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None
