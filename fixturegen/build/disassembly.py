"""Looks into the machine code: whether the measured function is there, and what it became."""

from __future__ import annotations

import re
from pathlib import Path

from fixturegen import errors, process
from fixturegen.build.binary import Kernel

# Registers that hold several elements at once: x86-64's, then AArch64's and RISC-V's.
_VECTOR = re.compile(r"%[xyz]mm\d|\bv\d+\.\d+[bhsd]\b|\bvset(i)?vli\b")
_COPY = re.compile(r"\b(call|jmp|bl|b|jal)\w*\s.*<mem(set|cpy|move)")


def examine(binary: Path, function: str, symbol: str, shown: str) -> Kernel:
    """Return how many instructions `function` has and whether it uses vector registers.

    symbol: what the language calls it in the machine code.
    Raises errors.BuildError if it is not there, or has become a call of memset or memcpy:
    what is timed would not be the work in the source. Raises errors.ToolMissingError without
    objdump.
    """
    done = process.run(
        ["objdump", "-d", f"--disassemble={symbol}", "--no-show-raw-insn", str(binary)]
    )
    if done.code != 0:
        raise errors.ToolMissingError(
            f"cannot look at the machine code: {done.stderr.strip()[:200]}",
            "apt-get install binutils",
        )
    body = re.findall(r"^ +[0-9a-f]+:\s+(.*)$", done.stdout, re.MULTILINE)
    if not body:
        raise errors.BuildError(
            f"{shown}: the function {function!r} is not in the binary",
            "keep the compiler from inlining it, or correct `kernel` in fixture.toml",
        )
    if any(_COPY.search(line) for line in body):
        raise errors.BuildError(
            f"{shown}: the compiler made {function!r} a call of memset or memcpy",
            "launder its inputs, so that the work which is timed is the work in the source",
        )
    return Kernel(function, len(body), any(_VECTOR.search(line) for line in body))
