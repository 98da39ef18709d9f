"""What a language has to say about itself; it plans commands and never runs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, Protocol

from msgspec import Struct, field

from fixturegen.model import Build, Fixture, Program, Value


class Rendered(Struct, frozen=True):
    """One file to render: `target` relative to the fixture's source folder.

    template: its name, looked up in the fixture's folder and then in `_lib`. dialect: "source"
    for comment-shaped delimiters, "text" for Jinja's own. values: what it sees beside `params`.
    """

    target: str
    template: str
    dialect: str
    values: dict[str, Any] = field(default_factory=dict)


class Plan(Struct, frozen=True):
    """How one binary is made: commands run in the fixture's source folder, in order.

    shown: the same command as a reader types it; executable: where the binary is afterwards,
    relative to `out`; None if the last command's JSON messages tell.
    """

    commands: tuple[tuple[str, ...], ...]
    shown: str
    executable: PurePosixPath | None
    environment: dict[str, str] = field(default_factory=dict)


class Language(Protocol):
    """One language: its names and words, its literals, its files, its commands."""

    @property
    def name(self) -> str:
        """The name in fixture.toml, paths and folders."""

    @property
    def label(self) -> str:
        """The name as people write it."""

    @property
    def tools(self) -> tuple[tuple[str, str], ...]:
        """What building needs: tool, Debian package."""

    @property
    def flag_keys(self) -> Mapping[str, str]:
        """The keys of a build that are lists of flags to it, and what they do."""

    @property
    def reserved(self) -> tuple[str, ...]:
        """Names that no program of it can have."""

    def literal(self, value: Value) -> str:
        """Return `value` as a literal of the language that nothing can break out of."""

    def layout(self, fixture: Fixture) -> list[Rendered]:
        """Return every file of the language's source folder."""

    def shown(self, program: Program, build: Build) -> str:
        """Return the exact line that makes this build by hand, in the source folder."""

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

    def identity(self) -> tuple[tuple[str, ...], ...]:
        """Return the commands whose output names the toolchain."""


def program_sources(language: Language, programs: Iterable[Program], suffix: str) -> list[Rendered]:
    """Return the source of each program, which sees the exact line of each of its builds."""
    return [
        Rendered(
            f"{p.name}.{suffix}",
            f"{p.name}.{suffix}.j2",
            "source",
            {"build_lines": [language.shown(p, b) for b in p.builds_in(language.name)]},
        )
        for p in programs
    ]
