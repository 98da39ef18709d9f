"""Writes the pages of docs/ that come out of the code; --check compares and writes nothing."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click
import msgspec

from fixturegen import files, model, report
from fixturegen.build.binary import Binary
from fixturegen.cli.main import COMMANDS, cli
from fixturegen.expression import FUNCTIONS
from fixturegen.fixture import schema
from fixturegen.instruments.instrument import Instrument
from fixturegen.instruments.perf import Perf
from fixturegen.instruments.registry import INSTRUMENTS
from fixturegen.languages import LANGUAGES
from fixturegen.report import values
from fixturegen.runs import states

if typing.TYPE_CHECKING:
    from fixturegen.cli.main import Group
from fixturegen.fixture.project import Project

DOCS = Path(__file__).parent
TABLES = (
    model.Fixture,
    model.Program,
    model.Build,
    model.Mode,
    model.Metric,
    model.Claim,
    model.File,
)

# What report templates see.
SEEN = (
    values.Run,
    values.Row,
    values.Process,
    values.Stat,
    values.Groups,
    values.Half,
    values.Above,
    values.Reason,
    values.Rung,
    values.Language,
    values.Program,
    values.Metric,
    values.Toolchain,
    values.Claim,
    values.Sentence,
    values.Used,
    values.Failure,
    Binary,
    Perf,
)


def fixture_toml() -> str:
    """Return the reference of fixture.toml, from the classes that check it."""
    parts = [
        "# fixture.toml\n\nGenerated from `fixturegen/model.py` by `make docs`: edit that "
        "file.\nA key that is not here is an error that names the nearest one.\n"
    ]
    for table in TABLES:
        parts.append(f"\n## {_heading(table)}\n\n{_first(table.__doc__)}\n")
        parts.append("\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n")
        hints = typing.get_type_hints(table, include_extras=True)
        for field in msgspec.structs.fields(table):
            kind, meta = _meaning(hints[field.name])
            if field.encode_name == model.FOLDER:
                continue
            name = field.encode_name.replace(model.GATHERED, "LANGUAGE.KEY")
            row = (f"`{name}`", kind, _default(field), meta)
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n")
        if table is model.Build:
            parts.append("\n" + _table(("key of a language", "value", "meaning"), _language_keys()))
        if table is model.Mode:
            parts += [_instruments()]
    return "".join(parts)


def _language_keys() -> Iterator[tuple[str, str, str]]:
    for language in LANGUAGES.values():
        for key, meaning in language.flag_keys.items():
            yield f"`{language.name}.{key}`", "list of text", meaning
        if language.compilers:
            known = ", ".join(f"`{tool.command}`" for tool in language.compilers)
            yield (
                f"`{language.name}.compiler`",
                "text",
                f"what compiles it: {known}, or another one",
            )


def functions() -> str:
    """Return what expressions and report templates may call and name, from the code itself."""
    project = Project(DOCS.parent)
    stored = states.stored(project, "p04-first-run", "reference")
    summary = report.summarise(project.load("p04-first-run"), stored)
    callables = report.callables(summary, stored)
    called = [(_signature(name, each), _summary(name, each)) for name, each in callables.items()]
    return (
        "# Functions\n\nGenerated from the code by `make docs`.\n"
        "\n## In expressions\n\nOf metrics, over the lines of one process, and of claims, over the "
        "processes of a run.\n\n"
        + _table(
            ("function", "in", "gives"),
            [(f"`{f.signature}`", f.only or "both", f.does) for f in FUNCTIONS.values()],
        )
        + "\n## process.\\*\n\nWhat a metric may name of the kernel's accounting of its process, "
        "as wait4 gives it. Not\nin a mode with a `wrapper`: there it is the wrapper's as well.\n\n"
        + _table(
            ("name", "unit", "meaning"),
            [
                (f"`process.{name}`", meta.title or "", meta.description or "")
                for name, meta in _metas(model.Usage)
            ],
        )
        + "\n## In report templates\n\nA path is `program.language[.build].mode.metric`, a case "
        "the same without the metric.\n\n"
        + _table(("function", "gives"), called)
        + "".join(map(_seen, SEEN))
    )


def _seen(struct: type[msgspec.Struct]) -> str:
    """Return the table of what a report template sees under one name."""
    rows = [(f"`{name}`", meta.description or "") for name, meta in _metas(struct)]
    said = _first(struct.__doc__)
    return f"\n### {struct.__name__}\n\n{said}\n\n" + _table(("field", "meaning"), rows)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _metas(struct: type[msgspec.Struct]) -> Iterator[tuple[str, msgspec.Meta]]:
    """Return what each field of a struct says of itself."""
    for name, hint in typing.get_type_hints(struct, include_extras=True).items():
        said = [m for m in _annotations(hint) if m.description]
        yield name, said[-1] if said else msgspec.Meta()


def _annotations(hint: object) -> list[msgspec.Meta]:
    """Return the metas of an annotation, those of a named type within it too."""
    if typing.get_origin(hint) is not typing.Annotated:
        return []
    kind, *metas = typing.get_args(hint)
    return _annotations(kind) + [m for m in metas if isinstance(m, msgspec.Meta)]


def _signature(name: str, function: Callable[..., object]) -> str:
    """Return how a template calls a function: names, and what stands for those left out."""
    parameters = inspect.signature(function).parameters.values()
    return f"`{name}({', '.join(str(p.replace(annotation=p.empty)) for p in parameters)})`"


def _summary(name: str, function: Callable[..., object]) -> str:
    """Return the first line of a function's docstring."""
    first = (inspect.getdoc(function) or "").partition("\n")[0]
    if not first:
        raise SystemExit(
            f"{name}() of report templates has no docstring; docs/functions.md needs it"
        )
    return first.removeprefix("Return ").removesuffix(".")


