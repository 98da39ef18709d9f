"""state.json: what was recorded of the binaries of a work folder, and which are up to date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field

from fixturegen import errors, files
from fixturegen.build.binary import Binary
from fixturegen.build.jobs import Job
from fixturegen.build.reading import Digests

NAME = "state.json"


class Recorded(Struct, frozen=True):
    """A binary as it was made, and the key of the job that made it.

    read: what went in beside the rendered sources, by its name, with its digest.
    """

    key: str
    binary: Binary
    read: dict[str, str] = field(default_factory=dict)


def read(work: Path) -> dict[str, Recorded]:
    """Return what was recorded, by name; anything unreadable means: build again."""
    try:
        content = files.read_bytes(work / NAME)
        return msgspec.json.decode(content, type=dict[str, Recorded])
    except (errors.FixturegenError, ValueError, RecursionError):
        return {}


def write(work: Path, known: Mapping[str, Recorded]) -> None:
    """Record the binaries of the folder."""
    plain = msgspec.to_builtins(known)
    files.write(work / NAME, json.dumps(plain, indent=1, sort_keys=True) + "\n")


def up_to_date(known: Recorded | None, job: Job, key: str, digests: Digests) -> bool:
    """Return whether the binary in its place is the one that was recorded, of what is there now."""
    return (
        known is not None
        and known.key == key
        and known.binary.sources.items() <= job.sources.items()
        and all(digest and digests.of(name) == digest for name, digest in known.read.items())
        and digests.of(digests.name(job.target)) == known.binary.sha256
    )
