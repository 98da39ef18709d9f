"""The build-id, from the notes of a file."""

from __future__ import annotations

import struct

from fixturegen.elf.image import PT_NOTE, Header, Image, Segment

_NT_GNU_BUILD_ID = 3
_MAX_NOTES = 64 << 10  # a program's notes have some 100 bytes
_MAX_BUILD_ID = 64  # --build-id=0x... takes any length; sha256 is 32


def read_build_id(image: Image, header: Header, segments: tuple[Segment, ...]) -> str:
    """Return the build-id in hexadecimal, "" if there is none that can be read."""
    for segment in [each for each in segments if each.type == PT_NOTE][:16]:
        data = image.read(segment.offset, min(segment.size, _MAX_NOTES), "PT_NOTE")
        # GNU's notes are aligned to 4 bytes, .note.gnu.property to 8, in a segment of its own.
        build_id = _find(data, header.order)
        if build_id:
            return build_id
    return ""


def _find(data: bytes, order: str) -> str:
    form = struct.Struct(order + "III")
    place = 0
    while place + form.size <= len(data):
        name_size, size, kind = form.unpack_from(data, place)
        start = place + form.size + (name_size + 3) // 4 * 4
        name = data[place + form.size : place + form.size + name_size]
        if name == b"GNU\0" and kind == _NT_GNU_BUILD_ID:
            return data[start : start + size].hex() if size <= _MAX_BUILD_ID else ""
        place = start + (size + 3) // 4 * 4
    return ""
