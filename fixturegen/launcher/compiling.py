"""Compiles the launcher, once for each source, compiler and set of flags."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from fixturegen import files, process
from fixturegen.errors import ToolMissingError

# The kernel carries the launcher's own peak of memory into ru_maxrss of what it starts: 0-128 KB
# from musl, 584 from static glibc, 1,128-1,256 from dynamic glibc. So the smallest comes first.
COMPILERS = (
    ("musl-gcc", "-static"),
    ("gcc", "-static"),
    ("gcc",),
    ("clang", "-static"),
    ("clang",),
    ("cc", "-static"),
    ("cc",),
)
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")
NONE = "no C compiler was found on PATH: neither gcc, clang, cc nor musl-gcc"
INSTALL = "install a C compiler and the C library's headers (Debian: apt install gcc libc6-dev)"
REPAIR = (
    "what it said is above: it must be able to compile and link a C program "
    "(Debian: apt install libc6-dev), or another compiler must be on PATH"
)


def build_launcher(folder: Path) -> Path:
    """Return the launcher's binary in `folder`, compiled now if it is not there yet.

    Tries the compilers in order and takes the first that works; which one it was is in
    `Launcher.hello.linked`. Raises ToolMissingError if there is none, or none that works: then
    with what the last way of each said.
    """
    source = program()
    complaints: dict[str, list[str]] = {}
    for name, *static in COMPILERS:
        compiler = process.find(name)
        if compiler is None:
            continue
        command = [compiler, *FLAGS, *static, f'-DLINKED="{" ".join([name, *static])}"']
        binary = folder / f"launcher-{_digest(command, source)}"
        if binary.exists():
            return binary
        folder.mkdir(parents=True, exist_ok=True)
        complaints[name] = _compile(command, source, binary)
        if not complaints[name]:
            return binary
    if not complaints:
        raise ToolMissingError(f"the launcher cannot be compiled: {NONE}", INSTALL)
    reasons = "; ".join(reason for reason, *_ in complaints.values())
    said = [line for _, *lines in complaints.values() for line in lines]
    raise ToolMissingError(f"the launcher cannot be compiled: {reasons}", REPAIR, said)


def program() -> str:
    """Return the launcher's sources as one text, its header first.

    A compiler reads it from its standard input: it may be another user's process (under sudo), who
    need not be able to read this package. Raises errors.FileError if we cannot.
    """
    own = Path(__file__).resolve().parent
    header, *sources = (own / "launcher.h", *sorted(own.glob("launcher*.c")))
    pieces = [_piece(header)]
    pieces += [_piece(path).replace(f'#include "{header.name}"\n', "\n") for path in sources]
    return "".join(pieces)


def _piece(path: Path) -> str:
    return f'#line 1 "{path.name}"\n{files.read_text(path.resolve())}'


def _digest(command: list[str], source: str) -> str:
    """Return a short digest of what goes into the binary: sources, command, the compiler's file."""
    compiler = Path(command[0]).stat()
    digest = hashlib.sha256(repr((command, compiler.st_size, compiler.st_mtime_ns)).encode())
    digest.update(source.encode())
    return digest.hexdigest()[:16]


def _compile(command: list[str], source: str, binary: Path) -> list[str]:
    """Make `binary`, atomically; return what the compiler complained of, empty if nothing."""
    partial = binary.with_name(f"{binary.name}.{os.getpid()}")
    try:
        done = process.run([*command, "-o", str(partial), "-x", "c", "-"], given=source)
        if done.code == 0:
            partial.replace(binary)
            return []
        lines = done.stderr.strip().splitlines()[-5:]
        return [f"{Path(command[0]).name} ended with {done.code}", *lines]
    finally:
        partial.unlink(missing_ok=True)
