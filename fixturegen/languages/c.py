"""C: one gcc command a binary."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType

from fixturegen import errors
from fixturegen.languages.base import Plan, Rendered, program_sources
from fixturegen.model import Build, Fixture, Program, Value

_FLAGS = ("-std=c11", "-O3", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "?": "\\?"}  # "\?": no trigraph can form


def _compiler() -> list[str]:
    """Return the C compiler: gcc, or the words of $CC (recorded as part of the command)."""
    written = os.environ.get("CC", "")
    try:
        return shlex.split(written) or ["gcc"]
    except ValueError as error:
        raise errors.UsageError(
            f"CC={written!r}: not words: {error}", "for example CC='gcc -m64'"
        ) from error


class _C:
    name = "c"
    label = "C"
    flag_keys: Mapping[str, str] = MappingProxyType(
        {"cflags": "added before the source", "ldflags": "added after the source"}
    )
    reserved: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[tuple[str, str], ...]:
        return ((_compiler()[0], "gcc libc6-dev"),)

    def literal(self, value: Value) -> str:
        if isinstance(value, bool):
            return "1" if value else "0"
        if isinstance(value, int):
            if value == -(2**63):
                return "(-9223372036854775807 - 1)"  # C has no literal for the smallest
            text = f"{value}u" if value >= 2**63 else str(value)
            return f"({text})" if value < 0 else text
        if isinstance(value, float):
            text = repr(value)
            return f"({text})" if text.startswith("-") else text  # -0.0 as well
        octets = value.encode()
        return (
            '"'
            + "".join(
                _ESCAPES.get(chr(o), chr(o) if 32 <= o < 127 else f"\\{o:03o}") for o in octets
            )
            + '"'
        )

    def layout(self, fixture: Fixture) -> list[Rendered]:
        programs = [p for p in fixture.programs if self.name in p.languages]
        if not programs:
            return []
        sources = program_sources(self, programs, "c")
        shared = [Rendered(f"{s}.h", f"{s}.h.j2", "source") for s in fixture.shared]
        values = {"programs": [{"name": p.name, "builds": self._rules(p)} for p in programs]}
        return [*sources, *shared, Rendered("Makefile", "Makefile.j2", "text", values)]

    def _rules(self, program: Program) -> list[dict[str, str]]:
        """Return a program's builds for the Makefile, the default one first."""
        first = self._default(program)
        builds = [first, *(b for b in program.builds_in(self.name) if b != first)]
        return [
            {
                "output": self._output(program, b),
                "flags": shlex.join(self._flags(b)).replace("$", "$$"),
            }
            for b in builds
        ]

    def _default(self, program: Program) -> Build:
        """Return the build called `default`, else the first one."""
        builds = program.builds_in(self.name)
        return next((b for b in builds if b.name == "default"), builds[0])

    def _flags(self, build: Build) -> list[str]:
        return [*_FLAGS, *build.flags(self.name, "cflags"), *build.flags(self.name, "ldflags")]

    def _output(self, program: Program, build: Build) -> str:
        suffix = "" if build == self._default(program) else f"-{build.name}"
        return f"out/{program.name}{suffix}"

    def _command(self, compiler: list[str], program: Program, build: Build, to: str) -> list[str]:
        return [*compiler, *self._flags(build), "-o", to, f"{program.name}.c"]

    def shown(self, program: Program, build: Build) -> str:
        return shlex.join(self._command(["gcc"], program, build, self._output(program, build)))

    def plan(
        self,
        fixture: Fixture,
        program: Program,
        build: Build,
        out: str,
        sources: Mapping[str, str],
    ) -> Plan:
        name = f"{program.name}-{build.name}"
        command = self._command(_compiler(), program, build, f"{out}/{name}")
        return Plan((tuple(command),), self.shown(program, build), PurePosixPath(name))

    def identity(self) -> tuple[tuple[str, ...], ...]:
        compiler = _compiler()
        return ((*compiler, "--version"), (*compiler, "-dumpmachine"), ("ld", "--version"))


C = _C()
