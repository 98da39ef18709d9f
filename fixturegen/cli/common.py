"""What several commands share: the project, the options, the progress."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click

from fixturegen import errors
from fixturegen.errors import nearest
from fixturegen.fixture.project import Project, find_root
from fixturegen.languages import LANGUAGES
from fixturegen.model import Fixture, Value


def _known(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of languages; fails at one that is none with those that are known."""
    for value in values:
        if value not in LANGUAGES:
            raise click.BadParameter(
                f"{value!r} is not a language; {nearest(value, LANGUAGES)}", ctx, param
            )
    return values


def _languages(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of languages that begin so, for the shell's completion."""
    return [name for name in LANGUAGES if name.startswith(incomplete)]


names_argument = click.argument("names", metavar="[FIXTURE]...", nargs=-1)
language_option = click.option(
    "--language",
    "languages",
    multiple=True,
    metavar="NAME",
    callback=_known,
    shell_complete=_languages,
    help="Only this language (`fixturegen doctor` names them); may be given twice.",
)
set_option = click.option(
    "--set",
    "sets",
    metavar="KEY=VALUE",
    multiple=True,
    help="Change a parameter; sources and binaries then go to build/src/.",
)


def project_of(ctx: click.Context) -> Project:
    """Return the project of the current folder, to which -C has gone by now."""
    try:
        return Project(find_root(Path.cwd()))
    except FileNotFoundError as error:
        raise errors.UsageError("the current folder is gone", "cd to another one") from error


class Whole(click.IntRange):
    """A whole number in ASCII digits alone: click's own also takes 1_000 and Arabic digits."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the number; fails with how it must look."""
        if not isinstance(value, int):
            if not re.fullmatch("-?[0-9]{1,19}", str(value)):
                self.fail(f"{value!r} is not a whole number in digits 0-9.", param, ctx)
            value = int(str(value))
        return super().convert(value, param, ctx)


def parse_sets(fixtures: Sequence[Fixture], sets: Sequence[str]) -> dict[str, Value]:
    """Return the parameters of --set, each of the type that the fixture declares.

    Raises errors.UsageError naming the key, the value and the nearest known key.
    """
    from fixturegen.errors import nearest
    from fixturegen.fixture.checks import check_param

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
        if key in parsed:
            raise errors.UsageError(f"--set {entry}: {key} is set twice", "give it once")
        if len({type(f.params[key]) for f in fixtures if key in f.params}) > 1:
            raise errors.UsageError(
                f"--set {entry}: {key} has another type in another fixture", "name one FIXTURE"
            )
        parsed[key] = _typed(entry, known[key], text)
        try:
            check_param(key, parsed[key], f"--set {entry[:200]}")
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
        raise errors.UsageError(f"--set {entry}: expected true or false")
    try:
        if not text.isascii() or "_" in text or text != text.strip():
            raise ValueError
        return kind(text)
    except ValueError as error:
        wanted = "a whole number" if kind is int else "a number"
        raise errors.UsageError(
            f"--set {entry[:200]}: expected {wanted}, not {text[:80]!r}"
        ) from error
