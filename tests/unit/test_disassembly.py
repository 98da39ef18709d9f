"""Which instructions are the loop of a function, as objdump shows it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fixturegen.build.disassembly import examine, working_loop

SCALAR = """\
1e40 test   %rdx,%rdx
1e43 je     1e66 <kernel+0x26>
1e45 xor    %eax,%eax
1e47 nopw   0x0(%rax,%rax,1)
1e50 mov    (%rsi,%rax,8),%rcx
1e54 lea    0x1(%rcx,%rcx,2),%rcx
1e59 mov    %rcx,(%rdi,%rax,8)
1e5d add    $0x1,%rax
1e61 cmp    %rax,%rdx
1e64 jne    1e50 <kernel+0x10>
1e66 ret
"""
# On vectors, and then what is left, in a loop that is longer.
VECTOR = """\
100 test   %rdx,%rdx
110 movdqu (%rdx,%r8,1),%xmm1
116 paddq  %xmm1,%xmm1
120 cmp    %r8,%rcx
124 jne    110 <kernel+0x10>
130 mov    (%rdx,%rax,8),%rcx
134 lea    (%rcx,%rcx,2),%rcx
138 inc    %rcx
13c mov    %rcx,(%rdi,%rax,8)
140 inc    %rax
144 cmp    %rax,%rsi
148 jne    130 <kernel+0x30>
14c ret
"""
NESTED = """\
200 xor    %eax,%eax
204 xor    %ecx,%ecx
208 add    %rcx,%rdx
20c cmp    %rcx,%rsi
210 jne    208 <kernel+0x8>
214 cmp    %rax,%rsi
218 jne    204 <kernel+0x4>
21c ret
"""
AARCH64 = """\
7c0 cbz x2, 7e0 <kernel+0x20>
7c4 ldr x4, [x1, x3, lsl #3]
7c8 add x4, x4, x4, lsl #1
7cc str x4, [x0, x3, lsl #3]
7d0 add x3, x3, #0x1
7d4 cmp x2, x3
7d8 b.ne 7c4 <kernel+0x4>  // b.any
7e0 ret
"""
RECURSIVE = """\
300 push   %rbx
304 call   300 <kernel>
308 jmp    400 <other>
"""


def code(text: str) -> list[tuple[int, str]]:
    lines = [line.partition("  //")[0].partition(" ") for line in text.splitlines()]
    return [(int(at, 16), rest) for at, _, rest in lines]


@pytest.mark.parametrize(
    ("text", "length", "first"),
    [
        (SCALAR, 6, "mov    (%rsi,%rax,8),%rcx"),
        (VECTOR, 4, "movdqu (%rdx,%r8,1),%xmm1"),
        (NESTED, 3, "add    %rcx,%rdx"),
        (AARCH64, 6, "ldr x4, [x1, x3, lsl #3]"),
    ],
)
def test_the_loop_is_what_is_repeated_and_does_the_work(text: str, length: int, first: str) -> None:
    loop = working_loop(code(text))
    assert (len(loop), loop[0]) == (length, first)


@pytest.mark.parametrize("text", [RECURSIVE, SCALAR.partition("1e64")[0], ""])
def test_a_function_without_a_loop_has_none(text: str) -> None:
    assert working_loop(code(text)) == []


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_a_compiled_function_is_longer_than_its_loop(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text(
        "unsigned long kernel(const unsigned long *at, unsigned long n) {"
        " unsigned long sum = 0; for (unsigned long i = 0; i < n; i++) sum += at[i] ^ i;"
        " return sum; } int main(void) { return 0; }"
    )
    made = tmp_path / "a"
    subprocess.run(["gcc", "-O1", "-o", str(made), str(source)], check=True)
    kernel = examine(made, "kernel", "kernel", "a")
    assert 0 < kernel.loop < kernel.instructions and not kernel.vector
