"""Which C library programs are started with: read from the loaders that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from fixturegen import errors, files

# glibc's loader and library say this of themselves: `ld.so (Debian GLIBC 2.36-9) stable release
# version 2.36.`
_GLIBC = re.compile(rb"(?:ld\.so|GNU C Library) \(([ -~]{1,80})\) \w+ release version ([0-9.]+)\.")


def c_library(loaders: Iterable[str | None], root: Path = Path("/")) -> str:
    """Return what the program interpreters of binaries say they belong to; none: static ones."""
    told = {_of(root, loader) if loader else "none: linked statically" for loader in loaders}
    return "; ".join(sorted(told))


def _of(root: Path, loader: str) -> str:
    path = root / loader.lstrip("/")
    try:
        content = files.read_bytes(path.resolve())
    except (OSError, errors.FixturegenError):
        return f"unknown ({loader} cannot be read)"
    if match := _GLIBC.search(content):
        return f"glibc {match[2].decode()} ({match[1].decode()})"
    if "musl" in path.name or b"musl libc" in content:
        return f"musl ({path.name}; it does not tell its version)"
    return f"unknown ({loader} does not tell its version)"
