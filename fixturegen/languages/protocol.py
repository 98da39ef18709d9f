"""What a language has to say about itself; it plans commands and never runs them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from msgspec import Struct, field

from fixturegen.model import Build, Fixture, Program, Value


class Rendered(Struct, frozen=True):
    """One file to render: `target` relative to the fixture's source folder.

    template: its name, looked up in the fixture's folder, then in `_lib`, then in the language's
    own `templates`. dialect: "source" for comment-shaped delimiters, "text" for Jinja's own.
    values: what it sees beside `params`. for_readers: no build reads it.
    """

    target: str
    template: str
    dialect: str
    values: dict[str, Any] = field(default_factory=dict)
    for_readers: bool = False


class Tool(Struct, frozen=True):
    """What building needs: a command on PATH, and the Debian packages that hold it."""

    command: str
    package: str


class Plan(Struct, frozen=True):
    """How one binary is made: commands run in the fixture's source folder, in order.

    shown: the same command as it is typed in that folder; executable: where the binary is then,
    relative to `out`; None if the last command's JSON messages tell. What the tools read is known
    from EXECUTABLE.d, if it is there then (make's syntax), and from each line printed that is the
    path of a file. tells: words of the commands that only make them tell it, left out if a tool
    refuses them; asks: commands run afterwards, whose lines tell more; forgets: the folder below
    `out` of what a tool that goes by time keeps: it begins empty.
    """

    commands: tuple[tuple[str, ...], ...]
    shown: str
    executable: PurePosixPath | None
    environment: dict[str, str] = field(default_factory=dict)
    tells: tuple[str, ...] = ()
    asks: tuple[tuple[str, ...], ...] = ()
    forgets: PurePosixPath | None = None


class Language(Protocol):
    """One language: its names, its literals, its files, its commands.

    A module `fixturegen/languages/NAME.py` has it as LANGUAGE; another package names it in its
    entry point `NAME` of the group `fixturegen.languages`. `compiler` is what a build's
    `NAME.compiler` says, empty for the default one.
    """

    @property
    def name(self) -> str:
        """The name in fixture.toml, paths and folders: a-z, 0-9 and _, the first a letter."""

    @property
    def label(self) -> str:
        """The name as people write it."""

    @property
    def suffix(self) -> str:
        """How the file names of its programs end, without the dot."""

    @property
    def templates(self) -> Path | None:
        """The folder of its own templates, for what no project has; None if all are in `_lib`."""

    @property
    def flag_keys(self) -> Mapping[str, str]:
        """The keys of a build that are lists of flags to it, and what they do."""

    @property
    def compilers(self) -> tuple[Tool, ...]:
        """Compilers that a build may name, the default one first; empty: there is no choice.

        Others of the same family are allowed too, as `gcc-13`.
        """

    @property
    def reserved(self) -> tuple[str, ...]:
        """Names that no program of it can have."""

    def tools(self, compiler: str) -> tuple[Tool, ...]:
        """Return what building needs."""

    def identity(self, compiler: str) -> tuple[tuple[str, ...], ...]:
        """Return the commands whose output names the toolchain, first of all its compiler."""

    def variables(self, compiler: str) -> tuple[str, ...]:
        """Return the user's environment variables that choose the tools, recorded where set."""

    def settings(self, folder: Path) -> tuple[Path, ...]:
        """Return the files that the tools obey in a source folder and that are not rendered."""

    def literal(self, value: Value) -> str:
        """Return `value` as a literal of the language that nothing can break out of."""

    def layout(self, fixture: Fixture) -> list[Rendered]:
        """Return every file of the language's source folder."""

    def symbol(self, function: str) -> str:
        """Return the symbol in the machine code of a fixture's `kernel`."""

    def shown(self, program: Program, build: Build) -> str:
        """Return the line that makes this build, in the source folder: recorded, and in texts."""

    def plan(
        self,
        fixture: Fixture,
        program: Program,
        build: Build,
        out: str,
        sources: Mapping[str, str],
    ) -> Plan:
        """Return how this build is made.

        out: an absolute folder for what comes out; sources: the rendered files, by name.
        """


def program_sources(
    language: Language,
    programs: Iterable[Program],
    by_hand: Callable[[Program, Build], str] | None = None,
) -> list[Rendered]:
    """Return the source of each program, which sees the line of each of its builds.

    by_hand: makes the line for readers, where it is not the one that is recorded.
    """
    line = by_hand or language.shown
    return [
        Rendered(
            f"{p.name}.{language.suffix}",
            f"{p.name}.{language.suffix}.j2",
            "source",
            {"build_lines": [line(p, b) for b in p.builds_in(language.name)]},
        )
        for p in programs
    ]


_LIBRARY = re.compile(r"[^-]|-l|-Wl,.*(,-l|\.a$)")  # a word whose place among the others counts


def same_flags(recorded: str, declared: str) -> bool:
    """Say whether two lines of a compiler have the same flags in the same order.

    Old runs have the linker's flags before `-o OUTPUT SOURCE`, not after. That is the same binary
    unless a library is among the flags: the linker takes from one what the words before it need.
    """
    return recorded == declared or _without_places(recorded) == _without_places(declared)


def _without_places(line: str) -> list[str]:
    try:
        arguments = shlex.split(line)
        at = arguments.index("-o")
    except ValueError:  # not a line of this kind, or none at all
        return [line]
    flags = [*arguments[:at], *arguments[at + 3 :]]
    if any(_LIBRARY.match(word) for word in flags[1:]):
        return [line]
    return [*arguments[at : at + 3], *flags]
