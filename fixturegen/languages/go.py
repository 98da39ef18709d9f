"""Go: a module for each fixture, in it a folder for each program and shared piece."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from fixturegen.languages.protocol import Plan, Rendered, Tool
from fixturegen.model import Build, Fixture, Program, Value

# Nothing is fetched, and nothing is read of the user's own settings, of a folder further up or of
# version control. Without -trimpath: with it Go 1.19 compiles its library anew, which takes 25 s.
_ENVIRONMENT = {
    "CGO_ENABLED": "0",
    "GO111MODULE": "on",
    "GOENV": "off",
    "GOFLAGS": "-mod=readonly -buildvcs=false",
    "GOPROXY": "off",
    "GOSUMDB": "off",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


# Every file of a package that is not Go's own.
_READ = (
    "{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}"
    "{{range .SFiles}}{{$d}}/{{.}}\n{{end}}{{range .HFiles}}{{$d}}/{{.}}\n{{end}}"
    "{{range .EmbedFiles}}{{$d}}/{{.}}\n{{end}}{{end}}"
)


class _Go:
    name = "go"
    label = "Go"
    suffix = "go"
    templates: Path | None = None
    flag_keys: Mapping[str, str] = MappingProxyType(
        {"gcflags": "the compiler's, `-gcflags`", "ldflags": "the linker's, `-ldflags`"}
    )
    compilers: tuple[Tool, ...] = ()
    reserved: tuple[str, ...] = ("internal", "main", "out", "target", "vendor")  # folders

    def tools(self, compiler: str) -> tuple[Tool, ...]:
        return (Tool("go", "golang-go"),)

    def identity(self, compiler: str) -> tuple[tuple[str, ...], ...]:
        return (("go", "version"),)

    def variables(self, compiler: str) -> tuple[str, ...]:
        return ()

    def settings(self, folder: Path) -> tuple[Path, ...]:
        return ()

    def symbol(self, function: str) -> str:
        return f"main.{function}"

    def literal(self, value: Value) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float) and repr(value) == "-0.0":
            return "func() float64 { zero := 0.0; return -zero }()"  # constants have no sign of 0
        if isinstance(value, int | float):
            return repr(value)
        return '"' + "".join(map(_character, value)) + '"'

    def layout(self, fixture: Fixture) -> list[Rendered]:
        programs = [p for p in fixture.programs if self.name in p.languages]
        if not programs:
            return []
        return [
            *(
                Rendered(
                    f"{p.name}/{p.name}.go",
                    f"{p.name}.go.j2",
                    "source",
                    {"build_lines": [self.shown(p, b) for b in p.builds_in(self.name)]},
                )
                for p in programs
            ),
            *(Rendered(f"{s}/{s}.go", f"{s}.go.j2", "source") for s in fixture.shared),
            Rendered("go.mod", "go.mod.j2", "text"),
        ]

    def _command(self, program: Program, build: Build, to: str) -> list[str]:
        given = {key: build.flags(self.name, key) for key in self.flag_keys}
        flags = [f"-{key}={shlex.join(each)}" for key, each in given.items() if each]
        return ["go", "build", *flags, "-o", to, f"./{program.name}"]

    def shown(self, program: Program, build: Build) -> str:
        first = program.builds_in(self.name)[0]
        suffix = "" if build.name in ("default", first.name) else f"-{build.name}"
        return shlex.join(self._command(program, build, f"out/{program.name}{suffix}"))

    def plan(
        self,
        fixture: Fixture,
        program: Program,
        build: Build,
        out: str,
        sources: Mapping[str, str],
    ) -> Plan:
        name = f"{program.name}-{build.name}"
        command = self._command(program, build, f"{out}/{name}")
        environment = {**_ENVIRONMENT, "GOCACHE": f"{out}/cache", "GOPATH": f"{out}/path"}
        read = ("go", "list", "-deps", "-f", _READ, f"./{program.name}")
        shown = self.shown(program, build)
        return Plan((tuple(command),), shown, PurePosixPath(name), environment, asks=(read,))


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    return f"\\U{ord(character):08x}"


LANGUAGE = _Go()
