"""Compiles the launcher, once for each source, compiler and set of flags."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from fixturegen import process
from fixturegen.errors import ToolMissingError

# The kernel carries the launcher's own peak of memory into ru_maxrss of what it starts: 0-128 KB
# from musl, 584 from static glibc, 1,128-1,256 from dynamic glibc. So the smallest comes first.
COMPILERS = (("musl-gcc", "-static"), ("gcc", "-static"), ("gcc",))
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")
HINT = "install a C compiler and the C library's headers (Debian: apt install gcc libc6-dev)"


def build_launcher(folder: Path) -> Path:
    """Return the launcher's binary in `folder`, compiled now if it is not there yet.

    Tries the compilers in order and takes the first that works; which one it was is in
    `Launcher.hello.linked`. Raises ToolMissingError if there is none, or none that works.
    """
    sources = sorted(Path(__file__).parent.glob("launcher*.[ch]"))
    complaint = ["no C compiler was found on PATH"]
    for name, *static in COMPILERS:
        compiler = process.find(name)
        if compiler is None:
            continue
        command = [compiler, *FLAGS, *static, f'-DLINKED="{" ".join([name, *static])}"']
        binary = folder / f"launcher-{_digest(command, sources)}"
        if binary.exists():
            return binary
        folder.mkdir(parents=True, exist_ok=True)
        complaint = _compile(command, sources, binary)
        if not complaint:
            return binary
    reason, *said = complaint
    raise ToolMissingError(f"the launcher cannot be compiled: {reason}", HINT, said)


def _digest(command: list[str], sources: list[Path]) -> str:
    """Return a short digest of what goes into the binary: sources, command, the compiler's file."""
    compiler = Path(command[0]).stat()
    digest = hashlib.sha256(repr((command, compiler.st_size, compiler.st_mtime_ns)).encode())
    for source in sources:
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _compile(command: list[str], sources: list[Path], binary: Path) -> list[str]:
    """Make `binary`, atomically; return what the compiler complained of, empty if nothing."""
    partial = binary.with_name(f"{binary.name}.{os.getpid()}")
    files = [str(source) for source in sources if source.suffix == ".c"]
    try:
        complaint = _run([*command, "-o", str(partial), *files])
        if not complaint:
            partial.replace(binary)
        return complaint
    finally:
        partial.unlink(missing_ok=True)


def _run(command: list[str]) -> list[str]:
    """Run a compiler; return the end of its complaint, empty if it succeeded."""
    done = process.run(command)
    if done.code == 0:
        return []
    lines = done.stderr.strip().splitlines()[-5:]
    return [f"{Path(command[0]).name} ended with {done.code}", *lines]
