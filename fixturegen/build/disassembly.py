"""Looks into the machine code: whether the measured function is there, and what it became."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fixturegen import errors, process
from fixturegen.build.binary import Kernel

# Registers that hold several elements at once: x86-64's, then AArch64's and RISC-V's.
_VECTOR = re.compile(r"%[xyz]mm\d|\bv\d+\.\d+[bhsd]\b|\bvset(i)?vli\b")
_LINE = re.compile(r"^ +([0-9a-f]+):\s+(.*?)(\s+//.*)?$", re.MULTILINE)  # b.ne 40  // b.any
# A branch within the function; a call has the same form.
_BRANCH = re.compile(r"(?!call|bl\b|blr|jal)[a-z].*?\b([0-9a-f]+) <[^>+]+(?:\+0x[0-9a-f]+)?>$")
_COPY = re.compile(r"\b(call|jmp|bl|b|jal)\w*\s.*<mem(set|cpy|move)")


def examine(binary: Path, function: str, symbol: str, shown: str) -> Kernel:
    """Return how many instructions `function` and its loop have, and whether on vectors.

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
    code = [(int(at, 16), text.rstrip()) for at, text, _ in _LINE.findall(done.stdout)]
    body = [text for _, text in code]
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
    loop = working_loop(code)
    return Kernel(function, len(body), any(map(_VECTOR.search, loop or body)), len(loop))


def working_loop(code: Sequence[tuple[int, str]]) -> list[str]:
    """Return the instructions of the innermost loop that does a function's work, [] without one.

    code: each instruction's address and text. A compiler makes several loops of one: on vectors,
    and for the elements that are left. The work is that on vectors, and the longest of those.
    """
    places = {address: place for place, (address, _) in enumerate(code)}
    ends = [
        (places[begin], end)
        for end, (address, text) in enumerate(code)
        if (branch := _BRANCH.match(text))
        and (begin := int(branch[1], 16)) in places
        and begin <= address
    ]
    inner = [
        (first, last)
        for first, last in ends
        if not any(first <= a and b <= last and (a, b) != (first, last) for a, b in ends)
    ]
    loops = [[text for _, text in code[first : last + 1]] for first, last in inner]
    return max(loops, key=lambda loop: (any(map(_VECTOR.search, loop)), len(loop)), default=[])
