"""Programs that are found on PATH: nothing is rendered and nothing is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from fixturegen.languages.protocol import Plan, Rendered, Tool
from fixturegen.model import SYSTEM, Build, Fixture, Program, Value

# The Debian packages of commands, where the package has another name.
_PACKAGES = {
    "cat": "coreutils",
    "cp": "coreutils",
    "du": "coreutils",
    "find": "findutils",
    "ls": "coreutils",
    "sort": "coreutils",
    "wc": "coreutils",
    "xargs": "findutils",
}


def package(command: str) -> str:
    """Return the Debian package that holds `command`, as far as is known here."""
    return _PACKAGES.get(command, command)


class _System:
    name = SYSTEM
    label = SYSTEM
    flag_keys: Mapping[str, str] = MappingProxyType({})
    reserved: tuple[str, ...] = ()
    suffix = ""
    templates: Path | None = None
    compilers: tuple[Tool, ...] = ()

    def tools(self, compiler: str) -> tuple[Tool, ...]:
        return ()

    def identity(self, compiler: str) -> tuple[tuple[str, ...], ...]:
        return ()

    def variables(self, compiler: str) -> tuple[str, ...]:
        return ()

    def settings(self, folder: Path) -> tuple[Path, ...]:
        return ()

    def symbol(self, function: str) -> str:
        return function

    def literal(self, value: Value) -> str:
        return repr(value)

    def layout(self, fixture: Fixture) -> list[Rendered]:
        return []

    def shown(self, program: Program, build: Build) -> str:
        return program.command

    def plan(
        self,
        fixture: Fixture,
        program: Program,
        build: Build,
        out: str,
        sources: Mapping[str, str],
    ) -> Plan:
        return Plan((), program.command, None)


LANGUAGE = _System()
