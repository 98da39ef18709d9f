"""C: one gcc command a binary. What C++ shares with it is `CompiledAtOnce`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from fixturegen import errors
from fixturegen.languages.protocol import Plan, Rendered, Tool, program_sources
from fixturegen.model import Build, Fixture, Program, Value

_OURS = ("-Werror",)  # not a reader's: a compiler that is newer than a program knows more warnings
_ESCAPES = {'"': '\\"', "\\": "\\\\", "?": "\\?"}  # "\?": no trigraph can form


class CompiledAtOnce(Struct, frozen=True):
    """A language of which one command of gcc's kind makes a program from its only source.

    header: how the names of shared pieces end; variable: what chooses the default compiler, in the
    environment and in readers' Makefile; before_source: the key of a compiler's flags; truth: the
    literals of false and true.
    """

    name: str
    label: str
    suffix: str
    header: str
    variable: str
    flags: tuple[str, ...]
    compilers: tuple[Tool, ...]
    before_source: str
    truth: tuple[str, str] = ("0", "1")
    reserved: tuple[str, ...] = ()
    templates: Path | None = None

    @property
    def flag_keys(self) -> Mapping[str, str]:
        """The keys of a build that are lists of flags to it, and what they do."""
        return {
            self.before_source: "added before the source",
            "ldflags": "added after the source",
        }

    def _compiler(self, named: str) -> list[str]:
        """Return the compiler: what a build names, else the words of $CC, else the default one."""
        if named:
            return [named]
        written = os.environ.get(self.variable, "")
        try:
            return shlex.split(written) or [self.compilers[0].command]
        except ValueError as error:
            raise errors.UsageError(
                f"{self.variable}={written!r}: cannot be split into words: {error}",
                f"for example {self.variable}='{self.compilers[0].command} -m64'",
            ) from error

    def tools(self, compiler: str) -> tuple[Tool, ...]:
        """Return what building needs."""
        command = self._compiler(compiler)[0]
        default = command if compiler else self.compilers[0].package
        known = {tool.command: tool.package for tool in self.compilers}
        return (Tool(command, known.get(command, default)),)

    def identity(self, compiler: str) -> tuple[tuple[str, ...], ...]:
        """Return the commands whose output names the toolchain."""
        command = self._compiler(compiler)
        return ((*command, "--version"), (*command, "-dumpmachine"), ("ld", "--version"))

    def variables(self, compiler: str) -> tuple[str, ...]:
        """Return what chooses the compiler: nothing does where the build names it."""
        return () if compiler else (self.variable,)

    def settings(self, folder: Path) -> tuple[Path, ...]:
        """Return no file: these compilers obey none."""
        return ()

    def symbol(self, function: str) -> str:
        """Return the symbol of a function: its own name."""
        return function

    def literal(self, value: Value) -> str:
        """Return `value` as a literal that nothing can break out of."""
        if isinstance(value, bool):
            return self.truth[value]
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
        """Return the programs, the shared pieces as headers, and a Makefile for readers."""
        programs = [p for p in fixture.programs if self.name in p.languages]
        if not programs:
            return []
        sources = program_sources(self, programs, self._by_hand)
        shared = [
            Rendered(f"{s}.{self.header}", f"{s}.{self.header}.j2", "source")
            for s in fixture.shared
        ]
        values = {
            "variable": self.variable,
            "compiler": self.compilers[0].command,
            "suffix": self.suffix,
            "headers": self.header,
            "programs": [{"name": p.name, "builds": self._rules(p)} for p in programs],
        }
        makefile = Rendered("Makefile", "Makefile.j2", "text", values, for_readers=True)
        return [*sources, *shared, makefile]

    def _rules(self, program: Program) -> list[dict[str, str]]:
        """Return a program's builds for the Makefile, the default one first."""
        first = self._default(program)
        builds = [first, *(b for b in program.builds_in(self.name) if b != first)]
        return [
            {
                "compiler": b.compiler(self.name) or f"$({self.variable})",
                "output": self._output(program, b),
                "flags": shlex.join(before).replace("$", "$$"),
                "ldflags": shlex.join(after).replace("$", "$$"),
            }
            for b in builds
            for before, after in [self._flags(b)]
        ]

    def _default(self, program: Program) -> Build:
        """Return the build called `default`, else the first one."""
        builds = program.builds_in(self.name)
        return next((b for b in builds if b.name == "default"), builds[0])

    def _flags(self, build: Build, ours: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
        """Return what stands before the source and what stands after it.

        The linker takes from a library only what something before it needs.
        """
        before = build.flags(self.name, self.before_source)
        return [*self.flags, *ours, *before], [*build.flags(self.name, "ldflags")]

    def _output(self, program: Program, build: Build) -> str:
        suffix = "" if build == self._default(program) else f"-{build.name}"
        return f"out/{program.name}{suffix}"

    def _command(
        self,
        compiler: list[str],
        program: Program,
        build: Build,
        to: str,
        ours: tuple[str, ...] = _OURS,
    ) -> list[str]:
        before, after = self._flags(build, ours)
        return [*compiler, *before, "-o", to, f"{program.name}.{self.suffix}", *after]

    def _declared(self, build: Build) -> str:
        """Return the compiler that a reader types: what the build names, or the usual one."""
        return build.compiler(self.name) or self.compilers[0].command

    def shown(self, program: Program, build: Build) -> str:
        """Return the line that makes this build, in the source folder."""
        to = self._output(program, build)
        return shlex.join(self._command([self._declared(build)], program, build, to))

    def _by_hand(self, program: Program, build: Build) -> str:
        to = self._output(program, build)
        return shlex.join(self._command([self._declared(build)], program, build, to, ours=()))

    def plan(
        self,
        fixture: Fixture,
        program: Program,
        build: Build,
        out: str,
        sources: Mapping[str, str],
    ) -> Plan:
        """Return the one command that makes this build."""
        name = f"{program.name}-{build.name}"
        compiler = self._compiler(build.compiler(self.name))
        tells = ("-MD", "-MF", f"{out}/{name}.d", "-Wl,-t")  # what is read, what is linked
        command = self._command(compiler, program, build, f"{out}/{name}", (*_OURS, *tells))
        typed = self._command(compiler, program, build, self._output(program, build))
        return Plan((tuple(command),), shlex.join(typed), PurePosixPath(name), tells=tells)


LANGUAGE = CompiledAtOnce(
    name="c",
    label="C",
    suffix="c",
    header="h",
    variable="CC",
    flags=("-std=c11", "-O3", "-Wall", "-Wextra", "-Wpedantic"),
    compilers=(Tool("gcc", "gcc libc6-dev"), Tool("clang", "clang")),
    before_source="cflags",
)
