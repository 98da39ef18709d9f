"""`fixturegen render`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from fixturegen import bounds, damage, files, render
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_difference
from fixturegen.fixture.project import Project


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 1 if a file is not what the templates give."
)
@click.option("--diff", is_flag=True, help="Show what differs; with --check nothing is written.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], check: bool, diff: bool) -> None:
    """Render the templates to LANGUAGE/FIXTURE/, as c/p04-first-run/.

    \b
    fixturegen render                  write what has changed
    fixturegen render --check --diff   write nothing; show what would change
    """
    project = project_of(ctx)
    changes = _changes(project, project.choose(names), keep=not check)
    for change in changes if diff else ():  # before the first is written: this too may be too much
        if done := damage.difference(change.old, change.text.encode()):
            say(f"{change.path} {done}")
        elif change.verb in ("create", "update"):
            say_difference(change.old, change.text, change.path)
    for change in changes:
        if not check and change.verb == "remove":
            files.remove(project.root / change.path)
        elif not check:
            files.write(project.root / change.path, change.text)
        if change.verb != "identical" or not check:
            say(f"{change.verb:<9}  {change.path}")
    drift = sum(change.verb != "identical" for change in changes)
    if check and drift:
        differ = "file differs" if drift == 1 else "files differ"
        say(
            f"{drift} {differ} from what the templates give; repair: "
            + " ".join(["fixturegen", "render", *names]),
            err=True,
        )
        ctx.exit(1)


class Change(Struct, frozen=True):
    """What becomes of one file: create, update, identical or remove."""

    verb: str
    path: str
    text: str = ""
    old: bytes = b""


def _changes(project: Project, names: Sequence[str], *, keep: bool) -> list[Change]:
    """Return what is to be written and removed: all of it, so that an error leaves nothing.

    keep: whether compiled templates may be written to the user's cache.
    """
    changes = []
    for name in names:
        fixture = project.load(name)
        texts = render.fixture_files(project, fixture, fixture.params, fixture.languages, keep=keep)
        for path, text in texts.items():
            bounds.spend(path, len(text))
            changes.append(_change(project.root / path, path, text))
        changes += [Change("remove", path) for path in render.leftovers(project, fixture, texts)]
    return changes


def _change(target: Path, path: str, text: str) -> Change:
    old = files.read_if_there(target)
    if old is None:
        return Change("create", path, text)
    return Change("identical" if old == text.encode() else "update", path, text, old)
