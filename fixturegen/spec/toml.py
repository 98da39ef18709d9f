"""TOML text to checked tables: every message names the file, the key and the value."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable
from typing import Any

import msgspec

from fixturegen import errors
from fixturegen.spec.schema import FixtureTable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name that is nearest to `name`, or the list of all."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names)}" if names else ""


def parse(content: bytes, where: str, languages: Iterable[str]) -> FixtureTable:
    """Return the tables of a fixture.toml; raises errors.SpecError with `where` in front."""
    raw = _decode(content, where)
    _gather_flags(raw, languages)
    try:
        return msgspec.convert(raw, FixtureTable)
    except msgspec.ValidationError as error:
        raise _explain(error, raw, where) from error


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
        raise errors.SpecError(f"{where}: not UTF-8 at byte {error.start}", "") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise errors.SpecError(f"{where}: not TOML: {error}") from error


def _gather_flags(raw: dict[str, Any], languages: Iterable[str]) -> None:
    """Move a build's language keys into its `flags`, so that a new language needs no new key."""
    known = set(languages)
    programs = raw.get("program")
    for program in programs if isinstance(programs, list) else []:
        builds = program.get("build") if isinstance(program, dict) else None
        for build in builds if isinstance(builds, list) else []:
            if isinstance(build, dict) and "flags" not in build:
                build["flags"] = {key: build.pop(key) for key in list(build) if key in known}


def _explain(error: msgspec.ValidationError, raw: Any, where: str) -> errors.SpecError:
    message, _, position = str(error).partition(" - at `")
    steps = re.findall(r"\[\.\.\.\]|\[\d+\]|[^.\[\]$`]+", position.rstrip("`"))
    place, value = _walk(raw, steps)
    unknown = re.search(r"unknown field `(.*)`", message)
    if unknown:
        known = _known_keys(steps)
        at = f" in {place}" if place else ""
        return errors.SpecError(
            f"{where}: unknown key {unknown[1]!r}{at}", nearest(unknown[1], known)
        )
    missing = re.search(r"missing required field `(.*)`", message)
    if missing:
        return errors.SpecError(f"{where}: {place or 'the file'} lacks the key {missing[1]!r}")
    shown = "" if isinstance(value, dict | list) else f" = {value!r}"
    return errors.SpecError(f"{where}: {place}{shown}: {message[0].lower()}{message[1:]}")


def _walk(raw: Any, steps: list[str]) -> tuple[str, Any]:
    """Follow a msgspec path; return it as an author writes it, and the value there."""
    place, value = "", raw
    for step in steps:
        try:
            if step == "[...]":
                return f"{place}.*", value
            if step.startswith("["):
                value = value[int(step[1:-1])]
                name = value.get("name") if isinstance(value, dict) else None
                place += f" {name!r}" if isinstance(name, str) else step
            else:
                value = value[step]
                place += f".{step}" if place else step
        except (KeyError, IndexError, TypeError, AttributeError):
            return f"{place}.{step}".lstrip("."), None
    return place, value


def _known_keys(steps: list[str]) -> list[str]:
    """Return the keys that a table at this path may have, as the author writes them."""
    kind: Any = FixtureTable
    for step in steps:
        if step.startswith("["):
            continue
        fields = {f.name: f.type for f in msgspec.structs.fields(kind)}
        kind = _struct_in(fields.get(step)) or kind
    names = [f.name for f in msgspec.structs.fields(kind)]
    return ["c", "rust", *[n for n in names if n != "flags"]] if "flags" in names else names


def _struct_in(kind: Any) -> Any:
    """Return the first Struct class within a type, or None."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    for part in getattr(kind, "__args__", ()):
        found = _struct_in(part)
        if found is not None:
            return found
    return None
