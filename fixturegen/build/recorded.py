"""state.json: what was recorded of the binaries of a work folder, and which are up to date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from fixturegen import errors, files
from fixturegen.build.binary import Binary
from fixturegen.build.jobs import Job

NAME = "state.json"


class Recorded(Struct, frozen=True):
    """A binary as it was made, and the key of the job that made it."""

    key: str
    binary: Binary


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


def up_to_date(known: Recorded | None, job: Job, key: str) -> bool:
    """Return whether the binary in its place is the one that was recorded, and of this key."""
    return (
        known is not None
        and known.key == key
        and files.is_file(job.target)
        and files.sha256(job.target) == known.binary.sha256
    )
