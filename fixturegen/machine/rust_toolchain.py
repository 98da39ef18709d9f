"""Which toolchain a project's own file asks rustup for.

The file is read here, and rustup is given the name: started below the project, it would start a
program of the project's where the file has a `path`, and download what is not installed.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

from fixturegen import errors, files

NAMES = ("rust-toolchain", "rust-toolchain.toml")  # in a folder that has both, the first counts


class Chosen(NamedTuple):
    """The file that chooses, and the channel: "" if it names none, but a folder of programs."""

    file: str
    channel: str


def chosen(folder: Path) -> Chosen | None:
    """Return what the nearest file upwards from `folder` chooses; None if there is none."""
    for place in (folder, *folder.parents):
        for name in NAMES:
            with contextlib.suppress(errors.FixturegenError):
                if content := files.read_if_there(place / name):
                    return Chosen(str(place / name), _channel(content.decode(errors="replace")))
    return None


def _channel(text: str) -> str:
    written: object = text.strip()  # the older form is the bare name
    if "[" in text:
        try:
            table = tomllib.loads(text).get("toolchain")
        except ValueError:
            return ""
        written = table.get("channel") if isinstance(table, dict) else None
    plain = isinstance(written, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", written)
    return str(written) if plain else ""
