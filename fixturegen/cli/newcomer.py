"""`fixturegen new`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from fixturegen import errors, files
from fixturegen.cli.common import project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say
from fixturegen.fixture.project import Project, builtin_templates, misnamed
from fixturegen.languages import LANGUAGES

BEGINNING, SCHEMA = "_new", "fixture.schema.json"


# build may be a link; a folder called out or target elsewhere is somebody's own.
MADE = ("out", "target")
IGNORED = ("/build", *(f"/{name}/*/{made}/" for name in LANGUAGES for made in MADE))
# Byte for byte: no line ending is changed on its way through git, on whatever system.
KEPT = ("/templates/** -text", "/fixtures/** -text", *(f"/{name}/** -text" for name in LANGUAGES))


def _for_git(project: Project) -> Iterator[tuple[str, str]]:
    """Add to .gitignore and .gitattributes what is not in them; yield what was done, and where."""
    for name, wanted in ((".gitignore", IGNORED), (".gitattributes", KEPT)):
        path = project.root / name
        if files.kind(path) not in ("", "file"):  # a link: it is not ours to write behind it
            yield "add to", f"{name}: {' '.join(wanted)}"
            continue
        there = files.read_if_there(path)
        lines = (there or b"").decode(errors="surrogateescape")
        missing = [line for line in wanted if line not in lines.splitlines()]
        if missing:
            gap = "" if lines.endswith("\n") or not lines else "\n"
            added = "".join(f"{line}\n" for line in ("# fixturegen", *missing))
            files.write(path, (lines + gap + added).encode(errors="surrogateescape"))
            yield "create" if there is None else "update", name


def _schema() -> bytes:
    """Return the schema that the first line of the beginning names, for an editor."""
    from fixturegen.fixture import schema

    usable = {}
    for name in LANGUAGES:
        with contextlib.suppress(errors.ToolMissingError):  # a package that is to be mended
            usable[name] = LANGUAGES[name]
    return schema.text(usable).encode()


@click.command("new", context_settings=HELP_OPTIONS)
@click.argument("name")
@click.pass_context
def command(ctx: click.Context, name: str) -> None:
    """Begin a fixture: templates/NAME/ with one program in C and in Rust, ready to run.

    \b
    fixturegen new p05-branches && fixturegen run p05-branches

    Its fixture.toml explains itself, to an editor too, with the schema beside it; a template
    renders to a file that a reader of your article can compile by hand. Nothing else changes, but
    for lines in .gitignore and .gitattributes: what is built stays out of version control, and
    every text in it byte for byte as it was written.
    """
    what, hint = misnamed(name)
    if what:
        raise errors.UsageError(what, hint)
    project = project_of(ctx)
    folder = project.root / "templates" / name
    if files.exists(folder) or name in project.own:
        raise errors.UsageError(
            f"templates/{name} already exists; nothing was changed",
            f"choose another name, or look at it: fixturegen list {name}",
        )
    if name in project.builtin:
        raise errors.UsageError(
            f"{name!r} is a built-in fixture; one of your own would hide it",
            "choose another name",
        )
    source = builtin_templates() / BEGINNING
    beginning = {each: files.read_bytes(source / each) for each in files.names(source)}
    beginning[SCHEMA] = _schema()
    files.write_folder(folder, beginning)
    say(
        *(f"create     {project.shown(folder / each)}" for each in beginning),
        *(f"{verb:<9}  {what}" for verb, what in _for_git(project)),
        "",
        "Next:",
        f"  fixturegen run {name}     build it, measure, write fixtures/{name}.txt",
        f"  fixturegen list {name}    what is measured, under which names",
        f"  then change templates/{name}/fixture.toml and the sources beside it",
    )
