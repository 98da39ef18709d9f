"""TOML text to checked tables: every message names the file, the key and the value."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from typing import Any

import msgspec

from fixturegen import errors
from fixturegen.spec.explain import explain
from fixturegen.spec.near import nearest
from fixturegen.spec.schema import FixtureTable

__all__ = ["nearest", "parse"]


def parse(content: bytes, where: str, languages: Collection[str]) -> FixtureTable:
    """Return the tables of a fixture.toml; raises errors.SpecError with `where` in front."""
    raw = _decode(content, where)
    _gather_flags(raw, languages)
    try:
        return msgspec.convert(raw, FixtureTable)
    except msgspec.ValidationError as error:
        raise explain(error, raw, where, languages) from error


def _decode(content: bytes, where: str) -> dict[str, Any]:
    if content.startswith(b"\xef\xbb\xbf"):
        raise errors.SpecError(f"{where}: starts with a byte order mark", "save it without a BOM")
    if b"\r" in content:
        line = content[: content.index(b"\r")].count(b"\n") + 1
        raise errors.SpecError(
            f"{where}: line {line} ends in CR LF", "save the file with LF line ends"
        )
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise errors.SpecError(
            f"{where}: not UTF-8: byte {error.start} is 0x{content[error.start]:02x}",
            "save the file as UTF-8",
        ) from error
    except RecursionError as error:
        raise errors.SpecError(f"{where}: nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, and a number of thousands of digits
        raise errors.SpecError(f"{where}: not TOML: {error}") from error


def _gather_flags(raw: dict[str, Any], languages: Collection[str]) -> None:
    """Move a build's language keys into its `flags`, so that a new language needs no new key."""
    programs = raw.get("program")
    for program in programs if isinstance(programs, list) else []:
        builds = program.get("build") if isinstance(program, dict) else None
        for build in builds if isinstance(builds, list) else []:
            if isinstance(build, dict):
                build["(flags)"] = {key: build.pop(key) for key in list(build) if key in languages}
