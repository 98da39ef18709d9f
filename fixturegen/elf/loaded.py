"""Where the bytes of a file are in memory: profilers count in the one, debuggers in the other."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fixturegen.elf.image import PT_LOAD, opened, read_header, read_segments


def addresses(path: Path, offsets: Iterable[int]) -> dict[int, int]:
    """Return the address of each offset that some loaded segment holds; CheckError."""
    with opened(path) as image:
        segments = read_segments(image, read_header(image))
    return {
        offset: offset - segment.offset + segment.address
        for offset in offsets
        for segment in segments
        if segment.type == PT_LOAD and 0 <= offset - segment.offset < segment.size
    }
