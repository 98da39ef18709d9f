"""What several commands share: the project, the options, the progress."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fixturegen import errors
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture, Value
from fixturegen.project import Project, find_root

names_argument = click.argument("names", metavar="[FIXTURE]...", nargs=-1)
language_option = click.option(
    "--language",
    "languages",
    multiple=True,
    type=click.Choice(list(LANGUAGES)),
    help="Only this language; may be given twice.",
)
set_option = click.option(
    "--set",
    "sets",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a parameter; sources and binaries then go to build/src/.",
)


def project_of(ctx: click.Context) -> Project:
    """Return the project of the current folder or of -C; raises errors.UsageError."""
    folder: Path | None = ctx.obj
    start = (folder or Path()).absolute()
    if not start.is_dir():
        raise errors.UsageError(f"-C {folder}: no such folder")
    return Project(start.resolve() if folder else find_root(start.resolve()))


def parse_sets(fixtures: Sequence[Fixture], sets: Sequence[str]) -> dict[str, Value]:
    """Return the parameters of --set, each of the type that the fixture declares.

    Raises errors.UsageError naming the key, the value and the nearest known key.
    """
    from fixturegen.spec.convert import check_param
    from fixturegen.spec.toml import nearest

    parsed: dict[str, Value] = {}
    known = {key: value for fixture in fixtures for key, value in fixture.params.items()}
    for entry in sets:
        key, sign, text = entry.partition("=")
        if not sign:
            raise errors.UsageError(
                f"--set {entry}: not KEY=VALUE", "for example --set length=1024"
            )
        if key not in known:
            raise errors.UsageError(f"--set {entry}: no parameter {key!r}", nearest(key, known))
        parsed[key] = _typed(entry, known[key], text)
        try:
            check_param(key, parsed[key], f"--set {entry}")
        except errors.SpecError as error:
            raise errors.UsageError(error.what, error.hint) from error
    return parsed


def _typed(entry: str, declared: Value, text: str) -> Value:
    """Return `text` as a value of the declared type; ASCII only, no underscores."""
    kind = type(declared)
    if kind is str:
        return text
    if kind is bool:
        if text in ("true", "false"):
            return text == "true"
        raise errors.UsageError(f"--set {entry}: true or false is wanted")
    try:
        if not text.isascii() or "_" in text or text != text.strip():
            raise ValueError
        return kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise errors.UsageError(f"--set {entry}: {wanted} is wanted, not {text!r}") from error
