"""`fixturegen render`."""

from __future__ import annotations

import click

from fixturegen import files, render
from fixturegen.cli.common import names_argument, project_of
from fixturegen.cli.help_options import HELP_OPTIONS
from fixturegen.cli.terminal import say, say_difference
from fixturegen.project import Project


@click.command(context_settings=HELP_OPTIONS)
@names_argument
@click.option(
    "--check", is_flag=True, help="Write nothing; exit 1 if a file is not what the templates give."
)
@click.option("--diff", is_flag=True, help="Show what differs; with --check nothing is written.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], check: bool, diff: bool) -> None:
    """Render the templates to c/<fixture>/ and rust/<fixture>/.

    \b
    fixturegen render                  write what has changed
    fixturegen render --check --diff   write nothing; show what would change
    """
    project = project_of(ctx)
    drift = 0
    for name in project.choose(names):
        fixture = project.load(name)
        texts = render.fixture_files(project, fixture, fixture.params, fixture.languages)
        for path, text in texts.items():
            verb = _state(project, path, text)
            drift += verb != "identical"
            if diff and verb != "identical":
                target = project.root / path
                old = files.read_bytes(target) if files.exists(target) else b""
                say_difference(old, text, path)
            if not check:
                files.write(project.root / path, text)
            if verb != "identical" or not check:
                say(f"{verb:<9}  {path}")
        for path in render.leftovers(project, fixture, texts):
            drift += 1
            say(f"{'remove':<9}  {path}")
            if not check:
                files.remove(project.root / path)
    if check and drift:
        differ = "file differs" if drift == 1 else "files differ"
        say(
            f"{drift} {differ} from what the templates give; repair: fixturegen render "
            + " ".join(names),
            err=True,
        )
        ctx.exit(1)


def _state(project: Project, path: str, text: str) -> str:
    target = project.root / path
    if not files.is_file(target):
        return "create"
    return "identical" if files.read_bytes(target) == text.encode() else "update"