def _instruments() -> str:
    """Return the table of what a mode may want done or watched, from the registry."""
    rows = [
        f"| `{each.form}` | `{each.key}` | {_needs(each)} | {each.description} |\n"
        for each in INSTRUMENTS
    ]
    return (
        "\n## Instruments\n\nWhat is done around the process of a mode, or watched.\n"
        "\n| instrument | key | needs | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)
    )


def _needs(instrument: Instrument) -> str:
    asked = f'`allow = "{instrument.name}"`' if instrument.asks else ""
    return ", ".join(filter(None, (instrument.tool and instrument.tool.name, asked)))


def _heading(table: type) -> str:
    return {"Fixture": "The top"}.get(table.__name__, table.__name__)


def _first(doc: str | None) -> str:
    return " ".join((doc or "").split())


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    if isinstance(value, tuple):
        value = list(value)
    return f"`{value!r}`".replace("'", '"').replace("True", "true").replace("False", "false")


def _meaning(hint: object) -> tuple[str, str]:
    """Return a field's kind and meaning from its annotation."""
    kind, described = hint, ""
    while typing.get_origin(kind) is typing.Annotated:
        kind, *metas = typing.get_args(kind)
        described = next(
            (m.description for m in metas if getattr(m, "description", None)), described
        )
    return _kind(kind), described


def _kind(hint: object) -> str:
    origin = typing.get_origin(hint)
    arguments = typing.get_args(hint)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_kind(each) for each in arguments if each is not type(None))
    if origin is tuple:
        return f"list of {_kind(arguments[0])}"
    if origin is dict:
        return f"table of {_kind(arguments[1])}"
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"[{_heading(hint)}](#{_heading(hint).lower().replace(' ', '-')})"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(hint, "?")


def commands() -> str:
    """Return every command's help, as `--help` prints it on 80 columns."""
    parts = ["# Commands\n\nGenerated from `--help` by `make docs`.\n"]
    for name in ("", *COMMANDS):
        group = typing.cast("Group", cli)
        context = click.Context(
            cli, info_name="fixturegen", max_content_width=80, terminal_width=80
        )
        command = cli if not name else group.get_command(context, name)
        assert command is not None
        inner = (
            context
            if not name
            else click.Context(command, context, name, max_content_width=80, terminal_width=80)
        )
        shown = textwrap.dedent(command.get_help(inner)).rstrip()
        parts.append(f"\n## {('fixturegen ' + name).strip()}\n\n```text\n{shown}\n```\n")
    return "".join(parts)


def readme() -> str:
    """Return README.md with its excerpts taken from the texts of the committed reference runs."""
    project = Project(DOCS.parent)

    def excerpt(found: re.Match[str]) -> str:
        text = _reference(project, found["fixture"])
        begin = text.find(found["heading"])
        if begin < 0:
            raise SystemExit(
                f"README.md: no {found['heading']!r} in the text of {found['fixture']}'s reference "
                "run; name a line of fixtures/" + found["fixture"] + ".txt in the excerpt's mark"
            )
        end = text.index("\n\n", text.index("---  ", begin))
        mark = f"<!-- excerpt: {found['fixture']}: {found['heading']} -->"
        return f"{mark}\n```text\n{text[begin:end]}\n```\n<!-- /excerpt -->"

    pattern = r"<!-- excerpt: (?P<fixture>[\w-]+): (?P<heading>.*?) -->\n.*?<!-- /excerpt -->"
    current = files.read_text(DOCS.parent / "README.md")
    return re.sub(pattern, excerpt, current, flags=re.DOTALL)


@functools.cache
def _reference(project: Project, fixture: str) -> str:
    stored = states.stored(project, fixture, "reference")
    return report.stored_text(project, project.load(fixture), stored)


def main() -> int:
    """Write or compare; return the exit code."""
    drift = 0
    pages = {
        "docs/fixture-toml.md": fixture_toml(),
        "docs/fixture.schema.json": schema.text(LANGUAGES),
        "docs/functions.md": functions(),
        "docs/commands.md": commands(),
        "README.md": readme(),
    }
    for name, text in pages.items():
        path = DOCS.parent / name
        if "--check" in sys.argv[1:]:
            same = path.is_file() and path.read_text(encoding="utf-8") == text
            drift += not same
            if not same:
                sys.stderr.write(f"{name} is not what the code gives; repair: make docs\n")
        else:
            files.write(path, text)
    return 1 if drift else 0


if __name__ == "__main__":
    sys.exit(main())
