"""`fixturegen build`."""

from __future__ import annotations

import click

from fixturegen import build, files
from fixturegen.build import toolchain
from fixturegen.cli.common import (
    language_option,
    names_argument,
    parse_sets,
    project_of,
    set_option,
)
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@language_option
@set_option
@click.option("--wait", is_flag=True, help="Wait for a run in this project to end first.")
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    languages: tuple[str, ...],
    sets: tuple[str, ...],
    wait: bool,
) -> None:
    """Render the programs and compile what is not up to date.

    \b
    fixturegen build                              all fixtures, all languages
    fixturegen build p04-first-run --language c   one of them, C alone
    fixturegen build --set length=1024            other parameters, in build/src/
    """
    project = project_of(ctx)
    fixtures = [project.load(name) for name in project.choose(names)]
    changed = parse_sets(fixtures, sets)
    if languages:
        fixtures = toolchain.startable(fixtures, languages)
    with files.lock(project.build / "lock", "fixturegen build", wait=wait):
        for fixture in fixtures:
            params = {**fixture.params, **{k: v for k, v in changed.items() if k in fixture.params}}
            wanted = [n for n in fixture.languages if not languages or n in languages]
            built = build.make(project, fixture, params, wanted, say)
            for reason in built.missing.values():
                say(f"{fixture.name}: {reason}; what needs it is not built")
            total = len(built.paths)
            noun = "binary" if total == 1 else "binaries"
            work = project.shown(build.work_folder(project, fixture, params))
            say(f"{fixture.name}: {total} {noun} in {work}/bin, {built.made} compiled now")
