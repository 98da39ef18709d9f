"""The files that a fixture wants made: their bytes are the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fixturegen import files
from fixturegen.model import Fixture, Sha256, Whole

_PIECE = 1 << 20  # bytes of the stream that come out of one digest


class Made(Struct, frozen=True):
    """A file that the run made for its programs."""

    bytes: Whole
    sha256: Sha256


def make_files(fixture: Fixture, folder: Path) -> tuple[dict[str, Path], dict[str, Made]]:
    """Make the fixture's files in `folder`; return their paths as `file.NAME`, and their facts.

    A file that is there already and right is left as it is. Raises errors.FileError.
    """
    paths, facts = {}, {}
    for file in fixture.files:
        path = folder / file.name
        digest = hashlib.sha256()
        for piece in stream(file.name, file.bytes):
            digest.update(piece)
        wanted = digest.hexdigest()
        if not _is(path, file.bytes, wanted):
            files.write_pieces(path, stream(file.name, file.bytes))
        paths[f"file.{file.name}"] = path
        facts[file.name] = Made(file.bytes, wanted)
    return paths, facts


def _is(path: Path, size: int, digest: str) -> bool:
    return files.is_file(path) and path.stat().st_size == size and files.sha256(path) == digest


def stream(name: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of the file `name`: SHAKE-128 over its name and the number of the piece.

    A standard's stream (FIPS 202) and not a library's, so that no version can change it.
    """
    for place in range(0, size, _PIECE):
        seed = f"fixturegen/{name}/{place // _PIECE}".encode()
        yield hashlib.shake_128(seed).digest(min(_PIECE, size - place))
