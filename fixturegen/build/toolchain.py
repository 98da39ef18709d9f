"""Which languages can be built and started here, and what to install for the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fixturegen import errors, files, process
from fixturegen.build.reading import homeless, kind
from fixturegen.languages import LANGUAGES, Tool, package
from fixturegen.model import SYSTEM, Fixture

Identities = dict[tuple[str, str], list[str]]  # language and compiler to what its tools print


def available(fixture: Fixture, wanted: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the languages that can be built here, and for each other one the reason."""
    missing = {}
    for name in wanted:
        absent = _absent_everywhere(fixture, name)
        if absent is not None:
            missing[name] = f"{LANGUAGES.label(name)} left out: {absent.command} is not on PATH"
    return [name for name in wanted if name not in missing], missing


def compilers(fixture: Fixture, language: str) -> list[str]:
    """Return the compilers that a fixture's builds name in a language, empty for the default."""
    programs = [p for p in fixture.programs if language in p.languages]
    return list(
        dict.fromkeys(b.compiler(language) for p in programs for b in p.builds_in(language))
    )


def absence(language: str, compiler: str) -> str:
    """Return why nothing can be built with a compiler here; empty if it can."""
    tool = _absent(language, compiler)
    return f"{tool.command} is not on PATH (Debian: {tool.package})" if tool else ""


def _absent(language: str, compiler: str) -> Tool | None:
    """Return the first tool of a language that is not here."""
    tools = LANGUAGES[language].tools(compiler)
    return next((tool for tool in tools if process.find(tool.command) is None), None)


def _absent_everywhere(fixture: Fixture, language: str) -> Tool | None:
    """Return what is not here if a fixture has no build in a language that could be made."""
    absent = [_absent(language, compiler) for compiler in compilers(fixture, language)]
    return absent[0] if absent and all(absent) else None


def absent(fixture: Fixture, languages: Sequence[str]) -> dict[str, str]:
    """Return the binaries in `languages` whose compiler is not here, each with the reason."""
    reasons = {
        (name, compiler): absence(name, compiler)
        for name in languages
        for compiler in compilers(fixture, name)
    }
    return {
        program.binary(name, build): reason
        for program in fixture.programs
        for name in program.languages
        if name in languages
        for build in program.builds_in(name)
        if (reason := reasons[name, build.compiler(name)])
    }


_BENEATH = ("as", "ld")  # what compilers start in turn
_CHOOSES = "rustup"  # what it starts is asked, and says what it is


def chosen(language: str, compiler: str) -> dict[str, str]:
    """Return the user's variables that choose a compiler, with what they are."""
    names = LANGUAGES[language].variables(compiler)
    return {name: homeless(os.environ[name]) for name in names if os.environ.get(name)}


def executables(language: str, compiler: str) -> Iterator[tuple[str, Path]]:
    """Yield the tools of a compiler, each with its file behind all links.

    Another program of the same version may have taken the place of one: a script, mold for ld.
    """
    known = LANGUAGES[language]
    words = [word for command in known.identity(compiler) for word in command]
    tools = [tool.command for tool in known.tools(compiler)]
    for word in dict.fromkeys([*tools, *words, *_BENEATH]):
        path = None if word.startswith("-") else process.find(word)
        if path:
            yield word, Path(path).resolve()


def _way(command: str) -> str:
    """Return what a compiler is if it is not itself what its name says; "" for the plain one."""
    path = process.find(command)
    place = Path(path or "").resolve()
    if path is None or place.name == _CHOOSES:
        return ""
    try:
        with files.open_binary(place) as stream:
            what = kind(stream.read(300))
    except errors.FixturegenError:
        return ""
    through = Path(command).name.rstrip("+") not in place.name
    return f" ({what})" if what != "ELF" else f" (through {place.name})" if through else ""


def ask(fixture: Fixture, places: Mapping[str, Path]) -> Callable[[], Identities]:
    """Ask each compiler's tools what they call themselves; return what waits for the answers.

    They are asked all at once, and at each build: which compiler it is that a wrapper or rustup
    starts stands in no file of theirs. places: the languages' source folders, in which overrides
    of the tools apply.
    """
    here = {
        (name, compiler): LANGUAGES[name].identity(compiler)
        for name in places
        for compiler in compilers(fixture, name)
        if not absence(name, compiler)
    }
    asked = [(each, argv) for each, commands in here.items() for argv in commands]
    finished = process.begin([(argv, _nearest(places[name])) for (name, _), argv in asked])

    def answers() -> Identities:
        lines: Identities = {each: [] for each in here}
        for (each, argv), done in zip(asked, finished(), strict=True):
            if done.code == 0 and done.stdout.strip():
                said = done.stdout.strip().splitlines()
                way = "" if lines[each] else _way(argv[0])
                lines[each] += [
                    said[0] + way,
                    *(s for s in said if s.startswith(("host:", "LLVM"))),
                ]
        return lines

    return answers


def _nearest(folder: Path) -> Path:
    """Return the folder, or what it will be in: before the first build there is none yet."""
    return next(each for each in (folder, *folder.parents) if files.kind(each) == "folder")


def nothing(fixture: Fixture, wanted: Sequence[str]) -> errors.FixturegenError | None:
    """Return the error that says why nothing of `wanted` can be started here, or None."""
    commands = [p.command for p in fixture.programs if SYSTEM in p.languages and SYSTEM in wanted]
    compiled = [name for name in wanted if name != SYSTEM]
    absent = {name: tool for name in compiled if (tool := _absent_everywhere(fixture, name))}
    if len(absent) < len(compiled) or any(map(process.find, commands)):
        return None
    for name, tool in absent.items():
        return errors.ToolMissingError(
            f"{fixture.name}: no {LANGUAGES.label(name)} compiler: {tool.command!r} is not on PATH",
            f"apt-get install {tool.package}",
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
    able, first = [], None
    for fixture in fixtures:
        error = nothing(fixture, [n for n in fixture.languages if not languages or n in languages])
        if error is None:
            able.append(fixture)
        first = first or error
    if first is not None and not able:
        raise first
    return able
