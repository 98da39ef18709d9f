"""Which languages can be built and started here, and what to install for the others."""

from __future__ import annotations

from collections.abc import Sequence

from fixturegen import errors, process
from fixturegen.languages import LANGUAGES, package
from fixturegen.model import SYSTEM, Fixture


def available(wanted: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the languages that can be built here, and for each other one the reason.

    Raises errors.ToolMissingError for C: without a C compiler there is no launcher either.
    """
    languages, missing = [], {}
    for name in wanted:
        absent = _absent(name)
        if absent is None:
            languages.append(name)
            continue
        if name == "c":
            raise errors.ToolMissingError(
                f"no C compiler: {absent[0]!r} is not on PATH", f"apt-get install {absent[1]}"
            )
        missing[name] = f"{LANGUAGES[name].label} left out: {absent[0]} is not on PATH"
    return languages, missing


def _absent(language: str) -> tuple[str, str] | None:
    """Return the first tool of a language that is not here, and its Debian package."""
    tools = LANGUAGES[language].tools
    return next(((t, p) for t, p in tools if process.find(t) is None), None)


def nothing(fixture: Fixture, wanted: Sequence[str]) -> errors.FixturegenError | None:
    """Return the error that says why nothing of `wanted` can be started here, or None."""
    commands = [p.command for p in fixture.programs if SYSTEM in p.languages and SYSTEM in wanted]
    compiled = [name for name in wanted if name != SYSTEM]
    absent = {name: found for name in compiled if (found := _absent(name))}
    if len(absent) < len(compiled) or any(map(process.find, commands)):
        return None
    for name, (tool, debian) in absent.items():
        return errors.ToolMissingError(
            f"{fixture.name}: no {LANGUAGES[name].label} compiler: {tool!r} is not on PATH",
            f"apt-get install {debian}",
        )
    lacking = [f"{command} is not on PATH (Debian: {package(command)})" for command in commands]
    return errors.UsageError(
        f"{fixture.name}: nothing to run in the languages asked for",
        "; ".join(lacking) or f"it has: {', '.join(fixture.languages)}",
    )


def startable(fixtures: Sequence[Fixture], languages: Sequence[str]) -> list[Fixture]:
    """Return the fixtures of which something can be started in `languages` ([]: in all of theirs).

    Raises the first one's error if there is none.
    """
    found, first = [], None
    for fixture in fixtures:
        error = nothing(fixture, [n for n in fixture.languages if not languages or n in languages])
        if error is None:
            found.append(fixture)
        first = first or error
    if first is not None and not found:
        raise first
    return found
