"""A package of a stranger: a made-up language, Echo, whose compiler is a shell script."""

from __future__ import annotations

import os
from pathlib import Path

LANGUAGE = """\
import shlex
from pathlib import Path, PurePosixPath

from fixturegen.languages import Plan, Rendered, Tool


class Echo:
    name = "echo"
    label = "Echo!"
    suffix = "echo"
    templates = Path(__file__).parent / "templates"
    flag_keys = {"echoflags": "added before the source"}
    compilers = (Tool("echoc", "echo-compiler"),)
    reserved = ("chamber",)

    def tools(self, compiler):
        return (Tool(compiler or "echoc", "echo-compiler"),)

    def identity(self, compiler):
        return ((compiler or "echoc", "--version"),)

    def variables(self, compiler):
        return ("ECHO_FONT",)

    def settings(self, folder):
        return (folder.parent.parent / "echo.ini",)

    def literal(self, value):
        if isinstance(value, bool):
            return str(value).lower()
        if not isinstance(value, str):
            return repr(value)
        return "'" + value.replace("'", "'\\\\''") + "'"

    def symbol(self, function):
        return function

    def layout(self, fixture):
        programs = [p for p in fixture.programs if self.name in p.languages]
        names = {"programs": [{"name": p.name} for p in programs]}
        lines = [{"build_lines": [self.shown(p, b) for b in p.builds_in("echo")]} for p in programs]
        return programs and [
            *(Rendered(f"{p.name}.echo", f"{p.name}.echo.j2", "source", seen)
              for p, seen in zip(programs, lines)),
            *(Rendered(f"{s}.echo", f"{s}.echo.j2", "source") for s in fixture.shared),
            Rendered("Echofile", "Echofile.j2", "text", names),
            Rendered("BUILD.txt", "BUILD.txt.j2", "text", names, for_readers=True),
        ]

    def _command(self, program, build, to):
        compiler = build.compiler("echo") or "echoc"
        flags = build.flags("echo", "echoflags")
        return (compiler, *flags, f"{program.name}.echo", to)

    def shown(self, program, build):
        return shlex.join(self._command(program, build, f"{program.name}-{build.name}"))

    def plan(self, fixture, program, build, out, sources):
        made = f"{program.name}-{build.name}"
        command = self._command(program, build, f"{out}/{made}")
        return Plan((command,), self.shown(program, build), PurePosixPath(made))


LANGUAGE = Echo()
"""

COMPILER = """\
#!/bin/sh
if [ "$1" = --version ]; then echo "echoc 7.3"; exit 0; fi
loud=cat
if [ "$1" = --loud ]; then loud="tr a-z A-Z"; shift; fi
test -r Echofile || { echo "no Echofile" >&2; exit 1; }
{ echo '#!/bin/sh'; grep -v '^//' "$1" | sed 's/^say /printf "%s %s\\\\n" /'; } > "$2"
case $loud in tr*) sed -i 's/value/VALUE/' "$2";; esac
chmod +x "$2"
"""

POINT = "[fixturegen.languages]\n{name} = {value}\n"
METADATA = "Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"


def _put(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    return root


def install(site: Path, *, name: str = "echo", value: str = "", source: str = LANGUAGE) -> Path:
    """Put the package into `site`, as pip leaves it, and return `site`."""
    package = f"{name}_for_fixturegen"
    metadata = f"{package}-1.0.dist-info"
    return _put(
        site,
        {
            f"{package}/__init__.py": source,
            f"{package}/templates/Echofile.j2": "# {{ header | raw }}\n"
            "{% for program in programs %}{{ program.name | raw }}\n{% endfor %}",
            f"{package}/templates/BUILD.txt.j2": "# {{ header | raw }}\n",
            f"{metadata}/METADATA": METADATA.format(package=package.replace("_", "-")),
            f"{metadata}/entry_points.txt": POINT.format(
                name=name, value=value or f"{package}:LANGUAGE"
            ),
        },
    )


def compiler(folder: Path, name: str = "echoc") -> Path:
    """Put the compiler into `folder`, and return it."""
    _put(folder, {name: COMPILER})
    (folder / name).chmod(0o755)
    return folder


def environment(site: Path, tools: Path) -> dict[str, str]:
    """Return what a command is started with so that both are found."""
    return {"PYTHONPATH": str(site), "PATH": f"{tools}:{os.environ['PATH']}"}


PYTHON = ("-P",)
